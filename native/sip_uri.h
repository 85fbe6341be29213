// Splits SIP, SIPS and tel URIs (RFC 3261 §19.1, RFC 3966). Twin: plugin/message/scan/uri.ts.
#pragma once

#include "sip_text.h"

namespace dsbc {

// Where the scheme of the URI in [from, to) ends (its colon); -1 when it does not begin with one.
Position SchemeEnd(const Text& text, Position from, Position to);
bool IsHost(const Text& text, Position from, Position to);
// Splits the URI in [from, to) into `block` (layout::uri::kSize numbers); false when it breaks the grammar of its scheme.
bool ScanUri(const Text& text, Position from, Position to, int32_t* block);

}  // namespace dsbc
