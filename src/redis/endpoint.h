#pragma once

#include <chrono>
#include <optional>

#include "base/wait.h"
#include "redis/url.h"

namespace rlctl::redis {

/// A server that the user named, for the messages of its errors.
struct Endpoint {
  Url url = {};
  std::chrono::microseconds timeout{};
  const Interrupt* interrupt = nullptr;  ///< ends the search for the master; may be null
  /// Where its master is, once find_master() has asked; none if that is not known.
  mutable std::optional<std::optional<Url>> master = {};
};

}  // namespace rlctl::redis
