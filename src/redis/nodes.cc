#include "redis/nodes.h"

#include <algorithm>
#include <utility>

namespace rlctl::redis {

Nodes::Nodes(const Url& url, const Interrupt* interrupt) : url_(url), interrupt_(interrupt) {
  owners_.fill(kUnknown);
}

Node& Nodes::at(const HostPort& address, std::chrono::microseconds timeout) {
  for (const auto& node : nodes_) {
    if (node->address == address) return *node;
  }
  auto node = std::make_unique<Node>();
  node->address = address;
  node->name = display(address);
  const Url url = url_of(url_, address);
  node->endpoint = std::make_shared<const Endpoint>(
      Endpoint{.url = url, .timeout = timeout, .interrupt = interrupt_});
  node->index = nodes_.size();
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

Node& Nodes::any_master() const {
  Node* found = nodes_.front().get();
  for (const auto& node : nodes_) {
    if (!node->is_master) continue;
    if (node->link) return *node;
    if (!found->is_master) found = node.get();
  }
  return *found;
}

Node& Nodes::owner_of(int slot) const {
  const auto owner = owners_[static_cast<std::size_t>(slot)];
  return owner == kUnknown ? any_master() : *nodes_[owner];
}

void Nodes::move_slot(int slot, Node& owner) {
  owner.is_master = true;
  owners_[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(owner.index);
}

void Nodes::set_masters(std::span<const SlotRange> ranges, std::chrono::microseconds timeout) {
  for (const auto& node : nodes_) node->is_master = false;
  owners_.fill(kUnknown);
  for (const auto& range : ranges) {
    Node& node = at(range.master, timeout);
    node.is_master = true;
    std::fill(owners_.begin() + range.first, owners_.begin() + range.last + 1,
              static_cast<std::uint16_t>(node.index));
  }
  knows_all_ = true;
  is_stale_ = false;
}

bool Nodes::may_refresh(std::chrono::milliseconds at_least_after) const {
  return Clock::now() - last_refresh_ >= at_least_after;
}

bool Nodes::refresh(std::chrono::milliseconds at_least_after, std::chrono::microseconds timeout) {
  if (!may_refresh(at_least_after)) return false;
  const auto started = Clock::now();
  const auto candidates = whom_to_ask();
  bool is_set = false;
  try {
    set_masters(
        find_masters(
            {.url = url_, .candidates = candidates, .timeout = timeout, .interrupt = interrupt_}),
        timeout);
    is_set = true;
  } catch (const Error& error) {
    why_unknown_ = error;  // the next refresh is due soon
  }
  last_refresh_ = Clock::now();
  discount_silence(started);
  return is_set;
}

/// Sentinels know the master; the nodes of a Cluster know one another. Those that replied last come
/// first.
std::vector<HostPort> Nodes::whom_to_ask() const {
  std::vector<HostPort> candidates;
  if (url_.scheme != Scheme::kSentinel) {
    std::vector<const Node*> known;
    for (const auto& node : nodes_) {
      if (node->address.port != 0) known.push_back(node.get());
    }
    std::stable_sort(known.begin(), known.end(), [](const Node* a, const Node* b) {
      return std::pair(a->why_down.has_value(), b->last_reply) <
             std::pair(b->why_down.has_value(), a->last_reply);
    });
    for (const auto* node : known) candidates.push_back(node->address);
  }
  if (url_.scheme != Scheme::kUnix) {
    for (auto& host : hosts_of(url_)) {
      if (std::ranges::find(candidates, host) == candidates.end()) candidates.push_back(host);
    }
  }
  return candidates;
}

void Nodes::discount_silence(Clock::time_point since) {
  const auto waited = Clock::now() - since;
  for (const auto& node : nodes_) node->last_reply += waited;
}

}  // namespace rlctl::redis
