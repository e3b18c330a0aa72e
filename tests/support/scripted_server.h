#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "redis/url.h"
#include "support/temp_folder.h"

namespace support {

/// One client's socket, as the server's side of a test sees it.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}

  /// Reads until what came ends in `end`, or the client is gone; everything that came.
  std::string read_until(std::string_view end);
  /// Waits until the client hangs up; how many bytes came.
  std::size_t read_to_end();
  /// Whether the client was there to take them.
  bool write(std::string_view bytes);
  /// One send() for each byte.
  void write_bytewise(std::string_view bytes);

 private:
  int socket_;
};

/// A server that does to its first client what it is told, in a thread, and then hangs up. It
/// listens on a unix socket in a folder of its own, or on a free port of 127.0.0.1.
class ScriptedServer {
 public:
  using Talk = std::function<void(Peer&)>;

  explicit ScriptedServer(Talk talk, rlctl::redis::Scheme scheme = rlctl::redis::Scheme::kUnix);
  /// Waits for `talk` to end, so the client must be gone first where it waits for that.
  ~ScriptedServer();

  [[nodiscard]] const rlctl::redis::Url& url() const noexcept { return url_; }

 private:
  TempFolder folder_;
  rlctl::redis::Url url_;
  rlctl::FileDescriptor listener_;
  std::thread thread_;
};

/// Listens where `url` says and puts the port the system chose into it where that is 0.
[[nodiscard]] rlctl::FileDescriptor listen_at(rlctl::redis::Url& url, int backlog = 16);

}  // namespace support
