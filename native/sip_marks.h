// Two bits for every char of a text, made many at a time, so that looking for the end of a token, a value or a line is
// looking for the next bit: whether it is no plain char (sip_chars.h), and whether it is a CR or LF.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dsbc {

// Chars that are marked at once: up to this many are read behind a text, whatever they are.
constexpr size_t kMarkedChars = 64;

// Marks the text at `data` from `from` on in words of 64 chars each, the first char being the lowest bit: to its end, or to the
// first CRLF CRLF, since nobody pays for a body. The end is marked as a stop and a line break, so that every search ends.
void MarkText(const char* data, size_t from, size_t size, uint64_t* stops, uint64_t* line_breaks);

}  // namespace dsbc
