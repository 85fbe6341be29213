#include "sip_uri.h"

#include "sip_layout.h"

namespace dsbc {
namespace {

namespace field = layout::uri;

bool IsIpv4(const Text& text, Position from, Position to) {
  int parts = 0;
  Position start = from;
  for (Position at = from; at <= to; at++) {
    if (at < to && text.At(at) != '.') continue;
    if (at - start > 3 || text.Decimal(start, at, 255) < 0) return false;
    parts++;
    start = at + 1;
  }
  return parts == 4;
}

// RFC 4291 §2.2, without brackets or zone.
bool IsIpv6(const Text& text, Position from, Position to) {
  if (to - from < 2 || to - from > 45) return false;
  int groups = 0;
  bool compressed = false;
  Position at = from;
  if (text.At(at) == ':') {
    if (text.At(at + 1) != ':') return false;
    compressed = true;
    at += 2;
  }
  while (at < to) {
    const Position start = at;
    at = text.Skip<kHex>(at, to);
    if (at < to && text.At(at) == '.') {
      if (!IsIpv4(text, start, to)) return false;
      groups += 2;
      break;
    }
    if (at == start || at - start > 4) return false;
    groups++;
    if (at == to) break;
    if (text.At(at) != ':') return false;
    at++;
    if (at == to) return false;
    if (text.At(at) == ':') {
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

bool ScanSip(const Text& text, Position from, Position to, int32_t* block) {
  const Position host_at = ScanUserinfo(text, from, to, block);
  Position host_end;
  if (text.Is(host_at, to, '[')) {
    host_end = text.Find(']', host_at, to) + 1;
    if (host_end > to || !IsIpv6(text, host_at + 1, host_end - 1)) return false;
  } else {
    host_end = text.Skip<kHost>(host_at, to);
    if (host_end == host_at) return false;
  }
  SetPair(block + field::kHost, host_at, host_end);
  Position params_at = host_end;
  if (text.Is(host_end, to, ':')) {
    params_at = text.Skip<kDigit>(host_end + 1, to);
    const int32_t port = text.Decimal(host_end + 1, params_at, 65535);
    if (port < 0) return false;
    block[field::kPort] = port;
  }
  const Position end = ParamsEnd(text, params_at, to);
  if (end < 0) return false;
  SetPair(block + field::kParams, params_at, end);
  if (end == to) return true;
  block[field::kHeaders] = end + 1;
  return text.Is(end, to, '?') && end + 1 < to && text.SkipEscaped<kUriHeader>(end + 1, to) == to;
}

// Digits, hex digits, '*', '#', a leading '+', and the visual separators of RFC 3966 §3.
bool ScanTel(const Text& text, Position from, Position to, int32_t* block) {
  Position end = text.Is(from, to, '+') ? from + 1 : from;
  int digits = 0;
  for (; end < to; end++) {
    const char c = text.At(end);
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

}  // namespace

Position SchemeEnd(const Text& text, Position from, Position to) {
  if (text.Is(from + 3, to - 1, ':') && text.IsText(from, from + 3, "sip")) return from + 3;  // nearly always
  for (Position at = from; at < to; at++) {
    const char c = text.At(at);
    if (c == ':') return at == from || at == to - 1 ? -1 : at;
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) continue;
    if (at == from || !(IsClass(c, kDigit) || c == '+' || c == '-' || c == '.')) return -1;
  }
  return -1;
}

bool IsHost(const Text& text, Position from, Position to) {
  if (from >= to) return false;
  if (text.At(from) != '[') return text.Skip<kHost>(from, to) == to;
  return text.At(to - 1) == ']' && IsIpv6(text, from + 1, to - 1);
}

bool ScanUri(const Text& text, Position from, Position to, int32_t* block) {
  const Position colon = SchemeEnd(text, from, to);
  Clear(block, field::kSize);
  SetPair(block + field::kHost, to, to);
  SetPair(block + field::kParams, to, to);
  if (colon < 0) return false;
  block[field::kSchemeEnd] = colon;
  if (text.IsText(from, colon, "sip") || text.IsText(from, colon, "sips")) return ScanSip(text, colon + 1, to, block);
  if (text.IsText(from, colon, "tel")) return ScanTel(text, colon + 1, to, block);
  SetPair(block + field::kUser, colon + 1, to);
  return text.Skip<kUri>(colon + 1, to) == to;
}

}  // namespace dsbc
