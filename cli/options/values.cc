#include "cli/options/values.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

/// A time in microseconds is never that close to January 1970.
void refuse_seconds(std::chrono::microseconds now, std::string_view option) {
  using std::chrono::microseconds;
  constexpr microseconds kYears = std::chrono::years{10};
  const auto today = system_time();
  for (const auto& [name, scale] : {std::pair{"seconds", 1'000'000}, {"milliseconds", 1'000}}) {
    if (std::chrono::abs(now - today / scale) > kYears / scale) continue;
    throw UsageError(std::string(option) + ": '" + std::to_string(now.count()) + "' looks like " +
                         name + " since 1970, but is read as microseconds",
                     "use the output of date +%s%6N, or ISO 8601");
  }
}

}  // namespace

// ---- Refusals ----

void require_not_empty(std::string_view text, const std::string& what) {
  if (text.empty()) throw UsageError(what + " is empty", "is the variable set?");
}

void require_at_most(std::size_t most, std::span<const std::string> operands, std::string hint) {
  if (operands.size() <= most) return;
  throw UsageError("unexpected argument " + in_quotes(operands[most]), std::move(hint));
}

void refuse_word(const std::string& message, std::string_view word,
                 std::span<const std::string_view> names) {
  throw UsageError(message + did_you_mean(word, names), "expected one of: " + one_of(names));
}

// ---- Values ----

std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most) {
  const auto value = parse_whole(text, option);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", option, least, most, value));
}

std::chrono::microseconds parse_duration_of(const std::string& text, std::string_view option) {
  return parsed(option, [&] { return parse_duration(text); });
}

bool is_duration(const std::string& text) {
  try {
    static_cast<void>(parse_duration(text));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

std::int64_t parse_cost(const std::string& text) {
  return parse_whole(text, "--cost");
}

std::chrono::microseconds parse_time_of(const std::string& text, std::string_view option) {
  const auto now = parsed(option, [&] { return parse_instant(text); });
  refuse_seconds(now, option);
  return now;
}

std::chrono::microseconds parse_now(const std::string& text) {
  return parse_time_of(text, "--now");
}

}  // namespace rlctl::cli
