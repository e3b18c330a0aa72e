#include "cli/commands/debug/setup.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "redis/scan.h"
#include "script/key_aging.h"
#include "script/script.h"
#include "simulation/engine.h"
#include "traffic/traffic.h"

namespace rlctl::cli::debug {
namespace {

/// The KEY of a call without a log.
class OneKey final : public traffic::Traffic {
 public:
  explicit OneKey(const std::string& name) : name_(name) {}
  bool next(traffic::Arrival& /*arrival*/) override { return false; }
  std::string_view key_name(std::uint32_t /*key*/) const override { return name_; }
  std::int64_t size() const override { return 0; }

 private:
  const std::string& name_;
};

/// A name as a template that stands for it.
script::Template template_of(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == '{' ? "{{}" : std::string(1, c);
  return script::Template(text);
}

/// The candidate with the setup, for the keys of the plan's call.
script::Candidate candidate_of(const Plan& plan) {
  auto foreign = *plan.foreign;
  foreign.keys.clear();
  for (const auto& key : plan.debuggee.keys) foreign.keys.push_back(template_of(key));
  return {.limits = plan.limits.empty() ? std::vector<limiter::Limit>(1) : plan.limits,
          .foreign = std::make_shared<const script::ForeignLimiter>(std::move(foreign))};
}

traffic::Arrival arrival_of(const Plan& plan) {
  return {.at = plan.values.now, .cost = plan.values.cost};
}

constexpr const char* kAgingHash = script::KeyAging::kHashName;

/// Gives all keys the TTLs that they have at this time, and removes what virtual time needed.
void end_virtual_time(redis::Connection& connection, script::KeyAging& aging,
                      std::chrono::microseconds now) {
  const auto all = connection.call({"KEYS", "*"});
  std::vector<std::string_view> keys;
  std::vector<std::string> not_the_scripts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].text().starts_with(kAgingHash)) {
      not_the_scripts.emplace_back(all[i].text());
    } else {
      keys.push_back(all[i].text());
    }
  }
  if (aging.advance(now, keys)) script::KeyAging::require_done(connection.read());
  redis::unlink_keys(connection, not_the_scripts);
}

}  // namespace

script::AcceptedScript accepted_source(script::ScriptHost& host,
                                       const debugger::Debuggee& debuggee) {
  if (lua::read_shebang(debuggee.source)) {
    try {
      return script::load_accepted(host, debuggee.source, debuggee.name);
    } catch (const redis::Error&) {
      // Running it tells the reason.
    }
  }
  return {.source = debuggee.source};
}

void warn_of_change(const Plan& plan, std::string_view change, std::string_view command) {
  if (change.empty() || plan.quiet) return;
  warn(fmt::format("warning: {}: {}", escape(plan.debuggee.name), change), command);
}

bool has_setup(const Plan& plan) {
  return plan.is_private() && plan.foreign && !plan.foreign->setup.empty();
}

void prepare(const Plan& plan, keyspace::Keyspace& keys, const Interrupt& interrupt) {
  const OneKey names(plan.key);
  const auto candidate = candidate_of(plan);
  const auto script =
      script::make_script(candidate, names, "", {.time = script::ScriptTime::kHost});
  simulation::Engine engine(interrupt);
  script->load(engine);
  for (const auto& call : script->preparation(arrival_of(plan))) {
    script->require_prepared(engine.run(call, keys));
  }
}

void prepare(const Plan& plan, redis::Connection& connection) {
  const OneKey names(plan.key);
  const auto candidate = candidate_of(plan);
  const auto script = script::make_script(candidate, names, "");
  script->load(connection);
  script::prepare(*script, connection, arrival_of(plan));
  script::KeyAging aging(connection, kAgingHash);
  end_virtual_time(connection, aging, plan.values.now);
}

}  // namespace rlctl::cli::debug
