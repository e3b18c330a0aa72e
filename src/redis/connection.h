#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/reply.h"
#include "redis/transport.h"
#include "redis/url.h"

namespace rlctl::redis {

using Arguments = std::span<const std::string_view>;

/// A server that the user named, for the messages of its errors.
struct Endpoint {
  Url url = {};
  std::chrono::microseconds timeout{};
  const Interrupt* interrupt = nullptr;  ///< ends the search for the master; may be null
  /// Where its master is, once find_master() has asked; none if that is not known.
  mutable std::optional<std::optional<Url>> master = {};
};

/// Commands to one server and their replies, in order. append() queues commands; they are sent when
/// a reply is read or flush() is called, so that any number share one round trip.
///
/// RESP2. Not thread-safe. After an exception other than for the arguments the connection is of no
/// more use: unanswered commands may have been executed, and are never sent again.
class Connection {
 public:
  /// `timeout` bounds each read() and flush(): sending what is queued, and the whole reply.
  Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Connects within `timeout`. If the URL has a user, a password or a database, also waits for the
  /// replies to AUTH and SELECT, and throws if one fails: otherwise later commands would run as
  /// another user or in another database. Errors of the connection and of its replies refer to
  /// `server`, which may be null.
  [[nodiscard]] static Connection open(const Url& url, std::chrono::microseconds timeout,
                                       const Interrupt* interrupt = nullptr,
                                       std::shared_ptr<const Endpoint> server = nullptr);

  /// Queues one command; sends nothing.
  void append(Arguments arguments);
  void append(std::initializer_list<std::string_view> arguments) {
    append(Arguments(arguments.begin(), arguments.size()));
  }
  /// Queues EVALSHA of a script.
  void append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments);
  /// Sends what the socket accepts now, without waiting. Returns true once nothing is left to send.
  bool send_some();
  /// Sends everything queued, reading replies meanwhile. Throws Error, except if the server hangs
  /// up: then the next read throws, once the replies that came before are taken.
  void flush();

  /// Sends what is queued and returns the next reply. An error reply is returned, not thrown,
  /// unless it is the first and refuses the connection: then every call throws it, since the server
  /// has executed nothing.
  [[nodiscard]] Reply read();
  /// The next reply if it has already arrived; never waits and never sends. Of a reply of more than
  /// a megabyte, it may take several calls to receive what has arrived, so that a caller with a
  /// deadline keeps it.
  [[nodiscard]] std::optional<Reply> try_read();
  /// append() and read(). Requires that no other reply is outstanding.
  [[nodiscard]] Reply call(Arguments arguments);
  [[nodiscard]] Reply call(std::initializer_list<std::string_view> arguments) {
    return call(Arguments(arguments.begin(), arguments.size()));
  }

  /// Sets the constructor's `timeout` for all later calls.
  void set_timeout(std::chrono::microseconds timeout) noexcept;

  /// Throws what read() throws if no reply arrives within `timeout`: for a caller that waits for
  /// many connections with poll(). The connection is of no more use.
  [[noreturn]] void time_out(std::chrono::microseconds timeout);

  /// The number of appended commands whose replies have not been taken.
  [[nodiscard]] std::size_t outstanding() const noexcept;
  /// Whether bytes are waiting to be sent.
  [[nodiscard]] bool has_unsent() const noexcept;
  [[nodiscard]] int fd() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlctl::redis
