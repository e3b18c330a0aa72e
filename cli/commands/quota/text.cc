#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/quota/report.h"
#include "cli/report/usage.h"
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

/// A hint with a bar is left out: the bar would begin performance data, in any line, and a command
/// in which it is escaped could not be copied.
void append_hint(std::string& out, const std::string& hint) {
  if (hint.empty() || hint.find('|') != hint.npos) return;
  out.append("hint: ").append(escaped_message(hint)).append("\n");
}

/// "api:acme 82% used (820 of 1000), resets in 30.204 s"
std::string sentence(const LimitStatus& status, const Look& look) {
  if (status.problem) return without_bars(escaped_message(status.problem->message));
  const auto& inspection = status.inspection;
  auto out = without_bars(key_text(inspection.key, look));
  if (inspection.state.ban) return out + " " + without_bars(report::ban_text(inspection));
  if (inspection.used.value_or(0) == 0) {
    out += inspection.exists() ? " unused" : " does not exist";
    if (const auto most = inspection.capacity()) out += fmt::format(" (0 of {})", *most);
    // It would stay unused if a pattern was meant; nobody reads the standard error of a check.
    if (!literal_key_warning(inspection.key).empty()) out += "; a KEY is not a pattern";
    return out;
  }
  const auto used = report::used_of_text(inspection);
  const auto ratio = report::ratio_text(inspection.ratio());
  out += ratio.empty() ? fmt::format(" {} used", used) : fmt::format(" {} used ({})", ratio, used);
  const auto reset = report::reset_remark(inspection);
  if (!reset.empty()) out.append(", ").append(reset);
  if (!inspection.limits_differ.empty()) out.append("; ").append(inspection.limits_differ);
  if (inspection.is_closed_by_reservations()) {
    out.append("; ").append(limiter::kAllReservationsHeld).append(", and any other is denied");
  }
  return without_micro_sign(std::move(out), look.utf8);
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
