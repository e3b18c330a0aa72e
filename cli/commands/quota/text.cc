#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/quota/report.h"
#include "cli/report/usage_json.h"
#include "cli/server/targets.h"

namespace rlctl::cli::quota {
namespace {

using std::chrono::microseconds;

/// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kStateNames{"OK", "WARNING", "CRITICAL", "UNKNOWN"};

std::string_view name_of(PluginState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

int severity(PluginState state) {
  switch (state) {
    case PluginState::kOk:
      return 0;
    case PluginState::kUnknown:
      return 1;
    case PluginState::kWarning:
      return 2;
    case PluginState::kCritical:
      break;
  }
  return 3;
}

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

std::string problem_text(const Problem& problem) {
  return without_bars(escaped_message(problem.message));
}

/// A hint with a bar is left out: the bar would begin performance data, in any line, and a command
/// in which it is escaped could not be copied.
void append_hint(std::string& out, const std::string& hint) {
  if (hint.empty() || hint.find('|') != hint.npos) return;
  out.append("hint: ").append(escaped_message(hint)).append("\n");
}

/// "api:acme 82% used (820 of 1000), resets in 31s"
std::string sentence(const LimitStatus& status) {
  if (status.problem) return problem_text(*status.problem);
  const auto& inspection = status.inspection;
  const auto most = inspection.capacity();
  const auto used = inspection.used.value_or(0);
  auto out = without_bars(escaped_text(inspection.key));
  if (used == 0) {
    out += " unused";
    if (most) out += fmt::format(" (0 of {})", *most);
    // For ever, if a pattern was meant; nobody reads the standard error of a check.
    if (!literal_key_warning(inspection.key).empty()) {
      out += "; a KEY is not a pattern";
    }
    return out;
  }
  out += most ? fmt::format(" {}% used ({} of {})", percent_text(used, *most), used, *most)
              : fmt::format(" {} used", used);
  const auto& reset = inspection.reset_after;
  if (reset && *reset > microseconds{0}) out += ", resets in " + seconds_text(*reset);
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
  for (const auto state :
       {PluginState::kCritical, PluginState::kWarning, PluginState::kUnknown, PluginState::kOk}) {
    const auto count = std::count_if(statuses.begin(), statuses.end(), [&](const auto& other) {
      return &other != &worst && other.state == state;
    });
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "; others: " : ", ", count, name_of(state));
  }
  return out;
}

void append_first_line(std::string& out, PluginState state, const std::string& text) {
  out.append("RATELIMIT ").append(name_of(state)).append(" - ").append(text);
}

}  // namespace

std::optional<double> LimitStatus::ratio() const {
  return inspection.ratio();
}

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

bool less_severe(const LimitStatus& a, const LimitStatus& b) {
  const auto rank = [](const LimitStatus& status) {
    return std::pair(severity(status.state), status.ratio().value_or(-1));
  };
  return rank(a) < rank(b);
}

void append_text(std::string& out, std::span<const LimitStatus> statuses,
                 const Thresholds& thresholds, bool only_problems) {
  const bool is_only = statuses.size() == 1;
  const auto& worst = *std::max_element(statuses.begin(), statuses.end(), less_severe);
  append_first_line(out, worst.state, sentence(worst) + others_text(statuses, worst));
  std::string performance;
  for (const auto& status : statuses) {
    append_performance(performance, status, thresholds);
  }
  if (!performance.empty()) out.append(" | ").append(performance);
  out += '\n';
  if (is_only) {
    if (worst.problem) append_hint(out, worst.problem->hint);
    return;
  }
  for (const auto& status : statuses) {
    if (only_problems && status.state == PluginState::kOk) continue;
    out.append(name_of(status.state)).append(" ").append(sentence(status)).append("\n");
  }
}

void append_failure_text(std::string& out, const Problem& problem) {
  append_first_line(out, PluginState::kUnknown, problem_text(problem));
  out += '\n';
  append_hint(out, problem.hint);
  if (problem.hint.empty() && problem.usage_advice) {
    out += "Try 'rlctl quota --help'.\n";
  }
}

// ---- JSON ----

namespace {

JsonWriter& begin_json(JsonWriter& json, PluginState state) {
  return json.begin_object().field("status", lower_case(name_of(state)));
}

void append_problem(JsonWriter& json, const std::optional<Problem>& problem) {
  json.name("error");
  if (!problem) {
    json.null();
    return;
  }
  std::string text;
  append_problem_json(text, *problem);
  json.raw(text);
}

void append_limit_json(JsonWriter& json, const LimitStatus& status) {
  const auto& inspection = status.inspection;
  json.begin_object()
      .bytes_field("key", inspection.key)
      .field("status", lower_case(name_of(status.state)))
      .known_field("policy", status.policy)
      .known_field("algorithm", status.algorithm);
  append_usage_fields(json, inspection);
  json.field("burst", inspection.burst).field("ratio", status.ratio());
}

}  // namespace

void append_json(std::string& out, std::span<const LimitStatus> statuses) {
  const auto& worst = *std::max_element(statuses.begin(), statuses.end(), less_severe);
  JsonWriter json(out);
  begin_json(json, worst.state).name("limits").begin_array();
  for (const auto& status : statuses) {
    append_limit_json(json, status);
    append_problem(json, status.problem);
    json.end_object();
  }
  json.end_array();
  append_problem(json, std::nullopt);
  json.end_object();
  out += '\n';
}

void append_failure_json(std::string& out, const Problem& problem) {
  JsonWriter json(out);
  begin_json(json, PluginState::kUnknown).name("limits").begin_array().end_array();
  append_problem(json, problem);
  json.end_object();
  out += '\n';
}

}  // namespace rlctl::cli::quota
