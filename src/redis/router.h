#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/numbered_queue.h"
#include "base/wait.h"
#include "redis/error.h"
#include "redis/link.h"
#include "redis/nodes.h"
#include "redis/reply.h"
#include "redis/topology.h"
#include "redis/url.h"

namespace rlctl::redis {

/// Commands that wait to be sent again, and the timer that says when: kPause after the first of
/// them came. A caller that polls only the poller's descriptor is woken by it.
class RetryQueue {
 public:
  static constexpr std::chrono::milliseconds kPause{50};

  struct Command {
    std::uint64_t id = 0;
    std::string formatted;
    Error why;  ///< the answer if time runs out
  };

  /// Adds the timer to the poller, which must outlive this. Throws std::system_error.
  RetryQueue(Poller& poller, std::size_t timer_id);

  void add(Command command);
  [[nodiscard]] bool empty() const noexcept { return commands_.empty(); }
  /// When they are to be sent, unless there are none.
  [[nodiscard]] Clock::time_point due() const noexcept { return due_; }
  /// Removes all, and stops the timer. They are sorted by their ids.
  [[nodiscard]] std::vector<Command> take();

  /// Makes the timer expire at once, for a caller whom nothing else would wake.
  void wake();
  /// For when the poller reports the timer: it is set again as long as there are commands.
  void expired();
  /// Whether the timer runs, or has expired and expired() was not called.
  [[nodiscard]] bool is_timer_set() const noexcept { return is_timer_set_; }

 private:
  void set_timer(std::chrono::nanoseconds time);

  std::vector<Command> commands_;
  Clock::time_point due_{};
  FileDescriptor timer_;
  bool is_timer_set_ = false;
};

/// Sends each command to the server that has its keys, and returns the replies in the order of the
/// commands: for a Cluster, and for the master that Sentinels watch over. Each server gets its
/// commands in one pipeline.
///
/// What a server refused without executing it is sent again, until the timeout has passed since it
/// was first refused: MOVED and ASK to the server that they name, NOSCRIPT after the script is
/// loaded there, TRYAGAIN, CLUSTERDOWN, a Sentinel's READONLY and a failed connection a little
/// later, once the masters were asked for anew. Nothing else is sent twice: a command whose
/// connection broke after it was sent is answered with an error of class kUnreachable or kTimeout,
/// and only that command; the others go on. One that could not be sent is answered with kNotSent.
///
/// A command without a key goes where the command before it went. The calls are those of
/// Connection. Any of them may connect to a server, and waits for that. Not thread-safe.
class Router final : public Pipeline {
 public:
  /// Asks for the masters. Throws Error if no server can tell.
  explicit Router(RouterOptions options);
  /// Takes over the link to a server that turned out to be a node of a Cluster, with the commands
  /// that it has not answered yet, and the reply that showed it, if one did, such as MOVED: the
  /// next read() or try_read() follows it. If this throws, the link stays where it was.
  Router(RouterOptions options, std::unique_ptr<Link>&& link, std::optional<Reply> refusal);

  /// Queues a command, given in parts, with its keys. Throws Error(kUsage) if their slots differ.
  void append(std::string_view name, std::span<const Arguments> parts, Arguments keys) override;
  /// Queues a command for the server with this name, one of masters().
  void append_to(const std::string& server, Arguments command);
  /// Sets where the slots are.
  void set_masters(std::span<const SlotRange> ranges);
  /// The names of all masters. Throws Error if not all of them are known.
  [[nodiscard]] std::vector<std::string> masters();

  /// The link to the server that has this key, or to any master if it is empty. Requires that no
  /// reply is outstanding; the router cannot be used any more. Throws Error if it cannot be
  /// reached.
  [[nodiscard]] std::unique_ptr<Link> release(std::string_view key);

  bool send_some() override;
  void flush() override;
  [[nodiscard]] Reply read() override;
  [[nodiscard]] std::optional<Reply> try_read() override;
  void set_timeout(std::chrono::microseconds timeout) noexcept override;
  /// Answers, with errors, for the servers that have been silent for this long.
  void time_out(std::chrono::microseconds timeout) override;
  /// Answers everything that is outstanding with errors, without waiting.
  void give_up();
  [[nodiscard]] std::size_t outstanding() const noexcept override { return commands_.size(); }
  [[nodiscard]] bool has_unsent() const noexcept override;
  [[nodiscard]] int fd() const noexcept override { return poller_.fd(); }

 private:
  using Id = std::uint64_t;
  using Purpose = InFlight::Purpose;

  /// A command whose reply the caller has not taken.
  struct Command {
    int slot = -1;                   ///< -1: it has no key
    bool is_fixed = false;           ///< for certain servers: never sent to another
    int replies_to_come = 1;         ///< more if all masters get it
    int referrals = 0;               ///< by MOVED, ASK and NOSCRIPT, in a row
    Deadline give_up = kNoDeadline;  ///< set when it first waits to be sent again
    Node* node = nullptr;            ///< that it was sent to last
    std::optional<Reply> reply = {};
  };

  /// A reply that a link was taken over with, and the command that it refused.
  struct Taken {
    Reply refusal;
    std::string command;
  };

  void await_masters();
  void take_over(Taken taken);

  [[nodiscard]] Command& command_of(Id id) { return commands_[id]; }
  [[nodiscard]] Node& node_at(const HostPort& address) {
    return nodes_.at(address, options_.timeout);
  }
  [[nodiscard]] Node& node_for(int slot);
  void refresh(std::chrono::milliseconds at_least_after);
  void drop_former_masters();
  [[nodiscard]] Deadline timeout_from_now() const;

  [[nodiscard]] Id add_command(int slot, bool is_fixed = false);
  void queued(Node& node, const InFlight& command);
  void append_internal(Node& node, Id id, Arguments command);
  [[nodiscard]] bool connect(Node& node);
  void open_link(Node& node, Clock::time_point now);
  [[nodiscard]] bool is_long_down(const Node& node) const;
  void require_master(Node& node);
  void append_to_all(std::string_view name, std::span<const Arguments> parts);
  void send_to_node(Id id, Node& node, std::string_view formatted, bool is_asking = false);
  void fail_or_retry(Id id, Node& node, std::string formatted);
  bool send_to(Node& node);
  void watch_writes(Node& node);

  void poll_if_idle();
  void send_resent();
  void receive(Deadline until, bool for_answer = true);
  void receive_all();
  void receive_last(Node& node);
  [[nodiscard]] std::optional<Reply> receive_plain();
  void receive_first();
  void receive_from(Node& node, bool until_answered = false);
  void on_reply(Node& node, Reply reply);
  [[nodiscard]] bool follow(const InFlight& command, Node& node, Reply& reply,
                            const std::string& formatted);
  void on_moved(Id id, Node& node, Reply reply, const std::string& formatted);
  void on_ask(Id id, Node& node, Reply reply, const std::string& formatted);
  void remember_script(Node& node, const Reply& reply);
  [[nodiscard]] bool load_again(const InFlight& refused, Node& node, std::string_view formatted);
  void answer(Id id, Reply reply);
  [[nodiscard]] bool is_answered() const noexcept;
  [[nodiscard]] bool is_alone() const noexcept;
  [[nodiscard]] std::optional<Reply> take();

  void disconnect(Node& node);
  void on_connection_lost(Node& node, const Error& error);
  void time_out(Node& node);
  void retry_later(Id id, std::string formatted, const Error& why);
  void retry_due();

  RouterOptions options_;
  Poller poller_;
  Nodes nodes_;
  NumberedQueue<Command> commands_;  ///< by their ids
  RetryQueue retries_;
  std::optional<Taken> taken_;
  Node* last_ = nullptr;            ///< got the last command
  Clock::time_point idle_since_{};  ///< if there are no commands
  bool has_resent_ = false;         ///< commands were queued again, which the caller does not send
};

}  // namespace rlctl::redis
