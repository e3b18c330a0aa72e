#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/text.h"

namespace rlctl {
namespace {

/// Whether the text is ":443"; nothing counts as a port too.
bool is_port_suffix(std::string_view text) {
  constexpr std::size_t kMaxDigits = 5;
  if (text.empty()) return true;
  return text.front() == ':' && text.size() <= 1 + kMaxDigits && is_digits(text.substr(1));
}

/// "192.0.2.1" of "[192.0.2.1]:443" and of "192.0.2.1:443"; the text itself if it has neither
/// brackets nor a port. An IPv6 address with a port needs brackets.
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos || !is_port_suffix(text.substr(close + 1))) return text;
    return text.substr(1, close - 1);
  }
  const auto colon = text.find(':');
  if (colon == text.npos || text.find(':', colon + 1) != text.npos) return text;
  return is_port_suffix(text.substr(colon)) ? text.substr(0, colon) : text;
}

template <typename Address>
std::optional<Address> parse_address(int family, std::string_view text) {
  // inet_pton() ends at a zero byte, which is not part of an address.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  Address address{};
  if (::inet_pton(family, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::string address_text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size());
}

void clear_bits_after(in6_addr& address, int prefix) {
  for (int i = 0; i < kIpv6Bits / 8; ++i) {
    const int kept = std::clamp(prefix - 8 * i, 0, 8);
    address.s6_addr[i] &= static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(kept));
  }
}

/// The networks in which clouds offer the credentials of a machine to whoever asks from it.
struct MetadataRow {
  const char* network;
  int prefix;  ///< in bits, of an IPv6 address
};
constexpr int kMapped = kIpv6Bits - 32;  ///< the bits before an IPv4 address that is mapped
constexpr MetadataRow kMetadata[] = {
    {"169.254.0.0", kMapped + 16},      // AWS, Google, Azure, OpenStack and others: link-local
    {"fe80::", 10},                     // link-local
    {"fd00:ec2::", 32},                 // AWS
    {"fd20:ce::254", kIpv6Bits},        // Google
    {"168.63.129.16", kIpv6Bits},       // Azure
    {"100.100.100.200", kIpv6Bits},     // Alibaba
    {"192.0.0.192", kIpv6Bits},         // Oracle
    {"fd00:c1::a9fe:a9fe", kIpv6Bits},  // Oracle
    {"fd00:42::42", kIpv6Bits},         // Scaleway
};

/// An IPv4 address is mapped into IPv6, also if NAT64 translates it (64:ff9b::/96, RFC 6052).
std::optional<in6_addr> to_ipv6(std::string_view address) {
  auto v6 = parse_address<in6_addr>(AF_INET6, address);
  if (!v6) return parse_address<in6_addr>(AF_INET6, "::ffff:" + std::string(address));
  const auto translation = *parse_address<in6_addr>(AF_INET6, "64:ff9b::");
  const auto mapping = *parse_address<in6_addr>(AF_INET6, "::ffff:0.0.0.0");
  constexpr std::size_t kBytes = kMapped / 8;
  if (std::equal(v6->s6_addr, v6->s6_addr + kBytes, translation.s6_addr)) {
    std::copy_n(mapping.s6_addr, kBytes, v6->s6_addr);
  }
  return v6;
}

}  // namespace

std::optional<std::string> client_network(std::string_view text, int ipv6_prefix) {
  const auto address = without_port(text);
  if (const auto v4 = parse_address<in_addr>(AF_INET, address)) return address_text(AF_INET, &*v4);
  const auto zone = address.find('%');
  if (zone + 1 == address.size()) return std::nullopt;
  auto v6 = parse_address<in6_addr>(AF_INET6, address.substr(0, zone));
  if (!v6) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&*v6)) {
    constexpr std::size_t kMappedAt = 12;
    return address_text(AF_INET, &v6->s6_addr[kMappedAt]);
  }
  clear_bits_after(*v6, ipv6_prefix);
  return address_text(AF_INET6, &*v6) + "/" + std::to_string(ipv6_prefix);
}

bool may_be_metadata_service(std::string_view text) {
  const auto network = client_network(text, kIpv6Bits);
  if (!network) return false;
  const auto address = to_ipv6(network->substr(0, network->find('/')));
  return std::ranges::any_of(kMetadata, [&](const MetadataRow& row) {
    auto begin = *address;
    clear_bits_after(begin, row.prefix);
    return std::ranges::equal(begin.s6_addr, to_ipv6(row.network)->s6_addr);
  });
}

}  // namespace rlctl
