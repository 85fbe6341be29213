// Reading positions of a text and writing a table, both with every bound checked. Twin: plugin/message/scan/text.ts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

#include "sip_chars.h"

namespace dsbc {

using Position = int32_t;

// The table that JavaScript owns. A record is checked against its end once, as a whole: one that does not fit is written
// to a spill record instead, which nobody reads.
class Table {
 public:
  static constexpr Position kMaxRecord = 64;

  Table(int32_t* data, size_t size) : data_(data), size_(static_cast<uint32_t>(size)) {}

  // Room for `size` (at most kMaxRecord) numbers at `at`.
  int32_t* Record(Position at, Position size) {
    const bool fits = at >= 0 && static_cast<uint64_t>(at) + static_cast<uint64_t>(size) <= size_;
    return fits ? data_ + at : spill_;
  }

 private:
  int32_t* data_;
  uint32_t size_;
  int32_t spill_[kMaxRecord];
};

inline void SetPair(int32_t* at, Position from, Position to) {
  at[0] = from;
  at[1] = to;
}

inline void Clear(int32_t* at, Position size) {
  for (Position i = 0; i < size; i++) at[i] = -1;
}

// A lower-case word of at most 24 bytes that a token is compared with, eight bytes at a time.
class Word {
 public:
  template <size_t N>
  constexpr Word(const char (&text)[N]) : length_(N - 1), masks_{}, values_{} {  // NOLINT: converts on purpose
    static_assert(N - 1 >= 1 && N - 1 <= 24);
    for (size_t i = 0; i < N - 1; i++) {
      masks_[i / 8] |= uint64_t{0xff} << (i % 8 * 8);
      values_[i / 8] |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (i % 8 * 8);
    }
    first_ = text[0];
  }
  constexpr size_t length() const { return length_; }
  constexpr char first() const { return first_; }

  // Whether eight bytes could begin the word, for a quick refusal.
  bool MayBegin(uint64_t bytes) const { return EqualsEight(bytes, 0); }

  // Whether the first bytes at `token` are the word in any case; `available` are there. `| 0x20` makes capitals small, and
  // of other bytes only a CR a '-', which is followed by a LF in a line that holds one at all, and LF equals nothing.
  bool Equals(const char* token, size_t available) const {
    if (available >= sizeof values_) {
      if (!EqualsEight(Load(token), 0)) return false;
      if (length_ > 8 && !EqualsEight(Load(token + 8), 1)) return false;
      return length_ <= 16 || EqualsEight(Load(token + 16), 2);
    }
    // Near the text's end: nothing may be read behind it.
    if (available < length_) return false;
    char copy[sizeof values_] = {};
    std::memcpy(copy, token, length_);
    return EqualsEight(Load(copy), 0) && EqualsEight(Load(copy + 8), 1) && EqualsEight(Load(copy + 16), 2);
  }

 private:
  static constexpr uint64_t kLower = 0x2020202020202020;
  bool EqualsEight(uint64_t bytes, size_t at) const { return ((bytes | kLower) & masks_[at]) == values_[at]; }

  size_t length_;
  uint64_t masks_[3];
  uint64_t values_[3];
  char first_ = 0;

 public:
  // Eight bytes as a number, the first one lowest.
  static uint64_t Load(const char* at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
  }
};

// A message's bytes. All functions take positions within [0, size].
class Text {
 public:
  Text(const char* data, size_t size) : data_(data), size_(static_cast<Position>(size)) {}

  Position size() const { return size_; }
  // NUL outside the text.
  char At(Position at) const { return static_cast<uint32_t>(at) < static_cast<uint32_t>(size_) ? data_[at] : '\0'; }
  // Whether the byte at `at` is `c` and lies before `limit`.
  bool Is(Position at, Position limit, char c) const { return at < limit && At(at) == c; }

  // The first `c` in [from, to); `to` when there is none.
  Position Find(char c, Position from, Position to) const {
    if (from >= to) return to;
    const void* found = std::memchr(data_ + from, c, static_cast<size_t>(to - from));
    return found == nullptr ? to : static_cast<Position>(static_cast<const char*>(found) - data_);
  }

  // The first CR or LF at or behind `from`; the text's size when there is none.
  Position FindLineBreak(Position from) const {
    const char* at = data_ + from;
    const char* end = data_ + size_;
#ifdef __SSE2__
    const __m128i cr = _mm_set1_epi8('\r');
    const __m128i lf = _mm_set1_epi8('\n');
    for (; end - at >= 32; at += 32) {
      const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16));
      const __m128i in_low = _mm_or_si128(_mm_cmpeq_epi8(low, cr), _mm_cmpeq_epi8(low, lf));
      const __m128i in_high = _mm_or_si128(_mm_cmpeq_epi8(high, cr), _mm_cmpeq_epi8(high, lf));
      if (_mm_movemask_epi8(_mm_or_si128(in_low, in_high)) == 0) continue;
      const auto found = static_cast<unsigned>(_mm_movemask_epi8(in_low)) | static_cast<unsigned>(_mm_movemask_epi8(in_high)) << 16;
      return static_cast<Position>(at - data_) + __builtin_ctz(found);
    }
    for (; end - at >= 16; at += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      const int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, cr), _mm_cmpeq_epi8(bytes, lf)));
      if (found != 0) return static_cast<Position>(at - data_) + __builtin_ctz(static_cast<unsigned>(found));
    }
#endif
    while (at < end && *at != '\r' && *at != '\n') at++;
    return static_cast<Position>(at - data_);
  }

  // The first CRLF at or behind `from`; -1 when there is none. `*is_bare` is set when a CR or LF stands before it.
  Position FindLineEnd(Position from, bool* is_bare) const {
    for (Position at = from;; at++) {
      at = FindLineBreak(at);
      if (at >= size_) return -1;
      if (data_[at] == '\r' && At(at + 1) == '\n') return at;
      *is_bare = true;
    }
  }

  // The first position in [from, limit) that is not in the class (one flag); `limit` when there is none. Sixteen bytes at a
  // time where the text has them, since most of a scan's time would be spent here.
  template <CharClass flag>
  Position Skip(Position from, Position limit) const {
    if (limit > size_) limit = size_;
#ifdef __SSSE3__
    const __m128i rows = _mm_load_si128(reinterpret_cast<const __m128i*>(kNibbles<flag>.rows));
    const __m128i bits = _mm_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1);
    const __m128i low = _mm_set1_epi8(15);
    while (from < limit && size_ - from >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data_ + from));
      const __m128i row = _mm_shuffle_epi8(rows, _mm_and_si128(bytes, low));
      const __m128i bit = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
      // Bytes over 127 have bit 0 here, so they count as outside.
      unsigned outside = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128())));
      if (kNibbles<flag>.high) outside &= ~static_cast<unsigned>(_mm_movemask_epi8(bytes));
      if (outside != 0) {
        from += __builtin_ctz(outside);
        return from < limit ? from : limit;
      }
      from += 16;
    }
    if (from > limit) return limit;
#endif
    while (from < limit && IsClass(data_[from], flag)) from++;
    return from;
  }
  // The same, where '%' and two hex digits count as one of the class.
  template <CharClass flag>
  Position SkipEscaped(Position from, Position limit) const {
    for (;;) {
      from = Skip<flag>(from, limit);
      if (!Is(from, limit, '%') || from + 2 >= limit) return from;
      if (!IsClass(At(from + 1), kHex) || !IsClass(At(from + 2), kHex)) return from;
      from += 3;
    }
  }
  Position SkipBlank(Position from, Position limit) const {
    while (from < limit && IsClass(At(from), kFoldBlank)) from++;
    return from;
  }
  Position TokenEnd(Position from, Position limit) const { return Skip<kToken>(from, limit); }
  Position TrimEnd(Position from, Position limit) const {
    while (limit > from && IsClass(data_[limit - 1], kFoldBlank)) limit--;
    return limit;
  }

  // Behind the closing quote of the quoted string that opens at `open`; -1 when it is never closed.
  Position QuotedEnd(Position open, Position limit) const {
    const Position quote = Find('"', open + 1, limit);
    if (quote >= limit) return -1;  // escaped ones are quotes too: not even one of those
    Position at = Find('\\', open + 1, quote);
    if (at == quote) return quote + 1;
    for (; at < limit; at++) {
      if (data_[at] == '\\') {
        at++;
      } else if (data_[at] == '"') {
        return at + 1;
      }
    }
    return -1;
  }

  // The eight bytes at `from` as Word::Load reads them; zeros where the text ends.
  uint64_t Eight(Position from) const {
    if (size_ - from >= 8) return Word::Load(data_ + from);
    char copy[8] = {};
    if (from < size_) std::memcpy(copy, data_ + from, static_cast<size_t>(size_ - from));
    return Word::Load(copy);
  }
  // Whether the word stands at `from`, in any case, with `behind` behind it, before `limit`.
  bool HasWord(Position from, Position limit, const Word& word, char behind) const {
    const auto length = static_cast<Position>(word.length());
    return from + length < limit && limit <= size_ && data_[from + length] == behind &&
           word.Equals(data_ + from, static_cast<size_t>(size_ - from));
  }
  // Whether the token [from, to) is the word in any case.
  bool IsToken(Position from, Position to, const Word& word) const {
    return static_cast<size_t>(to - from) == word.length() && to <= size_ &&
           word.Equals(data_ + from, static_cast<size_t>(size_ - from));
  }
  // Whether [from, to), whatever it is made of, is `word` (lower case) in any case.
  template <size_t N>
  bool IsText(Position from, Position to, const char (&word)[N]) const {
    if (static_cast<size_t>(to - from) != N - 1 || to > size_) return false;
    for (size_t i = 0; i < N - 1; i++) {
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
