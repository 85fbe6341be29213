// Writing the table, with every bound checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dsbc {

// Of a char in a text, or of a number in a table: as wide as an address, so that none has to be widened.
using Position = ptrdiff_t;

// The table that JavaScript owns. A record is checked against its end once, as a whole: one that does not fit is written
// to a spill record instead, which nobody reads.
class Table {
 public:
  static constexpr Position kMaxRecord = 64;

  Table(int32_t* data, size_t size) : data_(data), size_(size) {}

  // Room for `size` (at most kMaxRecord) numbers at `at`.
  int32_t* Record(Position at, Position size) {
    return static_cast<size_t>(at + size) <= size_ ? data_ + at : spill_;
  }

 private:
  int32_t* data_;
  size_t size_;
  int32_t spill_[kMaxRecord];
};

inline void SetPair(int32_t* at, Position from, Position to) {
  at[0] = static_cast<int32_t>(from);
  at[1] = static_cast<int32_t>(to);
}

// Sets `size` numbers to -1: what is not there.
template <int32_t size>
void Clear(int32_t* at) {
  std::memset(at, 0xff, static_cast<size_t>(size) * sizeof *at);
}

}  // namespace dsbc
