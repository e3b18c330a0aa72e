#pragma once

#include <netdb.h>

#include <memory>
#include <optional>
#include <string>

#include "base/wait.h"

namespace rlctl::redis {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

struct Resolved {
  Addresses addresses;
  std::string why;  ///< why there are none
};

/// getaddrinfo(), or a test's own; freeaddrinfo() frees its result.
using Lookup = int (*)(const char* host, const char* service, const addrinfo* wanted,
                       addrinfo** list);

/// Resolves a host; returns nothing once the deadline has passed. Throws Interrupted once
/// `interrupt`, which may be null, is raised.
///
/// The system's resolver has no deadline, so a name is looked up in a separate thread, which is
/// abandoned if it takes too long. A numeric address needs no thread.
[[nodiscard]] std::optional<Resolved> resolve(const std::string& host, int port, Deadline deadline,
                                              const Interrupt* interrupt,
                                              Lookup lookup = ::getaddrinfo);

}  // namespace rlctl::redis
