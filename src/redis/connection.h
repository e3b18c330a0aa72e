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

struct redisReader;

namespace rlctl::redis {

using Arguments = std::span<const std::string_view>;

/// Commands to one server and their replies, in order. append() queues commands; they are sent when
/// a reply is read or flush() is called, so that any number share one round trip. AUTH and SELECT,
/// if the URL asks for them, precede the first command in the same write, and their replies are
/// hidden: if one fails, reading throws the error.
///
/// RESP2. Not thread-safe. After an exception other than for the arguments the connection is of no
/// more use: unanswered commands may have been executed, and are never sent again.
class Connection {
 public:
  /// `timeout` bounds each wait for a reply, counted from the start of the wait.
  Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Connects within `timeout` and queues AUTH and SELECT. A database above 15, which the server
  /// may not have, is selected and confirmed here, so that no later command runs in another one.
  [[nodiscard]] static Connection open(const Url& url, std::chrono::microseconds timeout,
                                       const Interrupt* interrupt = nullptr);

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

  /// Sends what is queued and returns the next reply. An error reply is returned, not thrown.
  [[nodiscard]] Reply read();
  /// The next reply if it has already arrived; never waits and never sends.
  [[nodiscard]] std::optional<Reply> try_read();
  /// append() and read(). Requires that no other reply is outstanding.
  [[nodiscard]] Reply call(Arguments arguments);
  [[nodiscard]] Reply call(std::initializer_list<std::string_view> arguments) {
    return call(Arguments(arguments.begin(), arguments.size()));
  }

  /// Sets the constructor's `timeout` for all later waits.
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
