#include "traffic/server_stats.h"

#include <algorithm>
#include <string>
#include <vector>

#include "traffic/skip_list.h"

namespace rlctl::traffic {
namespace {

/// Keys queried in one write.
constexpr std::size_t kKeysAtOnce = 512;

}  // namespace

TimeWatch::TimeWatch(redis::Connection& connection) : connection_(connection), last_(count()) {}

std::optional<TimeWatch::Calls> TimeWatch::count() const {
  const auto stats = redis::read_command_stats(connection_);
  if (!stats) return std::nullopt;
  const auto time = stats->find("time");
  return Calls{.time = time == stats->end() ? 0 : time->second.calls,
               .scripts = redis::stats_of_scripts(*stats).calls};
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
  return redis::stats_of_scripts(*stats);
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
  std::vector<std::string> skip_lists;
  bool by_chance = false;
  while (!keys.empty()) {
    const auto lot = keys.first(std::min(kKeysAtOnce, keys.size()));
    for (const auto& key : lot) {
      connection.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
      if (sizes == Sizes::kRepeatable) connection.append({"OBJECT", "ENCODING", key});
    }
    for (const auto& key : lot) {
      const auto usage = connection.read();
      std::string encoding;
      if (sizes == Sizes::kRepeatable) encoding = connection.read().text();
      if (usage.type() != redis::ReplyType::kInteger) continue;  // expired, or not permitted
      ++there;
      if (encoding == "skiplist") {
        skip_lists.push_back(key);
        continue;
      }
      // A hash table grows when the server has time for it.
      if (encoding == "hashtable") by_chance = true;
      bytes += usage.integer();
    }
    keys = keys.subspan(lot.size());
  }
  if (there == 0 || by_chance) return std::nullopt;
  const auto expected = expected_skip_list_bytes(connection, skip_lists);
  if (!expected) return std::nullopt;
  return (static_cast<double>(bytes) + *expected) / static_cast<double>(there);
}

}  // namespace rlctl::traffic
