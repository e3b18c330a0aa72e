#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/quota/report.h"
#include "cli/server/targets.h"

namespace rlctl::cli::quota {
namespace {

/// The worst first.
constexpr std::array kStates{PluginState::kCritical, PluginState::kWarning, PluginState::kUnknown,
                             PluginState::kOk};

/// A bar would begin the performance data.
std::string without_bars(std::string text) {
  for (auto at = text.find('|'); at != text.npos; at = text.find('|', at)) {
    text.replace(at, 1, "\\x7c");
  }
  return text;
}

/// "31s", "1h2m": rounded up.
std::string seconds_text(microseconds duration) {
  const auto seconds = whole_seconds(duration);
  constexpr std::chrono::minutes kMaxInSeconds{10};
  return seconds < kMaxInSeconds ? fmt::format("{}s", seconds.count()) : wait_text(seconds);
}

/// A hint with a bar is left out: the bar would begin performance data, in any line, and a command
/// in which it is escaped could not be copied.
void append_hint(std::string& out, const std::string& hint) {
  if (hint.empty() || hint.find('|') != hint.npos) return;
  out.append("hint: ").append(escaped_message(hint)).append("\n");
}

/// "66.6", "80", "80.04": the percentage, rounded down so that it is whole only if it is exact.
/// Requires used >= 0 and most > 0.
std::string percent_text(std::int64_t used, std::int64_t most) {
  auto rest = used % most;
  const auto append_digit = [&](std::string& out) {
    rest *= 10;
    out += static_cast<char>('0' + rest / most);
    rest %= most;
  };
  auto out = std::to_string(used / most);
  append_digit(out);
  append_digit(out);
  out.erase(0, std::min(out.find_first_not_of('0'), out.size() - 1));
  if (rest == 0) return out;
  out += '.';
  while (out.ends_with('.') || out.ends_with('0')) append_digit(out);
  return out;
}

/// The percentage used; for a fractional count, that of the stored number.
std::string percent_of(const stored::Inspection& inspection, std::int64_t most) {
  if (!inspection.state.fraction || !inspection.used_exact) {
    return percent_text(*inspection.used, most);
  }
  const auto percent = *inspection.used_exact / static_cast<double>(most) * 100;
  return fmt::format("{:.1f}", std::floor(percent * 10) / 10);
}

/// "api:acme 82% used (820 of 1000), resets in 31s"
std::string sentence(const LimitStatus& status, const Look& look) {
  if (status.problem) return without_bars(escaped_message(status.problem->message));
  const auto& inspection = status.inspection;
  const auto most = inspection.capacity();
  const auto used = inspection.used.value_or(0);
  auto out = without_bars(key_text(inspection.key, look));
  if (const auto& ban = inspection.state.ban) {
    out += ban->until
               ? " banned for " + seconds_text(inspection.next_free.value_or(microseconds{0}))
               : std::string(" banned for ever");
    return out + " by " + without_bars(escaped_message(quoted_and_masked(ban->key)));
  }
  if (used == 0) {
    out += inspection.exists() ? " unused" : " does not exist";
    if (most) out += fmt::format(" (0 of {})", *most);
    // For ever, if a pattern was meant; nobody reads the standard error of a check.
    if (!literal_key_warning(inspection.key).empty()) out += "; a KEY is not a pattern";
    return out;
  }
  const auto text = inspection.used_text();
  out += most ? fmt::format(" {}% used ({} of {})", percent_of(inspection, *most), text, *most)
              : fmt::format(" {} used", text);
  const auto& reset = inspection.reset_after;
  if (reset && *reset > microseconds{0}) out += ", resets in " + seconds_text(*reset);
  if (!inspection.limits_differ.empty()) out.append("; ").append(inspection.limits_differ);
  if (inspection.is_closed_by_reservations()) {
    out.append("; ").append(limiter::kAllReservationsHeld);
    out += ", and any other is denied";
  }
  return out;
}

// ---- Performance data ----

/// The label of a value of one of several keys: 'login:ann used'. Labels do not depend on which
/// keys exist, so that graphs go on.
std::string quoted_label(std::string_view key, std::string_view value) {
  std::string out = "'";
  for (const char c : without_bars(escaped_text(key))) {
    if (c == '=') {
      out += "\\x3d";
    } else {
      out.append(c == '\'' ? 2 : 1, c);
    }
  }
  return out.append(" ").append(value).append("'");
}

void append_performance(std::string& out, const LimitStatus& status, const Thresholds& thresholds) {
  const auto& inspection = status.inspection;
  if (!inspection.used) return;
  const auto most = inspection.capacity();
  const auto most_text = most ? fmt::format(";{}", *most) : std::string();
  const auto append = [&](std::string_view name, const std::string& value) {
    out += out.empty() ? "" : " ";
    out += status.is_only_operand ? std::string(name) : quoted_label(inspection.key, name);
    out.append("=").append(value);
  };
  append("used", fmt::format("{};{};{};0{}", *inspection.used, range_text(thresholds.warning, most),
                             range_text(thresholds.critical, most), most_text));
  if (inspection.remaining) {
    append("remaining", fmt::format("{};;;0{}", *inspection.remaining, most_text));
  }
  if (inspection.reset_after) {
    append("reset", fmt::format("{}s", whole_seconds(*inspection.reset_after).count()));
  }
}

/// "; others: 1 WARNING, 3 OK"
std::string others_text(std::span<const LimitStatus> statuses, const LimitStatus& worst) {
  if (statuses.size() == 1) return {};
  std::string out;
  for (const auto state : kStates) {
    const auto count = std::count_if(statuses.begin(), statuses.end(), [&](const auto& other) {
      return &other != &worst && other.state == state;
    });
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "; others: " : ", ", count, name_of(state));
  }
  return out;
}

}  // namespace

std::string_view name_of(PluginState state) {
  constexpr std::array<std::string_view, 4> kNames{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  return kNames[static_cast<std::size_t>(state)];
}

const LimitStatus& worst_of(std::span<const LimitStatus> statuses) {
  return *std::ranges::min_element(statuses, {}, [](const LimitStatus& status) {
    return std::pair(std::ranges::find(kStates, status.state),
                     -status.inspection.ratio().value_or(-1));
  });
}

void append_text(std::string& out, std::span<const LimitStatus> statuses,
                 const Thresholds& thresholds, bool only_problems, const Look& look) {
  const auto& worst = worst_of(statuses);
  out.append("RATELIMIT ").append(name_of(worst.state)).append(" - ");
  out.append(sentence(worst, look)).append(others_text(statuses, worst));
  std::string performance;
  for (const auto& status : statuses) append_performance(performance, status, thresholds);
  if (!performance.empty()) out.append(" | ").append(performance);
  out += '\n';
  if (statuses.size() == 1) {
    if (worst.problem) append_hint(out, worst.problem->hint);
    return;
  }
  for (const auto& status : statuses) {
    if (only_problems && status.state == PluginState::kOk) continue;
    out.append(name_of(status.state)).append(" ").append(sentence(status, look)).append("\n");
  }
}

void append_failure_text(std::string& out, const Problem& problem) {
  out += "RATELIMIT UNKNOWN - " + without_bars(escaped_message(problem.message)) + "\n";
  append_hint(out, problem.hint);
  if (problem.hint.empty() && problem.usage_advice) out += "Try 'rlctl quota --help'.\n";
}

}  // namespace rlctl::cli::quota
