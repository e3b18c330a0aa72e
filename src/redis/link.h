#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "redis/endpoint.h"
#include "redis/reply.h"
#include "redis/transport.h"
#include "redis/url.h"

namespace rlctl::redis {

/// The words of a command, or some of them.
using Arguments = std::span<const std::string_view>;

/// The name under which a message or an ACL rule refers to a command: "EVALSHA", "SCRIPT LOAD".
[[nodiscard]] std::string command_name(Arguments command);
/// A command, given in parts, as it is sent.
[[nodiscard]] std::string format_command(std::span<const Arguments> parts);

/// The words of what format_command() returned, in its memory.
[[nodiscard]] std::vector<std::string_view> words_of_formatted(std::string_view command);

/// Commands to one server and their replies, in order, over one Transport. It is what a Connection
/// consists of, which documents the calls of the same names.
class Link {
 public:
  Link(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);
  ~Link();
  Link(Link&&) noexcept;
  Link& operator=(Link&&) noexcept;

  [[nodiscard]] static Link open(const Url& url, std::chrono::microseconds timeout,
                                 const Interrupt* interrupt,
                                 std::shared_ptr<const Endpoint> server);

  /// Queues a command, given in parts.
  void append(std::string_view name, std::span<const Arguments> parts);
  /// Queues what format_command() or last_answered() returned.
  void append_formatted(std::string_view name, std::string_view command);
  bool send_some();
  void flush();
  [[nodiscard]] Reply read();
  [[nodiscard]] std::optional<Reply> try_read();
  void set_timeout(std::chrono::microseconds timeout) noexcept;
  [[noreturn]] void time_out(std::chrono::microseconds timeout);
  [[nodiscard]] std::size_t outstanding() const noexcept;
  [[nodiscard]] bool has_unsent() const noexcept;
  [[nodiscard]] int fd() const noexcept;

  /// Whether bytes were received that no reply accounts for yet.
  [[nodiscard]] bool has_input() const noexcept;
  /// When the last bytes were received.
  [[nodiscard]] Clock::time_point last_received() const noexcept;
  /// The command that the last reply answers. Valid until the next append().
  [[nodiscard]] std::string_view last_answered() const noexcept;
  /// The unanswered commands whose last byte was never sent, in order: no server has executed them.
  [[nodiscard]] std::vector<std::string> not_sent_whole() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlctl::redis
