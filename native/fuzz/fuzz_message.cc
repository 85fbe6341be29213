// libFuzzer target: a whole message. The table's size varies, so that what does not fit is tried too.
#include <cstdlib>
#include <vector>

#include "../sip_header.h"
#include "../sip_layout.h"

namespace {

void Check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace layout = dsbc::layout;
  // Copies of exactly the right size, so that AddressSanitizer sees one byte too far.
  const std::vector<char> text(data, data + size);
  std::vector<int32_t> small(layout::kHeadSize + (size == 0 ? 0 : data[0]));
  const int32_t needed = dsbc::ScanMessage(text.data(), size, small.data(), small.size());
  Check(needed >= layout::kHeadSize);
  std::vector<int32_t> table(static_cast<size_t>(needed));
  Check(dsbc::ScanMessage(text.data(), size, table.data(), table.size()) == needed);
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
