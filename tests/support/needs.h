#pragma once

#include <doctest/doctest.h>
#include <netdb.h>
#include <unistd.h>

namespace support {

/// Whether root runs the test; otherwise it counts as skipped.
inline bool needs_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("skipped: needs root");
  return false;
}

/// Whether the system can look up localhost, which a minimal one without /etc/hosts cannot;
/// otherwise the test counts as skipped.
inline bool needs_localhost() {
  addrinfo* found = nullptr;
  if (::getaddrinfo("localhost", nullptr, nullptr, &found) == 0) {
    ::freeaddrinfo(found);
    return true;
  }
  MESSAGE("skipped: needs localhost in /etc/hosts");
  return false;
}

}  // namespace support
