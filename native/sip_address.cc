#include "sip_address.h"

#include "sip_layout.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace address = layout::address;
namespace via = layout::via;

constexpr Word kQ("q");
constexpr Word kTag("tag");
constexpr Word kRegId("reg-id");
constexpr Word kExpires("expires");
constexpr Word kInstance("+sip.instance");
constexpr Word kRport("rport");
constexpr Word kBranch("branch");
constexpr Word kReceived("received");
constexpr Word kSip("sip");
constexpr Word kVersion("2.0");
constexpr Word kProtocol("sip/2.0/");

// Where the parameter named by the token [from, to) is noted; -1 for one that is not.
template <bool is_via>
Position Slot(const Text& text, Position from, Position to) {
  const char* name = text.Bytes(from);
  switch (to - from) {
    case 1:
      return !is_via && kQ.Begins(name) ? address::kQ : -1;
    case 3:
      return !is_via && kTag.Begins(name) ? address::kTag : -1;
    case 5:
      return is_via && kRport.Begins(name) ? via::kRport : -1;
    case 6:
      if (is_via) return kBranch.Begins(name) ? via::kBranch : -1;
      return kRegId.Begins(name) ? address::kRegId : -1;
    case 7:
      return !is_via && kExpires.Begins(name) ? address::kExpires : -1;
    case 8:
      return is_via && kReceived.Begins(name) ? via::kReceived : -1;
    case 13:
      return !is_via && kInstance.Begins(name) ? address::kInstance : -1;
    default:
      return -1;
  }
}

// *( SEMI generic-param ) up to `limit`, or up to a comma when `is_list`. Returns where it ended, -1 when malformed.
template <bool is_via>
Position ScanParams(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  Position here = text.SkipBlank(from, limit);
  while (here < limit) {
    if (text[here] != ';') return text[here] == ',' && is_list ? here : -1;
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
    const Position slot = Slot<is_via>(text, name_at, name_end);
    if (slot >= 0 && record[slot] == -1) SetPair(record + slot, value_at, value_end);
  }
  return here;
}

// Where the bare URI at `from` ends; -1 at a char that none may have: '?' and ',' are not allowed there (§20.10).
Position BareUriEnd(const Text& text, Position from, Position limit, bool is_list) {
  for (Position at = from; at < limit; at++) {
    const char c = text[at];
    if (c == ';' || IsClass(c, kFoldBlank) || (c == ',' && is_list)) return at;
    if (!IsClass(c, kUriText) || c == '?' || c == ',') return -1;
  }
  return limit;
}

// The URI between the bracket at `open` and the next one; notes it and returns where it ends, -1 when malformed.
Position ScanBracketedUri(const Text& text, Position open, Position limit, int32_t* record, bool* is_uri) {
  const Position from = open + 1;
  Position to = ScanBracketedSipUri(text, from, limit, record + address::kUriSplit);
  *is_uri = to >= 0;
  if (!*is_uri) {
    to = text.Find('>', from, limit);
    if (to == limit) return -1;
    *is_uri = ScanUri(text, from, to, record + address::kUriSplit);
  }
  SetPair(record + address::kUri, from, to);
  return to;
}

Position ScanBareUri(const Text& text, Position from, Position limit, bool is_list, int32_t* record, bool* is_uri) {
  const Position to = BareUriEnd(text, from, limit, is_list);
  if (to < 0) return -1;
  *is_uri = ScanUri(text, from, to, record + address::kUriSplit);
  SetPair(record + address::kUri, from, to);
  return to;
}

// Notes the display name, if there is one, and returns where the angle bracket is; the URI is bare when there is none.
// -1 when malformed.
Position ScanDisplayName(const Text& text, Position from, Position limit, int32_t* record) {
  if (text.Is(from, limit, '"')) {
    const Position end = text.QuotedEnd(from, limit);
    if (end < 0) return -1;
    SetPair(record + address::kDisplay, from, end);
    const Position open = text.SkipBlank(end, limit);
    return text.Is(open, limit, '<') ? open : -1;
  }
  const Position open = text.Skip<kDisplay>(from, limit);
  if (open > from && text.Is(open, limit, '<')) SetPair(record + address::kDisplay, from, text.TrimEnd(from, open));
  return open;
}

// One name-addr or addr-spec with its parameters. Returns where it ended, -1 when malformed.
Position ScanAddressInto(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  const Position open = ScanDisplayName(text, from, limit, record);
  if (open < 0) return -1;
  const bool is_bracketed = text.Is(open, limit, '<');
  bool is_uri = false;
  const Position uri_end = is_bracketed ? ScanBracketedUri(text, open, limit, record, &is_uri)
                                        : ScanBareUri(text, from, limit, is_list, record, &is_uri);
  if (uri_end < 0) return -1;
  const Position uri_at = record[address::kUri];
  // A URI that is well formed has no char that may not stand there.
  if (!is_uri && (SchemeEnd(text, uri_at, uri_end) < 0 || text.Skip<kUriText>(uri_at, uri_end) < uri_end)) return -1;
  const Position params_at = is_bracketed ? uri_end + 1 : uri_end;
  const Position end = ScanParams<false>(text, params_at, limit, is_list, record);
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

// Behind SIP/2.0/; -1 when it is not there.
Position SkipProtocol(const Text& text, Position from, Position limit) {
  // Nearly always without blanks; what follows is no blank then either.
  if (text.HasWord(from, limit, kProtocol)) return text.SkipBlank(from + static_cast<Position>(kProtocol.length()), limit);
  if (!text.HasWord(from, limit, kSip)) return -1;
  const Position version_at = SkipSlash(text, from + 3, limit);
  return version_at >= 0 && text.HasWord(version_at, limit, kVersion) ? SkipSlash(text, version_at + 3, limit) : -1;
}

Position ScanViaInto(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  const Position transport_at = SkipProtocol(text, from, limit);
  if (transport_at < 0) return -1;
  const Position transport_end = text.TokenEnd(transport_at, limit);
  const Position host_at = text.SkipBlank(transport_end, limit);
  if (transport_end == transport_at || host_at == transport_end) return -1;
  Position host_end;
  if (text.Is(host_at, limit, '[')) {
    host_end = Ipv6ReferenceEnd(text, host_at, limit);
    if (host_end < 0) return -1;
  } else {
    host_end = text.Skip<kHost>(host_at, limit);
    // A token may have chars that no host has.
    if (host_end == host_at || (host_end < limit && IsClass(text[host_end], kToken))) return -1;
  }
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
  const Position end = ScanParams<true>(text, params_at, limit, is_list, record);
  if (end < 0) return -1;
  SetPair(record + via::kParams, params_at, end);
  const Position rport_at = record[via::kRport];
  const Position rport_end = record[via::kRport + 1];
  // RFC 3581 §3: digits, or nothing yet.
  if (rport_at >= 0 && rport_end > rport_at && text.Decimal(rport_at, rport_end, 65535) < 0) return -1;
  record[via::kFlags] = layout::kValid;
  return end;
}

template <bool is_via>
Position ScanOne(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  constexpr Position size = is_via ? static_cast<Position>(via::kSize) : static_cast<Position>(address::kSize);
  Clear<size>(record);
  Position end = is_via ? ScanViaInto(text, from, limit, is_list, record) : ScanAddressInto(text, from, limit, is_list, record);
  if (end < 0) {
    Clear<size>(record);
    end = is_list ? text.ElementEnd(from, limit) : limit;
    const bool is_star = !is_via && text[from] == '*' && text.TrimEnd(from, end) == from + 1;
    record[address::kFlags] = is_star ? layout::kStar : 0;
  }
  SetPair(record + address::kText, from, text.TrimEnd(from, end));
  return end;
}

}  // namespace

Position ScanAddress(const Text& text, Position from, Position limit, bool is_list, int32_t* record) {
  return ScanOne<false>(text, from, limit, is_list, record);
}

Position ScanVia(const Text& text, Position from, Position limit, int32_t* record) {
  return ScanOne<true>(text, from, limit, true, record);
}

}  // namespace dsbc
