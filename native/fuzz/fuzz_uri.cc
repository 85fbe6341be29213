// libFuzzer target: one URI, and the same bytes as one address and one Via.
#include <cstdlib>
#include <vector>

#include "../sip_address.h"
#include "../sip_layout.h"
#include "../sip_uri.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> bytes(data, data + size);
  const dsbc::Text text(bytes.data(), size);
  const auto limit = static_cast<dsbc::Position>(size);
  std::vector<int32_t> block(dsbc::layout::uri::kSize);
  if (dsbc::ScanUri(text, 0, limit, block.data())) {
    const int32_t* host = block.data() + dsbc::layout::uri::kHost;
    if (host[0] < 0 || host[0] > host[1] || host[1] > limit) abort();
  }
  if (size == 0) return 0;
  for (const bool is_list : {false, true}) {
    std::vector<int32_t> address(dsbc::layout::address::kSize);
    const dsbc::Position end = dsbc::ScanElement(text, 0, limit, is_list, address.data(), false);
    std::vector<int32_t> via(dsbc::layout::via::kSize);
    const dsbc::Position via_end = dsbc::ScanElement(text, 0, limit, is_list, via.data(), true);
    if (end < 0 || end > limit || via_end < 0 || via_end > limit) abort();
  }
  return 0;
}
