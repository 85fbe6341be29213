#include "udp_errors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace dsbc {
namespace {

// Fills in address and port; false when the kernel gave none of a family that is known.
bool PutDestination(const sockaddr_storage& from, socklen_t size, UdpError* out) {
  char host[NI_MAXHOST] = "";
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return false;
  out->address = host;
  const bool is_ipv6 = from.ss_family == AF_INET6;
  out->port = ntohs(is_ipv6 ? reinterpret_cast<const sockaddr_in6&>(from).sin6_port : reinterpret_cast<const sockaddr_in&>(from).sin_port);
  return true;
}

// Finds the report among the control messages.
bool PutReport(msghdr* message, UdpError* out) {
  for (cmsghdr* at = CMSG_FIRSTHDR(message); at != nullptr; at = CMSG_NXTHDR(message, at)) {
    const bool is_report = (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
                           (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR);
    if (!is_report || at->cmsg_len < CMSG_LEN(sizeof(sock_extended_err))) continue;
    sock_extended_err report;
    std::memcpy(&report, CMSG_DATA(at), sizeof report);
    out->error = static_cast<int>(report.ee_errno);
    out->origin = report.ee_origin;
    out->type = report.ee_type;
    out->code = report.ee_code;
    return true;
  }
  return false;
}

}  // namespace

int UdpErrors::Open(const std::string& address, uint16_t port, int* fd) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) return EINVAL;
  sockaddr_storage local{};
  const socklen_t size = found->ai_addrlen;
  const int family = found->ai_family;
  std::memcpy(&local, found->ai_addr, size);
  freeaddrinfo(found);
  if (family != AF_INET && family != AF_INET6) return EINVAL;
  const bool is_ipv6 = family == AF_INET6;
  (is_ipv6 ? reinterpret_cast<sockaddr_in6&>(local).sin6_port : reinterpret_cast<sockaddr_in&>(local).sin_port) = htons(port);

  FileDescriptor made(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.ok()) return errno;
  const int on = 1;
  if (is_ipv6 && setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) return errno;
  const int asked = is_ipv6 ? setsockopt(made.get(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on)
                            : setsockopt(made.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  if (asked != 0) return errno;
  if (bind(made.get(), reinterpret_cast<sockaddr*>(&local), size) != 0) return errno;
  const int handed = fcntl(made.get(), F_DUPFD_CLOEXEC, 0);
  if (handed < 0) return errno;
  socket_.Reset(made.Release());
  *fd = handed;
  return 0;
}

int UdpErrors::Adopted() {
  const int off = 0;
  return setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &off, sizeof off) == 0 ? 0 : errno;
}

void UdpErrors::Unblock() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);  // reading it clears it
}

int UdpErrors::Read(UdpError* out) {
  for (;;) {
    sockaddr_storage destination{};
    alignas(cmsghdr) char control[256];
    iovec into{out->quote.data(), out->quote.size()};
    msghdr message{};
    message.msg_name = &destination;
    message.msg_namelen = sizeof destination;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    out->quoted = static_cast<size_t>(size);
    // Anything else that the kernel may queue there is of no use to us.
    if (PutReport(&message, out) && PutDestination(destination, message.msg_namelen, out)) return 0;
  }
}

}  // namespace dsbc
