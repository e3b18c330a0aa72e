#include "redis/server_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"
#include "redis/error.h"
#include "redis/reply.h"

namespace rlctl::redis {
namespace {

/// Redis' successors, which report a redis_version too.
constexpr std::array<std::string_view, 2> kSuccessors{"valkey", "redict"};

std::optional<ServerVersion> parse_hello(ReplyView reply) {
  ServerVersion version{.family = lower_case(hello_field(reply, "server")),
                        .number = std::string(hello_field(reply, "version"))};
  if (version.family.empty() || version.number.empty()) return std::nullopt;
  return version;
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const auto line = info.substr(0, std::min(info.find_first_of("\r\n"), info.size()));
    info.remove_prefix(std::min(line.size() + 1, info.size()));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

int ServerVersion::major_number() const noexcept {
  int value = -1;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

std::string display(const ServerVersion& version) {
  auto name = version.family;
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return name + ' ' + version.number;
}

std::optional<ServerVersion> parse_info(std::string_view info) {
  for (const auto family : kSuccessors) {
    const auto number = info_field(info, fmt::format("{}_version", family));
    if (!number.empty()) {
      return ServerVersion{.family = std::string(family), .number = std::string(number)};
    }
  }
  const auto number = info_field(info, "redis_version");
  if (number.empty()) return std::nullopt;
  return ServerVersion{.family = "redis", .number = std::string(number)};
}

std::optional<ServerVersion> version_of(Connection& connection) {
  const auto info = connection.call({"INFO", "server"});
  throw_failure_of(info);
  if (!info.is_error()) return parse_info(info.text());
  const auto error = to_error(info);
  if (error.code() == "NOAUTH" || error.failure() == Failure::kNotNow) throw Error(error);
  const auto hello = connection.call({"HELLO", "2"});
  throw_failure_of(hello);
  return hello.is_error() ? std::nullopt : parse_hello(hello);
}

namespace {

/// The master in the replies to ROLE ("slave", host, port, ...) or INFO replication, whichever the
/// user may send.
std::optional<Url> master_in(ReplyView role, ReplyView info) {
  Url url;
  std::int64_t port = url.port;
  if (role.size() >= 3 && role[0].text() == "slave") {
    url.host = role[1].text();
    port = role[2].integer();
  } else {
    url.host = info_field(info.text(), "master_host");
    port = to_number<std::int64_t>(info_field(info.text(), "master_port")).value_or(port);
  }
  if (url.host.empty() || !is_port(port)) return std::nullopt;
  url.port = static_cast<int>(port);
  return url;
}

}  // namespace

const std::optional<Url>& find_master(const Endpoint& server) {
  constexpr std::chrono::microseconds kAtMost = std::chrono::seconds(1);
  if (server.master) return *server.master;
  server.master.emplace();
  try {
    auto connection =
        Connection::open(server.url, std::min(server.timeout, kAtMost), server.interrupt);
    connection.append({"ROLE"});
    connection.append({"INFO", "replication"});
    const auto role = connection.read();
    const auto info = connection.read();
    server.master = master_in(role, info);
    if (*server.master) (*server.master)->tls = server.url.tls;
  } catch (const Error&) {
    // Only a clearer message is lost.
  } catch (const Interrupted&) {
    // Likewise: the caller reports what it knows.
  }
  return *server.master;
}

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

std::chrono::microseconds server_time(ReplyView reply, std::size_t at) {
  constexpr std::int64_t kMax = 1'000'000'000'000;
  const auto part = [&](std::size_t i) {
    const auto number = i < reply.size() ? to_number<std::int64_t>(reply[i].text()) : std::nullopt;
    if (!number || *number < 0 || *number > kMax) {
      throw error_about(reply, {Failure::kProtocol, "the reply to TIME is not a time"});
    }
    return *number;
  };
  return std::chrono::seconds{part(at)} + std::chrono::microseconds{part(at + 1)};
}

std::optional<std::map<std::string, CommandStats, std::less<>>> read_command_stats(
    Connection& connection) {
  constexpr std::string_view kStart = "cmdstat_";
  constexpr std::array<std::string_view, 2> kCommand{"INFO", "commandstats"};
  std::map<std::string, CommandStats, std::less<>> stats;
  for (const auto& server : connection.servers()) {
    connection.append_to(server, kCommand);
    const auto reply = connection.read();
    throw_failure_of(reply);
    if (reply.type() != ReplyType::kString) return std::nullopt;
    auto text = reply.text();
    while (!text.empty()) {
      // cmdstat_time:calls=12,usec=34,...
      const auto line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const auto colon = line.find(':');
      if (!line.starts_with(kStart) || colon == line.npos) continue;
      auto& command = stats[std::string(line.substr(kStart.size(), colon - kStart.size()))];
      command.calls += number_after("calls=", line);
      command.us += number_after("usec=", line);
    }
  }
  return stats;
}

CommandStats stats_of_scripts(const std::map<std::string, CommandStats, std::less<>>& stats) {
  CommandStats sum;
  for (const auto command : {"eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro"}) {
    const auto found = stats.find(command);
    if (found == stats.end()) continue;
    sum.calls += found->second.calls;
    sum.us += found->second.us;
  }
  return sum;
}

}  // namespace rlctl::redis
