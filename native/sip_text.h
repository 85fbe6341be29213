// Reading positions of a text, with every bound checked. Twin: plugin/message/scan/text.ts.
#pragma once

#include "sip_buffer.h"
#include "sip_chars.h"
#include "sip_marks.h"
#include "sip_table.h"
#include "sip_word.h"

namespace dsbc {

// The first `size` bytes of a buffer, up to the end of the first empty line behind its start, which is as far as anything is
// looked for. All functions take positions within [start, size]. What lies behind the end is read in blocks with what lies
// before, but never decides anything.
class Text {
 public:
  Text(ScanBuffer& buffer, size_t size)
      : data_(buffer.bytes()), size_(static_cast<Position>(size)), stops_(buffer.stops()), line_breaks_(buffer.line_breaks()) {
    while (start_ + 1 < size_ && data_[start_] == '\r' && data_[start_ + 1] == '\n') start_ += 2;
    MarkText(data_, static_cast<size_t>(start_), size, buffer.stops(), buffer.line_breaks());
  }

  // Behind the line ends that the text begins with.
  Position start() const { return start_; }
  Position size() const { return size_; }
  // NUL outside the text.
  char At(Position at) const { return at < size_ ? data_[at] : '\0'; }

  // The first CRLF at or behind `from`; -1 when there is none. `*is_bare` is set when a CR or LF stands before it.
  Position FindLineEnd(Position from, bool* is_bare) const {
    for (Position at = from;; at++) {
      at = FirstBit(line_breaks_, at);
      if (at >= size_) return -1;
      if (data_[at] == '\r' && At(at + 1) == '\n') return at;
      *is_bare = true;
    }
  }

  // The CRLF at the end of the header that begins at `from`: the first one that no blank follows, or `from` itself, which is
  // the end of all headers. Otherwise like FindLineEnd.
  Position FindHeaderEnd(Position from, bool* is_bare) const {
    const Position first = FirstBit(line_breaks_, from);
    const char* at = data_ + first;
    if (first + 2 < size_ && at[0] == '\r' && at[1] == '\n' && at[2] != ' ' && at[2] != '\t') return first;
    Position end = FindLineEnd(from, is_bare);
    if (end == from) return end;
    while (end >= 0 && (At(end + 2) == ' ' || At(end + 2) == '\t')) end = FindLineEnd(end + 2, is_bare);
    return end;
  }

  // The byte at a position of the text; behind its end it may be anything.
  char operator[](Position at) const { return data_[at]; }
  // Whether the byte at `at` is `c` and lies before `limit`.
  bool Is(Position at, Position limit, char c) const { return at < limit && data_[at] == c; }

  // The first `c`, which must be no plain char, in [from, to); `to` when there is none.
  Position Find(char c, Position from, Position to) const {
    for (;; from++) {
      from = NextStop(from);
      if (from >= to) return to;
      if (data_[from] == c) return from;
    }
  }

  // The first position in [from, limit) that is not in the class, which all plain chars belong to; `limit` when there is none.
  template <CharClass flag>
  Position Skip(Position from, Position limit) const {
    static_assert((flag & kPlainClasses) != 0);
    for (;; from++) {
      from = NextStop(from);
      if (from >= limit) return limit;
      if (!IsClass(data_[from], flag)) return from;
    }
  }
  // The same, where '%' and two hex digits count as one of the class.
  template <CharClass flag>
  Position SkipEscaped(Position from, Position limit) const {
    for (;;) {
      from = Skip<flag>(from, limit);
      if (from + 2 >= limit || data_[from] != '%') return from;
      if (!IsClass(data_[from + 1], kHex) || !IsClass(data_[from + 2], kHex)) return from;
      from += 3;
    }
  }
  // The same for the classes that not all plain chars belong to.
  template <CharClass flag>
  Position SkipEach(Position from, Position limit) const {
    while (from < limit && IsClass(data_[from], flag)) from++;
    return from;
  }
  Position SkipBlank(Position from, Position limit) const {
    if (__builtin_expect(!IsMaybeBlank(data_[from]), 1)) return from;
    if (from < limit && data_[from] == ' ' && !IsMaybeBlank(data_[from + 1])) return from + 1;
    return SkipEach<kFoldBlank>(from, limit);
  }
  Position TokenEnd(Position from, Position limit) const { return Skip<kToken>(from, limit); }
  Position TrimEnd(Position from, Position limit) const {
    while (limit > from && IsMaybeBlank(data_[limit - 1]) && IsClass(data_[limit - 1], kFoldBlank)) limit--;
    return limit;
  }

  // Behind the closing quote of the quoted string that opens at `open`; -1 when it is never closed.
  Position QuotedEnd(Position open, Position limit) const {
    for (Position at = open + 1;; at++) {
      at = NextStop(at);
      if (at >= limit) return -1;
      if (data_[at] == '"') return at + 1;
      if (data_[at] == '\\' && ++at >= limit) return -1;
    }
  }

  // Whether [from, to) is the word in any case.
  bool IsWord(Position from, Position to, const Word& word) const {
    return static_cast<size_t>(to - from) == word.length() && word.Begins(data_ + from);
  }
  // Whether the word, in any case, stands at `from` and ends before or at `limit`.
  bool HasWord(Position from, Position limit, const Word& word) const {
    return limit - from >= static_cast<Position>(word.length()) && word.Begins(data_ + from);
  }
  const char* Bytes(Position at) const { return data_ + at; }

  // The decimal number of [from, to); -1 when it is none, is empty, or is above `max`.
  int32_t Decimal(Position from, Position to, int32_t max) const {
    if (from >= to) return -1;
    int64_t value = 0;
    for (Position at = from; at < to; at++) {
      const unsigned digit = static_cast<unsigned char>(data_[at]) - unsigned{'0'};
      if (digit > 9) return -1;
      value = value * 10 + digit;
      if (value > max) return -1;
    }
    return static_cast<int32_t>(value);
  }

  // Where a list's element ends: at the next comma outside quotes and angle brackets, or at `limit`.
  Position ElementEnd(Position from, Position limit) const {
    Position at = from;
    for (;;) {
      at = at < limit ? NextStop(at) : limit;
      if (at >= limit) return limit;
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
  }

  // The first char at or behind `from` that is not plain; the text's size when there is none. The marks around are at hand,
  // since what comes next waits for where this one is.
  Position NextStop(Position from) const {
    const auto offset = static_cast<uint64_t>(from - base_);
    if (__builtin_expect(offset < 64, 1)) {
      const uint64_t ahead = marks_ >> offset;
      if (__builtin_expect(ahead != 0, 1)) return from + __builtin_ctzll(ahead);
    }
    return FarStop(from);
  }

 private:
  // A quick no for nearly every char.
  static bool IsMaybeBlank(char c) { return static_cast<unsigned char>(c) <= ' '; }

  static Position FirstBit(const uint64_t* words, Position from) {
    uint64_t word = words[from >> 6] >> (from & 63) << (from & 63);
    from &= ~Position{63};
    while (word == 0) word = words[(from += 64) >> 6];
    return from + __builtin_ctzll(word);
  }

  [[gnu::noinline]] Position FarStop(Position from) const {
    const Position stop = FirstBit(stops_, from);
    base_ = stop & ~Position{63};
    marks_ = stops_[stop >> 6];
    return stop;
  }

  const char* const data_;
  const Position size_;
  Position start_ = 0;
  const uint64_t* const stops_;
  const uint64_t* const line_breaks_;
  // The marks of the 64 chars from base_ on, for the next stop.
  mutable Position base_ = 0;
  mutable uint64_t marks_ = 0;
};

}  // namespace dsbc
