// The memory that a text is scanned in. One per thread is enough; it grows with the largest text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sip_marks.h"

namespace dsbc {

class ScanBuffer {
 public:
  // Below 2^30, so that no position of a text overflows.
  static constexpr size_t kMaxSize = (size_t{1} << 30) - 1;
  // Readable behind every text, whatever it holds: marks are made of whole blocks, and words are compared as a whole.
  static constexpr size_t kPadding = kMarkedChars;

  explicit ScanBuffer(size_t size = 16 * 1024) { Reserve(size); }

  // Room for a text of `size` (at most kMaxSize) bytes; what was there is lost when it grows.
  void Reserve(size_t size) {
    if (bytes_ && size <= size_) return;
    const size_t words = size / kMarkedChars + 1;
    bytes_.reset(new char[size + kPadding]());
    // One more, since bits are read eight bytes at a time from any byte on.
    stops_.reset(new uint64_t[words + 1]());
    line_breaks_.reset(new uint64_t[words]());
    size_ = size;
  }

  size_t size() const { return size_; }
  char* bytes() { return bytes_.get(); }
  uint64_t* stops() { return stops_.get(); }
  uint64_t* line_breaks() { return line_breaks_.get(); }

 private:
  size_t size_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::unique_ptr<uint64_t[]> stops_;
  std::unique_ptr<uint64_t[]> line_breaks_;
};

}  // namespace dsbc
