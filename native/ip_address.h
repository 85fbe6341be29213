// An IPv4 or IPv6 address as the kernel wants it.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace dsbc {

using Hardware = std::array<uint8_t, 6>;

struct IpAddress {
  int family = AF_UNSPEC;
  std::array<uint8_t, 16> bytes{};

  size_t size() const { return family == AF_INET ? 4 : 16; }
  uint8_t prefix() const { return family == AF_INET ? 32 : 128; }
  bool operator==(const IpAddress& other) const {
    return family == other.family && std::memcmp(bytes.data(), other.bytes.data(), size()) == 0;
  }

  // From a dotted or colon text; false when it is neither.
  static bool Parse(const std::string& text, IpAddress* out) {
    for (const int family : {AF_INET, AF_INET6}) {
      if (inet_pton(family, text.c_str(), out->bytes.data()) == 1) {
        out->family = family;
        return true;
      }
    }
    return false;
  }

  // From `length` raw bytes; false when that is no length of the family.
  static bool FromBytes(int family, const void* data, size_t length, IpAddress* out) {
    out->family = family;
    if ((family != AF_INET && family != AF_INET6) || length != out->size()) return false;
    std::memcpy(out->bytes.data(), data, length);
    return true;
  }

  std::string Text() const {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family, bytes.data(), text, sizeof text);
    return text;
  }
};

}  // namespace dsbc
