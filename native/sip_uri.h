// Splits SIP, SIPS and tel URIs (RFC 3261 §19.1, RFC 3966). Twin: plugin/message/scan/uri.ts.
#pragma once

#include "sip_text.h"

namespace dsbc {

// Where the scheme of the URI in [from, to) ends (its colon); -1 when it does not begin with one.
Position SchemeEnd(const Text& text, Position from, Position to);
// Where the IPv6 address in brackets that begins at `from` ends; -1 when there is none. Not one char further than one can be long.
Position Ipv6ReferenceEnd(const Text& text, Position from, Position to);
// Splits the URI in [from, to) into `block` (layout::uri::kSize numbers); false when it breaks the grammar of its scheme.
bool ScanUri(const Text& text, Position from, Position to, int32_t* block);
// The same for a `sip:` URI that is followed by a '>' before `limit`, without looking for that first: returns where the '>'
// is. -1 when it does not look like one; then `block` holds anything, and ScanUri knows.
Position ScanBracketedSipUri(const Text& text, Position from, Position limit, int32_t* block);

}  // namespace dsbc
