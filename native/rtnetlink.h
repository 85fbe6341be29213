// Addresses and links of the kernel over rtnetlink (rtnetlink(7)). Every function that can fail returns 0 or an errno.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file_descriptor.h"
#include "ip_address.h"

struct nlmsghdr;

namespace dsbc {

struct HeldAddress {
  IpAddress address;
  int interface_index = 0;
  uint8_t prefix = 0;
  uint32_t valid_seconds = 0;  // UINT32_MAX: permanent
};

struct Link {
  int index = 0;
  std::string name;
  bool up = false;
  bool carrier = false;
  bool ethernet = false;
  Hardware hardware{};
};

struct NetlinkEvent {
  enum class Kind { kLink, kAddress, kLost };
  Kind kind = Kind::kLost;  // kLost: the kernel dropped events, ask for everything again
  Link link;                // kLink
  bool gone = false;        // link or address is no more
  HeldAddress address;      // kAddress
};

// Requests and answers on one socket, one at a time. Not for several threads.
class Rtnetlink {
 public:
  int Open();
  void Close() { socket_.Reset(-1); }

  // Adds as /32 or /128 with a lease, or starts the lease of one that is there afresh. IPv6: NODAD, NOPREFIXROUTE. IPv4 of
  // 127.0.0.0/8: scope host, so that it is never the source of anything that leaves.
  int AddAddress(int interface_index, const IpAddress& address, uint32_t valid_seconds, uint32_t preferred_seconds);
  // Removes; EADDRNOTAVAIL when it is not there.
  int RemoveAddress(int interface_index, const IpAddress& address);
  // Takes the route to an address of ours out of the table `local`: what is sent to it is not received any more, while
  // sockets bound to it go on sending. Adding the address anew puts it back. ESRCH when it is not there.
  int RemoveLocalRoute(int interface_index, const IpAddress& address);
  // All addresses of one interface, or of all when the index is 0.
  int ListAddresses(int interface_index, std::vector<HeldAddress>* out);
  int ListLinks(std::vector<Link>* out);
  // ENODEV when there is none of that name.
  int FindLink(const std::string& name, Link* out);

 private:
  template <typename Visit>
  int Exchange(nlmsghdr* request, Visit visit);

  FileDescriptor socket_;
  uint32_t sequence_ = 0;
};

// Hears what changes. The descriptor is non-blocking and readable when there is something.
class NetlinkEvents {
 public:
  int Open();
  void Close() { socket_.Reset(-1); }
  int fd() const { return socket_.get(); }
  void Read(std::vector<NetlinkEvent>* out);

 private:
  FileDescriptor socket_;
};

}  // namespace dsbc
