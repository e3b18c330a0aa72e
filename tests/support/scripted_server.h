#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "redis/url.h"
#include "support/temp_folder.h"

namespace support {

/// A client's socket, on the server's side of a test.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}

  /// Reads until the input ends in `end` or the client is gone; returns everything read.
  std::string read_until(std::string_view end);
  /// Waits for bytes; returns none if the client is gone.
  std::string read_some();
  /// Waits until the client closes the connection; returns how many bytes arrived.
  std::size_t read_to_end();
  /// False if the client was gone.
  bool write(std::string_view bytes);
  int fd() const noexcept { return socket_; }

 private:
  int socket_;
};

/// A server that runs a function for each client, in a thread of its own, and then hangs up on it.
/// It listens on a unix socket in its own folder, or on a free port of 127.0.0.1.
class ScriptedServer {
 public:
  using Talk = std::function<void(Peer&)>;

  explicit ScriptedServer(Talk talk, rlctl::redis::Scheme scheme = rlctl::redis::Scheme::kUnix);
  /// Hangs up on its clients, and waits until `talk` has ended.
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  const rlctl::redis::Url& url() const noexcept { return url_; }
  /// How many there have been.
  int clients();

 private:
  void accept_clients();

  Talk talk_;
  TempFolder folder_;
  rlctl::redis::Url url_;
  rlctl::FileDescriptor listener_;
  std::mutex mutex_;  ///< of what follows
  std::list<rlctl::FileDescriptor> clients_;
  std::list<std::thread> talks_;
  std::thread acceptor_;
};

/// Listens at `url`; if its port is 0, stores the port that the system chose in it.
rlctl::FileDescriptor listen_at(rlctl::redis::Url& url, int backlog = 64);

}  // namespace support
