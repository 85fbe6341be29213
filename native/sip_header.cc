#include "sip_header.h"

#include "sip_address.h"
#include "sip_layout.h"
#include "sip_text.h"
#include "sip_uri.h"

namespace dsbc {
namespace {

namespace line = layout::line;

struct Name {
  Word word;
  int32_t id;
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

constexpr size_t kNameCount = sizeof kNames / sizeof kNames[0];

// The names that begin with a letter, by its low five bits.
struct NameIndex {
  static constexpr size_t kMost = 6;
  int8_t at[32][kMost]{};
  int8_t count[32]{};
};
constexpr NameIndex MakeNameIndex() {
  NameIndex index{};
  for (size_t i = 0; i < kNameCount; i++) {
    const int letter = kNames[i].word.first() & 31;
    index.at[letter][static_cast<size_t>(index.count[letter]++)] = static_cast<int8_t>(i);
  }
  return index;
}
constexpr NameIndex kNameIndex = MakeNameIndex();

// The known name that stands at `from` with a colon right behind it, as it nearly always is; nullptr when there is none.
const Name* FindName(const Text& text, Position from, Position end) {
  const auto letter = static_cast<size_t>(text.At(from) & 31);
  const uint64_t beginning = text.Eight(from);
  for (int8_t i = 0; i < kNameIndex.count[letter]; i++) {
    const Name& name = kNames[kNameIndex.at[letter][i]];
    if (name.word.MayBegin(beginning) && text.HasWord(from, end, name.word, ':')) return &name;
  }
  return nullptr;
}

// The id of the name that is all of the token [from, to).
int32_t HeaderId(const Text& text, Position from, Position to) {
  for (const Name& name : kNames) {
    if (text.IsToken(from, to, name.word)) return name.id;
  }
  return layout::kOther;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// SIP/1*DIGIT.1*DIGIT in any case is all of [from, to).
bool IsVersion(const Text& text, Position from, Position to) {
  if (from + 4 > to || !text.IsText(from, from + 4, "sip/")) return false;
  const Position dot = text.Skip<kDigit>(from + 4, to);
  return dot > from + 4 && text.Is(dot, to, '.') && dot + 1 < to && text.Skip<kDigit>(dot + 1, to) == to;
}

int32_t ScanStatusLine(const Text& text, Position from, Position to, int32_t* head) {
  const Position at = text.Find(' ', from, to);
  if (!IsVersion(text, from, at) || at + 5 > to || text.At(at + 4) != ' ') return layout::kStatusLine;
  int32_t status = 0;
  for (Position i = at + 1; i < at + 4; i++) {
    if (!IsClass(text.At(i), kDigit)) return layout::kStatusLine;
    status = status * 10 + (text.At(i) - '0');
  }
  head[layout::kKind] = layout::kKindResponse;
  head[layout::kStatus] = status;
  SetPair(head + layout::kMethod, at + 5, to);
  SetPair(head + layout::kVersion, from, at);
  return layout::kNone;
}

// Notes the method, enough to answer whatever comes; returns its end, or -1 when there is none.
Position ScanMethod(const Text& text, Position from, Position to, int32_t* head) {
  const Position end = text.TokenEnd(from, to);
  if (end == from || (end < to && !IsBlank(text.At(end)))) return -1;
  head[layout::kKind] = layout::kKindRequest;
  SetPair(head + layout::kMethod, from, end);
  return end;
}

int32_t ScanRequestLine(const Text& text, Position from, Position to, int32_t* head) {
  const Position method_end = ScanMethod(text, from, to, head);
  if (method_end < 0 || method_end == to || text.At(method_end) != ' ') return layout::kRequestLine;
  const Position uri_at = method_end + 1;
  const Position uri_end = text.Find(' ', uri_at, to);
  if (uri_end == uri_at || uri_end == to || text.Find('\t', uri_at, uri_end) < uri_end) return layout::kRequestLine;
  if (!IsVersion(text, uri_end + 1, to)) return layout::kRequestLine;
  SetPair(head + layout::kUri, uri_at, uri_end);
  SetPair(head + layout::kVersion, uri_end + 1, to);
  head[layout::kUriValid] = ScanUri(text, uri_at, uri_end, head + layout::kUriSplit) ? 1 : 0;
  return layout::kNone;
}

int32_t ScanStartLine(const Text& text, Position from, Position to, bool is_bare, int32_t* head) {
  const bool is_status = from + 4 <= to && text.IsText(from, from + 4, "sip/");
  if (!is_bare) return is_status ? ScanStatusLine(text, from, to, head) : ScanRequestLine(text, from, to, head);
  if (!is_status) ScanMethod(text, from, to, head);
  return layout::kBareLineEndInStart;
}

void SetFault(int32_t* head, int32_t fault) {
  if (head[layout::kFault] == layout::kNone) head[layout::kFault] = fault;
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
    if (text.IsToken(here, name_end, kUsername)) {
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
  Scanner(const Text& text, int32_t* out, size_t out_size) : text_(text), table_(out, out_size) {
    head_ = table_.Record(0, layout::kHeadSize);
  }

  int32_t Run() {
    Clear(head_, layout::kFirst);
    for (int32_t at = layout::kFirst; at < layout::kHeadSize; at++) head_[at] = 0;
    for (const int32_t at : {layout::kFault, layout::kKind, layout::kStatus, layout::kLines, layout::kElements, layout::kUriValid}) {
      head_[at] = 0;
    }
    head_[layout::kBody] = text_.size();
    Position from = 0;
    while (text_.At(from) == '\r' && text_.At(from + 1) == '\n') from += 2;
    bool is_bare = false;
    const Position end = text_.FindLineEnd(from, &is_bare);
    if (end < 0) {
      head_[layout::kFault] = layout::kNoStartLine;
      head_[layout::kUsed] = layout::kHeadSize;
      return layout::kHeadSize;
    }
    const int32_t start_fault = ScanStartLine(text_, from, end, is_bare, head_);
    ScanHeaders(end + 2);
    head_[layout::kUsed] = used_;
    // A start line's fault comes first in the text.
    if (start_fault != layout::kNone) head_[layout::kFault] = start_fault;
    return used_;
  }

 private:
  void ScanHeaders(Position from) {
    Position at = from;
    while (at < text_.size()) {
      if (text_.At(at) == '\r' && text_.At(at + 1) == '\n') break;
      bool is_bare = false;
      Position end = text_.FindLineEnd(at, &is_bare);
      while (end >= 0 && IsBlank(text_.At(end + 2))) end = text_.FindLineEnd(end + 2, &is_bare);
      if (end < 0) {
        SetFault(head_, layout::kCut);
        head_[layout::kBody] = text_.size();
        return;
      }
      if (is_bare) {
        SetFault(head_, layout::kBareLineEnd);
      } else {
        ScanLine(at, end);
      }
      at = end + 2;
    }
    head_[layout::kBody] = at + 2 < text_.size() ? at + 2 : text_.size();
  }

  void ScanLine(Position from, Position end) {
    Position name_end;
    Position colon;
    int32_t id;
    if (const Name* name = FindName(text_, from, end)) {
      id = name->id;
      name_end = from + static_cast<Position>(name->word.length());
      colon = name_end;
    } else {
      name_end = text_.TokenEnd(from, end);
      colon = text_.SkipBlank(name_end, end);
      if (name_end == from || !text_.Is(colon, end, ':')) {
        SetFault(head_, layout::kNoName);
        return;
      }
      id = colon == name_end ? static_cast<int32_t>(layout::kOther) : HeaderId(text_, from, name_end);
    }
    const Position value_at = text_.SkipBlank(colon + 1, end);
    const Position value_end = text_.TrimEnd(value_at, end);
    int32_t* record = table_.Record(used_, line::kSize);
    record[line::kId] = id;
    SetPair(record + line::kName, from, name_end);
    SetPair(record + line::kValue, value_at, value_end);
    if (id > 0 && head_[layout::kFirst + id] == 0) head_[layout::kFirst + id] = used_;
    used_ += line::kSize;
    if (id >= layout::kVia && id <= layout::kPath) {
      // The spill may be written meanwhile; then this record is not wanted any more.
      ScanElements(value_at, value_end, id);
    } else if (id == layout::kAuthorization || id == layout::kProxyAuthorization) {
      ScanCredentials(text_, value_at, value_end, table_.Record(used_, layout::credentials::kSize));
      used_ += layout::credentials::kSize;
    }
    record[line::kNext] = used_;
    head_[layout::kLines]++;
  }

  void ScanElements(Position from, Position limit, int32_t id) {
    const bool is_via = id == layout::kVia;
    const bool is_list = id != layout::kFrom && id != layout::kTo;
    const Position size = is_via ? static_cast<Position>(layout::via::kSize) : static_cast<Position>(layout::address::kSize);
    if (from >= limit) return;
    for (Position here = from;; here++) {  // over the comma
      if (head_[layout::kElements] >= layout::kMaxElements) {
        SetFault(head_, layout::kTooManyElements);
        return;
      }
      head_[layout::kElements]++;
      here = text_.SkipBlank(here, limit);
      here = ScanElement(text_, here, limit, is_list, table_.Record(used_, size), is_via);
      used_ += size;
      if (here >= limit) return;
    }
  }

  const Text text_;
  Table table_;
  int32_t* head_;
  Position used_ = layout::kHeadSize;
};

}  // namespace

int32_t ScanMessage(const char* data, size_t size, int32_t* out, size_t out_size) {
  return Scanner(Text(data, size), out, out_size).Run();
}

}  // namespace dsbc
