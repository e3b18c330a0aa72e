#include <algorithm>
#include <array>
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

std::shared_ptr<Script> with_body(const Script& script, std::string_view body) {
  auto changed = std::make_shared<Script>(script);
  changed->source = with_calls(script.source, body);
  return changed;
}

/// The arguments with another placeholder.
std::shared_ptr<Script> with_unit(const Script& script, const Cause& cause) {
  auto changed = std::make_shared<Script>(script);
  for (auto& argument : changed->arguments) {
    auto text = argument.source();
    const auto at = text.find(cause.given);
    if (at == text.npos) continue;
    argument = traffic::Template(text.replace(at, cause.given.size(), cause.meant));
  }
  return changed;
}

/// Each placeholder for a time, and for a window, that could be in the unit of the other, or in any
/// if the script is not given the other.
std::vector<Cause> other_units(const Script& script) {
  constexpr std::array<std::string_view, 4> kUnits{"", "_s", "_ms", "_us"};
  const auto names = [&](std::string_view name, std::string_view unit) {
    return std::ranges::any_of(script.arguments, [&](const auto& argument) {
      return argument.holds(std::string(name).append(unit));
    });
  };
  std::vector<Cause> all;
  for (const auto& [name, other] : {std::pair{"now", "window"}, std::pair{"window", "now"}}) {
    const bool has_other =
        std::ranges::any_of(kUnits, [&](const auto unit) { return names(other, unit); });
    for (std::size_t from = 0; from < kUnits.size(); ++from) {
      for (std::size_t to = 0; to < kUnits.size(); ++to) {
        // The first two are one unit.
        if (std::max<std::size_t>(from, 1) == std::max<std::size_t>(to, 1) ||
            !names(name, kUnits.at(from)) || (has_other ? !names(other, kUnits.at(to)) : to == 0)) {
          continue;
        }
        const auto placeholder = [&](std::size_t unit) {
          return std::string("{").append(name).append(kUnits.at(unit)).append("}");
        };
        all.push_back({.kind = Kind::kUnit, .given = placeholder(from), .meant = placeholder(to)});
      }
    }
  }
  return all;
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
  const bool is_denied = probed.lock_out || probed.renewal;
  const bool is_idle =
      !is_denied &&
      std::ranges::find(probed.not_tested, "windows", &NotTested::what) == probed.not_tested.end();
  const auto is_cured = [&](std::shared_ptr<const Script> changed, bool is_unit) {
    auto other = subject;
    other.candidate.foreign = std::move(changed);
    const auto seen = probe_again(other);
    // Once a time decides, so may a TTL that only its expiry made right.
    return seen && !seen->lock_out && !seen->renewal && !seen->free_pass &&
           seen->not_tested.empty() &&
           (is_unit ? !seen->needs_expiry && (is_idle || !seen->forgotten) : !seen->forgotten);
  };
  if (stores_time && (!is_idle || probed.needs_expiry)) {
    for (auto& cause : other_units(*script)) {
      cause.is_idle = is_idle;
      if (is_cured(with_unit(*script, cause), true)) return cause;
    }
    if (traffic::names_time(*script) && is_cured(with_body(*script, kMilliseconds), true)) {
      return Cause{.kind = Kind::kUnit,
                   .given = "t[1] of TIME",
                   .meant = "t[1] * 1000 + math.floor(t[2] / 1000)",
                   .is_idle = is_idle};
    }
  }
  // The keys of a counter and of a ban may end apart.
  if (script->keys.size() > 1 && ((is_denied && stores_time) || (!is_denied && probed.forgotten)) &&
      is_cured(with_body(*script, kOneEnd), false)) {
    return Cause{.kind = Kind::kUnequalTtls};
  }
  // The TTL of what tells when it ends is not its window.
  if (!stores_time && probed.needs_expiry && is_denied &&
      is_cured(with_body(*script, kKeepTtl), false)) {
    return Cause{.kind = Kind::kRenewedTtl};
  }
  return std::nullopt;
}

}  // namespace rlctl::cli::lint
