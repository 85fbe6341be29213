#include "sip_uri.h"

#include "sip_layout.h"

namespace dsbc {
namespace {

namespace field = layout::uri;

constexpr Word kSip("sip");
constexpr Word kSips("sips");
constexpr Word kTel("tel");
constexpr Word kSipColon("sip:");

constexpr Position kMaxIpv6 = 45;

bool IsIpv4(const Text& text, Position from, Position to) {
  int parts = 0;
  Position start = from;
  for (Position at = from; at <= to; at++) {
    if (at < to && text[at] != '.') continue;
    if (at - start > 3 || text.Decimal(start, at, 255) < 0) return false;
    parts++;
    start = at + 1;
  }
  return parts == 4;
}

// RFC 4291 §2.2, without brackets or zone.
bool IsIpv6(const Text& text, Position from, Position to) {
  if (to - from < 2 || to - from > kMaxIpv6) return false;
  int groups = 0;
  bool compressed = false;
  Position at = from;
  if (text[at] == ':') {
    if (text[at + 1] != ':') return false;
    compressed = true;
    at += 2;
  }
  while (at < to) {
    const Position start = at;
    at = text.SkipEach<kHex>(at, to);
    if (at < to && text[at] == '.') {
      if (!IsIpv4(text, start, to)) return false;
      groups += 2;
      break;
    }
    if (at == start || at - start > 4) return false;
    groups++;
    if (at == to) break;
    if (text[at] != ':') return false;
    at++;
    if (at == to) return false;
    if (text[at] == ':') {
      if (compressed) return false;
      compressed = true;
      at++;
    }
  }
  return compressed ? groups <= 7 : groups == 8;
}

// The end of `;a;b=c` in [from, to): where something else begins; -1 when a name is empty.
Position ParamsEnd(const Text& text, Position from, Position to) {
  Position at = from;
  while (text.Is(at, to, ';')) {
    const Position name_end = text.SkipEscaped<kUriParameter>(at + 1, to);
    if (name_end == at + 1) return -1;
    at = text.Is(name_end, to, '=') ? text.SkipEscaped<kUriParameter>(name_end + 1, to) : name_end;
  }
  return at;
}

// Notes `user[:password]@` and returns where the host begins: at `from` when there is no userinfo.
Position ScanUserinfo(const Text& text, Position from, Position to, int32_t* block) {
  const Position user_end = text.SkipEscaped<kUser>(from, to);
  const bool is_password = text.Is(user_end, to, ':');
  const Position end = is_password ? text.SkipEscaped<kPassword>(user_end + 1, to) : user_end;
  // '@' is legal nowhere but behind the userinfo: one that is not right here makes the host's check fail.
  if (!text.Is(end, to, '@') || user_end == from) return from;
  SetPair(block + field::kUser, from, user_end);
  if (is_password) SetPair(block + field::kPassword, user_end + 1, end);
  return end + 1;
}

// What is behind the scheme. Returns where the URI ends: at `to`, or at a '>' before it when it may be `bracketed`; -1
// when it is malformed.
Position ScanSip(const Text& text, Position from, Position to, bool bracketed, int32_t* block) {
  const Position host_at = ScanUserinfo(text, from, to, block);
  Position host_end;
  if (text.Is(host_at, to, '[')) {
    host_end = Ipv6ReferenceEnd(text, host_at, to);
    if (host_end < 0) return -1;
  } else {
    host_end = text.Skip<kHost>(host_at, to);
    if (host_end == host_at) return -1;
  }
  SetPair(block + field::kHost, host_at, host_end);
  Position params_at = host_end;
  if (text.Is(host_end, to, ':')) {
    params_at = text.SkipEach<kDigit>(host_end + 1, to);
    const int32_t port = text.Decimal(host_end + 1, params_at, 65535);
    if (port < 0) return -1;
    block[field::kPort] = port;
  }
  const Position params_end = ParamsEnd(text, params_at, to);
  if (params_end < 0) return -1;
  SetPair(block + field::kParams, params_at, params_end);
  if (params_end == to || (bracketed && text.Is(params_end, to, '>'))) return params_end;
  const Position headers_at = params_end + 1;
  block[field::kHeaders] = headers_at;
  if (!text.Is(params_end, to, '?')) return -1;
  const Position end = text.SkipEscaped<kUriHeader>(headers_at, to);
  const bool is_whole = end > headers_at && (end == to || (bracketed && text.Is(end, to, '>')));
  return is_whole ? end : -1;
}

// Digits, hex digits, '*', '#', a leading '+', and the visual separators of RFC 3966 §3.
bool ScanTel(const Text& text, Position from, Position to, int32_t* block) {
  Position end = text.Is(from, to, '+') ? from + 1 : from;
  int digits = 0;
  for (; end < to; end++) {
    const char c = text[end];
    if (c == ';') break;
    if (IsClass(c, kHex) || c == '*' || c == '#') {
      digits++;
    } else if (c != '(' && c != ')' && c != '-' && c != '.') {
      return false;
    }
  }
  if (digits == 0 || ParamsEnd(text, end, to) != to) return false;
  SetPair(block + field::kUser, from, end);
  SetPair(block + field::kParams, end, to);
  return true;
}

void Begin(int32_t* block, Position to) {
  Clear<field::kSize>(block);
  SetPair(block + field::kHost, to, to);
  SetPair(block + field::kParams, to, to);
}

}  // namespace

Position SchemeEnd(const Text& text, Position from, Position to) {
  for (Position at = from; at < to; at++) {
    const char c = text[at];
    if (c == ':') return at == from || at == to - 1 ? -1 : at;
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) continue;
    if (at == from || !(IsClass(c, kDigit) || c == '+' || c == '-' || c == '.')) return -1;
  }
  return -1;
}

Position Ipv6ReferenceEnd(const Text& text, Position from, Position to) {
  const Position close_by = to - from > kMaxIpv6 + 2 ? from + kMaxIpv6 + 2 : to;
  const Position close = text.Find(']', from, close_by);
  return close < close_by && IsIpv6(text, from + 1, close) ? close + 1 : -1;
}

bool ScanUri(const Text& text, Position from, Position to, int32_t* block) {
  Begin(block, to);
  if (text.HasWord(from, to - 1, kSipColon)) {  // nearly always
    block[field::kSchemeEnd] = from + 3;
    return ScanSip(text, from + 4, to, false, block) == to;
  }
  const Position colon = SchemeEnd(text, from, to);
  if (colon < 0) return false;
  block[field::kSchemeEnd] = colon;
  if (text.IsWord(from, colon, kSip) || text.IsWord(from, colon, kSips)) {
    return ScanSip(text, colon + 1, to, false, block) == to;
  }
  if (text.IsWord(from, colon, kTel)) return ScanTel(text, colon + 1, to, block);
  SetPair(block + field::kUser, colon + 1, to);
  return text.Skip<kUri>(colon + 1, to) == to;
}

Position ScanBracketedSipUri(const Text& text, Position from, Position limit, int32_t* block) {
  if (!text.HasWord(from, limit, kSipColon)) return -1;
  Begin(block, limit);
  block[field::kSchemeEnd] = from + 3;
  const Position end = ScanSip(text, from + 4, limit, true, block);
  return end < limit ? end : -1;
}

}  // namespace dsbc
