#include "sip_address.h"

#include "sip_layout.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace address = layout::address;
namespace via = layout::via;

// Where an address's parameter is noted; -1 for one that is not.
Position AddressSlot(const Text& text, Position from, Position to) {
  switch (to - from) {
    case 1:
      return text.IsWord(from, to, "q") ? address::kQ : -1;
    case 3:
      return text.IsWord(from, to, "tag") ? address::kTag : -1;
    case 6:
      return text.IsWord(from, to, "reg-id") ? address::kRegId : -1;
    case 7:
      return text.IsWord(from, to, "expires") ? address::kExpires : -1;
    case 13:
      return text.IsWord(from, to, "+sip.instance") ? address::kInstance : -1;
    default:
      return -1;
  }
}

// The same for Via.
Position ViaSlot(const Text& text, Position from, Position to) {
  switch (to - from) {
    case 5:
      return text.IsWord(from, to, "rport") ? via::kRport : -1;
    case 6:
      return text.IsWord(from, to, "branch") ? via::kBranch : -1;
    case 8:
      return text.IsWord(from, to, "received") ? via::kReceived : -1;
    default:
      return -1;
  }
}

// *( SEMI generic-param ) up to `limit`, or up to a comma when `is_list`. Returns where it ended, -1 when malformed.
Position ScanParams(const Text& text, Position from, Position limit, bool is_list, Table& out, Position at, bool is_via) {
  Position here = text.SkipBlank(from, limit);
  while (here < limit) {
    if (text.At(here) == ',' && is_list) return here;
    if (text.At(here) != ';') return -1;
    const Position name_at = text.SkipBlank(here + 1, limit);
    const Position name_end = text.TokenEnd(name_at, limit);
    if (name_end == name_at) return -1;
    Position value_at = -2;
    Position value_end = -2;
    here = text.SkipBlank(name_end, limit);
    if (here < limit && text.At(here) == '=') {
      value_at = text.SkipBlank(here + 1, limit);
      if (value_at < limit && text.At(value_at) == '"') {
        value_end = text.QuotedEnd(value_at, limit);
        if (value_end < 0) return -1;
      } else {
        value_end = text.Skip(kValue, value_at, limit);
      }
      here = text.SkipBlank(value_end, limit);
    }
    const Position slot = is_via ? ViaSlot(text, name_at, name_end) : AddressSlot(text, name_at, name_end);
    if (slot >= 0 && out.Get(at + slot) == -1) out.SetPair(at + slot, value_at, value_end);
  }
  return here;
}

Position ScanAddressInto(const Text& text, Position from, Position limit, bool is_list, Table& out, Position at) {
  Position open = from;
  bool has_display = false;
  if (text.Is(from, '"')) {
    const Position end = text.QuotedEnd(from, limit);
    if (end < 0) return -1;
    out.SetPair(at + address::kDisplay, from, end);
    has_display = true;
    open = text.SkipBlank(end, limit);
    if (open >= limit || text.At(open) != '<') return -1;
  } else {
    open = text.Skip(kDisplay, from, limit);
  }
  Position uri_at = from;
  Position uri_end = from;
  Position params_at = from;
  if (open < limit && text.At(open) == '<') {
    if (!has_display && open > from) out.SetPair(at + address::kDisplay, from, text.TrimEnd(from, open));
    uri_at = open + 1;
    uri_end = text.Skip(kUriText, uri_at, limit);
    if (uri_end >= limit || text.At(uri_end) != '>') return -1;
    params_at = uri_end + 1;
  } else {
    // Without brackets '?' and ',' are not allowed, and all behind the first semicolon is the header's (§20.10).
    for (; uri_end < limit; uri_end++) {
      const char c = text.At(uri_end);
      if (c == ';' || IsClass(c, kFoldBlank) || (c == ',' && is_list)) break;
      if (!IsClass(c, kUriText) || c == '?' || c == ',') return -1;
    }
    params_at = uri_end;
  }
  if (SchemeEnd(text, uri_at, uri_end) < 0) return -1;
  out.SetPair(at + address::kUri, uri_at, uri_end);
  const Position end = ScanParams(text, params_at, limit, is_list, out, at, false);
  if (end < 0) return -1;
  out.SetPair(at + address::kParams, params_at, end);
  return ScanUri(text, uri_at, uri_end, out, at + address::kUriSplit)
             ? (out.Set(at + address::kFlags, layout::kValid | layout::kValidUri), end)
             : (out.Set(at + address::kFlags, layout::kValid), end);
}

// Behind SLASH (a slash with optional blanks round it); -1 when it is not there.
Position SkipSlash(const Text& text, Position from, Position limit) {
  const Position at = text.SkipBlank(from, limit);
  return at < limit && text.At(at) == '/' ? text.SkipBlank(at + 1, limit) : -1;
}

Position ScanViaInto(const Text& text, Position from, Position limit, bool is_list, Table& out, Position at) {
  if (from + 3 > limit || !text.IsWord(from, from + 3, "sip")) return -1;
  const Position version_at = SkipSlash(text, from + 3, limit);
  if (version_at < 0 || version_at + 3 > limit || !text.IsWord(version_at, version_at + 3, "2.0")) return -1;
  const Position transport_at = SkipSlash(text, version_at + 3, limit);
  if (transport_at < 0) return -1;
  const Position transport_end = text.TokenEnd(transport_at, limit);
  const Position host_at = text.SkipBlank(transport_end, limit);
  if (transport_end == transport_at || host_at == transport_end) return -1;
  Position host_end = host_at;
  if (host_at < limit && text.At(host_at) == '[') {
    host_end = text.Find(']', host_at, limit);
    if (host_end >= limit) return -1;
    host_end++;
  } else {
    host_end = text.TokenEnd(host_at, limit);
  }
  if (!IsHost(text, host_at, host_end)) return -1;
  Position params_at = host_end;
  const Position colon = text.SkipBlank(host_end, limit);
  if (colon < limit && text.At(colon) == ':') {
    const Position port_at = text.SkipBlank(colon + 1, limit);
    params_at = text.TokenEnd(port_at, limit);
    const int32_t port = text.Decimal(port_at, params_at, 65535);
    if (port < 0) return -1;
    out.Set(at + via::kPort, port);
  }
  out.SetPair(at + via::kTransport, transport_at, transport_end);
  out.SetPair(at + via::kHost, host_at, host_end);
  const Position end = ScanParams(text, params_at, limit, is_list, out, at, true);
  if (end < 0) return -1;
  out.SetPair(at + via::kParams, params_at, end);
  const Position rport_at = out.Get(at + via::kRport);
  const Position rport_end = out.Get(at + via::kRport + 1);
  // RFC 3581 §3: digits, or nothing yet.
  if (rport_at >= 0 && rport_end > rport_at && text.Decimal(rport_at, rport_end, 65535) < 0) return -1;
  out.Set(at + via::kFlags, layout::kValid);
  return end;
}

}  // namespace

Position ScanElement(const Text& text, Position from, Position limit, bool is_list, Table& out, Position at, bool is_via) {
  const Position size = is_via ? static_cast<Position>(via::kSize) : static_cast<Position>(address::kSize);
  out.Fill(-1, at, at + size);
  Position end = is_via ? ScanViaInto(text, from, limit, is_list, out, at) : ScanAddressInto(text, from, limit, is_list, out, at);
  const bool is_valid = end >= 0;
  if (!is_valid) {
    out.Fill(-1, at, at + size);
    out.Set(at + address::kFlags, 0);
    end = is_list ? text.ElementEnd(from, limit) : limit;
  }
  const Position text_end = text.TrimEnd(from, end);
  if (!is_via && !is_valid && text_end == from + 1 && text.At(from) == '*') out.Set(at + address::kFlags, layout::kStar);
  out.SetPair(at + address::kText, from, text_end);
  return end;
}

}  // namespace dsbc
