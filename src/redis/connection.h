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

/// Commands to one server and their replies, in order. Commands are queued by append() and travel
/// when a reply is asked for or flush() is called, so that any number share one round trip; AUTH
/// and SELECT, where the URL asks for them, go before the first command in the same write, and
/// their replies never show: if one fails, reading throws it.
///
/// RESP2. Not thread-safe. After an exception other than from the arguments the connection is of no
/// more use: what was sent and not answered may have been executed, and is never sent again.
class Connection {
 public:
  /// `timeout` bounds each wait for a reply, counted from when the waiting starts.
  Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Connects within `timeout` and queues AUTH and SELECT. A database above 15, which the server
  /// may not have, is selected and answered here: what follows must not run in another one.
  [[nodiscard]] static Connection open(const Url& url, std::chrono::microseconds timeout,
                                       const Interrupt* interrupt = nullptr);

  /// Queues one command; sends nothing.
  void append(Arguments arguments);
  void append(std::initializer_list<std::string_view> arguments) {
    append(Arguments(arguments.begin(), arguments.size()));
  }
  /// Queues EVALSHA of a script.
  void append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments);
  /// Sends as much as the socket takes now, without waiting. True once nothing is left to send.
  bool send_some();
  /// Sends all that is queued, reading what comes in meanwhile. Throws Error; but where the server
  /// hangs up, the next read does, once the replies that came before are taken.
  void flush();

  /// The next reply; sends what is queued first. An error reply is returned, not thrown.
  [[nodiscard]] Reply read();
  /// The next reply if it has come already; never waits and never sends.
  [[nodiscard]] std::optional<Reply> try_read();
  /// append() and read(). Only with no other reply outstanding.
  [[nodiscard]] Reply call(Arguments arguments);
  [[nodiscard]] Reply call(std::initializer_list<std::string_view> arguments) {
    return call(Arguments(arguments.begin(), arguments.size()));
  }

  /// For the waits from now on: as the constructor's.
  void set_timeout(std::chrono::microseconds timeout) noexcept;

  /// Throws what read() throws when no reply comes within `timeout`: for a caller that waits for
  /// many connections at once, with poll(). The connection is of no more use.
  [[noreturn]] void time_out(std::chrono::microseconds timeout);

  /// Commands appended whose replies have not been taken.
  [[nodiscard]] std::size_t outstanding() const noexcept;
  /// True if bytes wait to be sent.
  [[nodiscard]] bool has_unsent() const noexcept;
  [[nodiscard]] int fd() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlctl::redis
