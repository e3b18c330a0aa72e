#include "traffic/decider.h"

#include <algorithm>
#include <utility>

#include "redis/error.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;
using limiter::Limit;

/// Requests that travel in one write. The answers to one lot are read while the server works on the
/// next; more at a time would only wait in buffers.
constexpr std::size_t kLot = 512;

void require_usable(const Contestant& contestant) {
  for (const Limit& limit : contestant.limits) {
    limiter::require_usable(*contestant.algorithm, limit);
  }
}

redis::Error script_is_gone() {
  return {redis::Failure::kRejected, "the script was removed from the server while it was in use",
          "NOSCRIPT", "someone ran SCRIPT FLUSH; run it again"};
}

}  // namespace

ModelDecider::ModelDecider(const Contestant& contestant) : contestant_(contestant) {
  require_usable(contestant_);
}

/// The first of as many as there are limits.
limiter::KeyAndLimit* ModelDecider::state_of(std::uint32_t key) {
  const auto& limits = contestant_.limits;
  const auto first = key * limits.size();
  while (states_.size() < first + limits.size()) {
    states_.push_back({.limit = limits[states_.size() % limits.size()]});
  }
  auto* const state = &states_[first];
  if (state->key == nullptr) {
    for (std::size_t i = 0; i < limits.size(); ++i) {
      state[i].key = models_.emplace_back(contestant_.algorithm->make_model()).get();
    }
  }
  return state;
}

void ModelDecider::decide(std::span<const Arrival> arrivals, std::span<Decision> decisions) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const auto& [at, key, cost] = arrivals[i];
    decisions[i] = limiter::decide({state_of(key), contestant_.limits.size()}, cost, at);
  }
}

ScriptDecider::ScriptDecider(redis::Connection& connection, const Contestant& contestant,
                             const Traffic& traffic, std::string prefix)
    : connection_(connection),
      contestant_(contestant),
      traffic_(traffic),
      prefix_(std::move(prefix)),
      checker_(connection, *contestant.algorithm) {
  require_usable(contestant_);
  request_.limits = contestant_.limits;
  checker_.load();
}

const std::vector<std::string>& ScriptDecider::redis_keys(std::uint32_t key) {
  if (key >= redis_keys_.size()) redis_keys_.resize(key + std::size_t{1});
  auto& keys = redis_keys_[key];
  if (keys.empty()) {
    keys = limiter::redis_keys(prefix_ + std::string(traffic_.key_name(key)), contestant_.limits);
  }
  return keys;
}

void ScriptDecider::ask(std::span<const Arrival> arrivals) {
  for (const Arrival& arrival : arrivals) {
    request_.keys = redis_keys(arrival.key);
    request_.cost = arrival.cost;
    request_.now = arrival.at;
    checker_.append(request_);
  }
}

Decision ScriptDecider::answer() {
  const auto reply = connection_.read();
  try {
    if (limiter::is_unknown_script(reply)) throw script_is_gone();
    return limiter::Checker::parse(reply);
  } catch (const redis::Error&) {
    skip_answers();
    throw;
  }
}

/// What is wrong has been said; a connection that breaks as well says so when it is next used.
void ScriptDecider::skip_answers() noexcept {
  try {
    while (connection_.outstanding() > 0) static_cast<void>(connection_.read());
  } catch (const redis::Error&) {
    return;
  }
}

void ScriptDecider::decide(std::span<const Arrival> arrivals, std::span<Decision> decisions) {
  auto to_ask = arrivals;
  const auto ask_lot = [&] {
    const auto lot = to_ask.first(std::min(kLot, to_ask.size()));
    ask(lot);
    to_ask = to_ask.subspan(lot.size());
    return lot.size();
  };
  auto awaited = ask_lot();
  while (awaited > 0) {
    connection_.send_some();
    const auto next = ask_lot();
    for (auto& decision : decisions.first(awaited)) decision = answer();
    decisions = decisions.subspan(awaited);
    awaited = next;
  }
}

std::optional<double> ScriptDecider::bytes_per_key() {
  const auto all = keys();
  std::int64_t bytes = 0, there = 0;
  for (std::size_t first = 0; first < all.size(); first += kLot) {
    const auto count = std::min(kLot, all.size() - first);
    for (const auto& key : std::span(all).subspan(first, count)) {
      connection_.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto reply = connection_.read();
      if (reply.type() != redis::ReplyType::kInteger) continue;  // expired, or not permitted
      bytes += reply.integer();
      ++there;
    }
  }
  if (there == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(there);
}

std::vector<std::string> ScriptDecider::keys() const {
  std::vector<std::string> all;
  for (const auto& keys : redis_keys_) all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

}  // namespace rlctl::traffic
