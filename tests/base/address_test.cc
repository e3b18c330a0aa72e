#include "base/address.h"

#include <doctest/doctest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/check_each.h"

namespace rlctl::address_test {

namespace {

using namespace std::string_view_literals;

void check_table(const test::Cases& table) {
  test::check_each(table, [](auto& text) { return client_network(text, 64).value_or("none"); });
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

TEST_CASE("address: an IPv6 address becomes its prefix, however it is spelt") {
  check_table({
      {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
      {"2001:db8:1:2::", "2001:db8:1:2::/64"},
      {"2001:0DB8:0001:0002:0000:0000:0000:0001", "2001:db8:1:2::/64"},
      {"2001:DB8:1:2::ABCD", "2001:db8:1:2::/64"},
      {"2001:db8:1:2::192.0.2.1", "2001:db8:1:2::/64"},
      {"2001:db8::1", "2001:db8::/64"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::/64"},
      {"::", "::/64"},
      {"::1", "::/64"},
      {"0:0:0:0:0:0:0:1", "::/64"},
  });
}

TEST_CASE("address: an IPv4 address is whole, also if it is mapped into IPv6") {
  check_table({
      {"192.0.2.1", "192.0.2.1"},
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::ffff:192.0.2.1", "192.0.2.1"},
      {"::FFFF:C000:201", "192.0.2.1"},
      {"0:0:0:0:0:ffff:c000:0201", "192.0.2.1"},
      {"[::ffff:192.0.2.1]", "192.0.2.1"},
      {"::ffff:192.0.2.1%eth0", "192.0.2.1"},
      // Not mapped: the deprecated form without ffff, and a translated one.
      {"::192.0.2.1", "::/64"},
      {"::ffff:0:192.0.2.1", "::/64"},
  });
}

TEST_CASE("address: brackets, a port and a zone are dropped") {
  check_table({
      {"[2001:db8:1:2::1]", "2001:db8:1:2::/64"},
      {"[2001:db8:1:2::1]:443", "2001:db8:1:2::/64"},
      {"[192.0.2.1]", "192.0.2.1"},
      {"[192.0.2.1]:443", "192.0.2.1"},
      {"192.0.2.1:443", "192.0.2.1"},
      {"fe80::1%eth0", "fe80::/64"},
      {"fe80::1%25", "fe80::/64"},
      {"[fe80::1%eth0]:65535", "fe80::/64"},
      // Without brackets, the last group is not a port.
      {"2001:db8:1:2::1:443", "2001:db8:1:2::/64"},
  });
}

TEST_CASE("address: other text is not an address") {
  for (const auto& text : words(
           "alice www.example.com www.example.com:443 192.0.2 192.0.2.256 192.0.2.01 192.0.2.1: "
           "192.0.2.1:x 192.0.2.1:123456 192.0.2.1%eth0 192.0.2.0/24 2001:db8::/64 2001:db8::1::2 "
           "2001:db8:1:2:3:4:5:6:7 2001:db8::g fe80::1% [2001:db8::1 2001:db8::1] [] "
           "[2001:db8::1]x "
           "[2001:db8::1]: [[2001:db8::1]] : :::")) {
    CAPTURE(text);
    CHECK_FALSE(client_network(text, 64));
  }
  for (const auto text :
       {""sv, " 192.0.2.1"sv, "192.0.2.1 "sv, "192.0.2.1\0x"sv, "2001:db8::1\0"sv}) {
    CAPTURE(text);
    CHECK_FALSE(client_network(text, 64));
  }
  CHECK_FALSE(client_network(std::string(100'000, '1'), 64));
}

TEST_CASE("address: the prefix has any number of bits") {
  const auto network = [](int bits) {
    return client_network("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", bits).value_or("none");
  };
  CHECK(network(0) == "::/0");
  CHECK(network(1) == "::/1");
  CHECK(network(3) == "2000::/3");
  CHECK(network(32) == "2001:db8::/32");
  CHECK(network(33) == "2001:db8:8000::/33");
  CHECK(network(48) == "2001:db8:ffff::/48");
  CHECK(network(56) == "2001:db8:ffff:ff00::/56");
  CHECK(network(63) == "2001:db8:ffff:fffe::/63");
  CHECK(network(64) == "2001:db8:ffff:ffff::/64");
  CHECK(network(127) == "2001:db8:ffff:ffff:ffff:ffff:ffff:fffe/127");
  CHECK(network(128) == "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128");
  for (const int bits : {0, 1, 64, 128}) CHECK(client_network("192.0.2.1", bits) == "192.0.2.1");
}

TEST_CASE("address: those of clouds are recognized in any spelling") {
  for (const auto& address : words(
           "169.254.169.254 169.254.0.0:6379 ::ffff:169.254.1.2 [::FFFF:a9fe:a9fe]:80 fe80::1 "
           "FE80::1%eth0 [febf:ffff::]:6379 fe9a:0:0:0:1:2:3:4 64:ff9b::169.254.169.254 "
           "64:ff9b::a9fe:0 [FD00:EC2::254]:80 fd00:ec2::23 100.100.100.200 ::ffff:100.100.100.200 "
           "64:ff9b::6464:64c8 168.63.129.16 192.0.0.192 fd20:ce::254 fd00:c1::a9fe:a9fe "
           "fd00:42::42")) {
    CAPTURE(address);
    CHECK(may_be_metadata_service(address));
  }
  for (const auto& address : words(
           "169.253.255.255 169.255.0.0 192.0.2.1 ::1 fec0::1 fe7f::1 fe8::1 fe::8 ::fe80 fd00::1 "
           "fd00:ec3::254 100.100.100.201 fd20:ce::253 64:ff9b::1.2.3.4 64:ff9b:1::a9fe:a9fe fe80 "
           "169.254. fe80.example.com 169.254.1.1.example.com")) {
    CAPTURE(address);
    CHECK_FALSE(may_be_metadata_service(address));
  }
  CHECK_FALSE(may_be_metadata_service(""));
}

}  // namespace rlctl::address_test
