#include "cli/burst/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/burst/columns.h"
#include "cli/burst/plot.h"
#include "cli/burst/replay.h"
#include "cli/burst/scale.h"
#include "cli/burst/suggestion.h"
#include "cli/burst/times.h"
#include "cli/script_options.h"
#include "cli/term/sheet.h"
#include "cli/term/style.h"
#include "cli/term/text_block.h"
#include "cli/term/time_axis.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kMostDeniedKeys = 3;

std::string limits_text(const std::vector<limiter::Limit>& limits) {
  std::string out;
  for (const auto& limit : limits) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} per {}", limit.limit, period_text(limit.window));
  }
  return out;
}

/// What is sent, and the limits.
void append_traffic(TextBlock& block, const BurstReport& report) {
  std::string about;
  if (report.recording) {
    append_replay_rows(block, *report.recording);
    const auto cost = report.recording->max_cost();
    if (cost > 1) about = fmt::format("a request costs up to {}", cost);
  } else {
    const auto& request = report.request;
    block.row("pattern", report.pattern->name, traffic_text(report));
    about = fmt::format("seed {}", request.seed);
    if (request.keys > 1) about += fmt::format(", {} keys", request.keys);
    if (request.cost > 1) about += fmt::format(", cost {}", request.cost);
  }
  block.row("limit", limits_text(report.limits), about);
}

void append_header(TextBlock& block, const BurstReport& report) {
  append_traffic(block, report);
  if (report.script) {
    std::string name;
    escape_text(name, report.script->name);
    block.row("script", name, reading_text(*report.script));
  }
  if (report.real) {
    block.row("clock", "real time", clock_text(*report.real));
  } else {
    block.row("clock", "virtual time", "latencies not measured");
  }
  if (report.interrupted) {
    block.row("", block.tone(report.error ? "ended by an error: what was done before it"
                                          : "interrupted: of the beginning only",
                             Tone::kWarning));
  }
}

std::string worst_text(const BurstRun& run, const Look& look) {
  const auto& worst = run.outcome.measured.worst;
  const auto text =
      fmt::format("{}  {}{}", worst.allowed, ratio_text(worst.ratio), look.utf8 ? "×" : "x");
  return toned(text, worst.ratio > 1 ? Tone::kBad : Tone::kGood, look.colour);
}

std::string retry_text(const BurstRun& run, const Look& look) {
  const auto& error = run.outcome.measured.retry_error;
  if (error.compared == 0) return std::string(kNoValue);
  const auto text = fmt::format("{} of {} kept", error.compared - error.broken, error.compared);
  return toned(text, error.broken > 0 ? Tone::kBad : Tone::kPlain, look.colour);
}

void add_counts(BurstColumns& columns) {
  columns.add("sent",
              [](const BurstRun& run) { return fmt::to_string(run.outcome.measured.sent); });
  columns.add("allowed",
              [](const BurstRun& run) { return fmt::to_string(run.outcome.measured.allowed); });
  columns.add("denied",
              [](const BurstRun& run) { return fmt::to_string(run.outcome.measured.denied); });
}

/// Of a log: who reads it thinks in shares.
void add_share(BurstColumns& columns) {
  columns.add("of all", [](const BurstRun& run) {
    const auto& measured = run.outcome.measured;
    if (measured.sent == 0) return std::string(kNoValue);
    return percent_text(static_cast<double>(measured.denied) / static_cast<double>(measured.sent));
  });
}

void add_worst(BurstColumns& columns, const BurstReport& report, const Look& look,
               microseconds origin) {
  const bool one_limit = report.limits.size() == 1;
  const auto window = report.limits.front().window;
  columns.add(one_limit ? "worst in " + period_text(window) : "worst in a window",
              [&](const BurstRun& run) { return worst_text(run, look); });
  if (!one_limit) {
    columns.add("of", [&](const BurstRun& run) {
      return limiter::format_limit(report.limits[run.outcome.measured.worst.limit]);
    });
  }
  columns.add("within", [](const BurstRun& run) {
    const auto& worst = run.outcome.measured.worst;
    return worst.allowed > 0 ? span_text(worst.span) : std::string(kNoValue);
  });
  columns.add("at", [origin](const BurstRun& run) {
    const auto& worst = run.outcome.measured.worst;
    return worst.allowed > 0 ? offset_text(worst.from - run.begin - origin) : std::string(kNoValue);
  });
}

void add_denials(BurstColumns& columns, const BurstReport& report, const Look& look,
                 microseconds origin) {
  columns.add("first denial", [origin](const BurstRun& run) {
    const auto& first = run.outcome.measured.first_denial;
    return first ? offset_text(*first - run.begin - origin) : std::string(kNoValue);
  });
  columns.add("longest shut out", [](const BurstRun& run) {
    const auto& measured = run.outcome.measured;
    return measured.first_denial ? span_text(measured.longest_shut_out) : std::string(kNoValue);
  });
  const auto delays = [](const BurstRun& run) {
    return run.outcome.measured.longest_delay.count() > 0;
  };
  if (std::any_of(report.runs.begin(), report.runs.end(), delays)) {
    columns.add("longest delay", [delays](const BurstRun& run) {
      return delays(run) ? span_text(run.outcome.measured.longest_delay) : std::string(kNoValue);
    });
  }
  columns.add("retry_after", [&](const BurstRun& run) { return retry_text(run, look); });
  if (traffic_keys(report) > 1) {
    columns.add("keys denied", [](const BurstRun& run) {
      const auto& measured = run.outcome.measured;
      return fmt::format("{} of {}", measured.keys_denied, measured.keys);
    });
  }
  columns.add("bytes/key", [](const BurstRun& run) {
    const auto& bytes = run.outcome.bytes_per_key;
    return bytes ? fmt::format("{:.0f}", *bytes) : std::string(kNoValue);
  });
}

/// As monitoring shows it, by the clock.
void add_worst_minute(BurstColumns& columns) {
  constexpr std::string_view kSeconds = ":00Z";
  columns.add("worst minute", [kSeconds](const BurstRun& run) {
    const auto& minute = run.outcome.measured.worst_minute;
    if (!minute) return std::string(kNoValue);
    auto text = instant_text(minute->from);
    return text.replace(text.size() - kSeconds.size(), text.npos, "Z");
  });
  columns.add("denied in it", [](const BurstRun& run) {
    const auto& minute = run.outcome.measured.worst_minute;
    return minute ? fmt::format("{} of {}", minute->denied, minute->sent) : std::string(kNoValue);
  });
}

std::string_view origin_text(const BurstReport& report, const TimeAxis& axis) {
  if (axis.is_about_edge) return "from the edge of a window";
  return report.recording ? "from the first request" : "from the beginning";
}

void append_table(std::string& out, const BurstReport& report, const Look& look) {
  const auto scale = scale_of(report);
  const auto axis = axis_of(scale, 1);
  BurstColumns columns(report, look);
  add_counts(columns);
  if (report.recording) add_share(columns);
  add_worst(columns, report, look, axis.origin);
  add_denials(columns, report, look, axis.origin);
  if (report.recording) add_worst_minute(columns);
  columns.append(out);
  TextBlock block(out, look);
  const bool each_its_own = report.real && report.runs.size() > 1;
  block.row("times", origin_text(report, axis),
            each_its_own ? "each run from its own"
                         : instant_text(axis_of_run(axis, report.runs.front()).origin));
}

/// Which keys were denied most; where there is only one that says nothing.
void append_top_denied(TextBlock& block, const BurstReport& report) {
  for (const auto& run : report.runs) {
    std::string text;
    for (std::size_t i = 0; i < std::min(kMostDeniedKeys, run.top_denied.size()); ++i) {
      if (!text.empty()) text += ", ";
      escape_text(text, run.top_denied[i].first);
      text += fmt::format(" ({})", run.top_denied[i].second);
    }
    if (text.empty()) continue;
    block.row("denied", shown_name(run), "most: " + text);
  }
}

/// Of a log more of them, with their share: they are someone.
void append_top_denied_table(std::string& out, const BurstReport& report, const Look& look) {
  for (const auto& run : report.runs) {
    if (run.top_denied.empty()) continue;
    std::vector<std::string> keys, denied, shares;
    for (const auto& [key, count] : run.top_denied) {
      escape_text(keys.emplace_back(), key);
      denied.push_back(fmt::to_string(count));
      const auto all = static_cast<double>(run.outcome.measured.denied);
      shares.push_back(fmt::format("{:.1f} %", 100 * static_cast<double>(count) / all));
    }
    out += '\n';
    Sheet sheet;
    sheet.add("denied most by " + shown_name(run), std::move(keys));
    sheet.add("requests", std::move(denied));
    sheet.add("of all denied", std::move(shares));
    sheet.append(out, look);
  }
}

}  // namespace

void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look) {
  for (const auto& line : command_lines(command, look.columns)) out.append(line).append("\n");
}

void append_burst_text(std::string& out, const BurstReport& report, const Look& look) {
  TextBlock block(out, look);
  append_header(block, report);
  out += '\n';
  if (!report.runs.empty()) {
    append_table(out, report, look);
    if (traffic_keys(report) > 1) {
      if (report.recording) {
        append_top_denied_table(out, report, look);
      } else {
        append_top_denied(block, report);
      }
    }
    out += '\n';
    if (report.real) {
      append_burst_times(out, report, look);
      out += '\n';
    }
    append_suggestions(out, report, look);
    append_burst_plot(out, report, look);
    out += '\n';
  }
  append_pasteable(out, report.command, look);
}

}  // namespace rlctl::cli
