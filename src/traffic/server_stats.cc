#include "traffic/server_stats.h"

#include <algorithm>

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
                                    std::span<const std::string> keys) {
  std::int64_t bytes = 0, there = 0;
  while (!keys.empty()) {
    const auto lot = keys.first(std::min(kKeysAtOnce, keys.size()));
    for (const auto& key : lot) connection.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
    for (std::size_t i = 0; i < lot.size(); ++i) {
      const auto usage = connection.read();
      if (usage.type() != redis::ReplyType::kInteger) continue;  // expired, or not permitted
      ++there;
      bytes += usage.integer();
    }
    keys = keys.subspan(lot.size());
  }
  if (there == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(there);
}

}  // namespace rlctl::traffic
