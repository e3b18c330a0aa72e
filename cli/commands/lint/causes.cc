#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/commands/lint/probes.h"

// Finds out why a script shows a flaw by counter-experiments: each changes one thing about the
// script or its arguments, sends the same traffic again, and names a cause only if nothing is wrong
// then. A change that makes a worse limiter, such as a counter out of a log, is not tried.

namespace rlctl::cli::lint {
namespace {

using Script = traffic::ForeignLimiter;
using Kind = Cause::Kind;

/// TIME replies milliseconds where it has seconds.
constexpr std::string_view kMilliseconds =
    "local reply = f(name, ...) if n == 'time' then "
    "reply[1] = string.format('%.0f', reply[1] * 1000 + math.floor(reply[2] / 1000)) end "
    "return reply ";
/// All KEYS with a TTL end with the last of them.
constexpr std::string_view kOneEnd =
    "local reply = f(name, ...) if string.find(n, 'expire') or string.find(n, 'set') then "
    "local most = 0 "
    "for _, key in ipairs(KEYS) do most = math.max(most, real.call('PTTL', key)) end "
    "for _, key in ipairs(KEYS) do if real.call('PTTL', key) > 0 then "
    "real.call('PEXPIRE', key, most) end end end return reply ";
/// A key with a TTL keeps it.
constexpr std::string_view kKeepTtl =
    "local key, left = (...), 0 if string.find(n, 'expire') or string.find(n, 'set') then "
    "left = real.call('PTTL', key) end local reply = f(name, ...) "
    "if left > 0 then real.call('PEXPIRE', key, left) end return reply ";

/// How the placeholder ends that gives the arguments this time, as "_ms" of {now_ms}.
std::optional<std::string_view> unit_given(const Script& script, std::string_view name) {
  for (const std::string_view unit : {"_us", "_ms", "_s", ""}) {
    const auto placeholder = fmt::format("{{{}{}}}", name, unit);
    if (std::ranges::count(script.arguments, placeholder, &traffic::Template::source) > 0)
      return unit;
  }
  return std::nullopt;
}

/// The script and its arguments, changed in one thing, by the cause that this would be.
using Experiments = std::vector<std::pair<Cause, std::shared_ptr<Script>>>;

void add_body(const Script& script, const Cause& cause, std::string_view body,
              Experiments& experiments) {
  experiments.emplace_back(cause, std::make_shared<Script>(script)).second->source =
      with_calls(script.source, body);
}

/// The time in the unit of the window, or the reverse; in any, if the script is not given both.
void add_units(const Script& script, Experiments& experiments) {
  for (const auto& [name, other] : {std::pair{"now", "window"}, std::pair{"window", "now"}}) {
    const auto given = unit_given(script, name), wanted = unit_given(script, other);
    for (const std::string_view unit : {"_ms", "_s", "_us"}) {
      const auto is_in = [unit](const auto& each) {
        return each == unit || (each == "" && unit == "_s");
      };
      if (!given || is_in(given) || (wanted && !is_in(wanted))) continue;
      const Cause cause{.given = fmt::format("{{{}{}}}", name, *given),
                        .meant = fmt::format("{{{}{}}}", name, unit)};
      auto changed = std::make_shared<Script>(script);
      std::ranges::replace(changed->arguments, cause.given, traffic::Template(cause.meant),
                           &traffic::Template::source);
      experiments.emplace_back(cause, std::move(changed));
    }
  }
  if (!traffic::names_time(script)) return;
  add_body(script, {.given = "t[1] of TIME", .meant = "t[1] * 1000 + math.floor(t[2] / 1000)"},
           kMilliseconds, experiments);
}

}  // namespace

std::string with_calls(std::string source, std::string_view body) {
  const auto line = source.starts_with("#!") ? source.find('\n') + 1 : std::size_t{0};
  return source.insert(
      line, std::string("local redis = (function() local real = redis local function with(f) "
                        "return function(name, ...) local n = string.lower(name) ")
                .append(body)
                .append("end end return setmetatable({call = with(real.call), pcall = "
                        "with(real.pcall)}, {__index = real}) end)() "));
}

std::optional<Cause> find_cause(const Subject& subject, const Probed& probed, bool stores_time,
                                const ProbeAgain& probe_again) {
  const auto& script = subject.candidate.foreign;
  if (!script || !script->function.empty()) return std::nullopt;
  const bool is_denied = probed.flaws.lock_out || probed.flaws.renewal;
  Experiments experiments;
  if (stores_time && (is_denied || probed.is_excess || probed.needs_expiry)) {
    add_units(*script, experiments);
  }
  // The keys of a counter and of a ban may end apart.
  if (script->keys.size() > 1 && (is_denied ? stores_time : probed.flaws.forgotten.has_value())) {
    add_body(*script, {.kind = Kind::kUnequalTtls}, kOneEnd, experiments);
  }
  // The TTL of a time is not its window.
  if (is_denied && !stores_time && probed.needs_expiry) {
    add_body(*script, {.kind = Kind::kRenewedTtl}, kKeepTtl, experiments);
  }
  for (auto& [cause, changed] : experiments) {
    auto other = subject;
    other.candidate.foreign = std::move(changed);
    const auto seen = probe_again(other);
    const bool is_unit = cause.kind == Kind::kUnit;
    if (!seen || seen->flaws.lock_out || seen->flaws.renewal || seen->flaws.free_pass ||
        !seen->not_tested.empty() || (is_unit && seen->needs_expiry)) {
      continue;
    }
    // Once a stored time decides, a TTL may be wrong that was a window.
    if (!seen->flaws.forgotten || (is_unit && !is_denied && !probed.is_excess)) return cause;
  }
  return std::nullopt;
}

}  // namespace rlctl::cli::lint
