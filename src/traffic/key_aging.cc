#include "traffic/key_aging.h"

#include <algorithm>
#include <array>
#include <utility>

#include "redis/error.h"

namespace rlctl::traffic {
namespace {

/// KEYS: the hash, those of the request before, those of the one to come. ARGV: how many are of the
/// one before, or -1 where all keys that there are count; its time; the time of the one to come; by
/// how much later keys end. Times are in µs, virtual.
constexpr std::string_view kScript = R"(
local hash, count = KEYS[1], tonumber(ARGV[1])
local before, after, slack = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local spare = 3600000  -- ms
local late = 10        -- ms, by which a TTL that nobody set may have become shorter
local last = 5         -- ms, at least, for the request that comes then

-- In whole ms.
local function until_end(ends, now)
  return math.max(math.ceil((ends + slack - now) / 1000), last)
end

local function pause(key)
  local left = redis.call('PTTL', key)
  if left < 0 then return redis.call('HDEL', hash, key) end
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  local was = ends and until_end(ends, before)
  if not was or left > was or left <= was - late then
    local step = left >= 1000 and 10 or left >= 100 and 5 or 1
    ends = before + math.ceil(left / step) * step * 1000
    redis.call('HSET', hash, key, string.format('%.0f', ends))
  end
  redis.call('PEXPIRE', key, left + spare)
end

local function resume(key)
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  if not ends then return end
  if after < ends + slack then return redis.call('PEXPIRE', key, until_end(ends, after)) end
  redis.call('UNLINK', key)
  redis.call('HDEL', hash, key)
end

if count < 0 then
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if key ~= hash then
      pause(key)
      resume(key)
    end
  end
else
  for i = 2, 1 + count do pause(KEYS[i]) end
  for i = 2 + count, #KEYS do resume(KEYS[i]) end
end
redis.call('PEXPIRE', hash, 2 * spare)
)";

std::vector<std::string> each_once(std::span<const std::string_view> keys) {
  std::vector<std::string> once;
  for (const auto key : keys) {
    if (std::find(once.begin(), once.end(), key) == once.end()) once.emplace_back(key);
  }
  return once;
}

}  // namespace

KeyAging::KeyAging(redis::Connection& connection, std::string hash)
    : connection_(connection), hash_(std::move(hash)) {
  const auto reply = connection_.call({"SCRIPT", "LOAD", kScript});
  require_done(reply);
  sha1_ = reply.text();
}

void KeyAging::require_done(redis::ReplyView reply) {
  if (reply.is_error()) throw redis::to_error(reply);
}

void KeyAging::append(std::chrono::microseconds to, std::span<const std::string_view> keys) {
  const auto before = std::to_string(at_.count()), after = std::to_string(to.count());
  const auto slack = std::to_string(slack_.count());
  const bool all = scope_ == Scope::kAll;
  const auto paused = all || !under_way_ ? 0 : named_.size();
  const auto count = all ? std::string("-1") : std::to_string(paused);
  std::vector<std::string_view> named{hash_};
  named.insert(named.end(), named_.begin(),
               std::next(named_.begin(), static_cast<std::ptrdiff_t>(paused)));
  if (!all) named.insert(named.end(), keys.begin(), keys.end());
  connection_.append_evalsha(sha1_, named,
                             std::array<std::string_view, 4>{count, before, after, slack});
}

bool KeyAging::advance(std::chrono::microseconds to, std::span<const std::string_view> keys) {
  auto named = each_once(keys);
  if (under_way_ && to == at_ && named == named_) return false;
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

}  // namespace rlctl::traffic
