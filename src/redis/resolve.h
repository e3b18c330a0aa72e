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
  std::string why;  ///< there are none
};

/// getaddrinfo(), or a test's own; freeaddrinfo() frees what it gives.
using Lookup = int (*)(const char* host, const char* service, const addrinfo* wanted,
                       addrinfo** list);

/// The addresses of a host; nothing past the deadline. Throws Interrupted once `interrupt`,
/// which may be null, is raised.
///
/// The system's resolver knows no deadline, so a name is looked up in a thread of its own, which is
/// left behind where it takes too long. A numeric address needs none.
[[nodiscard]] std::optional<Resolved> resolve(const std::string& host, int port, Deadline deadline,
                                              const Interrupt* interrupt,
                                              Lookup lookup = ::getaddrinfo);

}  // namespace rlctl::redis
