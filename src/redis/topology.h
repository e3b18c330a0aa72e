#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "redis/link.h"
#include "redis/reply.h"
#include "redis/url.h"

namespace rlctl::redis {

/// Slots of which one server is the master.
struct SlotRange {
  int first = 0, last = 0;  ///< inclusive
  HostPort master;

  bool operator==(const SlotRange&) const = default;
};

/// Parses the reply to CLUSTER SLOTS of the server `asked`, whose host replaces one that is
/// missing. Throws Error: kProtocol for a malformed reply, kNotNow if no node has slots.
[[nodiscard]] std::vector<SlotRange> parse_slots(ReplyView reply, const HostPort& asked);

/// Where a node sends a command.
struct Referral {
  int slot = 0;
  HostPort server;
};

/// Parses "MOVED 3999 127.0.0.1:6381", "ASK 3999 ::1:6381" of the server `from`, whose host
/// replaces one that is missing. std::nullopt if it is neither.
[[nodiscard]] std::optional<Referral> parse_referral(std::string_view text, const HostPort& from);

/// Whether this is the error by which a node of a Cluster refuses this formatted command without
/// executing it: MOVED or ASK with the slot of its keys, TRYAGAIN or CLUSTERDOWN. A script may
/// reply anything, after it has written: only the words of the servers count.
[[nodiscard]] bool is_cluster_refusal(ReplyView reply, std::string_view command);
/// The same for the READONLY of a replica.
[[nodiscard]] bool is_replica_refusal(ReplyView reply);

/// Whether the server of this URL may be a node of a Cluster: asks CLUSTER SLOTS on a connection of
/// its own. True if it cannot be asked, or refuses that to the user.
[[nodiscard]] bool may_be_node(const Url& url, std::chrono::microseconds timeout,
                               const Interrupt* interrupt);

/// How to ask for the masters of a Cluster, or for the one that Sentinels watch over.
struct TopologyRequest {
  const Url& url;                        ///< kSentinel: Sentinels; else nodes of a Cluster
  std::span<const HostPort> candidates;  ///< who to ask, in this order; at least one
  std::chrono::microseconds timeout{};   ///< in total
  const Interrupt* interrupt = nullptr;  ///< may be null
};

/// Asks one candidate after the other, each on a connection of its own, until one answers: CLUSTER
/// SLOTS, or SENTINEL GET-MASTER-ADDR-BY-NAME, whose master has all slots. Sentinels are asked
/// without a user and a password, and with those of the URL if they require one.
///
/// Throws Error: that of the first candidate that answered or, if none did, of the last one. It is
/// kUsage if that candidate is not a node of a Cluster, or is a Sentinel that does not know the
/// master.
[[nodiscard]] std::vector<SlotRange> find_masters(const TopologyRequest& request);

/// The URL of one server of a Cluster or of Sentinel's master.
[[nodiscard]] Url url_of(const Url& whole, const HostPort& server);
/// The hosts that a URL names.
[[nodiscard]] std::vector<HostPort> hosts_of(const Url& url);

}  // namespace rlctl::redis
