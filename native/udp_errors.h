// What became of datagrams that could not be delivered: the error queue of a UDP socket (IP_RECVERR, ip(7)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "file_descriptor.h"

namespace dsbc {

// One report, as the kernel took it from an ICMP message or found by itself.
struct UdpError {
  // The most that is kept of the datagram's head; hosts quote up to 548 bytes of it (RFC 1812 §4.3.2.3).
  static constexpr size_t kQuote = 576;

  std::string address;  // where the datagram was to go; IPv6 link-local with its zone
  uint16_t port = 0;
  int error = 0;       // an errno
  uint8_t origin = 0;  // SO_EE_ORIGIN_…
  uint8_t type = 0;    // of the ICMP message
  uint8_t code = 0;
  std::array<char, kQuote> quote{};
  size_t quoted = 0;
};

// A UDP socket that hears such reports, made here and handed on by its descriptor. Keeps one of its own to read them by.
// Whoever has the socket must read until there are none: the kernel calls it readable till then, and the next datagram sent,
// wherever to, fails with the error of the last report.
class UdpErrors {
 public:
  // A bound, non-blocking socket at a literal address; IPv6 without IPv4. *fd is the caller's to close. Returns 0 or an errno.
  int Open(const std::string& address, uint16_t port, int* fd);
  // Takes back SO_REUSEADDR, which libuv sets on every descriptor it is given: nobody else is to bind the port.
  int Adopted();
  // The oldest report. Returns 0, EAGAIN when there is none, or an errno.
  int Read(UdpError* out);
  // Lets the next send go although reports are left.
  void Unblock();
  void Close() { socket_.Reset(-1); }

 private:
  FileDescriptor socket_;
};

}  // namespace dsbc
