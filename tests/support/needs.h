#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

namespace support {

/// Whether root runs the test; otherwise it counts as skipped.
inline bool needs_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("skipped: needs root");
  return false;
}

}  // namespace support
