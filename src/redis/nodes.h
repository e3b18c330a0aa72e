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
#include <vector>

#include "base/numbered_queue.h"
#include "base/wait.h"
#include "redis/error.h"
#include "redis/link.h"
#include "redis/slots.h"
#include "redis/topology.h"
#include "redis/url.h"

namespace rlctl::redis {

/// A command that a server has not answered yet.
struct InFlight {
  /// What its reply is for.
  enum class Purpose {
    kCommand,
    kLoad,      ///< SCRIPT LOAD by the caller
    kInternal,  ///< ASKING, or a script that is loaded again: nobody's
  };

  std::uint64_t id = 0;  ///< the router's
  Purpose purpose = Purpose::kCommand;
  bool is_asking = false;  ///< sent after ASKING
};

/// A server of several, and the connection to it.
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
  /// Those loaded on this link, or about to be, and the number of commands before that.
  std::map<std::string, std::uint64_t, std::less<>> scripts;
  std::optional<Error> why_down;  ///< if the last attempt to connect failed, or it hung
  Clock::time_point down_since{}, next_attempt{};
};

/// The servers that a router has heard of, and which of them has which slot. A node is never
/// removed, and keeps its address in memory.
class Nodes {
 public:
  /// Knows nothing until it is told or refreshed. The arguments must outlive this; `interrupt` may
  /// be null.
  Nodes(const Url& url, const Interrupt* interrupt);

  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& all() const noexcept { return nodes_; }
  /// The node with this address, which is added if it is new; `timeout` is for messages about it.
  [[nodiscard]] Node& at(const HostPort& address, std::chrono::microseconds timeout);
  /// One that is connected, if any is. There must be a node.
  [[nodiscard]] Node& any_master() const;
  /// The master that has the slot; any if that is not known.
  [[nodiscard]] Node& owner_of(int slot) const;
  /// Records that `owner` has the slot, after a reply MOVED.
  void move_slot(int slot, Node& owner);

  /// Sets where the slots are. `timeout` is that of at().
  void set_masters(std::span<const SlotRange> ranges, std::chrono::microseconds timeout);
  /// Asks for the masters within `timeout`, unless that was done less than `at_least_after` ago.
  /// Returns whether they were set; else why_unknown() may give the reason. Throws Interrupted.
  bool refresh(std::chrono::milliseconds at_least_after, std::chrono::microseconds timeout);
  [[nodiscard]] bool may_refresh(std::chrono::milliseconds at_least_after) const;
  /// Something shows that the masters have changed.
  void mark_stale() noexcept { is_stale_ = true; }
  [[nodiscard]] bool is_stale() const noexcept { return is_stale_; }
  /// Whether all masters are known, as they were once.
  [[nodiscard]] bool knows_all() const noexcept { return knows_all_; }
  /// The error of the last refresh() that failed.
  [[nodiscard]] const std::optional<Error>& why_unknown() const noexcept { return why_unknown_; }

  /// We were paused since then: does not count that time as a server's silence.
  void discount_silence(Clock::time_point since);

 private:
  static constexpr std::uint16_t kUnknown = 0xffff;

  [[nodiscard]] std::vector<HostPort> whom_to_ask() const;

  const Url& url_;
  const Interrupt* interrupt_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::array<std::uint16_t, kSlots> owners_{};  ///< indices in nodes_, or kUnknown
  bool knows_all_ = false;
  bool is_stale_ = false;
  std::optional<Error> why_unknown_;
  Clock::time_point last_refresh_{};
};

}  // namespace rlctl::redis
