#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "redis/reply.h"
#include "redis/url.h"

// Commands to several servers: the nodes of a Cluster, or the master that Sentinels watch over. A
// Connection becomes a Router if its URL or a server's reply asks for that; only
// redis/connection.cc makes one. A Router keeps the Nodes and which slots they have, and a
// RetryQueue of the commands that were refused. Code that only needs
// slots includes this for slot_of() or hashed_part(): stored/, lint/, limiter/.

namespace rlctl::redis {

// ---- Slots ----

/// The number of hash slots of a Cluster.
inline constexpr int kSlots = 16384;

/// What decides a key's slot: its hash tag, between its first { and the next }, or all of it if
/// that is empty or missing.
/// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
std::string_view hashed_part(std::string_view key) noexcept;

/// The slot of a key: CRC16 (XMODEM) of its hashed_part().
int slot_of(std::string_view key) noexcept;

/// The keys among the words of a command that this program sends; empty if the command has none.
/// Throws Error(kUsage) if the word that counts the keys of EVALSHA, FCALL or the like is not a
/// number, or is more than the words that follow.
Arguments keys_of(Arguments command);

/// The slot that all the keys share; -1 for no keys. Throws Error(kUsage) if their slots differ: no
/// node would accept the command.
int common_slot(Arguments keys);

// ---- What the nodes of a Cluster reply ----

/// Slots of which one server is the master.
struct SlotRange {
  int first = 0, last = 0;  ///< inclusive
  HostPort master;

  bool operator==(const SlotRange&) const = default;
};

/// Parses the reply to CLUSTER SLOTS of the server `asked`, whose host replaces one that is
/// missing. Throws Error: kProtocol for a malformed reply, kNotNow if no node has slots.
std::vector<SlotRange> parse_slots(ReplyView reply, const HostPort& asked);

/// The server to which a node refers a command.
struct Referral {
  int slot = 0;
  HostPort server;
};

/// Parses "MOVED 3999 127.0.0.1:6381" or "ASK 3999 ::1:6381" from the server `from`, whose host
/// replaces one that is missing. std::nullopt if the text is neither.
std::optional<Referral> parse_referral(std::string_view text, const HostPort& from);

/// Whether this is the error with which a node of a Cluster refuses this formatted command without
/// executing it: MOVED or ASK with the slot of its keys, TRYAGAIN or CLUSTERDOWN. A script may
/// reply anything, after it has written: only the words of the servers count.
bool is_cluster_refusal(ReplyView reply, std::string_view command);

/// Whether the server of this URL may be a node of a Cluster: asks CLUSTER SLOTS on a connection of
/// its own. True if it cannot be asked, or refuses that to the user.
bool may_be_node(const Url& url, std::chrono::microseconds timeout, const Interrupt* interrupt);

/// The URL of one server, given that of the whole Cluster or of the Sentinels.
Url url_of(const Url& whole, const HostPort& server);

// ---- Nodes ----

/// A command that a server has not answered yet.
struct InFlight {
  /// What its reply is for.
  enum class Purpose {
    kCommand,
    kLoad,      ///< SCRIPT LOAD by the caller
    kInternal,  ///< ASKING, or a script that is loaded again: the caller gets no reply
  };

  std::uint64_t id = 0;  ///< its number among the router's commands
  Purpose purpose = Purpose::kCommand;
  bool is_asking = false;  ///< sent after ASKING
};

/// One of several servers, and the connection to it.
struct Node {
  std::size_t index = 0;
  HostPort address;
  std::string name;
  std::shared_ptr<const Endpoint> endpoint;
  std::unique_ptr<Link> link;
  NumberedQueue<InFlight> in_flight;
  std::uint64_t answered = 0;      ///< the number of replies on this link
  Clock::time_point last_reply{};  ///< when it came, or when the oldest command was queued
  bool writes_watched = false;     ///< the poller watches for room to send
  bool is_master = false;
  /// The scripts that are loaded on this link, or about to be, by their SHA1, and the number of
  /// commands before the SCRIPT LOAD.
  std::map<std::string, std::uint64_t, std::less<>> scripts;
  std::optional<Error> why_down;  ///< why the last attempt to connect failed, or that it hung
  Clock::time_point down_since{}, next_attempt{};
};

/// The servers that a router knows, and which slots each has. A node is never removed and never
/// moved in memory, so that pointers to it stay valid.
class Nodes {
 public:
  /// Empty until set_masters() or refresh(). `options` must outlive this.
  explicit Nodes(const RouterOptions& options);

  const std::vector<std::unique_ptr<Node>>& all() const noexcept { return nodes_; }
  /// The node with this address, which is added if it is new.
  Node& at(const HostPort& address);
  /// A master, one that is connected if there is one. There must be a node.
  Node& any_master() const;
  /// The master that has the slot; any_master() if that is not known.
  Node& owner_of(int slot) const;
  /// Records that `owner` has the slot, after a reply MOVED.
  void move_slot(int slot, Node& owner);

  /// Sets where the slots are.
  void set_masters(std::span<const SlotRange> ranges);
  /// Asks for the masters and sets where the slots are, unless that was done less than
  /// `at_least_after` ago. Returns false if it was, or if no server could tell: see why_unknown().
  /// Throws Interrupted.
  bool refresh(std::chrono::milliseconds at_least_after);
  bool may_refresh(std::chrono::milliseconds at_least_after) const;
  /// Records that something shows that the masters have changed.
  void mark_stale() noexcept { is_stale_ = true; }
  bool is_stale() const noexcept { return is_stale_; }
  /// Whether all masters are known, as they were once.
  bool knows_all() const noexcept { return knows_all_; }
  /// The error of the last refresh() that failed.
  const std::optional<Error>& why_unknown() const noexcept { return why_unknown_; }

  /// Records that no replies were read since then: that time is not a server's silence.
  void discount_silence(Clock::time_point since);

 private:
  static constexpr std::uint16_t kUnknown = 0xffff;

  std::vector<HostPort> candidates_to_ask() const;

  const RouterOptions& options_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::array<std::uint16_t, kSlots> owners_{};  ///< for each slot an index in nodes_, or kUnknown
  bool knows_all_ = false;
  bool is_stale_ = false;
  std::optional<Error> why_unknown_;
  Clock::time_point last_refresh_{};
};

// ---- Retry queue ----

/// Commands that wait to be sent again, and the timer that says when: kPause after the first of
/// them was added. The timer also wakes a caller that polls only the poller's descriptor.
class RetryQueue {
 public:
  static constexpr std::chrono::milliseconds kPause{50};

  struct Command {
    std::uint64_t id = 0;
    std::string formatted;
    Error why;  ///< why it was refused: the answer if time runs out
  };

  /// Adds the timer to the poller, which must outlive this. Throws std::system_error.
  RetryQueue(Poller& poller, std::size_t timer_id);

  void add(Command command);
  bool empty() const noexcept { return commands_.empty(); }
  /// When the commands are to be sent. There must be some.
  Clock::time_point due() const noexcept { return due_; }
  /// Removes all commands and stops the timer. Returns them sorted by their ids.
  std::vector<Command> take();

  /// Makes the timer expire at once, for a caller that nothing else would wake.
  void wake();
  /// For when the poller reports the timer: it is set again as long as there are commands.
  void expired();
  /// Whether the timer runs, or has expired and expired() was not called.
  bool is_timer_set() const noexcept { return is_timer_set_; }

 private:
  void set_timer(std::chrono::nanoseconds time);

  std::vector<Command> commands_;
  Clock::time_point due_{};
  FileDescriptor timer_;
  bool is_timer_set_ = false;
};

// ---- Router ----

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
/// A command without a key goes where the command before it went. The header of Connection
/// describes the calls. Any of them may connect to a server, and waits for that. Not thread-safe.
class Router final : public Pipeline {
 public:
  /// Asks for the masters. Throws Error if no server can tell.
  explicit Router(RouterOptions options);
  /// Takes over the link to a server that turned out to be a node of a Cluster, with the commands
  /// that it has not answered yet. `refusal` is the reply that showed that, such as MOVED, if one
  /// did: the next read() or try_read() follows it. If this throws, `link` is unchanged.
  Router(RouterOptions options, std::unique_ptr<Link>&& link, std::optional<Reply> refusal);

  /// Queues a command, given in parts, with its keys. Throws Error(kUsage) if their slots differ.
  void append(std::string_view name, std::span<const Arguments> parts, Arguments keys,
              ReplyKind kind) override;
  /// Queues a command for the server with this name, one of masters().
  void append_to(const std::string& server, Arguments command);
  /// Sets where the slots are.
  void set_masters(std::span<const SlotRange> ranges);
  /// The names of all masters. Throws Error if not all of them are known.
  std::vector<std::string> masters();

  /// The link to the server that has this key, or to any master if it is empty. Requires that no
  /// reply is outstanding; the router cannot be used any more. Throws Error if it cannot be
  /// reached.
  std::unique_ptr<Link> release(std::string_view key);

  bool send_some() override;
  void flush() override;
  Reply read() override;
  std::optional<Reply> try_read() override;
  void set_timeout(std::chrono::microseconds timeout) noexcept override;
  /// Answers, with errors, for the servers that have been silent for this long.
  void time_out(std::chrono::microseconds timeout) override;
  /// Answers everything that is outstanding with errors, without waiting.
  void give_up();
  std::size_t outstanding() const noexcept override { return commands_.size(); }
  bool has_unsent() const noexcept override;
  int fd() const noexcept override { return poller_.fd(); }

 private:
  using Id = std::uint64_t;
  using Purpose = InFlight::Purpose;

  /// A command whose reply the caller has not taken.
  struct Command {
    int slot = -1;  ///< -1: it has no key
    ReplyKind kind = ReplyKind::kAny;
    bool is_fixed = false;           ///< for certain servers: never sent to another
    int replies_to_come = 1;         ///< more if all masters get it
    int referrals = 0;               ///< by MOVED, ASK and NOSCRIPT, in a row
    Deadline give_up = kNoDeadline;  ///< set when it first waits to be sent again
    Node* node = nullptr;            ///< the node that it was sent to last
    std::optional<Reply> reply = {};
  };

  /// A reply that refused a command on a link that was taken over.
  struct Refusal {
    Reply reply;
    std::string command;
  };

  void await_masters();
  void follow_refusal(Refusal refusal);

  Command& command_of(Id id) { return commands_[id]; }
  Node& node_for(int slot);
  void refresh(std::chrono::milliseconds at_least_after);
  void drop_former_masters();

  Id add_command(int slot, bool is_fixed = false);
  void queued(Node& node, const InFlight& command);
  void append_internal(Node& node, Id id, std::initializer_list<std::string_view> command);
  bool connect(Node& node);
  void open_link(Node& node, Clock::time_point now);
  bool is_long_down(const Node& node) const;
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
  std::optional<Reply> receive_plain();
  void receive_first();
  void receive_from(Node& node, bool until_answered = false);
  void on_reply(Node& node, Reply reply);
  bool follow(const InFlight& command, Node& node, Reply& reply, const std::string& formatted);
  void on_moved(Id id, Node& node, Reply reply, const std::string& formatted);
  void on_ask(Id id, Node& node, Reply reply, const std::string& formatted);
  void remember_script(Node& node, const Reply& reply);
  bool load_again(const InFlight& refused, Node& node, std::string_view formatted);
  void answer(Id id, Reply reply);
  bool is_answered() const noexcept;
  bool is_alone() const noexcept;
  std::optional<Reply> take();

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
  std::optional<Refusal> refusal_;  ///< not followed yet
  Node* last_ = nullptr;            ///< the node that got the last command
  Clock::time_point idle_since_{};  ///< when the last reply was taken; if there are no commands
  bool has_resent_ = false;         ///< commands were queued again, which the caller does not send
};

}  // namespace rlctl::redis
