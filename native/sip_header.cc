#include "sip_header.h"

#include <algorithm>

#include "sip_address.h"
#include "sip_layout.h"
#include "sip_text.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace line = layout::line;

struct Name {
  Word word;
  int32_t id = layout::kOther;
};

constexpr Name kNames[] = {
    {"via", layout::kVia},
    {"from", layout::kFrom},
    {"to", layout::kTo},
    {"contact", layout::kContact},
    {"route", layout::kRoute},
    {"record-route", layout::kRecordRoute},
    {"path", layout::kPath},
    {"call-id", layout::kCallId},
    {"cseq", layout::kCseq},
    {"max-forwards", layout::kMaxForwards},
    {"expires", layout::kExpires},
    {"content-length", layout::kContentLength},
    {"authorization", layout::kAuthorization},
    {"proxy-authorization", layout::kProxyAuthorization},
    {"require", layout::kRequire},
    {"supported", layout::kSupported},
    {"proxy-require", layout::kProxyRequire},
    // compact (RFC 3261 §7.3.3)
    {"v", layout::kVia},
    {"f", layout::kFrom},
    {"t", layout::kTo},
    {"m", layout::kContact},
    {"i", layout::kCallId},
    {"l", layout::kContentLength},
    {"k", layout::kSupported},
};

// The names by length, first and last char: no two have the same place.
constexpr size_t kPlaces = 64;
constexpr size_t PlaceOf(size_t length, unsigned first, unsigned last) {
  return ((length + (first & 31)) * 4 + (last & 31)) % kPlaces;
}

struct NameTable {
  Name at[kPlaces]{};
  bool is_perfect = true;
};
constexpr NameTable MakeNameTable() {
  NameTable table{};
  for (const Name& name : kNames) {
    Name& place = table.at[PlaceOf(name.word.length(), name.word.first(), name.word.last())];
    if (place.id != layout::kOther) table.is_perfect = false;
    place = name;
  }
  return table;
}
constexpr NameTable kNameTable = MakeNameTable();
static_assert(kNameTable.is_perfect);

// The id of the name that is all of the token [from, to), which is not empty.
int32_t HeaderId(const Text& text, Position from, Position to) {
  const char* name = text.Bytes(from);
  const auto length = static_cast<size_t>(to - from);
  const Name& known = kNameTable.at[PlaceOf(length, static_cast<unsigned char>(name[0]), static_cast<unsigned char>(name[length - 1]))];
  return text.IsWord(from, to, known.word) ? known.id : static_cast<int32_t>(layout::kOther);
}

constexpr Word kSip("sip/");

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// SIP/1*DIGIT.1*DIGIT in any case is all of [from, to).
bool IsVersion(const Text& text, Position from, Position to) {
  if (!text.HasWord(from, to, kSip)) return false;
  const Position dot = text.SkipEach<kDigit>(from + 4, to);
  return dot > from + 4 && text.Is(dot, to, '.') && dot + 1 < to && text.SkipEach<kDigit>(dot + 1, to) == to;
}

int32_t ScanStatusLine(const Text& text, Position from, Position to, int32_t* head) {
  const Position at = text.Find(' ', from, to);
  if (!IsVersion(text, from, at) || at + 4 > to) return layout::kStatusLine;
  if (at + 4 < to && text[at + 4] != ' ') return layout::kStatusLine;
  int32_t status = 0;
  for (Position i = at + 1; i < at + 4; i++) {
    if (!IsClass(text[i], kDigit)) return layout::kStatusLine;
    status = status * 10 + (text[i] - '0');
  }
  head[layout::kKind] = layout::kKindResponse;
  head[layout::kStatus] = status;
  SetPair(head + layout::kMethod, std::min(at + 5, to), to);
  SetPair(head + layout::kVersion, from, at);
  return layout::kNone;
}

// Notes the method, enough to answer whatever comes; returns its end, or -1 when there is none.
Position ScanMethod(const Text& text, Position from, Position to, int32_t* head) {
  const Position end = text.TokenEnd(from, to);
  if (end == from || (end < to && !IsBlank(text[end]))) return -1;
  head[layout::kKind] = layout::kKindRequest;
  SetPair(head + layout::kMethod, from, end);
  return end;
}

int32_t ScanRequestLine(const Text& text, Position from, Position to, int32_t* head) {
  const Position method_end = ScanMethod(text, from, to, head);
  if (method_end < 0 || method_end == to || text[method_end] != ' ') return layout::kRequestLine;
  const Position uri_at = method_end + 1;
  Position uri_end = text.NextStop(uri_at);
  while (uri_end < to && !IsBlank(text[uri_end])) uri_end = text.NextStop(uri_end + 1);
  if (uri_end == uri_at || uri_end >= to || text[uri_end] != ' ') return layout::kRequestLine;
  if (!IsVersion(text, uri_end + 1, to)) return layout::kRequestLine;
  SetPair(head + layout::kUri, uri_at, uri_end);
  SetPair(head + layout::kVersion, uri_end + 1, to);
  head[layout::kUriValid] = ScanUri(text, uri_at, uri_end, head + layout::kUriSplit) ? 1 : 0;
  return layout::kNone;
}

int32_t ScanStartLine(const Text& text, Position from, Position to, bool is_bare, int32_t* head) {
  const bool is_status = text.HasWord(from, to, kSip);
  if (!is_bare) return is_status ? ScanStatusLine(text, from, to, head) : ScanRequestLine(text, from, to, head);
  if (!is_status) ScanMethod(text, from, to, head);
  return layout::kBareLineEndInStart;
}

constexpr Word kUsername("username");

// The digest username among auth-params (RFC 3261 §25.1, credentials); what is malformed ends the search.
void ScanCredentials(const Text& text, Position from, Position limit, int32_t* username) {
  SetPair(username, -1, -1);
  Position here = text.TokenEnd(from, limit);
  for (;;) {
    here = text.SkipBlank(here, limit);
    const Position name_end = text.TokenEnd(here, limit);
    if (name_end == here) return;
    const Position equals = text.SkipBlank(name_end, limit);
    if (!text.Is(equals, limit, '=')) return;
    const Position value_at = text.SkipBlank(equals + 1, limit);
    const bool is_quoted = text.Is(value_at, limit, '"');
    const Position value_end = is_quoted ? text.QuotedEnd(value_at, limit) : text.TokenEnd(value_at, limit);
    if (value_end <= value_at) return;
    if (text.IsWord(here, name_end, kUsername)) {
      SetPair(username, value_at, value_end);
      return;
    }
    here = text.SkipBlank(value_end, limit);
    if (!text.Is(here, limit, ',')) return;
    here++;
  }
}

class Scanner {
 public:
  Scanner(ScanBuffer& buffer, size_t size, int32_t* out, size_t out_size)
      : text_(buffer, size), table_(out, out_size), head_(table_.Record(0, layout::kHeadSize)) {}

  int32_t Run() {
    Clear<layout::kUsed>(head_);
    for (int32_t at = layout::kFirst; at < layout::kHeadSize; at++) head_[at] = 0;
    head_[layout::kKind] = head_[layout::kStatus] = head_[layout::kUriValid] = 0;
    const Position from = text_.start();
    bool is_bare = false;
    const Position end = text_.FindLineEnd(from, &is_bare);
    Position body = text_.size();
    if (end < 0) {
      SetFault(layout::kNoStartLine);
    } else {
      // A start line's fault comes first in the text.
      SetFault(ScanStartLine(text_, from, end, is_bare, head_));
      body = ScanHeaders(end + 2);
    }
    head_[layout::kFault] = fault_;
    head_[layout::kBody] = static_cast<int32_t>(body);
    head_[layout::kLines] = lines_;
    head_[layout::kElements] = elements_;
    head_[layout::kUsed] = static_cast<int32_t>(used_);
    return static_cast<int32_t>(used_);
  }

 private:
  // Returns where the body begins.
  Position ScanHeaders(Position from) {
    for (Position at = from; at < text_.size();) {
      bool is_bare = false;
      const Position end = text_.FindHeaderEnd(at, &is_bare);
      if (end == at) return at + 2;
      if (end < 0) {
        SetFault(layout::kCut);
        return text_.size();
      }
      if (is_bare) {
        SetFault(layout::kBareLineEnd);
      } else {
        ScanLine(at, end);
      }
      at = end + 2;
    }
    return text_.size();
  }

  void ScanLine(Position from, Position end) {
    const Position name_end = text_.TokenEnd(from, end);
    const Position colon = text_.SkipBlank(name_end, end);
    if (name_end == from || !text_.Is(colon, end, ':')) {
      SetFault(layout::kNoName);
      return;
    }
    const int32_t id = HeaderId(text_, from, name_end);
    const Position value_at = text_.SkipBlank(colon + 1, end);
    const Position value_end = text_.TrimEnd(value_at, end);
    const Position at = used_;
    int32_t* record = table_.Record(at, line::kSize);
    record[line::kId] = id;
    SetPair(record + line::kName, from, name_end);
    SetPair(record + line::kValue, value_at, value_end);
    used_ += line::kSize;
    lines_++;
    if (id != layout::kOther) {
      if (head_[layout::kFirst + id] == 0) head_[layout::kFirst + id] = static_cast<int32_t>(at);
      ScanValue(id, value_at, value_end);
      // The spill may have been written meanwhile; then this record is not wanted any more.
    }
    record[line::kNext] = static_cast<int32_t>(used_);
  }

  // What is known of the value goes behind its line's record.
  void ScanValue(int32_t id, Position from, Position limit) {
    if (id <= layout::kPath) {
      ScanElements(id, from, limit);
    } else if (id == layout::kAuthorization || id == layout::kProxyAuthorization) {
      ScanCredentials(text_, from, limit, table_.Record(used_, layout::credentials::kSize));
      used_ += layout::credentials::kSize;
    }
  }

  void ScanElements(int32_t id, Position from, Position limit) {
    if (from >= limit) return;
    for (Position here = from;; here++) {  // over the comma
      if (elements_ >= layout::kMaxElements) {
        SetFault(layout::kTooManyElements);
        return;
      }
      elements_++;
      here = ScanElement(id, text_.SkipBlank(here, limit), limit);
      if (here >= limit) return;
    }
  }

  Position ScanElement(int32_t id, Position from, Position limit) {
    if (id == layout::kVia) {
      const Position end = ScanVia(text_, from, limit, table_.Record(used_, layout::via::kSize));
      used_ += layout::via::kSize;
      return end;
    }
    const bool is_list = id != layout::kFrom && id != layout::kTo;
    const Position end = ScanAddress(text_, from, limit, is_list, table_.Record(used_, layout::address::kSize));
    used_ += layout::address::kSize;
    return end;
  }

  // The first in the text counts.
  void SetFault(int32_t fault) {
    if (fault_ == layout::kNone) fault_ = fault;
  }

  const Text text_;
  Table table_;
  int32_t* const head_;
  Position used_ = layout::kHeadSize;
  int32_t fault_ = layout::kNone;
  int32_t lines_ = 0;
  int32_t elements_ = 0;
};

}  // namespace

int32_t ScanMessage(ScanBuffer& buffer, size_t size, int32_t* out, size_t out_size) {
  return Scanner(buffer, size, out, out_size).Run();
}

}  // namespace dsbc
