// One pass over a SIP message that finds what a route is found by. Plain C++: no Node-API, no allocation, nothing is
// read or written past an end. Twin: plugin/message/scan/message.ts.
#pragma once

#include "sip_buffer.h"

namespace dsbc {

// Scans the first `size` bytes of the buffer (at most as many as it has room for) and writes offsets to `out` (at least
// layout::kHeadSize numbers), as sip_layout.h says. Returns how many numbers are used; more than `out_size` means that what
// is written is not complete.
int32_t ScanMessage(ScanBuffer& buffer, size_t size, int32_t* out, size_t out_size);

}  // namespace dsbc
