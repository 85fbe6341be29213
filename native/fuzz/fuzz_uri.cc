// libFuzzer target: one URI, and the same bytes as one address and one Via.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../sip_address.h"
#include "../sip_layout.h"
#include "../sip_uri.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dsbc::ScanBuffer buffer(size);
  if (size > 0) std::memcpy(buffer.bytes(), data, size);
  const dsbc::Text text(buffer, size);
  const dsbc::Position from = text.start();
  // No element is longer than its line.
  bool is_bare = false;
  const dsbc::Position line_end = text.FindHeaderEnd(from, &is_bare);
  const dsbc::Position limit = line_end < 0 ? text.size() : line_end;
  std::vector<int32_t> block(dsbc::layout::uri::kSize);
  if (dsbc::ScanUri(text, from, limit, block.data())) {
    const int32_t* host = block.data() + dsbc::layout::uri::kHost;
    if (host[0] < 0 || host[0] > host[1] || host[1] > limit) abort();
  }
  if (from == limit) return 0;
  for (const bool is_list : {false, true}) {
    std::vector<int32_t> address(dsbc::layout::address::kSize);
    const dsbc::Position end = dsbc::ScanAddress(text, from, limit, is_list, address.data());
    if (end < from || end > limit) abort();
  }
  std::vector<int32_t> via(dsbc::layout::via::kSize);
  const dsbc::Position via_end = dsbc::ScanVia(text, from, limit, via.data());
  if (via_end < from || via_end > limit) abort();
  return 0;
}
