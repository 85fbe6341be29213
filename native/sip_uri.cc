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
    at = text.Skip(kHex, at, to);
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

// `;a;b=c` in [from, to).
bool AreParams(const Text& text, Position from, Position to) {
  Position at = from;
  while (at < to) {
    const Position end = text.Find(';', at + 1, to);
    const Position equals = text.Find('=', at + 1, end);
    if (equals == at + 1 || !text.IsMadeOf(at + 1, equals, kUriParameter, true)) return false;
    if (equals < end && !text.IsMadeOf(equals + 1, end, kUriParameter, true)) return false;
    at = end;
  }
  return true;
}

bool ScanSip(const Text& text, Position from, Position to, Table& out, Position at) {
  // '@' is legal nowhere but behind the userinfo, so the first one decides; a second fails the host's check.
  Position host_at = from;
  Position colon = -1;
  for (Position i = from; i < to; i++) {
    const char c = text.At(i);
    if (c == ':' && colon < 0) colon = i;
    if (c != '@') continue;
    const Position user_end = colon < 0 ? i : colon;
    if (user_end == from || !text.IsMadeOf(from, user_end, kUser, true)) return false;
    out.SetPair(at + field::kUser, from, user_end);
    if (colon >= 0) {
      if (!text.IsMadeOf(colon + 1, i, kPassword, true)) return false;
      out.SetPair(at + field::kPassword, colon + 1, i);
    }
    host_at = i + 1;
    break;
  }
  Position host_end = host_at;
  if (host_at < to && text.At(host_at) == '[') host_end = text.Find(']', host_at, to);
  while (host_end < to) {
    const char c = text.At(host_end);
    if (c == ':' || c == ';' || c == '?') break;
    host_end++;
  }
  if (!IsHost(text, host_at, host_end)) return false;
  out.SetPair(at + field::kHost, host_at, host_end);
  Position params_at = host_end;
  if (host_end < to && text.At(host_end) == ':') {
    params_at++;
    while (params_at < to && text.At(params_at) != ';' && text.At(params_at) != '?') params_at++;
    const int32_t port = text.Decimal(host_end + 1, params_at, 65535);
    if (port < 0) return false;
    out.Set(at + field::kPort, port);
  }
  const Position params_end = text.Find('?', params_at, to);
  if (!AreParams(text, params_at, params_end)) return false;
  out.SetPair(at + field::kParams, params_at, params_end);
  if (params_end == to) return true;
  out.Set(at + field::kHeaders, params_end + 1);
  return params_end + 1 < to && text.IsMadeOf(params_end + 1, to, kUriHeader, true);
}

// Digits, hex digits, '*', '#', a leading '+', and the visual separators of RFC 3966 §3.
bool ScanTel(const Text& text, Position from, Position to, Table& out, Position at) {
  Position end = from;
  int digits = 0;
  if (end < to && text.At(end) == '+') end++;
  for (; end < to; end++) {
    const char c = text.At(end);
    if (c == ';') break;
    if (IsClass(c, kHex) || c == '*' || c == '#') {
      digits++;
    } else if (c != '(' && c != ')' && c != '-' && c != '.') {
      return false;
    }
  }
  if (digits == 0 || !AreParams(text, end, to)) return false;
  out.SetPair(at + field::kUser, from, end);
  out.SetPair(at + field::kParams, end, to);
  return true;
}

}  // namespace

Position SchemeEnd(const Text& text, Position from, Position to) {
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
  if (text.At(from) != '[') return text.IsMadeOf(from, to, kHost, false);
  return text.At(to - 1) == ']' && IsIpv6(text, from + 1, to - 1);
}

bool ScanUri(const Text& text, Position from, Position to, Table& out, Position at) {
  const Position colon = SchemeEnd(text, from, to);
  out.Fill(-1, at, at + field::kSize);
  out.SetPair(at + field::kHost, to, to);
  out.SetPair(at + field::kParams, to, to);
  if (colon < 0) return false;
  out.Set(at + field::kSchemeEnd, colon);
  if (text.IsWord(from, colon, "sip") || text.IsWord(from, colon, "sips")) return ScanSip(text, colon + 1, to, out, at);
  if (text.IsWord(from, colon, "tel")) return ScanTel(text, colon + 1, to, out, at);
  out.SetPair(at + field::kUser, colon + 1, to);
  return text.IsMadeOf(colon + 1, to, kUri, false);
}

}  // namespace dsbc
