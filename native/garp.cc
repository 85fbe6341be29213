#include "garp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

namespace dsbc {
namespace {

constexpr size_t kEthernet = 14;
constexpr size_t kArp = 28;
constexpr size_t kIpv6 = 40;
constexpr uint8_t kIcmpv6 = 58;
constexpr uint8_t kNeighbourAdvertisement = 136;
constexpr size_t kAdvertisement = 24;  // type, code, checksum, flags, target
constexpr size_t kLinkLayerOption = 8;
constexpr uint8_t kTargetLinkLayer = 2;
constexpr Hardware kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Hardware kAllNodesHardware{0x33, 0x33, 0, 0, 0, 1};
constexpr std::array<uint8_t, 16> kAllNodes{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

void Put16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

uint16_t Get16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

void PutEthernet(uint8_t* frame, const Hardware& to, const Hardware& from, uint16_t protocol) {
  std::memcpy(frame, to.data(), 6);
  std::memcpy(frame + 6, from.data(), 6);
  Put16(frame + 12, protocol);
}

// The Internet checksum over the ICMPv6 pseudo-header and message (RFC 4443 §2.3).
uint16_t Icmpv6Checksum(const uint8_t* ipv6, const uint8_t* icmp, size_t size) {
  uint32_t sum = static_cast<uint32_t>(size) + kIcmpv6;
  for (size_t i = 8; i < kIpv6; i += 2) sum += Get16(ipv6 + i);  // source and destination
  for (size_t i = 0; i < size; i += 2) sum += Get16(icmp + i);   // size is even here
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Returns 0 or an errno.
int OpenListener(uint16_t protocol, const sock_filter* code, size_t length, FileDescriptor* out) {
  // Protocol 0 first and bound to the real one only when the filter is in place, so that nothing else slips in.
  out->Reset(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out->ok()) return errno;
  const sock_fprog program{static_cast<uint16_t>(length), const_cast<sock_filter*>(code)};
  sockaddr_ll local{};
  local.sll_family = AF_PACKET;
  local.sll_protocol = htons(protocol);
  if (setsockopt(out->get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
      bind(out->get(), reinterpret_cast<sockaddr*>(&local), sizeof local) != 0) {
    const int error = errno;
    out->Reset(-1);
    return error;
  }
  return 0;
}

bool ReadArp(const uint8_t* frame, size_t size, NeighbourClaim* claim) {
  if (size < kEthernet + kArp) return false;
  const uint8_t* arp = frame + kEthernet;
  if (Get16(arp) != 1 || Get16(arp + 2) != ETH_P_IP || arp[4] != 6 || arp[5] != 4) return false;
  std::memcpy(claim->hardware.data(), arp + 8, 6);
  return IpAddress::FromBytes(AF_INET, arp + 14, 4, &claim->address);
}

bool ReadAdvertisement(const uint8_t* frame, size_t size, NeighbourClaim* claim) {
  if (size < kEthernet + kIpv6 + kAdvertisement) return false;
  const uint8_t* ipv6 = frame + kEthernet;
  const uint8_t* icmp = ipv6 + kIpv6;
  if (ipv6[6] != kIcmpv6 || ipv6[7] != 255 || icmp[0] != kNeighbourAdvertisement) return false;
  std::memcpy(claim->hardware.data(), frame + 6, 6);
  const uint8_t* option = icmp + kAdvertisement;
  const uint8_t* end = frame + size;
  while (end - option >= 8 && option[1] != 0 && end - option >= option[1] * 8) {
    if (option[0] == kTargetLinkLayer) std::memcpy(claim->hardware.data(), option + 2, 6);
    option += option[1] * 8;
  }
  return IpAddress::FromBytes(AF_INET6, icmp + 8, 16, &claim->address);
}

}  // namespace

int Announcer::Open() {
  socket_.Reset(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  return socket_.ok() ? 0 : errno;
}

int Announcer::Send(int interface_index, uint16_t protocol, const Hardware& to, const uint8_t* frame, size_t size) {
  sockaddr_ll where{};
  where.sll_family = AF_PACKET;
  where.sll_protocol = htons(protocol);
  where.sll_ifindex = interface_index;
  where.sll_halen = 6;
  std::memcpy(where.sll_addr, to.data(), to.size());
  const ssize_t sent = sendto(socket_.get(), frame, size, 0, reinterpret_cast<sockaddr*>(&where), sizeof where);
  return sent == static_cast<ssize_t>(size) ? 0 : errno;
}

int Announcer::Announce(int interface_index, const Hardware& hardware, const IpAddress& address) {
  if (!socket_.ok()) return EBADF;
  if (address.family == AF_INET) {
    uint8_t frame[kEthernet + kArp] = {};
    PutEthernet(frame, kBroadcast, hardware, ETH_P_ARP);
    uint8_t* arp = frame + kEthernet;
    Put16(arp, 1);
    Put16(arp + 2, ETH_P_IP);
    arp[4] = 6;
    arp[5] = 4;
    Put16(arp + 6, 1);  // request
    std::memcpy(arp + 8, hardware.data(), 6);
    std::memcpy(arp + 14, address.bytes.data(), 4);
    std::memcpy(arp + 24, address.bytes.data(), 4);
    const int error = Send(interface_index, ETH_P_ARP, kBroadcast, frame, sizeof frame);
    if (error != 0) return error;
    Put16(arp + 6, 2);  // reply
    std::memcpy(arp + 18, hardware.data(), 6);
    return Send(interface_index, ETH_P_ARP, kBroadcast, frame, sizeof frame);
  }
  constexpr size_t kMessage = kAdvertisement + kLinkLayerOption;
  uint8_t frame[kEthernet + kIpv6 + kMessage] = {};
  PutEthernet(frame, kAllNodesHardware, hardware, ETH_P_IPV6);
  uint8_t* ipv6 = frame + kEthernet;
  ipv6[0] = 0x60;
  Put16(ipv6 + 4, kMessage);
  ipv6[6] = kIcmpv6;
  ipv6[7] = 255;  // RFC 4861 §7.1.2: anything else is thrown away
  std::memcpy(ipv6 + 8, address.bytes.data(), 16);
  std::memcpy(ipv6 + 24, kAllNodes.data(), 16);
  uint8_t* icmp = ipv6 + kIpv6;
  icmp[0] = kNeighbourAdvertisement;
  icmp[4] = 0x20;  // override
  std::memcpy(icmp + 8, address.bytes.data(), 16);
  icmp[kAdvertisement] = kTargetLinkLayer;
  icmp[kAdvertisement + 1] = 1;
  std::memcpy(icmp + kAdvertisement + 2, hardware.data(), 6);
  Put16(icmp + 2, Icmpv6Checksum(ipv6, icmp, kMessage));
  return Send(interface_index, ETH_P_IPV6, kAllNodesHardware, frame, sizeof frame);
}

int NeighbourClaims::Open() {
  static const sock_filter kAll[] = {BPF_STMT(BPF_RET | BPF_K, 256)};
  static const sock_filter kAdvertisements[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kEthernet + 6),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kIcmpv6, 0, 3),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kEthernet + kIpv6),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kNeighbourAdvertisement, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 256),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const int error = OpenListener(ETH_P_ARP, kAll, 1, &arp_);
  return error != 0 ? error : OpenListener(ETH_P_IPV6, kAdvertisements, 6, &nd_);
}

void NeighbourClaims::Close() {
  arp_.Reset(-1);
  nd_.Reset(-1);
}

void NeighbourClaims::Read(std::vector<NeighbourClaim>* out) {
  for (const FileDescriptor* socket : {&arp_, &nd_}) {
    if (!socket->ok()) continue;
    uint8_t frame[256];
    sockaddr_ll from{};
    for (;;) {
      socklen_t length = sizeof from;
      const ssize_t size = recvfrom(socket->get(), frame, sizeof frame, 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) break;
      if (from.sll_pkttype == PACKET_OUTGOING) continue;
      NeighbourClaim claim;
      claim.interface_index = from.sll_ifindex;
      const auto bytes = static_cast<size_t>(size);
      if (socket == &arp_ ? ReadArp(frame, bytes, &claim) : ReadAdvertisement(frame, bytes, &claim)) out->push_back(claim);
    }
  }
}

}  // namespace dsbc
