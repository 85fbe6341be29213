// Reading positions of a text and writing a table, both with every bound checked. Twin: plugin/message/scan/text.ts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sip_chars.h"

namespace dsbc {

using Position = int32_t;

// The table that JavaScript owns. What would lie behind its end is not written and reads as -1.
class Table {
 public:
  Table(int32_t* data, size_t size) : data_(data), size_(static_cast<int32_t>(size)) {}

  void Set(Position at, int32_t value) {
    if (at >= 0 && at < size_) data_[at] = value;
  }
  void SetPair(Position at, Position from, Position to) {
    Set(at, from);
    Set(at + 1, to);
  }
  int32_t Get(Position at) const { return at >= 0 && at < size_ ? data_[at] : -1; }
  void Fill(int32_t value, Position from, Position to) {
    if (to > size_) to = size_;
    for (Position at = from; at < to; at++) data_[at] = value;
  }

 private:
  int32_t* data_;
  int32_t size_;
};

// A message's bytes. All functions take positions within [0, size].
class Text {
 public:
  Text(const char* data, size_t size) : data_(data), size_(static_cast<Position>(size)) {}

  Position size() const { return size_; }
  // 0xff-safe; NUL behind the end, as the twin's NaN matches nothing that is asked for.
  char At(Position at) const { return at >= 0 && at < size_ ? data_[at] : '\0'; }
  bool Is(Position at, char c) const { return at < size_ && data_[at] == c; }

  // The first `c` in [from, to); `to` when there is none.
  Position Find(char c, Position from, Position to) const {
    if (from >= to) return to;
    const void* found = std::memchr(data_ + from, c, static_cast<size_t>(to - from));
    return found == nullptr ? to : static_cast<Position>(static_cast<const char*>(found) - data_);
  }

  // The first CRLF at or behind `from`; -1 when there is none.
  Position FindLineEnd(Position from) const {
    for (Position at = from; at < size_;) {
      at = Find('\r', at, size_);
      if (at + 1 < size_ && data_[at + 1] == '\n') return at;
      at++;
    }
    return -1;
  }

  bool HasLineEnd(Position from, Position to) const { return Find('\r', from, to) < to || Find('\n', from, to) < to; }

  Position Skip(uint16_t flags, Position from, Position limit) const {
    while (from < limit && IsClass(data_[from], flags)) from++;
    return from;
  }
  Position SkipBlank(Position from, Position limit) const { return Skip(kFoldBlank, from, limit); }
  Position TokenEnd(Position from, Position limit) const { return Skip(kToken, from, limit); }
  Position TrimEnd(Position from, Position limit) const {
    while (limit > from && IsClass(data_[limit - 1], kFoldBlank)) limit--;
    return limit;
  }

  // Whether [from, to) is made of the classes only; with `escapes`, '%' must be followed by two hex digits.
  bool IsMadeOf(Position from, Position to, uint16_t flags, bool escapes) const {
    for (Position at = from; at < to; at++) {
      if (IsClass(data_[at], flags)) continue;
      if (!escapes || data_[at] != '%' || at + 2 >= to) return false;
      if (!IsClass(data_[at + 1], kHex) || !IsClass(data_[at + 2], kHex)) return false;
      at += 2;
    }
    return true;
  }

  // Behind the closing quote of the quoted string that opens at `open`; -1 when it is never closed.
  Position QuotedEnd(Position open, Position limit) const {
    for (Position at = open + 1; at < limit; at++) {
      if (data_[at] == '\\') {
        at++;
      } else if (data_[at] == '"') {
        return at + 1;
      }
    }
    return -1;
  }

  // Whether [from, to) is `word` (lower case) in any case.
  template <size_t N>
  bool IsWord(Position from, Position to, const char (&word)[N]) const {
    return IsWord(from, to, word, N - 1);
  }
  bool IsWord(Position from, Position to, const char* word, size_t length) const {
    if (static_cast<size_t>(to - from) != length || from < 0 || to > size_) return false;
    for (size_t i = 0; i < length; i++) {
      const char c = data_[static_cast<size_t>(from) + i];
      if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != word[i]) return false;
    }
    return true;
  }

  // The decimal number of [from, to); -1 when it is none, is empty, or is above `max`.
  int32_t Decimal(Position from, Position to, int32_t max) const {
    if (from >= to) return -1;
    int64_t value = 0;
    for (Position at = from; at < to; at++) {
      if (!IsClass(data_[at], kDigit)) return -1;
      value = value * 10 + (data_[at] - '0');
      if (value > max) return -1;
    }
    return static_cast<int32_t>(value);
  }

  // Where a list's element ends: at the next comma outside quotes and angle brackets, or at `limit`.
  Position ElementEnd(Position from, Position limit) const {
    Position at = from;
    while (at < limit) {
      const char c = data_[at];
      if (c == ',') return at;
      if (c == '"') {
        const Position end = QuotedEnd(at, limit);
        at = end < 0 ? limit : end;
      } else if (c == '<') {
        at = Find('>', at, limit) + 1;
      } else {
        at++;
      }
    }
    return limit;
  }

 private:
  const char* data_;
  Position size_;
};

}  // namespace dsbc
