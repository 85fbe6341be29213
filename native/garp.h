// Tells the neighbours where an address is now: gratuitous ARP and unsolicited neighbour advertisement.
#pragma once

#include <vector>

#include "file_descriptor.h"
#include "ip_address.h"

namespace dsbc {

// One AF_PACKET socket with protocol 0 (it receives nothing) for the life of the process: opening one costs
// milliseconds, since closing waits for the kernel's grace period.
class Announcer {
 public:
  int Open();
  void Close() { socket_.Reset(-1); }

  // IPv4: ARP request form (sender = target = address, broadcast), then reply form whose target hardware is the
  // sender's (Linux ignores another one for a second). IPv6: neighbour advertisement with override flag and target
  // link-layer option to all-nodes (RFC 4861 §7.2.6). Returns 0 or an errno.
  int Announce(int interface_index, const Hardware& hardware, const IpAddress& address);

 private:
  int Send(int interface_index, uint16_t protocol, const Hardware& to, const uint8_t* frame, size_t size);

  FileDescriptor socket_;
};

// Somebody says that it has an address: from an ARP packet or a neighbour advertisement that this host did not send.
struct NeighbourClaim {
  int interface_index = 0;
  IpAddress address;
  Hardware hardware{};
};

// Hears neighbours' claims on every interface. The descriptors are non-blocking.
class NeighbourClaims {
 public:
  int Open();
  void Close();
  int arp_fd() const { return arp_.get(); }
  int nd_fd() const { return nd_.get(); }
  void Read(std::vector<NeighbourClaim>* out);

 private:
  FileDescriptor arp_;
  FileDescriptor nd_;
};

}  // namespace dsbc
