#include "traffic/server_stats.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rlctl::traffic {
namespace {

constexpr std::array<std::string_view, 6> kRunScripts{"evalsha", "eval",  "evalsha_ro",
                                                      "eval_ro", "fcall", "fcall_ro"};

/// Keys queried in one write.
constexpr std::size_t kKeysAtOnce = 512;

/// `encoding` is OBJECT ENCODING's. The levels of a skip list are random, and a hash table grows
/// when the server has time for it.
bool is_by_chance(redis::ReplyView encoding) {
  return encoding.type() == redis::ReplyType::kString &&
         (encoding.text() == "skiplist" || encoding.text() == "hashtable");
}

}  // namespace

TimeWatch::TimeWatch(redis::Connection& connection) : connection_(connection), last_(count()) {}

std::optional<TimeWatch::Calls> TimeWatch::count() const {
  const auto stats = redis::read_command_stats(connection_);
  if (!stats) return std::nullopt;
  const auto calls_of = [&](std::string_view command) {
    const auto found = stats->find(command);
    return found == stats->end() ? 0 : found->second.calls;
  };
  Calls calls{.time = calls_of("time")};
  for (const auto command : kRunScripts) calls.scripts += calls_of(command);
  return calls;
}

bool TimeWatch::saw_time(std::int64_t scripts) {
  const auto before = last_;
  last_ = count();
  return before && last_ && last_->time > before->time &&
         last_->scripts - before->scripts == scripts;
}

std::optional<redis::CommandStats> read_server_time(redis::Connection& connection) {
  const auto stats = redis::read_command_stats(connection);
  if (!stats) return std::nullopt;
  const auto found = stats->find("evalsha");
  return found == stats->end() ? redis::CommandStats{} : found->second;
}

std::optional<double> us_per_call(const std::optional<redis::CommandStats>& before,
                                  const std::optional<redis::CommandStats>& after,
                                  std::int64_t calls) {
  if (!before || !after || calls == 0 || after->calls - before->calls != calls) return std::nullopt;
  return static_cast<double>(after->us - before->us) / static_cast<double>(calls);
}

std::optional<double> bytes_per_key(redis::Connection& connection,
                                    std::span<const std::string> keys, Sizes sizes) {
  std::int64_t bytes = 0, there = 0;
  bool by_chance = false;
  while (!keys.empty()) {
    const auto lot = keys.first(std::min(kKeysAtOnce, keys.size()));
    for (const auto& key : lot) {
      connection.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
      if (sizes == Sizes::kRepeatable) connection.append({"OBJECT", "ENCODING", key});
    }
    for (std::size_t i = 0; i < lot.size(); ++i) {
      const auto usage = connection.read();
      if (sizes == Sizes::kRepeatable && is_by_chance(connection.read())) by_chance = true;
      if (usage.type() != redis::ReplyType::kInteger) continue;  // expired, or not permitted
      bytes += usage.integer();
      ++there;
    }
    keys = keys.subspan(lot.size());
  }
  if (there == 0 || by_chance) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(there);
}

}  // namespace rlctl::traffic
