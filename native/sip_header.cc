#include "sip_header.h"

#include "sip_address.h"
#include "sip_layout.h"
#include "sip_text.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace line = layout::line;

struct Name {
  const char* text;
  size_t length;
  int32_t id;
};

#define DSBC_NAME(text, id) \
  { text, sizeof(text) - 1, id }
constexpr Name kNames[] = {
    DSBC_NAME("via", layout::kVia),
    DSBC_NAME("from", layout::kFrom),
    DSBC_NAME("to", layout::kTo),
    DSBC_NAME("contact", layout::kContact),
    DSBC_NAME("route", layout::kRoute),
    DSBC_NAME("record-route", layout::kRecordRoute),
    DSBC_NAME("path", layout::kPath),
    DSBC_NAME("call-id", layout::kCallId),
    DSBC_NAME("cseq", layout::kCseq),
    DSBC_NAME("max-forwards", layout::kMaxForwards),
    DSBC_NAME("expires", layout::kExpires),
    DSBC_NAME("content-length", layout::kContentLength),
    DSBC_NAME("authorization", layout::kAuthorization),
    DSBC_NAME("proxy-authorization", layout::kProxyAuthorization),
    DSBC_NAME("require", layout::kRequire),
    DSBC_NAME("supported", layout::kSupported),
    DSBC_NAME("proxy-require", layout::kProxyRequire),
    // compact (RFC 3261 §7.3.3)
    DSBC_NAME("v", layout::kVia),
    DSBC_NAME("f", layout::kFrom),
    DSBC_NAME("t", layout::kTo),
    DSBC_NAME("m", layout::kContact),
    DSBC_NAME("i", layout::kCallId),
    DSBC_NAME("l", layout::kContentLength),
    DSBC_NAME("k", layout::kSupported),
};
#undef DSBC_NAME

// Names by length, first and last letter: no two share a place, which the compiler checks.
struct NameIndex {
  int8_t at[32 * 32];
  bool collides = false;
};
constexpr size_t NamePlace(size_t length, char first, char last) {
  return (length << 5) | ((static_cast<unsigned char>(first) * 2u + static_cast<unsigned char>(last)) & 31);
}
constexpr NameIndex MakeNameIndex() {
  NameIndex index{};
  for (auto& at : index.at) at = -1;
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; i++) {
    int8_t& at = index.at[NamePlace(kNames[i].length, kNames[i].text[0], kNames[i].text[kNames[i].length - 1])];
    if (at >= 0) index.collides = true;
    at = static_cast<int8_t>(i);
  }
  return index;
}
constexpr NameIndex kNameIndex = MakeNameIndex();
static_assert(!kNameIndex.collides, "two header names share their place");

int32_t HeaderId(const Text& text, Position from, Position to) {
  if (to - from > 31) return layout::kOther;
  const int8_t at = kNameIndex.at[NamePlace(static_cast<size_t>(to - from), text.At(from), text.At(to - 1))];
  if (at < 0 || !text.IsWord(from, to, kNames[at].text, kNames[at].length)) return layout::kOther;
  return kNames[at].id;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// SIP/1*DIGIT.1*DIGIT in any case is all of [from, to).
bool IsVersion(const Text& text, Position from, Position to) {
  if (from + 4 > to || !text.IsWord(from, from + 4, "sip/")) return false;
  Position at = text.Skip(kDigit, from + 4, to);
  if (at == from + 4 || at >= to || text.At(at) != '.') return false;
  const Position minor = at + 1;
  at = text.Skip(kDigit, minor, to);
  return at > minor && at == to;
}

int32_t ScanStatusLine(const Text& text, Position from, Position to, Table& out) {
  const Position at = text.Find(' ', from, to);
  if (!IsVersion(text, from, at) || at + 5 > to || text.At(at + 4) != ' ') return layout::kStatusLine;
  int32_t status = 0;
  for (Position i = at + 1; i < at + 4; i++) {
    if (!IsClass(text.At(i), kDigit)) return layout::kStatusLine;
    status = status * 10 + (text.At(i) - '0');
  }
  out.Set(layout::kKind, layout::kKindResponse);
  out.Set(layout::kStatus, status);
  out.SetPair(layout::kMethod, at + 5, to);
  out.SetPair(layout::kVersion, from, at);
  return layout::kNone;
}

// Notes the method, enough to answer whatever comes; returns its end, or -1 when there is none.
Position ScanMethod(const Text& text, Position from, Position to, Table& out) {
  const Position end = text.TokenEnd(from, to);
  if (end == from || (end < to && !IsBlank(text.At(end)))) return -1;
  out.Set(layout::kKind, layout::kKindRequest);
  out.SetPair(layout::kMethod, from, end);
  return end;
}

int32_t ScanRequestLine(const Text& text, Position from, Position to, Table& out) {
  const Position method_end = ScanMethod(text, from, to, out);
  if (method_end < 0 || method_end == to || text.At(method_end) != ' ') return layout::kRequestLine;
  const Position uri_at = method_end + 1;
  Position uri_end = uri_at;
  while (uri_end < to && !IsBlank(text.At(uri_end))) uri_end++;
  if (uri_end == uri_at || uri_end == to || text.At(uri_end) != ' ') return layout::kRequestLine;
  if (!IsVersion(text, uri_end + 1, to)) return layout::kRequestLine;
  out.SetPair(layout::kUri, uri_at, uri_end);
  out.SetPair(layout::kVersion, uri_end + 1, to);
  out.Set(layout::kUriValid, ScanUri(text, uri_at, uri_end, out, layout::kUriSplit) ? 1 : 0);
  return layout::kNone;
}

int32_t ScanStartLine(const Text& text, Position from, Position to, Table& out) {
  const bool is_status = from + 4 <= to && text.IsWord(from, from + 4, "sip/");
  if (!text.HasLineEnd(from, to)) return is_status ? ScanStatusLine(text, from, to, out) : ScanRequestLine(text, from, to, out);
  if (!is_status) ScanMethod(text, from, to, out);
  return layout::kBareLineEndInStart;
}

void SetFault(Table& out, int32_t fault) {
  if (out.Get(layout::kFault) == layout::kNone) out.Set(layout::kFault, fault);
}

// The digest username among auth-params (RFC 3261 §25.1, credentials); what is malformed ends the search.
void ScanCredentials(const Text& text, Position from, Position limit, Table& out, Position at) {
  out.SetPair(at, -1, -1);
  Position here = text.TokenEnd(from, limit);
  for (;;) {
    here = text.SkipBlank(here, limit);
    const Position name_end = text.TokenEnd(here, limit);
    if (name_end == here) return;
    const Position equals = text.SkipBlank(name_end, limit);
    if (equals >= limit || text.At(equals) != '=') return;
    const Position value_at = text.SkipBlank(equals + 1, limit);
    const bool is_quoted = value_at < limit && text.At(value_at) == '"';
    const Position value_end = is_quoted ? text.QuotedEnd(value_at, limit) : text.TokenEnd(value_at, limit);
    if (value_end <= value_at) return;
    if (text.IsWord(here, name_end, "username")) {
      out.SetPair(at, value_at, value_end);
      return;
    }
    here = text.SkipBlank(value_end, limit);
    if (here >= limit || text.At(here) != ',') return;
    here++;
  }
}

Position ScanElements(const Text& text, Position from, Position limit, int32_t id, Table& out, Position at) {
  const bool is_via = id == layout::kVia;
  const bool is_list = id != layout::kFrom && id != layout::kTo;
  const Position size = is_via ? static_cast<Position>(layout::via::kSize) : static_cast<Position>(layout::address::kSize);
  Position record = at;
  Position here = from;
  if (from >= limit) return record;
  for (;;) {
    const int32_t count = out.Get(layout::kElements) + 1;
    if (count > layout::kMaxElements) {
      SetFault(out, layout::kTooManyElements);
      return record;
    }
    out.Set(layout::kElements, count);
    here = text.SkipBlank(here, limit);
    here = ScanElement(text, here, limit, is_list, out, record, is_via);
    record += size;
    if (here >= limit) return record;
    here++;  // the comma
  }
}

Position ScanLine(const Text& text, Position from, Position end, Table& out, Position at) {
  const Position name_end = text.TokenEnd(from, end);
  const Position colon = text.SkipBlank(name_end, end);
  if (name_end == from || colon >= end || text.At(colon) != ':') {
    SetFault(out, layout::kNoName);
    return at;
  }
  const Position value_at = text.SkipBlank(colon + 1, end);
  const Position value_end = text.TrimEnd(value_at, end);
  const int32_t id = HeaderId(text, from, name_end);
  out.Set(at + line::kId, id);
  out.SetPair(at + line::kName, from, name_end);
  out.SetPair(at + line::kValue, value_at, value_end);
  if (id > 0 && out.Get(layout::kFirst + id) == 0) out.Set(layout::kFirst + id, at);
  Position next = at + line::kSize;
  if (id >= layout::kVia && id <= layout::kPath) {
    next = ScanElements(text, value_at, value_end, id, out, next);
  } else if (id == layout::kAuthorization || id == layout::kProxyAuthorization) {
    ScanCredentials(text, value_at, value_end, out, next);
    next += layout::credentials::kSize;
  }
  out.Set(at + line::kNext, next);
  out.Set(layout::kLines, out.Get(layout::kLines) + 1);
  return next;
}

Position ScanHeaders(const Text& text, Position from, Table& out) {
  Position record = layout::kHeadSize;
  Position at = from;
  while (at < text.size()) {
    if (text.At(at) == '\r' && text.At(at + 1) == '\n') break;
    Position segment = at;
    bool is_bare = false;
    Position end = text.FindLineEnd(at);
    while (end >= 0) {
      is_bare = is_bare || text.HasLineEnd(segment, end);
      if (!IsBlank(text.At(end + 2))) break;
      segment = end + 2;
      end = text.FindLineEnd(segment);
    }
    if (end < 0) {
      SetFault(out, layout::kCut);
      out.Set(layout::kBody, text.size());
      return record;
    }
    if (is_bare) {
      SetFault(out, layout::kBareLineEnd);
    } else {
      record = ScanLine(text, at, end, out, record);
    }
    at = end + 2;
  }
  out.Set(layout::kBody, at + 2 < text.size() ? at + 2 : text.size());
  return record;
}

}  // namespace

int32_t ScanMessage(const char* data, size_t size, int32_t* data_out, size_t out_size) {
  const Text text(data, size);
  Table out(data_out, out_size);
  out.Fill(-1, 0, layout::kFirst);
  out.Fill(0, layout::kFirst, layout::kHeadSize);
  for (const int32_t at : {layout::kFault, layout::kKind, layout::kStatus, layout::kLines, layout::kElements, layout::kUriValid}) {
    out.Set(at, 0);
  }
  out.Set(layout::kBody, text.size());
  Position from = 0;
  while (text.At(from) == '\r' && text.At(from + 1) == '\n') from += 2;
  const Position end = text.FindLineEnd(from);
  if (end < 0) {
    out.Set(layout::kFault, layout::kNoStartLine);
    out.Set(layout::kUsed, layout::kHeadSize);
    return layout::kHeadSize;
  }
  const int32_t start_fault = ScanStartLine(text, from, end, out);
  const Position used = ScanHeaders(text, end + 2, out);
  out.Set(layout::kUsed, used);
  // A start line's fault comes first in the text.
  if (start_fault != layout::kNone) out.Set(layout::kFault, start_fault);
  return used;
}

}  // namespace dsbc
