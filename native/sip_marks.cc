#include "sip_marks.h"

#include <cstring>

#include "sip_chars.h"

#if defined(__SSSE3__)
#include <immintrin.h>
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#endif

namespace dsbc {
namespace {

// The plain chars, and the line breaks, by the halves of a char: those that begin with the same half have one bit in that
// half's column, and it is set in the row of each of their other halves. Chars over 127 have no column.
struct Halves {
  alignas(16) uint8_t rows[16];
  alignas(16) uint8_t columns[16];
};

constexpr uint8_t kLineBreakBit = 128;

constexpr bool HaveSameRows(unsigned high, unsigned other) {
  for (unsigned low = 0; low < 16; low++) {
    if (IsPlain(high << 4 | low) != IsPlain(other << 4 | low)) return false;
  }
  return true;
}

constexpr Halves MakeHalves() {
  Halves halves{};
  halves.columns[0] = halves.rows[0xd] = halves.rows[0xa] = kLineBreakBit;
  unsigned next_bit = 1;
  for (unsigned high = 1; high < 8; high++) {
    unsigned same = 0;
    while (same < high && !HaveSameRows(high, same)) same++;
    if (same == 0) continue;  // none, as in the column of the control chars
    if (same < high) {
      halves.columns[high] = halves.columns[same];
      continue;
    }
    halves.columns[high] = static_cast<uint8_t>(next_bit);
    for (unsigned low = 0; low < 16; low++) {
      if (IsPlain(high << 4 | low)) halves.rows[low] = static_cast<uint8_t>(halves.rows[low] | next_bit);
    }
    next_bit <<= 1;
  }
  return halves;
}

[[maybe_unused]] constexpr Halves kHalves = MakeHalves();

constexpr bool HalvesAreRight() {
  for (unsigned c = 0; c < 256; c++) {
    const uint8_t bits = c > 127 ? 0 : kHalves.rows[c & 15] & kHalves.columns[c >> 4];
    if ((bits == kLineBreakBit) != (c == '\r' || c == '\n')) return false;
    if ((bits != 0 && bits != kLineBreakBit) != IsPlain(c)) return false;
  }
  return true;
}
static_assert(HalvesAreRight());

// Of 64 chars.
struct Marks {
  uint64_t stops;
  uint64_t line_breaks;
};

#if defined(__SSSE3__)

Marks MarkChars(const char* data) {
  const __m128i rows = _mm_load_si128(reinterpret_cast<const __m128i*>(kHalves.rows));
  const __m128i columns = _mm_load_si128(reinterpret_cast<const __m128i*>(kHalves.columns));
  const __m128i low = _mm_set1_epi8(15);
  const __m128i one = _mm_set1_epi8(1);
  Marks marks{0, 0};
  for (unsigned part = 0; part < 64; part += 16) {
    const __m128i chars = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + part));
    const __m128i row = _mm_shuffle_epi8(rows, chars);  // none over 127
    const __m128i column = _mm_shuffle_epi8(columns, _mm_and_si128(_mm_srli_epi16(chars, 4), low));
    const __m128i bits = _mm_and_si128(row, column);
    // Signed: a line break is negative.
    marks.stops |= static_cast<uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(one, bits)))) << part;
    marks.line_breaks |= static_cast<uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(bits))) << part;
  }
  return marks;
}

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

// One bit for each byte of the four, which are all ones or all zeros.
uint64_t Bits(const uint8x16_t (&bytes)[4]) {
  alignas(16) static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  const uint8x16_t low = vpaddq_u8(vandq_u8(bytes[0], bits), vandq_u8(bytes[1], bits));
  const uint8x16_t high = vpaddq_u8(vandq_u8(bytes[2], bits), vandq_u8(bytes[3], bits));
  const uint8x16_t both = vpaddq_u8(low, high);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
}

Marks MarkChars(const char* data) {
  const uint8x16_t rows = vld1q_u8(kHalves.rows);
  const uint8x16_t columns = vld1q_u8(kHalves.columns);
  uint8x16_t stops[4];
  uint8x16_t line_breaks[4];
  for (size_t part = 0; part < 4; part++) {
    const uint8x16_t chars = vld1q_u8(reinterpret_cast<const uint8_t*>(data) + part * 16);
    const uint8x16_t row = vqtbl1q_u8(rows, vandq_u8(chars, vdupq_n_u8(15)));
    const uint8x16_t bits = vandq_u8(row, vqtbl1q_u8(columns, vshrq_n_u8(chars, 4)));  // none over 127
    line_breaks[part] = vtstq_u8(bits, vdupq_n_u8(kLineBreakBit));
    stops[part] = vorrq_u8(vceqzq_u8(bits), line_breaks[part]);
  }
  return {Bits(stops), Bits(line_breaks)};
}

#else

Marks MarkChars(const char* data) {
  Marks marks{0, 0};
  for (unsigned bit = 0; bit < 64; bit++) {
    const auto c = static_cast<unsigned char>(data[bit]);
    const bool is_plain = (kCharClasses[c] & kPlainClasses) == kPlainClasses;
    marks.stops |= static_cast<uint64_t>(!is_plain) << bit;
    marks.line_breaks |= static_cast<uint64_t>(c == '\r' || c == '\n') << bit;
  }
  return marks;
}

#endif

#if defined(__SSSE3__)

// The same with AVX2.
[[gnu::target("avx2")]] inline Marks MarkCharsWide(const char* data) {
  const __m256i rows = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kHalves.rows)));
  const __m256i columns = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kHalves.columns)));
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i one = _mm256_set1_epi8(1);
  Marks marks{0, 0};
  for (unsigned part = 0; part < 64; part += 32) {
    const __m256i chars = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + part));
    const __m256i row = _mm256_shuffle_epi8(rows, chars);
    const __m256i column = _mm256_shuffle_epi8(columns, _mm256_and_si256(_mm256_srli_epi16(chars, 4), low));
    const __m256i bits = _mm256_and_si256(row, column);
    marks.stops |= static_cast<uint64_t>(static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(one, bits)))) << part;
    marks.line_breaks |= static_cast<uint64_t>(static_cast<unsigned>(_mm256_movemask_epi8(bits))) << part;
  }
  return marks;
}

#endif

// Whether one of the runs of four line breaks that end at the bits of `ends` is a CRLF CRLF.
bool HasEmptyLine(const char* data, uint64_t ends) {
  for (; ends != 0; ends &= ends - 1) {
    if (std::memcmp(data + __builtin_ctzll(ends) - 3, "\r\n\r\n", 4) == 0) return true;
  }
  return false;
}

// MarkText with `mark`, which marks 64 chars.
template <class Mark>
[[gnu::always_inline]] inline void MarkWith(const Mark& mark, const char* data, size_t from, size_t size, uint64_t* stops,
                                            uint64_t* line_breaks) {
  // Of the word before, as if there were none: what stands before `from` does not count.
  uint64_t before = 0;
  uint64_t before_second = 0;
  uint64_t counting = ~uint64_t{0} << (from & 63);
  for (size_t word = from / 64; word <= size / 64; word++) {
    const Marks marks = mark(data + word * 64);
    stops[word] = marks.stops;
    line_breaks[word] = marks.line_breaks;
    const uint64_t here = marks.line_breaks & counting;
    const uint64_t second = here & (here << 1 | before >> 63);
    const uint64_t fourth = second & (second << 2 | before_second >> 62);
    if (fourth != 0 && HasEmptyLine(data + word * 64, fourth)) break;
    before = here;
    before_second = second;
    counting = ~uint64_t{0};
  }
  // Every search ends at the text's end.
  stops[size / 64] |= uint64_t{1} << (size & 63);
  line_breaks[size / 64] |= uint64_t{1} << (size & 63);
}

using MarkFunction = void (*)(const char*, size_t, size_t, uint64_t*, uint64_t*);

void MarkAnywhere(const char* data, size_t from, size_t size, uint64_t* stops, uint64_t* line_breaks) {
  MarkWith([](const char* at) { return MarkChars(at); }, data, from, size, stops, line_breaks);
}

#if defined(__SSSE3__)

[[gnu::target("avx2")]] void MarkWide(const char* data, size_t from, size_t size, uint64_t* stops, uint64_t* line_breaks) {
  MarkWith([](const char* at) __attribute__((target("avx2"))) { return MarkCharsWide(at); }, data, from, size, stops, line_breaks);
}

const MarkFunction kMark = __builtin_cpu_supports("avx2") ? MarkWide : MarkAnywhere;

#else

constexpr MarkFunction kMark = MarkAnywhere;

#endif

}  // namespace

void MarkText(const char* data, size_t from, size_t size, uint64_t* stops, uint64_t* line_breaks) {
  kMark(data, from, size, stops, line_breaks);
}

}  // namespace dsbc
