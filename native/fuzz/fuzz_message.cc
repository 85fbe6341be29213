// libFuzzer target: a whole message. The table's size varies, so that what does not fit is tried too.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../sip_header.h"
#include "../sip_layout.h"

namespace {

void Check(bool holds) {
  if (!holds) abort();
}

// Scans the text in a buffer that fits, with `behind` behind it, into a table that AddressSanitizer sees the end of.
int32_t Scan(const uint8_t* data, size_t size, char behind, std::vector<int32_t>* table) {
  dsbc::ScanBuffer buffer(size);
  std::memset(buffer.bytes(), behind, size + dsbc::ScanBuffer::kPadding);
  if (size > 0) std::memcpy(buffer.bytes(), data, size);
  return dsbc::ScanMessage(buffer, size, table->data(), table->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace layout = dsbc::layout;
  std::vector<int32_t> small(layout::kHeadSize + (size == 0 ? 0 : data[0]));
  const int32_t needed = Scan(data, size, '\0', &small);
  Check(needed >= layout::kHeadSize);
  std::vector<int32_t> table(static_cast<size_t>(needed));
  Check(Scan(data, size, '\0', &table) == needed);
  // What lies behind the text decides nothing.
  for (const char behind : {'\n', 'a', '"', '\xff'}) {
    std::vector<int32_t> again(static_cast<size_t>(needed));
    Check(Scan(data, size, behind, &again) == needed && again == table);
  }
  const auto limit = static_cast<int32_t>(size);
  Check(table[layout::kBody] >= 0 && table[layout::kBody] <= limit);
  int32_t at = layout::kHeadSize;
  for (int32_t line = table[layout::kLines]; line > 0; line--) {
    Check(at >= layout::kHeadSize && at + layout::line::kSize <= needed);
    const int32_t* record = table.data() + at;
    Check(record[layout::line::kName] >= 0 && record[layout::line::kName] < record[layout::line::kName + 1]);
    Check(record[layout::line::kName + 1] < record[layout::line::kValue]);
    Check(record[layout::line::kValue] <= record[layout::line::kValue + 1] && record[layout::line::kValue + 1] <= limit);
    Check(record[layout::line::kNext] > at);
    at = record[layout::line::kNext];
  }
  Check(at == needed);
  return 0;
}
