#pragma once

#include <optional>
#include <string>
#include <string_view>

// The IP addresses in keys and URLs. A policy with an ipv6_prefix and the reader of logs give all
// addresses of one client the same key with client_network(); redis/ refuses link-local addresses
// to which a server refers, with is_link_local().

namespace rlctl {

/// The bits of an IPv6 address.
inline constexpr int kIpv6Bits = 128;

/// The client that an IP address stands for, in the one canonical spelling (RFC 5952): an IPv4
/// address as it is, also if it is mapped into IPv6 (::ffff:192.0.2.1); of an IPv6 address its
/// prefix of `ipv6_prefix` bits (0 to kIpv6Bits), "2001:db8:1:2::/64", since a client has all
/// addresses of its network. Brackets, a port and a %zone are dropped: "[fe80::1%eth0]:443",
/// "192.0.2.1:443". std::nullopt if the text is not an IP address.
std::optional<std::string> client_network(std::string_view text, int ipv6_prefix);

/// Whether the text, as client_network() takes it, is an IP address that only machines on the same
/// link have, and by which clouds offer the credentials of a machine: 169.254.0.0/16, also if it is
/// translated from IPv6 (64:ff9b::a9fe:0/112, RFC 6052), fe80::/10, and fd00:ec2::254, which has
/// the same use.
bool is_link_local(std::string_view text);

}  // namespace rlctl
