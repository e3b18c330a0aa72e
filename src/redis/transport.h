#pragma once

#include <netdb.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/error.h"
#include "redis/url.h"

// Bytes to and from a server, by TCP, unix socket or TLS, with a deadline for every wait. A Link
// sends and receives through a Transport that connect() made; tests give it one that plays a
// server.

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
std::optional<Resolved> resolve(const std::string& host, int port, Deadline deadline,
                                const Interrupt* interrupt, Lookup lookup = ::getaddrinfo);

/// The errors of a Transport whose connection breaks, or past a deadline; `server` is its name().
Error connection_broke(const std::string& server, std::string_view why);
Error no_answer(const std::string& server);

/// Bytes to and from one server. This interface carries deadlines, Ctrl-C and TLS, and lets tests
/// substitute a scripted server. One thread at a time.
///
/// Every call throws Error: kTimeout past its deadline, kUnreachable if the connection breaks or
/// the server closes it; and Interrupted once its Interrupt is raised.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// TLS sends at most this many bytes in one record, which is decrypted as a whole.
  static constexpr std::size_t kRecordSize = 16384;

  /// Reads at least one and at most `size` bytes; waits for them until the deadline.
  virtual std::size_t read(char* buffer, std::size_t size, Deadline deadline) = 0;
  /// Reads what is available, possibly 0 bytes; never waits.
  virtual std::size_t read_available(char* buffer, std::size_t size) = 0;
  /// Writes as many bytes as the socket accepts now, possibly 0; never waits. Callers also read
  /// while they write: otherwise both sides' buffers can fill, and neither side can go on. The
  /// bytes that it did not write begin the next call's: TLS may have encrypted them already.
  virtual std::size_t write_some(std::string_view bytes) = 0;
  /// Waits until read_available() has data or write_some() has room.
  virtual void wait(Deadline deadline) = 0;
  /// The server's name for messages: the URL without its password.
  virtual const std::string& name() const noexcept = 0;
  /// For poll(): readable if read_available() has data, unless its last call gave a buffer smaller
  /// than kRecordSize.
  virtual int fd() const noexcept = 0;
};

/// Connects by TCP (each address of the name in turn, NODELAY) or unix socket, with TLS if the URL
/// says so. `interrupt` may be null and must outlive the transport. Throws what a Transport throws;
/// Error(kUsage) if the path of a unix socket is too long; InputError if a file of TLS cannot be
/// used; and Error(kProtocol) for a server's referral to an address for which
/// may_be_metadata_service(), since a hostile server could make this machine call what only it can
/// reach.
std::unique_ptr<Transport> connect(const Url& url, Deadline deadline,
                                   const Interrupt* interrupt = nullptr);

}  // namespace rlctl::redis
