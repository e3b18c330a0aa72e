#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/lint/probes.h"

// Finds out why a script shows a flaw by counter-experiments: each changes one thing about the
// script's arguments or the answers to its calls, sends the same traffic again, and names a cause
// only if nothing is wrong then. A change that makes a worse limiter, such as a counter out of a
// log, is not tried.

namespace rlctl::cli::lint {
namespace {

using Script = script::ForeignLimiter;
using Kind = Cause::Kind;
using simulation::EngineCall;
using std::chrono::milliseconds;

/// TIME replies milliseconds where it has seconds.
void count_milliseconds(const EngineCall& call, std::string& reply) {
  if (lower_case(call.words.front()) != "time") return call.run(reply);
  constexpr std::int64_t kSecond = 1'000'000, kMillisecond = 1000;
  const auto now = call.keys.shown_time().count();
  const auto time = std::to_string(now / kMillisecond), rest = std::to_string(now % kSecond);
  reply += fmt::format("*2\r\n${}\r\n{}\r\n${}\r\n{}\r\n", time.size(), time, rest.size(), rest);
}

bool may_set_ttl(const EngineCall& call) {
  const auto name = lower_case(call.words.front());
  return name.find("expire") != name.npos || name.find("set") != name.npos;
}

/// The TTL of a key; std::nullopt if it has none.
std::optional<milliseconds> ttl_of(const keyspace::Keyspace& keys, std::string_view name) {
  const auto* const key = keys.find(name);
  return key != nullptr && key->expiry ? std::optional(keys.ttl(*key)) : std::nullopt;
}

void set_ttl(keyspace::Keyspace& keys, std::string_view name, milliseconds ttl) {
  // A key has a TTL of 0 in its last millisecond, which PEXPIRE takes for none.
  const auto text = std::to_string(std::max(ttl, milliseconds{1}).count());
  const std::string_view words[] = {"PEXPIRE", name, text};
  std::string reply;
  keys.call(words, false, reply);
}

/// All keys with a TTL end with the last of them.
void end_together(const EngineCall& call, std::string& reply) {
  call.run(reply);
  if (!may_set_ttl(call)) return;
  std::vector<std::string> expiring;
  milliseconds longest{0};
  for (const auto name : call.keys.keys()) {
    const auto ttl = ttl_of(call.keys, name);
    if (!ttl) continue;
    expiring.emplace_back(name);
    longest = std::max(longest, *ttl);
  }
  for (const auto& name : expiring) set_ttl(call.keys, name, longest);
}

/// A key with a TTL keeps it.
void keep_ttl(const EngineCall& call, std::string& reply) {
  const auto key = may_set_ttl(call) && call.words.size() > 1 ? call.words[1] : std::string_view();
  const auto left = ttl_of(call.keys, key);
  call.run(reply);
  if (left && call.keys.find(key) != nullptr) set_ttl(call.keys, key, *left);
}

/// How the placeholder ends that gives the arguments this time, as "_ms" of {now_ms}.
std::optional<std::string_view> unit_given(const Script& script, std::string_view name) {
  for (const std::string_view unit : {"_us", "_ms", "_s", ""}) {
    const auto placeholder = fmt::format("{{{}{}}}", name, unit);
    if (std::ranges::count(script.arguments, placeholder, &script::Template::source) > 0)
      return unit;
  }
  return std::nullopt;
}

/// One change, and the cause that it would show.
struct Experiment {
  Cause cause = {};
  std::shared_ptr<const Script> script = {};
  simulation::AnswerCall answer = {};  ///< null: the calls are as ever
};
using Experiments = std::vector<Experiment>;

/// The time in the unit of the window, or the reverse; in any, if the script is not given both.
void add_units(const std::shared_ptr<const Script>& script, Experiments& experiments) {
  for (const auto& [name, other] : {std::pair{"now", "window"}, std::pair{"window", "now"}}) {
    const auto given = unit_given(*script, name), wanted = unit_given(*script, other);
    for (const std::string_view unit : {"_ms", "_s", "_us"}) {
      const auto is_in = [unit](const auto& each) {
        return each == unit || (each == "" && unit == "_s");
      };
      if (!given || is_in(given) || (wanted && !is_in(wanted))) continue;
      const Cause cause{.given = fmt::format("{{{}{}}}", name, *given),
                        .meant = fmt::format("{{{}{}}}", name, unit)};
      auto changed = std::make_shared<Script>(*script);
      std::ranges::replace(changed->arguments, cause.given, script::Template(cause.meant),
                           &script::Template::source);
      experiments.push_back({.cause = cause, .script = std::move(changed)});
    }
  }
  if (!script::names_time(*script)) return;
  const Cause cause{.given = "t[1] of TIME", .meant = "t[1] * 1000 + math.floor(t[2] / 1000)"};
  experiments.push_back({cause, script, count_milliseconds});
}

}  // namespace

std::optional<Cause> find_cause(const Subject& subject, const Probed& probed, bool stores_time,
                                const ProbeAgain& probe_again) {
  const auto& script = subject.candidate.foreign;
  if (!script) return std::nullopt;
  const bool is_denied = probed.flaws.lock_out || probed.flaws.renewal;
  Experiments experiments;
  if (stores_time && (is_denied || probed.is_excess || probed.needs_expiry)) {
    add_units(script, experiments);
  }
  // The keys of a counter and of a ban may end apart.
  if (script->keys.size() > 1 && (is_denied ? stores_time : probed.flaws.forgotten.has_value())) {
    experiments.push_back({{.kind = Kind::kUnequalTtls}, script, end_together});
  }
  // The TTL of a time is not its window.
  if (is_denied && !stores_time && probed.needs_expiry) {
    experiments.push_back({{.kind = Kind::kRenewedTtl}, script, keep_ttl});
  }
  for (const auto& [cause, changed, answer] : experiments) {
    auto other = subject;
    other.candidate.foreign = changed;
    const auto seen = probe_again(other, answer);
    const bool is_unit = cause.kind == Kind::kUnit;
    if (!seen || seen->flaws.lock_out || seen->flaws.renewal ||
        (seen->flaws.free_pass && !probed.flaws.free_pass) || !seen->not_tested.empty() ||
        (is_unit && seen->needs_expiry)) {
      continue;
    }
    // Once a stored time decides, a TTL may be wrong that was a window.
    if (!seen->flaws.forgotten || (is_unit && !is_denied && !probed.is_excess)) return cause;
  }
  return std::nullopt;
}

}  // namespace rlctl::cli::lint
