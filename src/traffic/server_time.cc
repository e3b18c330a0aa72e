#include "traffic/server_time.h"

#include <charconv>
#include <string_view>

namespace rlctl::traffic {
namespace {

/// The number behind `name` in "calls=4,usec=31,…"; 0 where there is none.
std::int64_t number_behind(std::string_view name, std::string_view line) {
  const auto at = line.find(name);
  if (at == std::string_view::npos) return 0;
  line.remove_prefix(at + name.size());
  std::int64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

}  // namespace

std::optional<ServerTime> read_server_time(redis::Connection& connection) {
  const auto reply = connection.call({"INFO", "commandstats"});
  if (reply.type() != redis::ReplyType::kString) return std::nullopt;
  // There is no such line before the first call.
  constexpr std::string_view kLine = "cmdstat_evalsha:";
  auto text = reply.text();
  const auto at = text.find(kLine);
  if (at == std::string_view::npos) return ServerTime{};
  text.remove_prefix(at + kLine.size());
  text = text.substr(0, text.find('\r'));
  return ServerTime{.calls = number_behind("calls=", text), .us = number_behind("usec=", text)};
}

std::optional<double> us_per_call(const std::optional<ServerTime>& before,
                                  const std::optional<ServerTime>& after, std::int64_t calls) {
  if (!before || !after || calls == 0 || after->calls - before->calls != calls) return std::nullopt;
  return static_cast<double>(after->us - before->us) / static_cast<double>(calls);
}

}  // namespace rlctl::traffic
