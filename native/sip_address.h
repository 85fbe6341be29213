// One element of From, To, Contact, Route, Record-Route, Path, or of Via. Twin: plugin/message/scan/address.ts.
#pragma once

#include "sip_text.h"

namespace dsbc {

// Both scan the element at `from`, which must be no blank, into `record` (layout::address::kSize or via::kSize numbers), and
// return where it ended: at a comma (in a list) or at `limit`. A malformed one has its text only, up to where the list's
// next comma is.
Position ScanAddress(const Text& text, Position from, Position limit, bool is_list, int32_t* record);
Position ScanVia(const Text& text, Position from, Position limit, int32_t* record);

}  // namespace dsbc
