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

bool is_link_local(std::string_view text) {
  const auto address = client_network(text, kIpv6Bits);
  if (!address) return false;
  constexpr std::string_view kFourthDigits = "89ab";
  const bool has_ten_bits = address->starts_with("fe") && address->find(':') == 4 &&
                            kFourthDigits.find((*address)[2]) != kFourthDigits.npos;
  return has_ten_bits || address->starts_with("169.254.") ||
         address->starts_with("64:ff9b::a9fe:") || *address == "fd00:ec2::254/128";
}

}  // namespace rlctl
