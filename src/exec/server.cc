#include "exec/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "redis/scan.h"

namespace rlctl::exec {

using redis::Error;
using redis::Failure;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kTimeout{30};

redis::PrivateServer::Options options_for(const VirtualClock* clock, const Interrupt* interrupt) {
  redis::PrivateServer::Options options;
  options.interrupt = interrupt;
  options.listens_on_tcp = true;
  if (clock == nullptr) return options;
  // jemalloc's thread waits by the wall clock.
  options.optional_arguments = {"--jemalloc-bg-thread",       "no",
                                "--lazyfree-lazy-user-flush", "no",
                                "--enable-debug-command",     "local"};
  options.environment = clock->environment(Clocks::kServer);
  return options;
}

redis::Reply require_answered(redis::Reply reply) {
  if (reply.is_error()) throw redis::to_error(reply);
  return reply;
}

Error does_not_follow(std::string_view what, const std::string& is, const std::string& expected) {
  return {
      Failure::kRejected,
      fmt::format("the private server does not follow the virtual clock: {} is {} instead of {}",
                  what, is, expected),
      {},
      "the clock is a library that is preloaded into the server: it must be linked dynamically, "
      "and TMPDIR must be on a file system from which programs can be run; "
      "RLCTL_REDIS_SERVER names another server, and --clock real needs no virtual clock"};
}

}  // namespace

ClockedServer::ClockedServer(VirtualClock* clock, const Interrupt* interrupt)
    : clock_(clock),
      server_(options_for(clock, interrupt)),
      connection_(redis::Connection::open(server_.url(), kTimeout, interrupt)) {
  // It makes a connection, which is not one of others.
  server_.remove_keys();
  // Servers before Redis 7 know it, and those after if it was enabled. Else expired keys are
  // removed sooner, which hardly anything shows.
  if (clock_ != nullptr) {
    static_cast<void>(connection_.call({"DEBUG", "SET-ACTIVE-EXPIRE", "0"}));
  }
  own_connections_ = connections();
}

std::string ClockedServer::url() const {
  const auto& url = server_.tcp_url();
  return fmt::format("redis://default:{}@{}:{}/0", url.password, url.host, url.port);
}

void ClockedServer::require_time(microseconds time, std::int64_t ttl_ms) {
  clock_->set(time);
  connection_.append({"TIME"});
  connection_.append({"EVAL", "return redis.call('TIME')", "0"});
  connection_.append({"PTTL", "clock"});
  for (const auto what : {"TIME", "TIME in a script"}) {
    const auto is = redis::server_time(require_answered(connection_.read()));
    if (is != time) throw does_not_follow(what, format_instant(is), format_instant(time));
  }
  const auto ttl = require_answered(connection_.read()).integer();
  if (ttl != ttl_ms) {
    throw does_not_follow("a TTL", fmt::format("{} ms", ttl), fmt::format("{} ms", ttl_ms));
  }
}

void ClockedServer::verify() {
  if (clock_ == nullptr) return;
  constexpr milliseconds kTtl{100'000};
  constexpr microseconds kSteps[] = {microseconds{0}, microseconds{12'345'678},
                                     microseconds{12'345'679}, kTtl, microseconds{1'000'001}};
  const auto before = clock_->now();
  // On a whole millisecond, so that the milliseconds left are those of a step.
  const auto start = std::chrono::ceil<milliseconds>(before);
  clock_->set(start);
  static_cast<void>(
      require_answered(connection_.call({"SET", "clock", "", "PX", std::to_string(kTtl.count())})));
  for (const auto step : kSteps) {
    const auto passed = std::chrono::floor<milliseconds>(step);
    require_time(start + step, (kTtl - passed).count());
  }
  require_time(start + kTtl + milliseconds{1}, -2);
  clock_->set(before);
  remove_keys();
}

std::int64_t ClockedServer::connections() {
  const auto info = require_answered(connection_.call({"INFO", "stats"}));
  return to_number<std::int64_t>(redis::info_field(info.text(), "total_connections_received"))
      .value_or(0);
}

std::int64_t ClockedServer::other_connections() {
  return connections() - own_connections_;
}

std::vector<ServerCommand> ClockedServer::commands_during(const std::function<void()>& run) {
  constexpr std::string_view kEnd = "rlctl: end of MONITOR";
  auto monitor = redis::Connection::open(server_.url(), kTimeout);
  ++own_connections_;
  static_cast<void>(require_answered(monitor.call({"MONITOR"})));
  run();
  static_cast<void>(require_answered(connection_.call({"ECHO", kEnd})));
  std::vector<ServerCommand> commands;
  while (true) {
    // 1767225600.000000 [0 127.0.0.1:50000] "GET" "key"
    const auto reply = monitor.read();
    const auto line = reply.text();
    const auto client = line.find(' ', line.find('[')) + 1, end = line.find("] ", client);
    auto& command = commands.emplace_back();
    command.client = line.substr(client, end - client);
    command.words = shell_words(line.substr(end + 2));
    if (command.words.back() == kEnd) break;
  }
  commands.pop_back();
  for (auto& command : commands) find_keys(command);
  return commands;
}

void ClockedServer::find_keys(ServerCommand& command) {
  const auto reply = require_answered(connection_.call({"COMMAND", "INFO", command.words.front()}));
  constexpr std::size_t kFlags = 2, kFirst = 3, kLast = 4, kStep = 5;
  if (reply.size() != 1 || reply[0].size() <= kStep || reply[0][kFirst].integer() < 1) return;
  const auto flags = reply[0][kFlags];
  for (std::size_t i = 0; i < flags.size(); ++i) command.writes |= flags[i].text() == "write";
  const auto size = std::ssize(command.words), last = reply[0][kLast].integer();
  for (auto at = reply[0][kFirst].integer(); at < size && at <= (last < 0 ? size + last : last);
       at += std::max<std::int64_t>(1, reply[0][kStep].integer())) {
    command.keys.push_back(command.words[static_cast<std::size_t>(at)]);
  }
}

std::vector<milliseconds> ClockedServer::ttls() {
  std::vector<milliseconds> ttls;
  redis::Scan scan(connection_, "*");
  while (!scan.done()) {
    const auto keys = scan.next();
    for (const auto& key : keys) connection_.append({"PTTL", key});
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto ttl = require_answered(connection_.read());
      if (ttl.integer() >= 0) ttls.emplace_back(ttl.integer());
    }
  }
  return ttls;
}

}  // namespace rlctl::exec
