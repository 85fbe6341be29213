#include "sip_address.h"

#include "sip_layout.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace address = layout::address;
namespace via = layout::via;

// Not made anew for every comparison.
constexpr Word kQ("q");
constexpr Word kTag("tag");
constexpr Word kRegId("reg-id");
constexpr Word kExpires("expires");
constexpr Word kInstance("+sip.instance");
constexpr Word kRport("rport");
constexpr Word kBranch("branch");
constexpr Word kReceived("received");

// Where an address's parameter is noted; -1 for one that is not.
Position AddressSlot(const Text& text, Position from, Position to) {
  switch (to - from) {
    case 1:
      return text.IsToken(from, to, kQ) ? address::kQ : -1;
    case 3:
      return text.IsToken(from, to, kTag) ? address::kTag : -1;
    case 6:
      return text.IsToken(from, to, kRegId) ? address::kRegId : -1;
    case 7:
      return text.IsToken(from, to, kExpires) ? address::kExpires : -1;
    case 13:
      return text.IsToken(from, to, kInstance) ? address::kInstance : -1;
    default:
      return -1;
  }
}

// The same for Via.
Position ViaSlot(const Text& text, Position from, Position to) {
  switch (to - from) {
    case 5:
      return text.IsToken(from, to, kRport) ? via::kRport : -1;
    case 6:
      return text.IsToken(from, to, kBranch) ? via::kBranch : -1;
    case 8:
      return text.IsToken(from, to, kReceived) ? via::kReceived : -1;
    default:
      return -1;
  }
}

// *( SEMI generic-param ) up to `limit`, or up to a comma when `is_list`. Returns where it ended, -1 when malformed.
Position ScanParams(const Text& text, Position from, Position limit, bool is_list, int32_t* record, bool is_via) {
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
    if (text.Is(here, limit, '=')) {
      value_at = text.SkipBlank(here + 1, limit);
      if (text.Is(value_at, limit, '"')) {
        value_end = text.QuotedEnd(value_at, limit);
        if (value_end < 0) return -1;
      } else {
        value_end = text.Skip<kValue>(value_at, limit);
      }
      here = text.SkipBlank(value_end, limit);
    }
    const Position slot = is_via ? ViaSlot(text, name_at, name_end) : AddressSlot(text, name_at, name_end);
    if (slot >= 0 && record[slot] == -1) SetPair(record + slot, value_at, value_end);
  }
  return here;
}

// Where the bare URI at `from` ends; -1 at a char that none may have: '?' and ',' are not allowed there (§20.10).
Position BareUriEnd(const Text& text, Position from, Position limit, bool is_list) {
  for (Position at = from; at < limit; at++) {
    const char c = text.At(at);
    if (c == ';' || IsClass(c, kFoldBlank) || (c == ',' && is_list)) return at;
    if (!IsClass(c, kUriText) || c == '?' || c == ',') return -1;
  }
  return limit;
}

// One name-addr or addr-spec with its parameters. Returns where it ended, -1 when malformed.
Position ScanAddressInto(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  Position open = from;
  if (text.Is(from, limit, '"')) {
    const Position end = text.QuotedEnd(from, limit);
    if (end < 0) return -1;
    SetPair(record + address::kDisplay, from, end);
    open = text.SkipBlank(end, limit);
    if (!text.Is(open, limit, '<')) return -1;
  } else {
    open = text.Skip<kDisplay>(from, limit);
    if (open > from && text.Is(open, limit, '<')) SetPair(record + address::kDisplay, from, text.TrimEnd(from, open));
  }
  const bool is_bracketed = text.Is(open, limit, '<');
  const Position uri_at = is_bracketed ? open + 1 : from;
  const Position uri_end = is_bracketed ? text.Find('>', uri_at, limit) : BareUriEnd(text, from, limit, is_list);
  if (uri_end < 0 || (is_bracketed && uri_end == limit)) return -1;
  const bool is_uri = ScanUri(text, uri_at, uri_end, record + address::kUriSplit);
  // A URI that is well formed has no char that may not stand there.
  if (!is_uri && (SchemeEnd(text, uri_at, uri_end) < 0 || text.Skip<kUriText>(uri_at, uri_end) < uri_end)) return -1;
  SetPair(record + address::kUri, uri_at, uri_end);
  const Position params_at = is_bracketed ? uri_end + 1 : uri_end;
  const Position end = ScanParams(text, params_at, limit, is_list, record, false);
  if (end < 0) return -1;
  SetPair(record + address::kParams, params_at, end);
  record[address::kFlags] = is_uri ? layout::kValid | layout::kValidUri : layout::kValid;
  return end;
}

// Behind SLASH (a slash with optional blanks round it); -1 when it is not there.
Position SkipSlash(const Text& text, Position from, Position limit) {
  const Position at = text.SkipBlank(from, limit);
  return text.Is(at, limit, '/') ? text.SkipBlank(at + 1, limit) : -1;
}

Position ScanViaInto(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  if (from + 3 > limit || !text.IsText(from, from + 3, "sip")) return -1;
  const Position version_at = SkipSlash(text, from + 3, limit);
  if (version_at < 0 || version_at + 3 > limit || !text.IsText(version_at, version_at + 3, "2.0")) return -1;
  const Position transport_at = SkipSlash(text, version_at + 3, limit);
  if (transport_at < 0) return -1;
  const Position transport_end = text.TokenEnd(transport_at, limit);
  const Position host_at = text.SkipBlank(transport_end, limit);
  if (transport_end == transport_at || host_at == transport_end) return -1;
  Position host_end = host_at;
  if (text.Is(host_at, limit, '[')) {
    host_end = text.Find(']', host_at, limit) + 1;
    if (host_end > limit) return -1;
  } else {
    host_end = text.TokenEnd(host_at, limit);
  }
  if (!IsHost(text, host_at, host_end)) return -1;
  Position params_at = host_end;
  const Position colon = text.SkipBlank(host_end, limit);
  if (text.Is(colon, limit, ':')) {
    const Position port_at = text.SkipBlank(colon + 1, limit);
    params_at = text.TokenEnd(port_at, limit);
    const int32_t port = text.Decimal(port_at, params_at, 65535);
    if (port < 0) return -1;
    record[via::kPort] = port;
  }
  SetPair(record + via::kTransport, transport_at, transport_end);
  SetPair(record + via::kHost, host_at, host_end);
  const Position end = ScanParams(text, params_at, limit, is_list, record, true);
  if (end < 0) return -1;
  SetPair(record + via::kParams, params_at, end);
  const Position rport_at = record[via::kRport];
  const Position rport_end = record[via::kRport + 1];
  // RFC 3581 §3: digits, or nothing yet.
  if (rport_at >= 0 && rport_end > rport_at && text.Decimal(rport_at, rport_end, 65535) < 0) return -1;
  record[via::kFlags] = layout::kValid;
  return end;
}

}  // namespace

Position ScanElement(const Text& text, Position from, Position limit, bool is_list, int32_t* record, bool is_via) {
  const Position size = is_via ? static_cast<Position>(via::kSize) : static_cast<Position>(address::kSize);
  Clear(record, size);
  Position end = is_via ? ScanViaInto(text, from, limit, is_list, record) : ScanAddressInto(text, from, limit, is_list, record);
  const bool is_valid = end >= 0;
  if (!is_valid) {
    Clear(record, size);
    record[address::kFlags] = 0;
    end = is_list ? text.ElementEnd(from, limit) : limit;
  }
  const Position text_end = text.TrimEnd(from, end);
  if (!is_via && !is_valid && text_end == from + 1 && text.At(from) == '*') record[address::kFlags] = layout::kStar;
  SetPair(record + address::kText, from, text_end);
  return end;
}

}  // namespace dsbc
