#include "base/distribution.h"

#include <doctest/doctest.h>

#include <string_view>

namespace rlctl::distribution_test {

namespace {

constexpr std::string_view kDebian = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n";

}  // namespace

TEST_CASE("distribution: each has a command and names of packages of its own") {
  CHECK(how_to_install(SystemPart::kRedisServer, kDebian) == "sudo apt-get install redis-tools");
  CHECK(how_to_install(SystemPart::kTimeZones, kDebian) == "sudo apt-get install tzdata");
  CHECK(how_to_install(SystemPart::kRedisServer, "ID=alpine\nVERSION_ID=3.20\n") ==
        "apk add redis");
  CHECK(how_to_install(SystemPart::kRedisCli, "NAME='Fedora'\nID=\"fedora\"") ==
        "sudo dnf install valkey-compat-redis");
}

TEST_CASE("distribution: one that is like another is installed like it") {
  CHECK(how_to_install(SystemPart::kRedisCli, "ID_LIKE=debian\nID=ubuntu\n") ==
        "sudo apt-get install redis-tools");
  CHECK(how_to_install(SystemPart::kRedisServer, "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n") ==
        "sudo apt-get install redis-tools");
}

TEST_CASE("distribution: of one that is not known, or not told, only the packages are named") {
  for (const std::string_view unknown :
       {"", "ID=\n", "ID", "ID=\"", "ID=rocky\nID_LIKE=\"rhel fedora\"\n", "debian\n"}) {
    CAPTURE(unknown);
    CHECK(how_to_install(SystemPart::kRedisServer, unknown) ==
          "install the package redis or valkey");
    CHECK(how_to_install(SystemPart::kTimeZones, unknown) == "install the package tzdata");
  }
}

}  // namespace rlctl::distribution_test
