#include "rtnetlink.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/time.h>

#include <cstring>

namespace dsbc {
namespace {

// More than the kernel ever puts into one datagram of a dump.
constexpr size_t kBufferSize = 64 * 1024;

// A request with room for the attributes used here; every append is checked against it.
struct Request {
  nlmsghdr header{};
  char rest[256]{};

  template <typename Body>
  Body* Begin(uint16_t type, uint16_t flags) {
    header.nlmsg_len = NLMSG_LENGTH(sizeof(Body));
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    return static_cast<Body*>(NLMSG_DATA(&header));
  }

  void Append(uint16_t type, const void* data, size_t size) {
    const size_t at = NLMSG_ALIGN(header.nlmsg_len);
    if (at + RTA_SPACE(size) > sizeof(Request)) return;
    auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(this) + at);
    attribute->rta_type = type;
    attribute->rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
    std::memcpy(RTA_DATA(attribute), data, size);
    header.nlmsg_len = static_cast<uint32_t>(at + RTA_SPACE(size));
  }
};

int OpenSocket(int flags, uint32_t groups, FileDescriptor* out) {
  out->Reset(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE));
  if (!out->ok()) return errno;
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  local.nl_groups = groups;
  if (bind(out->get(), reinterpret_cast<sockaddr*>(&local), sizeof local) != 0) {
    const int error = errno;
    out->Reset(-1);
    return error;
  }
  return 0;
}

// Calls `visit` with each attribute behind a body of `Body`.
template <typename Body, typename Visit>
bool ForEachAttribute(const nlmsghdr* message, Visit visit) {
  if (message->nlmsg_len < NLMSG_LENGTH(sizeof(Body))) return false;
  auto length = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof(Body)));
  const auto* body = static_cast<const char*>(NLMSG_DATA(message));
  const auto* attribute = reinterpret_cast<const rtattr*>(body + NLMSG_ALIGN(sizeof(Body)));
  for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
    visit(attribute->rta_type & NLA_TYPE_MASK, RTA_DATA(attribute), static_cast<size_t>(RTA_PAYLOAD(attribute)));
  }
  return true;
}

bool ReadAddress(const nlmsghdr* message, HeldAddress* out) {
  bool has_address = false;
  bool has_local = false;
  out->valid_seconds = UINT32_MAX;
  const auto* body = static_cast<const ifaddrmsg*>(NLMSG_DATA(message));
  const bool complete = ForEachAttribute<ifaddrmsg>(message, [&](int type, const void* data, size_t size) {
    if (type == IFA_LOCAL) {
      has_local = IpAddress::FromBytes(body->ifa_family, data, size, &out->address);
    } else if (type == IFA_ADDRESS && !has_local) {
      has_address = IpAddress::FromBytes(body->ifa_family, data, size, &out->address);
    } else if (type == IFA_CACHEINFO && size >= sizeof(ifa_cacheinfo)) {
      ifa_cacheinfo info;
      std::memcpy(&info, data, sizeof info);
      out->valid_seconds = info.ifa_valid;
    }
  });
  if (!complete || (!has_address && !has_local)) return false;
  out->interface_index = static_cast<int>(body->ifa_index);
  out->prefix = body->ifa_prefixlen;
  return true;
}

bool ReadLink(const nlmsghdr* message, Link* out) {
  bool has_carrier = false;
  const auto* body = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
  const bool complete = ForEachAttribute<ifinfomsg>(message, [&](int type, const void* data, size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    if (type == IFLA_IFNAME) {
      out->name.assign(bytes, strnlen(bytes, size));
    } else if (type == IFLA_CARRIER && size >= 1) {
      has_carrier = true;
      out->carrier = bytes[0] != 0;
    } else if (type == IFLA_ADDRESS && size == out->hardware.size()) {
      std::memcpy(out->hardware.data(), data, size);
    }
  });
  if (!complete || out->name.empty()) return false;
  out->index = body->ifi_index;
  out->up = (body->ifi_flags & IFF_UP) != 0;
  if (!has_carrier) out->carrier = (body->ifi_flags & IFF_LOWER_UP) != 0;
  out->ethernet = body->ifi_type == ARPHRD_ETHER;
  return true;
}

}  // namespace

int Rtnetlink::Open() {
  const int error = OpenSocket(0, 0, &socket_);
  if (error != 0) return error;
  // The kernel answers at once; the limit is there so that nothing can hang on it.
  const timeval limit{1, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  // Lets dumps be filtered by interface in the kernel (since 4.20); without it ListAddresses filters by itself.
  const int on = 1;
  setsockopt(socket_.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  return 0;
}

// Sends one request and visits each message of its answer, until the acknowledgement, the error or the dump's end.
template <typename Visit>
int Rtnetlink::Exchange(nlmsghdr* request, Visit visit) {
  if (!socket_.ok()) return EBADF;
  request->nlmsg_seq = ++sequence_;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(socket_.get(), request, request->nlmsg_len, 0, reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) < 0) {
    return errno;
  }
  alignas(nlmsghdr) char buffer[kBufferSize];
  for (;;) {
    const ssize_t received = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (received < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? ETIMEDOUT : errno;
    }
    auto left = static_cast<unsigned>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_seq != sequence_) continue;  // left over from a request that timed out
      if (message->nlmsg_type == NLMSG_DONE) return 0;
      if (message->nlmsg_type == NLMSG_ERROR) {
        if (message->nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) return EBADMSG;
        return -static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error;
      }
      visit(message);
    }
  }
}

int Rtnetlink::AddAddress(int interface_index, const IpAddress& address, uint32_t valid_seconds, uint32_t preferred_seconds) {
  Request request;
  auto* body = request.Begin<ifaddrmsg>(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  body->ifa_family = static_cast<uint8_t>(address.family);
  body->ifa_prefixlen = address.prefix();
  const bool is_loopback = address.family == AF_INET && address.bytes[0] == 127;
  body->ifa_scope = is_loopback ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  body->ifa_index = static_cast<uint32_t>(interface_index);
  request.Append(IFA_LOCAL, address.bytes.data(), address.size());
  request.Append(IFA_ADDRESS, address.bytes.data(), address.size());
  ifa_cacheinfo lease{};
  lease.ifa_prefered = preferred_seconds;
  lease.ifa_valid = valid_seconds;
  request.Append(IFA_CACHEINFO, &lease, sizeof lease);
  if (address.family == AF_INET6) {
    const uint32_t flags = IFA_F_NODAD | IFA_F_NOPREFIXROUTE;
    request.Append(IFA_FLAGS, &flags, sizeof flags);
  }
  return Exchange(&request.header, [](const nlmsghdr*) {});
}

int Rtnetlink::RemoveAddress(int interface_index, const IpAddress& address) {
  Request request;
  auto* body = request.Begin<ifaddrmsg>(RTM_DELADDR, NLM_F_ACK);
  body->ifa_family = static_cast<uint8_t>(address.family);
  body->ifa_prefixlen = address.prefix();
  body->ifa_index = static_cast<uint32_t>(interface_index);
  request.Append(IFA_LOCAL, address.bytes.data(), address.size());
  return Exchange(&request.header, [](const nlmsghdr*) {});
}

int Rtnetlink::RemoveLocalRoute(int interface_index, const IpAddress& address) {
  Request request;
  auto* body = request.Begin<rtmsg>(RTM_DELROUTE, NLM_F_ACK);
  body->rtm_family = static_cast<uint8_t>(address.family);
  body->rtm_dst_len = address.prefix();
  body->rtm_table = RT_TABLE_LOCAL;
  body->rtm_type = RTN_LOCAL;
  body->rtm_scope = RT_SCOPE_NOWHERE;  // any
  request.Append(RTA_DST, address.bytes.data(), address.size());
  const auto index = static_cast<uint32_t>(interface_index);
  request.Append(RTA_OIF, &index, sizeof index);
  return Exchange(&request.header, [](const nlmsghdr*) {});
}

int Rtnetlink::ListAddresses(int interface_index, std::vector<HeldAddress>* out) {
  Request request;
  auto* body = request.Begin<ifaddrmsg>(RTM_GETADDR, NLM_F_DUMP);
  body->ifa_family = AF_UNSPEC;
  body->ifa_index = static_cast<uint32_t>(interface_index);
  return Exchange(&request.header, [&](const nlmsghdr* message) {
    HeldAddress held;
    if (message->nlmsg_type != RTM_NEWADDR || !ReadAddress(message, &held)) return;
    if (interface_index == 0 || held.interface_index == interface_index) out->push_back(held);
  });
}

int Rtnetlink::ListLinks(std::vector<Link>* out) {
  Request request;
  request.Begin<ifinfomsg>(RTM_GETLINK, NLM_F_DUMP)->ifi_family = AF_UNSPEC;
  return Exchange(&request.header, [&](const nlmsghdr* message) {
    Link link;
    if (message->nlmsg_type == RTM_NEWLINK && ReadLink(message, &link)) out->push_back(link);
  });
}

int Rtnetlink::FindLink(const std::string& name, Link* out) {
  if (name.empty() || name.size() >= IFNAMSIZ) return ENODEV;
  Request request;
  request.Begin<ifinfomsg>(RTM_GETLINK, NLM_F_ACK)->ifi_family = AF_UNSPEC;
  request.Append(IFLA_IFNAME, name.c_str(), name.size() + 1);
  bool found = false;
  const int error = Exchange(&request.header, [&](const nlmsghdr* message) {
    if (message->nlmsg_type == RTM_NEWLINK && ReadLink(message, out)) found = true;
  });
  if (error != 0) return error;
  return found ? 0 : ENODEV;
}

int NetlinkEvents::Open() {
  const int error = OpenSocket(SOCK_NONBLOCK, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, &socket_);
  if (error != 0) return error;
  const int size = 1 << 20;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return 0;
}

void NetlinkEvents::Read(std::vector<NetlinkEvent>* out) {
  alignas(nlmsghdr) char buffer[kBufferSize];
  for (;;) {
    const ssize_t received = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (received < 0) {
      if (errno == EINTR) continue;
      if (errno == ENOBUFS) {
        out->emplace_back();
        continue;
      }
      return;
    }
    auto left = static_cast<unsigned>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      NetlinkEvent event;
      const uint16_t type = message->nlmsg_type;
      if ((type == RTM_NEWADDR || type == RTM_DELADDR) && ReadAddress(message, &event.address)) {
        event.kind = NetlinkEvent::Kind::kAddress;
        event.gone = type == RTM_DELADDR;
        out->push_back(event);
      } else if ((type == RTM_NEWLINK || type == RTM_DELLINK) && ReadLink(message, &event.link)) {
        event.kind = NetlinkEvent::Kind::kLink;
        event.gone = type == RTM_DELLINK;
        out->push_back(event);
      }
    }
  }
}

}  // namespace dsbc
