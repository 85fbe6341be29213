// Character classes of RFC 3261 §25.1; the same table as plugin/message/chars.ts.
#pragma once

#include <array>
#include <cstdint>

namespace dsbc {

enum CharClass : uint16_t {
  kToken = 1,
  kUser = 2,
  kPassword = 4,
  kHost = 8,
  kUriParameter = 16,
  kDigit = 32,
  kHex = 64,
  kUri = 128,
  kUriHeader = 256,
  // Only here, for loops that the twin writes out: what may stand in a display name, a URI between angle brackets, an unquoted value.
  kDisplay = 512,
  kUriText = 1024,
  kValue = 2048,
  kFoldBlank = 4096,
};

// The classes that every plain char (a letter, a digit, `-`, `.` or `_`) belongs to; sip_marks.h marks where the others are.
constexpr uint16_t kPlainClasses =
    kToken | kUser | kPassword | kHost | kUriParameter | kUri | kUriHeader | kDisplay | kUriText | kValue;

constexpr std::array<uint16_t, 256> MakeCharClasses() {
  std::array<uint16_t, 256> classes{};
  struct Marker {
    std::array<uint16_t, 256>& classes;
    constexpr void operator()(uint16_t flag, const char* chars) {
      for (; *chars; chars++) classes[static_cast<unsigned char>(*chars)] |= flag;
    }
  } mark{classes};
  for (int c = 0; c < 256; c++) {
    const bool digit = c >= '0' && c <= '9';
    const bool alnum = digit || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (alnum) classes[c] |= kToken | kUser | kPassword | kHost | kUriParameter | kUri | kUriHeader;
    if (digit) classes[c] |= kDigit;
    if (digit || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f')) classes[c] |= kHex;
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (blank) classes[c] |= kFoldBlank | kDisplay;
    if (c <= 0x20 || c == 0x7f || c == '"' || c == '<' || c == '>') continue;
    classes[c] |= kUriText;
    if (c == ',' || c == ';') continue;
    classes[c] |= kValue;
    if (c != ':' && c != '@' && c != '\\') classes[c] |= kDisplay;
  }
  mark(kToken, "-.!%*_+`'~");
  mark(kUser, "-_.!~*'()&=+$,;?/#");
  mark(kPassword, "-_.!~*'()&=+$,");
  mark(kHost, "-._");
  mark(kUriParameter, "-_.!~*'()[]/:&+$");
  mark(kUriHeader, "-_.!~*'()[]/?:+$=&");
  mark(kUri, "-_.!~*'()&=+$,;?/#%:@[]^`{}|\\");
  return classes;
}

inline constexpr std::array<uint16_t, 256> kCharClasses = MakeCharClasses();

inline bool IsClass(char c, uint16_t flags) { return (kCharClasses[static_cast<unsigned char>(c)] & flags) != 0; }

// A letter, a digit, `-`, `.` or `_`.
constexpr bool IsPlain(unsigned c) { return (kCharClasses[c] & kPlainClasses) == kPlainClasses; }

}  // namespace dsbc
