#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/url.h"

namespace rlctl::redis {

/// Bytes to and from one server. The seam that carries deadlines, Ctrl-C and (later) TLS, and where
/// tests put a scripted server. One thread at a time.
///
/// Every call throws Error: kTimeout past its deadline, kInterrupted once the Interrupt it was made
/// with is raised, kUnreachable when the connection breaks or is closed by the server.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// At least one byte, at most `size`; waits for it until the deadline.
  [[nodiscard]] virtual std::size_t read(char* buffer, std::size_t size, Deadline deadline) = 0;
  /// What is there now, 0 bytes if nothing is; never waits.
  [[nodiscard]] virtual std::size_t read_available(char* buffer, std::size_t size) = 0;
  /// As many bytes as the socket takes now; may be 0. Never waits. For callers that must read while
  /// they write, or both sides' buffers fill.
  [[nodiscard]] virtual std::size_t write_some(std::string_view bytes) = 0;
  /// Waits until read_available() has something or write_some() has room.
  virtual void wait(Deadline deadline) = 0;
  /// Who is at the other end, for messages: the URL without its password.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// For poll(): readable when read_available() has something.
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

/// Throws Error(kUnsupported) for schemes that are not built yet.
void require_supported(const Url& url);

/// Connects by TCP (every address of the name in turn, NODELAY) or unix socket. `interrupt` may be
/// null and must outlive the transport. kUnsupported for schemes that are not built yet.
[[nodiscard]] std::unique_ptr<Transport> connect(const Url& url, Deadline deadline,
                                                 const Interrupt* interrupt = nullptr);

}  // namespace rlctl::redis
