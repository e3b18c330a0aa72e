#include "script/key_aging.h"

#include <array>
#include <utility>

#include "embedded_scripts.h"
#include "redis/error.h"
#include "redis/scan.h"

namespace rlctl::script {

KeyAging::KeyAging(redis::Connection& connection, std::string hash, bool reads_ttls)
    : connection_(connection), hash_(std::move(hash)), reads_ttls_(reads_ttls) {
  const auto reply = connection_.call({"SCRIPT", "LOAD", embedded::k_key_aging.text});
  require_done(reply);
  sha1_ = reply.text();
}

void KeyAging::require_done(redis::ReplyView reply) {
  if (reply.is_error()) throw redis::to_error(reply);
}

bool KeyAging::is_late(redis::ReplyView reply) {
  return reply.integer() % 2 == 1;
}

bool KeyAging::is_near_end(redis::ReplyView reply) {
  return reply.integer() >= 2;
}

void KeyAging::append(std::chrono::microseconds to, std::span<const std::string_view> keys) {
  const auto before = std::to_string(at_.count()), after = std::to_string(to.count());
  const auto slack = std::to_string(slack_.count());
  const auto paused = under_way_ ? named_.size() : 0;
  const auto count = std::to_string(paused);
  std::vector<std::string_view> named{hash_};
  named.insert(named.end(), named_.begin(),
               std::next(named_.begin(), static_cast<std::ptrdiff_t>(paused)));
  named.insert(named.end(), keys.begin(), keys.end());
  connection_.append_evalsha(
      sha1_, named,
      std::array<std::string_view, 5>{count, before, after, slack, reads_ttls_ ? "1" : "0"});
}

bool KeyAging::advance(std::chrono::microseconds to, std::span<const std::string_view> keys) {
  auto named = redis::each_once(keys);
  // Not too many share the few ms after which they count as stalled.
  constexpr int kMaxAlike = 32;
  const bool is_alike = under_way_ && to == at_ && named == named_;
  if (is_alike && ++alike_ < kMaxAlike) return false;
  alike_ = 0;
  append(to, std::vector<std::string_view>(named.begin(), named.end()));
  under_way_ = true;
  named_ = std::move(named);
  at_ = to;
  return true;
}

bool KeyAging::pause() {
  if (!under_way_) return false;
  append(at_, {});
  under_way_ = false;
  return true;
}

}  // namespace rlctl::script
