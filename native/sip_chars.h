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

// The same for sixteen bytes at once: for each low nibble, which high nibbles (0 to 7, one bit each) make a byte of the class,
// and whether bytes over 127 belong to it.
struct NibbleTable {
  alignas(16) uint8_t rows[16];
  bool high;
};

constexpr NibbleTable MakeNibbleTable(CharClass flag) {
  NibbleTable table{};
  for (unsigned c = 0; c < 128; c++) {
    if ((kCharClasses[c] & flag) != 0) table.rows[c & 15] = static_cast<uint8_t>(table.rows[c & 15] | (1u << (c >> 4)));
  }
  table.high = (kCharClasses[255] & flag) != 0;
  return table;
}

template <CharClass flag>
inline constexpr NibbleTable kNibbles = MakeNibbleTable(flag);

inline bool IsClass(char c, uint16_t flags) { return (kCharClasses[static_cast<unsigned char>(c)] & flags) != 0; }

}  // namespace dsbc
