#include "traffic/time_watch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace rlctl::traffic {
namespace {

constexpr std::array<std::string_view, 6> kRunScripts{"evalsha", "eval",  "evalsha_ro",
                                                      "eval_ro", "fcall", "fcall_ro"};

/// One line: cmdstat_time:calls=12,usec=34,...
struct Line {
  std::string_view command;
  std::int64_t calls = 0;
};

std::optional<Line> parse_line(std::string_view text) {
  constexpr std::string_view kStart = "cmdstat_", kCalls = ":calls=";
  const auto colon = text.find(kCalls);
  if (!text.starts_with(kStart) || colon == text.npos) return std::nullopt;
  Line line{.command = text.substr(kStart.size(), colon - kStart.size())};
  const auto number = text.substr(colon + kCalls.size());
  std::from_chars(number.data(), number.data() + number.size(), line.calls);
  return line;
}

}  // namespace

TimeWatch::TimeWatch(redis::Connection& connection) : connection_(connection), last_(count()) {}

std::optional<TimeWatch::Calls> TimeWatch::count() const {
  const auto reply = connection_.call({"INFO", "commandstats"});
  if (reply.type() != redis::ReplyType::kString) return std::nullopt;
  Calls calls;
  auto text = reply.text();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (const auto line = parse_line(text.substr(0, end))) {
      if (line->command == "time") calls.time += line->calls;
      if (std::find(kRunScripts.begin(), kRunScripts.end(), line->command) != kRunScripts.end()) {
        calls.scripts += line->calls;
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return calls;
}

bool TimeWatch::saw_time(std::int64_t scripts) {
  const auto before = last_;
  last_ = count();
  return before && last_ && last_->time > before->time &&
         last_->scripts - before->scripts == scripts;
}

}  // namespace rlctl::traffic
