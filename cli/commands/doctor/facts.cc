#include "cli/commands/doctor/facts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "redis/cluster.h"
#include "redis/error.h"

namespace rlctl::cli::doctor {
namespace {

using redis::Connection;
using redis::Reply;
using std::chrono::microseconds;

/// Throws if the server answers nothing without a password.
microseconds measure_round_trip(Connection& connection) {
  std::array<microseconds, 5> times{};
  for (auto& time : times) {
    const auto before = Clock::now();
    const auto reply = connection.call({"PING"});
    time = std::chrono::duration_cast<microseconds>(Clock::now() - before);
    if (reply.is_error() && redis::error_code(reply.text()) == "NOAUTH") throw to_error(reply);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

ClockAnswer ask_clock(Connection& connection) {
  const auto before = system_time();
  ClockAnswer answer{.time = connection.call({"TIME"})};
  const auto& time = answer.time;
  answer.margin = (system_time() - before) / 2;
  if (time.size() != 2) return answer;
  const microseconds server =
      std::chrono::seconds{to_number<std::int64_t>(time[0].text()).value_or(0)} +
      microseconds{to_number<std::int64_t>(time[1].text()).value_or(0)};
  answer.ahead = server - before - answer.margin;
  return answer;
}

std::optional<redis::ServerVersion> ask_version(Connection& connection, const Reply& info) {
  if (!info.is_error()) return redis::parse_info(info.text());
  if (redis::to_error(info).failure() == redis::Failure::kNotNow) return std::nullopt;
  return redis::version_of(connection);
}

ServerFacts ask_server(Connection& connection, std::string name, const std::string& user) {
  const auto round_trip = measure_round_trip(connection);
  connection.append({"INFO"});
  connection.append({"HELLO", "2"});
  connection.append({"CONFIG", "GET", "save"});
  connection.append({"CONFIG", "GET", "stop-writes-on-bgsave-error"});
  connection.append({"CONFIG", "GET", "min-replicas-to-write"});
  connection.append({"CONFIG", "GET", "maxclients"});
  connection.append({"CLUSTER", "INFO"});
  ServerFacts facts{.name = std::move(name),
                    .round_trip = round_trip,
                    .info = connection.read(),
                    .hello = connection.read(),
                    .save = connection.read(),
                    .stop_writes = connection.read(),
                    .min_replicas = connection.read(),
                    .max_clients = connection.read(),
                    .cluster = connection.read(),
                    .clock = ask_clock(connection),
                    .permissions = ask_permissions(connection, user)};
  facts.version = ask_version(connection, facts.info);
  return facts;
}

/// Asks the masters of the Cluster of which the first server is a node.
void ask_masters(Examination& examination, const Reply& slots, const Interrupt& interrupt) {
  const auto& url = examination.url;
  std::vector<redis::HostPort> masters;
  for (const auto& range : redis::parse_slots(slots, {.host = url.host, .port = url.port})) {
    if (std::ranges::find(masters, range.master) == masters.end()) masters.push_back(range.master);
  }
  std::vector<ServerFacts> answers;
  for (const auto& master : masters) {
    const auto server =
        std::make_shared<const redis::Endpoint>(redis::Endpoint{.url = redis::url_of(url, master),
                                                                .timeout = examination.timeout,
                                                                .interrupt = &interrupt});
    try {
      auto connection = Connection::open(server->url, examination.timeout, &interrupt, server);
      connection.pin_to_server();
      answers.push_back(ask_server(connection, redis::display(master), url.user));
    } catch (const redis::Error& error) {
      const bool has_origin = error.server() != nullptr;
      examination.failed.push_back(
          drop_in_doubt_note(describe(has_origin ? error : error.from(server, error.command()))));
    }
  }
  if (!answers.empty()) examination.servers = std::move(answers);
}

}  // namespace

Examination examine(Connector& connector, const Interrupt& interrupt) {
  auto connection = connector.open();
  connection.pin_to_server();
  Examination examination{.url = connector.url(), .timeout = connector.timeout()};
  examination.servers.push_back(ask_server(connection, {}, connector.url().user));
  const auto& first = examination.servers.front();
  examination.round_trip = first.round_trip;
  if (!first.is_of_cluster()) return examination;
  auto slots = connection.call({"CLUSTER", "SLOTS"});
  if (slots.is_error()) {
    examination.no_slots = std::move(slots);
  } else {
    ask_masters(examination, slots, interrupt);
  }
  return examination;
}

}  // namespace rlctl::cli::doctor
