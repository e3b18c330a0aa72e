#include "traffic/script.h"

#include <utility>

#include "redis/error.h"
#include "traffic/foreign_script.h"

namespace rlctl::traffic {
namespace {

redis::Error script_is_gone() {
  return {redis::Failure::kRejected, "the script was removed from the server while it was in use",
          "NOSCRIPT", "someone ran SCRIPT FLUSH; run it again"};
}

}  // namespace

limiter::Decision Script::parse(redis::ReplyView reply) const {
  if (limiter::is_unknown_script(reply)) throw script_is_gone();
  return read(reply);
}

BundledScript::BundledScript(const Candidate& candidate, const Traffic& traffic, std::string prefix)
    : algorithm_(*candidate.algorithm),
      traffic_(traffic),
      prefix_(std::move(prefix)),
      command_(algorithm_) {
  require_usable(candidate);
  request_.limits = candidate.limits;
}

void BundledScript::load(redis::Connection& connection) {
  limiter::load_script(connection, algorithm_);
}

const std::vector<std::string>& BundledScript::redis_keys(std::uint32_t key) {
  if (key >= redis_keys_.size()) redis_keys_.resize(key + std::size_t{1});
  auto& keys = redis_keys_[key];
  if (keys.empty()) {
    keys = limiter::redis_keys(prefix_ + std::string(traffic_.key_name(key)), request_.limits);
  }
  return keys;
}

limiter::ScriptCall BundledScript::call(const Arrival& arrival) {
  request_.keys = redis_keys(arrival.key);
  request_.cost = arrival.cost;
  request_.now = arrival.at;
  return command_.of(request_);
}

limiter::Decision BundledScript::read(redis::ReplyView reply) const {
  return limiter::Checker::parse(reply);
}

std::vector<std::string> BundledScript::keys() const {
  std::vector<std::string> all;
  for (const auto& keys : redis_keys_) all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

std::unique_ptr<Script> make_script(const Candidate& candidate, const Traffic& traffic,
                                    std::string prefix) {
  if (!candidate.foreign) {
    return std::make_unique<BundledScript>(candidate, traffic, std::move(prefix));
  }
  return std::make_unique<ForeignScript>(*candidate.foreign, candidate.limits.front(), traffic,
                                         std::move(prefix));
}

}  // namespace rlctl::traffic
