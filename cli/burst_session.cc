#include "cli/burst_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>

#include "cli/progress.h"
#include "redis/error.h"
#include "traffic/decider.h"
#include "traffic/script.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kPrivatePrefix = "burst:";
/// So many keys are removed by one command.
constexpr std::size_t kKeysAtOnce = 500;

/// The same tag in every key, so that all are in one Cluster slot.
std::string random_prefix() {
  std::random_device random;
  return fmt::format("rlctl-burst:{{{:08x}{:08x}}}:", random(), random());
}

ConnectionOptions with_default_server(ConnectionOptions options) {
  if (!options.url && !options.host && !options.port && !options.socket) options.url = "private:";
  return options;
}

void warn(const std::string& message, std::string_view command) {
  write_stderr(render({.message = message}, command, false));
}

/// The server on which the scripts run, and what is written there.
class Workplace {
 public:
  explicit Workplace(Invocation& invocation)
      : invocation_(invocation),
        connector_(with_default_server(invocation.connection), invocation.configuration,
                   invocation.interrupt),
        prefix_(connector_.is_private() ? kPrivatePrefix : random_prefix()) {}

  /// The connection for all runs. Ctrl-C does not break it: requests that are on their way then
  /// would be executed after their keys are removed, and make them anew. The runs look at the
  /// interrupt.
  redis::Connection& connection();
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// Removes keys; a failure is a warning, since there may be another one on its way already.
  void remove(const std::vector<std::string>& keys) noexcept;

 private:
  void unlink(std::span<const std::string> keys);

  Invocation& invocation_;
  Connector connector_;
  std::string prefix_;
  std::unique_ptr<redis::Connection> connection_;
};

redis::Connection& Workplace::connection() {
  if (!connection_) {
    connection_ = std::make_unique<redis::Connection>(connector_.open_uninterrupted());
    if (!connector_.is_private()) {
      warn("writing under '" + prefix_ + "' on " + connector_.name(), invocation_.command);
    }
  }
  return *connection_;
}

void Workplace::remove(const std::vector<std::string>& keys) noexcept {
  try {
    unlink(keys);
  } catch (const std::exception& error) {
    if (connector_.is_private()) return;  // it ends with this process
    warn("warning: cannot remove the keys under '" + prefix_ +
             "', which lapse by themselves: " + describe(error).message,
         invocation_.command);
  }
}

/// On a connection of its own: after an error the other is of no use.
void Workplace::unlink(std::span<const std::string> keys) {
  auto connection = connector_.open_uninterrupted();
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kKeysAtOnce));
    std::vector<std::string_view> arguments{"UNLINK"};
    arguments.insert(arguments.end(), some.begin(), some.end());
    const auto reply = connection.call(arguments);
    if (reply.is_error()) throw redis::to_error(reply);
    keys = keys.subspan(some.size());
  }
}

/// A decider that asks the scripts, and leaves nothing behind.
class ScriptRun final : public traffic::Decider {
 public:
  ScriptRun(Workplace& workplace, const traffic::Contestant& contestant,
            const traffic::Traffic& traffic)
      : workplace_(workplace),
        script_(contestant, traffic, workplace.prefix()),
        decider_(workplace.connection(), script_) {}
  ~ScriptRun() override { workplace_.remove(script_.keys()); }
  ScriptRun(const ScriptRun&) = delete;
  ScriptRun& operator=(const ScriptRun&) = delete;

  void decide(std::span<const traffic::Arrival> arrivals,
              std::span<limiter::Decision> decisions) override {
    decider_.decide(arrivals, decisions);
  }
  [[nodiscard]] std::optional<double> bytes_per_key() override { return decider_.bytes_per_key(); }

 private:
  Workplace& workplace_;
  traffic::BundledScript script_;
  traffic::ScriptDecider decider_;
};

/// How far all runs together are.
class BurstProgress {
 public:
  BurstProgress(const BurstPlan& plan, bool enabled)
      : runs_(static_cast<double>(plan.contestants.size())), progress_(enabled) {}

  void update(std::size_t run, std::int64_t done, std::int64_t size) {
    const auto share =
        static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(size, 1));
    progress_.update((static_cast<double>(run) + std::min(share, 1.0)) / runs_,
                     fmt::format("{:.0f} requests", runs_ * static_cast<double>(size)));
  }

 private:
  double runs_;
  Progress progress_;
};

BurstRun with_names(std::string name, traffic::Outcome outcome, const traffic::Traffic& traffic) {
  BurstRun run{.name = std::move(name)};
  if (outcome.measured.allowed > 0) run.worst_key = traffic.key_name(outcome.measured.worst.key);
  for (const auto& [key, denied] : outcome.top_denied) {
    run.top_denied.emplace_back(traffic.key_name(key), denied);
  }
  run.outcome = std::move(outcome);
  return run;
}

/// All runs of a plan.
class Session {
 public:
  Session(const BurstPlan& plan, Invocation& invocation, bool shows_progress,
          const OnBurstDecision& on_decision)
      : plan_(plan),
        invocation_(invocation),
        progress_(plan, shows_progress),
        on_decision_(on_decision) {
    if (!plan.model) workplace_ = std::make_unique<Workplace>(invocation);
  }

  /// Appends the runs to the report.
  void run(BurstReport& report) {
    for (std::size_t i = 0; i < plan_.contestants.size() && !report.interrupted; ++i) {
      report.runs.push_back(run_one(i));
      report.interrupted = report.runs.back().outcome.interrupted;
    }
  }

 private:
  std::unique_ptr<traffic::Decider> decider_for(const traffic::Contestant& contestant,
                                                const traffic::Traffic& traffic) {
    if (plan_.model) return std::make_unique<traffic::ModelDecider>(contestant);
    return std::make_unique<ScriptRun>(*workplace_, contestant, traffic);
  }
  BurstRun run_one(std::size_t number);

  const BurstPlan& plan_;
  Invocation& invocation_;
  BurstProgress progress_;
  const OnBurstDecision& on_decision_;
  std::unique_ptr<Workplace> workplace_;
};

BurstRun Session::run_one(std::size_t number) {
  const auto& contestant = plan_.contestants[number];
  const std::string name(contestant.algorithm->name);
  const auto traffic = traffic::make_traffic(*plan_.pattern, plan_.request);
  const auto decider = decider_for(contestant, *traffic);
  traffic::OnDecision on_decision;
  if (on_decision_) {
    on_decision = [&](const traffic::Arrival& arrival, const limiter::Decision& decision) {
      on_decision_(name, traffic->key_name(arrival.key), arrival, decision);
    };
  }
  auto outcome = traffic::run_virtually(
      *traffic, *decider, contestant.limits, invocation_.interrupt, on_decision,
      [&](std::int64_t done) { progress_.update(number, done, traffic->size()); });
  return with_names(name, std::move(outcome), *traffic);
}

}  // namespace

BurstReport run_burst_plan(const BurstPlan& plan, Invocation& invocation, bool shows_progress,
                           const OnBurstDecision& on_decision) {
  BurstReport report{.pattern = plan.pattern,
                     .request = plan.request,
                     .limits = plan.limits,
                     .command = plan.command};
  try {
    Session(plan, invocation, shows_progress, on_decision).run(report);
  } catch (const std::exception&) {
    // What fails after Ctrl-C ends what was to end.
    if (invocation.interrupt.signal() == 0) throw;
    report.interrupted = true;
  }
  return report;
}

}  // namespace rlctl::cli
