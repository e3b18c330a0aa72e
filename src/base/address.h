#pragma once

#include <optional>
#include <string>
#include <string_view>

// The IP addresses in keys and URLs. A policy with an ipv6_prefix and the reader of logs give all
// addresses of one client the same key with client_network(); redis/ refuses addresses of clouds to
// which a server refers, with may_be_metadata_service().

namespace rlctl {

/// The bits of an IPv6 address.
inline constexpr int kIpv6Bits = 128;

/// The client that an IP address stands for, in the one canonical spelling (RFC 5952): an IPv4
/// address as it is, also if it is mapped into IPv6 (::ffff:192.0.2.1); of an IPv6 address its
/// prefix of `ipv6_prefix` bits (0 to kIpv6Bits), "2001:db8:1:2::/64", since a client has all
/// addresses of its network. Brackets, a port and a %zone are dropped: "[fe80::1%eth0]:443",
/// "192.0.2.1:443". std::nullopt if the text is not an IP address.
std::optional<std::string> client_network(std::string_view text, int ipv6_prefix);

/// Whether the text, as client_network() takes it, is an IP address at which a cloud may offer the
/// credentials of a machine, such as 169.254.169.254; also if it is mapped into IPv6 or translated
/// by NAT64.
bool may_be_metadata_service(std::string_view text);

}  // namespace rlctl
