#include "redis/command_stats.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace rlctl::redis {
namespace {

/// The number after `name` in "calls=4,usec=31,..."; 0 if there is none.
std::int64_t number_after(std::string_view name, std::string_view line) {
  const auto at = line.find(name);
  if (at == line.npos) return 0;
  line.remove_prefix(at + name.size());
  std::int64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

}  // namespace

std::optional<std::map<std::string, CommandStats, std::less<>>> read_command_stats(
    Connection& connection) {
  constexpr std::string_view kStart = "cmdstat_";
  const auto reply = connection.call({"INFO", "commandstats"});
  if (reply.type() != ReplyType::kString) return std::nullopt;
  std::map<std::string, CommandStats, std::less<>> stats;
  auto text = reply.text();
  while (!text.empty()) {
    // cmdstat_time:calls=12,usec=34,...
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto colon = line.find(':');
    if (!line.starts_with(kStart) || colon == line.npos) continue;
    stats[std::string(line.substr(kStart.size(), colon - kStart.size()))] = {
        .calls = number_after("calls=", line), .us = number_after("usec=", line)};
  }
  return stats;
}

}  // namespace rlctl::redis
