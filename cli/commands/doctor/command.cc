#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/json_object.h"
#include "base/table.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/app/command.h"
#include "cli/commands/doctor/facts.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/report/findings.h"
#include "redis/cluster.h"
#include "redis/error.h"
#include "stored/audit.h"
#include "stored/forms.h"

namespace rlctl::cli::doctor {
namespace {

using std::chrono::microseconds;

// ---- What the checks have in common ----

/// The result of a check of each server: of several that differ, those of the worst, with their
/// names.
std::optional<Finding> merged(
    const Examination& examination,
    const std::function<std::optional<Finding>(const ServerFacts&)>& check) {
  std::vector<std::pair<std::string, Finding>> results;
  for (const auto& server : examination.servers) {
    if (auto result = check(server)) results.emplace_back(server.name, *std::move(result));
  }
  if (results.empty()) return std::nullopt;
  auto worst = std::ranges::max_element(results, {}, [](const auto& row) {
                 return row.second.severity;
               })->second;
  const auto is_same = [&](const auto& row) { return row.second.detail == worst.detail; };
  if (std::ranges::all_of(results, is_same)) return worst;
  std::vector<std::string> details;
  for (const auto& [name, result] : results) {
    if (result.severity == worst.severity) details.push_back(name + ": " + result.detail);
  }
  worst.detail = fmt::format("{}", fmt::join(details, "; "));
  return worst;
}

/// A check of each server.
template <std::optional<Finding> (*check)(const ServerFacts&)>
std::optional<Finding> on_each(const Examination& examination) {
  return merged(examination, check);
}

Finding not_known(const redis::Reply& refusal) {
  const auto error = redis::to_error(refusal);
  if (error.failure() == redis::Failure::kRefused) {
    return {Severity::kWarning, fmt::format("not known: the user may not call {}", error.command()),
            describe(error).hint};
  }
  return {Severity::kWarning, fmt::format("not known: {}: {}", error.command(), error.what()),
          "look at the server itself"};
}

/// Whether the check, which reads INFO, does not apply.
bool is_skipped(const ServerFacts& server) {
  return server.is_sentinel() || server.is_busy();
}

constexpr std::int64_t kNearlyFullPercent = 90;

bool is_nearly_full(std::int64_t used, std::int64_t max) {
  return max > 0 && 100 * used >= kNearlyFullPercent * max;
}

// ---- connection ----

bool leaves_machine(const redis::Url& url) {
  if (!redis::has_tcp(url)) return false;
  return url.host != "localhost" && url.host != "::1" && !url.host.starts_with("127.");
}

std::string transport_text(const redis::Url& url) {
  if (!redis::has_tcp(url)) return "unix socket";
  if (!url.tls) return "TCP without TLS";
  return url.tls->insecure ? "TLS, server not verified" : "TLS, server verified";
}

std::optional<Finding> check_connection(const Examination& examination) {
  // Each `check` waits for a round trip.
  constexpr int kMinRoundTrips = 10;
  const auto& url = examination.url;
  std::vector<std::string> wrong, fixes;
  if (examination.round_trip > examination.timeout / kMinRoundTrips) {
    wrong.push_back(fmt::format("that is more than a tenth of the timeout, {}",
                                format_duration(examination.timeout)));
    fixes.emplace_back("use a server nearby, or raise --timeout: each check takes a round trip");
  }
  if (url.tls && url.tls->insecure) {
    wrong.emplace_back("anybody in between can read the password and forge the answers");
    fixes.emplace_back("leave out --insecure, and name the authority with --cacert");
  }
  if (!url.tls && leaves_machine(url) && !url.password.empty()) {
    wrong.emplace_back("the password can be read in transit");
    fixes.emplace_back("use TLS: rediss:// or --tls");
  }
  auto detail = fmt::format("{}, {}, round trip {}", redis::display(url), transport_text(url),
                            latency_text(examination.round_trip));
  if (wrong.empty()) return Finding{.detail = detail};
  return Finding{Severity::kWarning, fmt::format("{}; {}", detail, fmt::join(wrong, "; ")),
                 fmt::format("{}", fmt::join(fixes, "; "))};
}

// ---- server, role ----

std::optional<Finding> check_server(const ServerFacts& server) {
  constexpr int kMinVersion = 6;
  if (server.is_busy()) return std::nullopt;
  if (!server.version) {
    return server.info.is_error() ? not_known(server.info)
                                  : Finding{Severity::kWarning, "not known: INFO has no version",
                                            "rlctl is tested with Redis and Valkey"};
  }
  const auto name = redis::display(*server.version);
  if (server.version->major_number() >= kMinVersion) return Finding{.detail = name};
  return Finding{Severity::kWarning, name + " is older than 6.0, the oldest that rlctl supports",
                 "update the server"};
}

/// "mymaster" in "master0:name=mymaster,status=ok,..."; empty if the Sentinel watches none.
std::string_view sentinel_master(const ServerFacts& server) {
  constexpr std::string_view kName = "name=";
  const auto line = server.fact("master0");
  if (!line.starts_with(kName)) return {};
  return line.substr(kName.size(), line.find(',') - kName.size());
}

Finding sentinel_result(const ServerFacts& server, const redis::Url& url) {
  const auto master = sentinel_master(server);
  return {Severity::kFailure, "this is a Sentinel, which has no keys",
          fmt::format("name the master through it: --url redis+sentinel://{}/{}",
                      redis::has_tcp(url) ? redis::display(redis::HostPort{url.host, url.port})
                                          : "HOST:PORT",
                      master.empty() ? "MASTER" : master)};
}

Finding replica_result(const ServerFacts& server, const redis::Url& url) {
  const auto host = server.fact("master_host");
  const redis::Url master{.host = std::string(host),
                          .port = static_cast<int>(server.number("master_port").value_or(0)),
                          .tls = url.tls};
  const bool is_lost = server.fact("master_link_status") == "down";
  const auto name = host.empty() ? std::string("its master") : redis::display(master);
  const bool is_named = !host.empty() && !may_be_metadata_service(host);
  return {Severity::kWarning,
          fmt::format("a replica of {}{}: it refuses check and reset with READONLY", name,
                      is_lost ? ", to which it has no connection" : ""),
          "name the master: --url " + (is_named ? name : "URL")};
}

std::optional<Finding> check_role(const Examination& examination) {
  const auto& server = examination.servers.front();
  const auto& url = examination.url;
  if (server.is_busy()) return std::nullopt;
  if (server.is_sentinel()) return sentinel_result(server, url);
  const auto role = server.role();
  if (role.empty()) return not_known(server.info);
  if (server.is_of_cluster()) {
    const auto missing = std::ssize(examination.failed);
    const auto masters = counted(std::ssize(examination.servers) + missing, "master");
    return Finding{.detail = masters + " of a Cluster" +
                             (missing == 0 ? "" : fmt::format(", {} of them missing", missing))};
  }
  if (role != "master") return replica_result(server, url);
  const auto replicas = server.number("connected_slaves");
  if (!replicas) return Finding{.detail = "master"};
  return Finding{.detail = "master with " + counted(*replicas, "replica")};
}

// ---- load ----

std::optional<Finding> check_load(const ServerFacts& server) {
  if (server.is_busy()) {
    const auto error = redis::to_error(server.info);
    return Finding{Severity::kFailure, error.what(), describe(error).hint};
  }
  if (server.is_sentinel()) return std::nullopt;
  if (server.info.is_error()) return not_known(server.info);
  const auto clients = server.number("connected_clients").value_or(0);
  const auto setting = setting_in(server.max_clients);
  const auto max =
      (setting ? to_number<std::int64_t>(*setting) : server.number("maxclients")).value_or(0);
  if (max == 0) return Finding{.detail = counted(clients, "client")};
  const auto detail = fmt::format("{} of at most {}", counted(clients, "client"), max);
  if (!is_nearly_full(clients, max)) return Finding{.detail = detail};
  return Finding{Severity::kWarning, detail + ": the server will soon refuse connections",
                 "raise the server's maxclients, or find out who keeps connections open: "
                 "redis-cli CLIENT LIST"};
}

// ---- clock ----

std::optional<Finding> check_clock(const ServerFacts& server) {
  constexpr microseconds kMaxDistance = std::chrono::milliseconds(100);
  if (is_skipped(server)) return std::nullopt;
  if (server.clock.time.is_error()) return not_known(server.clock.time);
  const microseconds distance{std::abs(server.clock.ahead.count())};
  const auto margin = latency_text(server.clock.margin);
  if (distance <= server.clock.margin) {
    return Finding{.detail = fmt::format("agrees with this machine's to within {}", margin)};
  }
  const auto detail = fmt::format("{} {} this machine's, give or take {}", latency_text(distance),
                                  server.clock.ahead.count() > 0 ? "ahead of" : "behind", margin);
  if (distance - server.clock.margin <= kMaxDistance) return Finding{.detail = detail};
  if (distance - server.clock.margin > stored::kClockError) {
    const auto* effect =
        server.clock.ahead.count() > 0
            ? ": if it is set back, limiters deny for that much longer"
            : ": if it was set back, limiters deny for longer; when it is set forward, windows "
              "end early and allow whole limits again";
    return Finding{Severity::kWarning, detail + effect,
                   "find out which clock is wrong (NTP), and set it right in small steps"};
  }
  return Finding{Severity::kWarning,
                 detail + ": this matters to callers that pass their own time, as with --now",
                 "synchronize both clocks (NTP), or let the server's clock decide, the default"};
}

// ---- memory ----

std::optional<Finding> check_memory(const ServerFacts& server) {
  if (is_skipped(server)) return std::nullopt;
  if (server.info.is_error()) return not_known(server.info);
  const auto max = server.number("maxmemory").value_or(0);
  const auto policy = server.fact("maxmemory_policy");
  const auto human = server.fact("used_memory_human");
  if (max == 0) return Finding{.detail = fmt::format("{} used, no maxmemory", human)};
  const auto detail = fmt::format("{} of {} used, maxmemory-policy {}", human,
                                  server.fact("maxmemory_human"), policy);
  const auto used = server.number("used_memory").value_or(0) -
                    server.number("mem_not_counted_for_evict").value_or(0);
  constexpr const char* kFix = "raise maxmemory, or remove keys";
  const bool evicts = policy != "noeviction";
  // A server that evicts is a little above it now and then, until the next command.
  if (used > max + (evicts ? max / 20 : 0)) {
    return Finding{
        Severity::kFailure,
        detail + (evicts ? ", but too little can be evicted" : "") + ": check is refused with OOM",
        kFix};
  }
  if (evicts) {
    const auto evicted = server.number("evicted_keys").value_or(0);
    return Finding{Severity::kWarning,
                   detail + ": the server may evict limiters, which then allow their full limit" +
                       stored::evictions_text(evicted),
                   "set maxmemory-policy noeviction, on a server of its own for limiters"};
  }
  if (!is_nearly_full(used, max)) return Finding{.detail = detail};
  return Finding{Severity::kWarning, detail + ": check will soon be refused with OOM", kFix};
}

// ---- persistence ----

Finding loading_result(const ServerFacts& server) {
  const auto percent = server.fact("loading_loaded_perc");
  return {
      Severity::kFailure,
      fmt::format("the server is still loading its data{}{}: check is refused with LOADING",
                  percent.empty() ? "" : ", ", percent.empty() ? "" : fmt::format("{}%", percent)),
      "try again in a moment"};
}

/// The result if the last snapshot failed.
Finding snapshot_result(const ServerFacts& server) {
  constexpr const char* kFix =
      "the server's log has the reason; usually its disk is full or its dir is not writable";
  constexpr std::string_view kFailed = "the last snapshot (BGSAVE) failed";
  const auto stops = setting_in(server.stop_writes);
  const auto save = setting_in(server.save);
  if (stops && save && *stops == "yes" && !save->empty()) {
    return {Severity::kFailure, fmt::format("{}: check is refused with MISCONF", kFailed), kFix};
  }
  if (!stops) {
    const auto unknown = not_known(server.stop_writes);
    return {Severity::kWarning,
            fmt::format("{}; whether writes are refused is {}", kFailed, unknown.detail),
            unknown.fix};
  }
  return {Severity::kWarning, fmt::format("{}: a restart forgets newer limiters", kFailed), kFix};
}

std::optional<Finding> check_persistence(const ServerFacts& server) {
  if (is_skipped(server)) return std::nullopt;
  if (server.info.is_error()) return not_known(server.info);
  if (server.fact("loading") == "1") return loading_result(server);
  const bool has_aof = server.fact("aof_enabled") == "1";
  if (has_aof && server.fact("aof_last_write_status") == "err") {
    return Finding{Severity::kFailure,
                   "the server cannot write its AOF: check is refused with MISCONF",
                   "the server's log has the reason; usually its disk is full"};
  }
  if (server.fact("rdb_last_bgsave_status") == "err") return snapshot_result(server);
  if (has_aof) return Finding{.detail = "AOF: a restart forgets at most the last moments"};
  const auto save = setting_in(server.save);
  if (!save) return Finding{.detail = "no AOF: a restart may forget limiters"};
  return Finding{.detail = save->empty()
                               ? "none: after a restart, every limiter allows its full limit"
                               : "snapshots: a restart forgets what came after the last one"};
}

// ---- replication ----

std::optional<Finding> check_replication(const ServerFacts& server) {
  if (is_skipped(server)) return std::nullopt;
  if (server.info.is_error()) return not_known(server.info);
  if (server.fact("role") != "master") return std::nullopt;
  // Only there if the server requires replicas.
  const auto good = server.number("min_slaves_good_slaves");
  if (!good) return Finding{.detail = "writes require no replicas"};
  const auto setting = setting_in(server.min_replicas);
  if (!setting && *good > 0) return not_known(server.min_replicas);
  const auto wanted = setting ? to_number<std::int64_t>(*setting).value_or(0) : 1;
  const auto detail = fmt::format("writes require {}{}, {} connected and in time",
                                  setting ? "" : "at least ", counted(wanted, "replica"), *good);
  if (*good >= wanted) return Finding{.detail = detail};
  constexpr const char* kFix = "connect the replicas, or lower min-replicas-to-write";
  constexpr int kFirstThatRefusesScripts = 7;
  if (server.version && server.version->major_number() < kFirstThatRefusesScripts) {
    return Finding{Severity::kWarning, detail + "; before 7.0, scripts write anyway", kFix};
  }
  return Finding{Severity::kFailure, detail + ": check is refused with NOREPLICAS", kFix};
}

// ---- cluster ----

/// Checks the Cluster as one of its nodes sees it.
std::optional<Finding> check_view(const ServerFacts& server) {
  using redis::kSlots;
  constexpr const char* kFix = "see redis-cli --cluster check HOST:PORT";
  if (server.cluster.is_error()) return not_known(server.cluster);
  const auto number = [&](std::string_view name) {
    return to_number<std::int64_t>(redis::info_field(server.cluster.text(), name)).value_or(0);
  };
  const auto assigned = number("cluster_slots_assigned");
  if (assigned < kSlots) {
    return Finding{Severity::kFailure,
                   fmt::format("{} of {} slots belong to no node: keys there are refused",
                               kSlots - assigned, kSlots),
                   "assign them: redis-cli --cluster fix HOST:PORT"};
  }
  const auto state = redis::info_field(server.cluster.text(), "cluster_state");
  const auto failing = number("cluster_slots_fail");
  if (state != "ok" || failing > 0) {
    return Finding{Severity::kFailure,
                   fmt::format("the state of the Cluster is '{}'; the nodes of {} are down", state,
                               counted(failing, "slot")),
                   kFix};
  }
  if (const auto doubtful = number("cluster_slots_pfail"); doubtful > 0) {
    return Finding{
        Severity::kWarning,
        fmt::format("the nodes of {} do not answer the others", counted(doubtful, "slot")), kFix};
  }
  return Finding{.detail = "every slot has a master; several keys of one call need a common {tag}"};
}

std::optional<Finding> check_cluster(const Examination& examination) {
  const auto& first = examination.servers.front();
  if (is_skipped(first)) return std::nullopt;
  if (first.mode().empty()) return not_known(first.info);
  if (!first.is_of_cluster()) return Finding{.detail = "not a Cluster"};
  if (examination.no_slots) {
    const auto error = redis::to_error(*examination.no_slots);
    return Finding{
        Severity::kFailure,
        fmt::format("rlctl cannot find the masters: {}: {}", error.command(), error.what()),
        describe(error).hint};
  }
  auto view = on_each<check_view>(examination);
  if (examination.failed.empty() || !view) return view;
  std::vector<std::string> details;
  if (view->severity != Severity::kOk) details.push_back(view->detail);
  for (const auto& problem : examination.failed) details.push_back(problem.message);
  const auto& hint = examination.failed.front().hint;
  return Finding{Severity::kFailure, fmt::format("{}", fmt::join(details, "; ")),
                 hint.empty() ? "start it, or let a replica take over" : hint};
}

std::optional<Finding> check_access(const Examination& examination) {
  return merged(examination, [&](const ServerFacts& server) {
    return check_acl(server, examination.algorithms);
  });
}

/// One line of the report.
struct Check {
  std::string_view name;
  /// None if the check does not apply.
  std::optional<Finding> (*run)(const Examination& examination);
};

/// All checks, in the order of the report.
constexpr std::array kChecks{Check{"connection", check_connection},
                             Check{"server", on_each<check_server>},
                             Check{"role", check_role},
                             Check{"load", on_each<check_load>},
                             Check{"scripts", on_each<check_scripts>},
                             Check{"acl", check_access},
                             Check{"clock", on_each<check_clock>},
                             Check{"memory", on_each<check_memory>},
                             Check{"persistence", on_each<check_persistence>},
                             Check{"replication", on_each<check_replication>},
                             Check{"cluster", check_cluster}};

// ---- JSON ----

using namespace json_type;

constexpr JsonField<Finding> kCheckFields[] = {
    {"check", JsonType{.names = [] { return rlctl::names_of(kChecks); }}, "The name of the check.",
     [](const auto& check) { return check.name; }},
    {"status", JsonType{R"("enum": ["ok", "warning", "failure"])"}, "The result of the check.",
     [](const auto& check) { return name_of(check.severity); }},
    {"detail", kText, "What was seen.", [](const auto& check) { return check.detail; }},
    {"fix", kTextOrNull, "What to do about it, or null.",
     [](const auto& check) { return known_text(check.fix); }},
};
constexpr JsonObject<Finding> kCheck("check", "A check", kCheckFields);

constexpr const JsonObjectInfo* kObjects[] = {&kCheck};
constexpr JsonOutput kJson{"One object for each check, and none for the last line of the text.",
                           kObjects};

// ---- The command ----

/// The server cannot be asked: the only check. Throws the exception if the server is not to blame.
ExitStatus add_no_answer(report::Findings& findings, const std::exception& error) {
  const auto problem = drop_in_doubt_note(describe(error));
  if (problem.status == ExitStatus::kUsage) throw;
  const Finding finding{.severity = Severity::kFailure,
                        .detail = problem.message,
                        .fix = problem.hint,
                        .name = kChecks.front().name};
  findings.add(finding, kCheck, finding);
  return problem.status == ExitStatus::kUnreachable ? to_status(PluginState::kUnknown)
                                                    : findings.status();
}

ExitStatus run(Invocation& invocation) {
  require_at_most(0, invocation.operands, "doctor checks the server; inspect shows a KEY");
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  std::vector<std::string_view> algorithms;
  for (const auto& policy : invocation.configuration.policies().policies) {
    algorithms.push_back(policy.algorithm->name);
  }
  report::Findings findings(invocation.out, invocation.json);
  auto status = ExitStatus::kDone;
  try {
    auto examination = examine(connector, invocation.interrupt);
    examination.algorithms = algorithms;
    for (const auto& check : kChecks) {
      auto result = check.run(examination);
      if (!result) continue;
      result->name = check.name;
      findings.add(*result, kCheck, *result);
    }
    status = findings.status();
  } catch (const ProblemError& error) {
    status = add_no_answer(findings, error);
  } catch (const redis::Error& error) {
    status = add_no_answer(findings, error);
  }
  if (!invocation.json) invocation.out.write(findings.counts("no warnings, no failures") + "\n");
  return status;
}

}  // namespace
const Command kCommand{
    .text = {.name = "doctor",
             .summary = "check whether a server can be used for limiters",
             .synopsis = "[connection] doctor",
             .about =
                 "Checks the server: one line for each check, with what to do about a warning or\n"
                 "a failure. Writes no key; loads a script that does nothing.",
             .statuses =
                 {
                     "every check is ok",
                     "there is a warning",
                     "there is a failure",
                     "the server cannot be queried, or wrong usage",
                 },
             .epilogue = R"(
Examples:
  rlctl doctor
  rlctl doctor --url rediss://limits.example.com --json
)"},
    .add = [](Options&) -> Action { return run; },
    .judges = true,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::doctor
