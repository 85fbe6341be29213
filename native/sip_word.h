// Words that are compared with tokens, eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dsbc {

// Eight bytes as a number, the first one lowest.
inline uint64_t LoadEight(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

// A lower-case word of at most 24 bytes.
class Word {
 public:
  static constexpr size_t kMost = 24;

  constexpr Word() : length_(0), masks_{}, values_{}, cases_{} {}
  template <size_t N>
  constexpr Word(const char (&text)[N]) : Word() {  // NOLINT: converts on purpose
    static_assert(N - 1 >= 1 && N - 1 <= kMost);
    length_ = N - 1;
    for (size_t i = 0; i < N - 1; i++) {
      const unsigned shift = i % 8 * 8;
      masks_[i / 8] |= uint64_t{0xff} << shift;
      values_[i / 8] |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << shift;
      if (text[i] >= 'a' && text[i] <= 'z') cases_[i / 8] |= uint64_t{0x20} << shift;
    }
  }

  constexpr size_t length() const { return length_; }
  constexpr unsigned first() const { return static_cast<unsigned>(values_[0] & 0xff); }
  constexpr unsigned last() const {
    return length_ == 0 ? 0 : static_cast<unsigned>(values_[(length_ - 1) / 8] >> ((length_ - 1) % 8 * 8) & 0xff);
  }

  // Whether the bytes at `text` begin with the word in any case; kMost bytes are readable there.
  bool Begins(const char* text) const {
    return Equals(text, 0) && (length_ <= 8 || Equals(text + 8, 1)) && (length_ <= 16 || Equals(text + 16, 2));
  }

 private:
  bool Equals(const char* text, size_t part) const {
    return ((LoadEight(text) | cases_[part]) & masks_[part]) == values_[part];
  }

  size_t length_;
  uint64_t masks_[3];
  uint64_t values_[3];
  // What makes capitals small, where the word has letters, so that no other byte is taken for one of its chars.
  uint64_t cases_[3];
};

}  // namespace dsbc
