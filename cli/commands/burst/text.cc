#include "cli/commands/burst/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/difference.h"
#include "cli/commands/burst/picture.h"
#include "cli/options/log_options.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using traffic::Histogram;
using traffic::Measured;
using traffic::Suggestion;
using traffic::Timing;

/// The cell for a value that is unknown or does not exist.
constexpr std::string_view kNoValue = "-";

/// A run's name, escaped for a terminal.
std::string shown_name(const Run& run) {
  return escaped_message(run.name);
}

/// "2.770 %"; a nonzero share never prints as 0.
std::string percent_text(double share) {
  constexpr double kMinPercent = 0.001;
  const double percent = 100 * share;
  return percent > 0 && percent < kMinPercent ? fmt::format("<{} %", kMinPercent)
                                              : fmt::format("{:.3f} %", percent);
}

/// Adds a column; `cell` returns the text for a row.
template <typename Rows, typename Cell>
void add_column(Table& table, std::string_view title, const Rows& rows, const Cell& cell) {
  Cells cells;
  for (const auto& row : rows) cells.push_back(cell(row));
  table.add(title, std::move(cells));
}

/// A table with a row for each run of a report. The first column holds their names.
class RunTable {
 public:
  /// `title` is the heading of the names. The report must outlive this.
  explicit RunTable(const Report& report, std::string_view title = {}) : runs_(report.runs) {
    add(title, shown_name);
  }

  template <typename Cell>
  void add(std::string_view title, const Cell& cell) {
    add_column(table_, title, runs_, cell);
  }
  void append(std::string& out, const Look& look) const { table_.append(out, look); }

 private:
  const std::vector<Run>& runs_;
  Table table_;
};

// --- What was sent -------------------------------------------------------------------------------

std::string limits_text(const std::vector<limiter::Limit>& limits) {
  std::string out;
  for (const auto& limit : limits) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} per {}", limit.limit, period_text(limit.window));
  }
  return out;
}

std::string lines_text(const replay::LineCounts& counts) {
  auto text =
      fmt::format("{} in {}", counted(counts.requests, "request"), counted(counts.lines, "line"));
  if (counts.bad > 0) text += fmt::format(", {} cannot be read", counts.bad);
  if (counts.blank > 0) text += fmt::format(", {} blank", counts.blank);
  return text;
}

void append_file(TextBlock& block, const replay::RecordedFile& file, std::string_view label) {
  const auto name = escaped_message(replay::input_name(file.name));
  if (file.format == nullptr && file.counts.bad == 0) {
    block.row(label, name, "empty");
  } else {
    const auto format = file.format != nullptr ? file.format->name : "unknown format";
    block.row(label, name, fmt::format("{}, {}", format, lines_text(file.counts)));
  }
}

void append_replay_rows(TextBlock& block, const replay::Recording& recording) {
  constexpr std::size_t kMaxFiles = 8;  // the last line counts the rest
  const auto& files = recording.files();
  const auto shown = files.size() > kMaxFiles ? kMaxFiles - 1 : files.size();
  for (std::size_t i = 0; i < shown; ++i) append_file(block, files[i], i == 0 ? "replay" : "");
  if (shown < files.size()) block.row("", fmt::format("and {} files", files.size() - shown));
  const auto keys = static_cast<std::int64_t>(recording.keys());
  block.row("requests", fmt::to_string(recording.counts().requests), counted(keys, "key"));
  block.row("from", instant_text(recording.first()), "to " + instant_text(recording.last()));
}

/// The traffic and the limits.
void append_traffic(TextBlock& block, const Report& report) {
  std::string about;
  if (report.recording) {
    append_replay_rows(block, *report.recording);
    const auto cost = report.recording->max_cost();
    if (cost > 1) about = fmt::format("a request costs up to {}", cost);
  } else {
    const auto& request = report.plan.request;
    block.row("pattern", report.plan.pattern->name, traffic_text(report));
    about = fmt::format("seed {}", request.seed);
    if (request.keys > 1) about += fmt::format(", {} keys", request.keys);
    if (request.cost > 1) about += fmt::format(", cost {}", request.cost);
  }
  block.row("limit", limits_text(report.plan.limits), about);
}

void append_header(TextBlock& block, const Report& report) {
  append_traffic(block, report);
  append_script_rows(block, report.plan);
  if (report.plan.real) {
    block.row("clock", "real time", clock_text(*report.plan.real));
  } else {
    append_virtual_clock(block);
  }
  if (report.interrupted) {
    block.row("", block.tone(report.failed ? "ended by an error: covers the decisions before it"
                                           : "interrupted: covers the beginning only",
                             Tone::kWarning));
  }
}

// --- What was decided ----------------------------------------------------------------------------

std::string worst_text(const Run& run, const Look& look) {
  const auto& worst = run.outcome.measured.worst;
  const auto text =
      fmt::format("{}  {}{}", worst.allowed, ratio_text(worst.ratio), glyphs(look.utf8).times);
  return toned(text, worst.ratio > 1 ? Tone::kBad : Tone::kGood, look.colour);
}

std::string retry_text(const Run& run, const Look& look) {
  const auto& error = run.outcome.measured.retry_error;
  if (error.compared == 0) return std::string(kNoValue);
  const auto text = fmt::format("{} of {} kept", error.compared - error.broken, error.compared);
  return toned(text, error.broken > 0 ? Tone::kBad : Tone::kPlain, look.colour);
}

void add_counts(RunTable& columns) {
  const auto add = [&](std::string_view title, std::int64_t Measured::*count) {
    columns.add(title,
                [count](const Run& run) { return fmt::to_string(run.outcome.measured.*count); });
  };
  add("sent", &Measured::sent);
  add("allowed", &Measured::allowed);
  add("denied", &Measured::denied);
}

void add_share(RunTable& columns) {
  columns.add("of all", [](const Run& run) {
    const auto& measured = run.outcome.measured;
    if (measured.sent == 0) return std::string(kNoValue);
    return percent_text(static_cast<double>(measured.denied) / static_cast<double>(measured.sent));
  });
}

/// A time of a run: an instant, or relative to `origin`.
std::string moment_text(const Report& report, const Run& run, microseconds time,
                        microseconds origin) {
  return shows_dates(report) ? instant_text(time) : offset_text(time - run.begin - origin);
}

void add_worst(RunTable& columns, const Report& report, const Look& look, microseconds origin) {
  const bool one_limit = report.plan.limits.size() == 1;
  const auto window = report.plan.limits.front().window;
  columns.add(one_limit ? "worst in " + period_text(window) : "worst in a window",
              [&](const Run& run) { return worst_text(run, look); });
  if (!one_limit) {
    columns.add("of", [&](const Run& run) {
      return limiter::format_limit(report.plan.limits[run.outcome.measured.worst.limit]);
    });
  }
  columns.add("within", [](const Run& run) {
    const auto& worst = run.outcome.measured.worst;
    return worst.allowed > 0 ? span_text(worst.span) : std::string(kNoValue);
  });
  columns.add("at", [&report, origin](const Run& run) {
    const auto& worst = run.outcome.measured.worst;
    return worst.allowed > 0 ? moment_text(report, run, worst.from, origin) : std::string(kNoValue);
  });
}

void add_denials(RunTable& columns, const Report& report, const Look& look, microseconds origin) {
  columns.add("first denial", [&report, origin](const Run& run) {
    const auto& first = run.outcome.measured.first_denial;
    return first ? moment_text(report, run, *first, origin) : std::string(kNoValue);
  });
  columns.add("longest shut out", [](const Run& run) {
    const auto& measured = run.outcome.measured;
    return measured.first_denial ? span_text(measured.longest_shut_out) : std::string(kNoValue);
  });
  const auto delays = [](const Run& run) { return run.outcome.measured.longest_delay.count() > 0; };
  if (std::any_of(report.runs.begin(), report.runs.end(), delays)) {
    columns.add("longest delay", [delays](const Run& run) {
      return delays(run) ? span_text(run.outcome.measured.longest_delay) : std::string(kNoValue);
    });
  }
  columns.add("retry_after", [&](const Run& run) { return retry_text(run, look); });
  if (traffic_keys(report) > 1) {
    columns.add("keys denied", [](const Run& run) {
      const auto& measured = run.outcome.measured;
      return fmt::format("{} of {}", measured.keys_denied, measured.keys);
    });
  }
  columns.add("bytes/key", [](const Run& run) {
    const auto& bytes = run.outcome.bytes_per_key;
    return bytes ? fmt::format("{:.0f}", *bytes) : std::string(kNoValue);
  });
}

/// The worst clock minute, as monitoring shows it.
void add_worst_minute(RunTable& columns) {
  constexpr std::string_view kSeconds = ":00Z";
  columns.add("worst minute", [kSeconds](const Run& run) {
    const auto& minute = run.outcome.measured.worst_minute;
    if (!minute) return std::string(kNoValue);
    auto text = instant_text(minute->from);
    return text.replace(text.size() - kSeconds.size(), text.npos, "Z");
  });
  columns.add("denied in it", [](const Run& run) {
    const auto& minute = run.outcome.measured.worst_minute;
    return minute ? fmt::format("{} of {}", minute->denied, minute->sent) : std::string(kNoValue);
  });
}

std::string_view origin_text(const Report& report, const TimeAxis& axis) {
  if (axis.is_about_edge) return "from the edge of a window";
  return report.recording ? "from the first request" : "from the beginning";
}

void append_table(std::string& out, const Report& report, const Look& look) {
  const auto scale = scale_of(report);
  const auto axis = axis_of(scale, 2);
  RunTable columns(report);
  add_counts(columns);
  if (report.recording) add_share(columns);
  add_worst(columns, report, look, axis.origin);
  add_denials(columns, report, look, axis.origin);
  if (report.recording) add_worst_minute(columns);
  columns.append(out, look);
  if (shows_dates(report)) return;
  TextBlock block(out, look);
  const bool each_its_own = report.plan.real && report.runs.size() > 1;
  block.row("times", origin_text(report, axis),
            each_its_own ? "each run from its own"
                         : instant_text(axis_of_run(axis, report.runs.front()).origin));
}

/// Where the remaining and the reset_after that a script reports differ from an exact log.
void append_misreports(TextBlock& block, const Report& report) {
  for (std::size_t i = 0; i < std::min(report.runs.size(), report.plan.candidates.size()); ++i) {
    if (!report.plan.candidates[i].foreign) continue;
    const auto& run = report.runs[i];
    const auto& remaining = run.outcome.measured.remaining_error;
    const auto& reset = run.outcome.measured.reset_error;
    if (remaining.too_many > 0 || remaining.too_few > 0) {
      block.row(
          "remaining", shown_name(run),
          fmt::format("at most {} too many, {} too few", remaining.too_many, remaining.too_few));
    }
    if (reset.too_early.count() > 0 || reset.too_late.count() > 0) {
      block.row("reset", shown_name(run),
                fmt::format("at most {} too early, {} too late", span_text(reset.too_early),
                            span_text(reset.too_late)));
    }
  }
}

void append_why(std::string& out, const Report& report, const Run& run, const Look& look) {
  const bool says_key = traffic_keys(report) > 1;
  const auto key = says_key ? " (key " + escaped_message(run.worst_key) + ")" : std::string();
  append_sentence(out, "why", shown_name(run) + key + ": " + *run.why, look);
}

/// A script that kept the limit under one traffic may not keep it under another.
void append_note_of_script(std::string& out, const Run& run, const Look& look) {
  const auto& measured = run.outcome.measured;
  if (run.is_bundled || measured.allowed == 0 || measured.worst.ratio > 1) return;
  append_sentence(out, "note",
                  shown_name(run) +
                      ": never above the limit with this traffic; burst adversary "
                      "searches for traffic that gets more through",
                  look);
}

/// The most denied keys.
void append_top_denied(TextBlock& block, const Report& report) {
  constexpr std::size_t kMaxShown = 3;
  for (const auto& run : report.runs) {
    std::string text;
    for (std::size_t i = 0; i < std::min(kMaxShown, run.top_denied.size()); ++i) {
      const auto& [key, count] = run.top_denied[i];
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", escaped_text(key), count);
    }
    if (text.empty()) continue;
    block.row("denied", shown_name(run), "most: " + text);
  }
}

/// The most denied keys of a log, which are real clients: all of `top_denied`, with shares.
void append_top_denied_table(std::string& out, const Report& report, const Look& look) {
  for (const auto& run : report.runs) {
    if (run.top_denied.empty()) continue;
    const auto all = static_cast<double>(run.outcome.measured.denied);
    out += '\n';
    Table table;
    add_column(table, "denied most by " + shown_name(run), run.top_denied,
               [](const auto& key) { return escaped_text(key.first); });
    add_column(table, "requests", run.top_denied,
               [](const auto& key) { return fmt::to_string(key.second); });
    add_column(table, "of all denied", run.top_denied, [all](const auto& key) {
      return fmt::format("{:.1f} %", 100 * static_cast<double>(key.second) / all);
    });
    table.append(out, look);
  }
}

// --- How long it took ----------------------------------------------------------------------------

/// The percentiles that fit on a line; JSON and CSV have all of them.
constexpr std::array<std::string_view, 4> kShown{"p50", "p90", "p99", "p99_9"};

bool is_shown(const Percentile& percentile) {
  return std::find(kShown.begin(), kShown.end(), percentile.name) != kShown.end();
}

nanoseconds rounded(double number) {
  return nanoseconds{static_cast<std::int64_t>(number)};
}

std::string time_text(const std::optional<nanoseconds>& time) {
  return time ? latency_text(*time) : std::string(kNoValue);
}

/// Adds a column; a run that was not timed has no value.
template <typename Text>
void add_timed(RunTable& columns, std::string_view title, const Text& value) {
  columns.add(title, [&value](const Run& run) {
    const auto& timing = run.outcome.timing;
    return timing ? value(*timing) : std::string(kNoValue);
  });
}

void append_times(std::string& out, const Report& report, const Look& look, std::string_view title,
                  Histogram Timing::*times) {
  RunTable columns(report, title);
  add_timed(columns, "n",
            [&](const Timing& timing) { return fmt::to_string((timing.*times).count()); });
  for (const auto& percentile : kPercentiles) {
    if (!is_shown(percentile)) continue;
    add_timed(columns, percentile.title, [&](const Timing& timing) {
      return time_text((timing.*times).percentile(percentile.percent));
    });
  }
  const auto known = [&](const Timing& timing, nanoseconds time) {
    return (timing.*times).count() > 0 ? latency_text(time) : std::string(kNoValue);
  };
  add_timed(columns, "max",
            [&](const Timing& timing) { return known(timing, (timing.*times).max()); });
  add_timed(columns, "mean", [&](const Timing& timing) {
    return known(timing, rounded((timing.*times).mean_ns()));
  });
  columns.append(out, look);
}

std::string server_text(const Timing& timing) {
  if (!timing.server_us_per_call) return std::string(kNoValue);
  return latency_text(rounded(*timing.server_us_per_call * 1e3));
}

/// The rates; on a schedule also whether the sender kept up.
void append_rates(std::string& out, const Report& report, const Look& look) {
  RunTable columns(report, "rates");
  const bool on_schedule = !report.plan.real->is_closed_loop();
  const auto rate = [](double per_second) {
    return per_second > 0 ? rate_text(per_second) : std::string(kNoValue);
  };
  if (on_schedule) {
    add_timed(columns, "offered", [&](const Timing& all) { return rate(all.offered_per_second); });
  }
  add_timed(columns, "answered", [&](const Timing& all) { return rate(all.achieved_per_second); });
  add_timed(columns, "server per call", server_text);
  if (on_schedule) {
    add_timed(columns, "lag p99",
              [](const Timing& all) { return time_text(all.lag.percentile(kP99)); });
    add_timed(columns, "sender", [&](const Timing& all) {
      const bool valid = all.is_valid();
      return toned(valid ? "kept up" : "fell behind", valid ? Tone::kPlain : Tone::kBad,
                   look.colour);
    });
  }
  columns.append(out, look);
}

/// The answers needed for each percentile that some run lacks; empty if no run lacks any.
std::string needs_text(const Report& report) {
  std::string text;
  for (const auto& percentile : kPercentiles) {
    const auto lacks = [&](const Run& run) {
      const auto& timing = run.outcome.timing;
      return timing && timing->service.count() < percentile.needs();
    };
    if (!is_shown(percentile)) continue;
    if (std::none_of(report.runs.begin(), report.runs.end(), lacks)) continue;
    text += fmt::format("{}{} needs {}", text.empty() ? "" : ", ", percentile.title,
                        percentile.needs());
  }
  return text;
}

void append_words(std::string& out, const Report& report, const Look& look) {
  TextBlock block(out, look);
  if (!report.plan.real->is_closed_loop()) {
    block.row("response", "from due to answered", "however late it was sent");
  }
  block.row("service", "from sent to answered");
  const auto needs = needs_text(report);
  if (!needs.empty()) block.row(kNoValue, "too few answers", needs);
}

void append_timing(std::string& out, const Report& report, const Look& look) {
  if (!report.plan.real->is_closed_loop()) {
    append_times(out, report, look, "response time", &Timing::response);
    out += '\n';
  }
  append_times(out, report, look, "service time", &Timing::service);
  out += '\n';
  append_rates(out, report, look);
  append_words(out, report, look);
}

// --- The limit to choose -------------------------------------------------------------------------

std::string limit_text(std::int64_t limit, const Report& report) {
  return fmt::format("{} per {}", limit, period_text(report.plan.limits.front().window));
}

void append_verdict(TextBlock& block, const Suggestion& suggestion, const Report& report,
                    const Run& run) {
  const auto share = denied_share_text(*report.plan.suggest);
  if (suggestion.chosen) {
    block.row("suggested", limit_text(suggestion.tried[*suggestion.chosen].limit, report),
              fmt::format("smallest with at most {} denied", share));
    return;
  }
  auto text = fmt::format("denies at most {}", share);
  if (run.burst) text += fmt::format(" with a burst of {}", *run.burst);
  block.row("suggested", "no limit", text);
}

/// If few keys have all denials, the user may have meant a share of the keys.
void append_whose(TextBlock& block, const Suggestion& suggestion, const Report& report) {
  constexpr std::int64_t kOneIn = 100;  // few: one key in this many
  if (!suggestion.chosen || report.plan.suggest->of_keys) return;
  const auto& tried = suggestion.tried[*suggestion.chosen];
  if (tried.keys_denied == 0 || tried.keys_denied > tried.keys / kOneIn) return;
  block.row("",
            fmt::format("{} of {} keys {} all of these denials", tried.keys_denied, tried.keys,
                        tried.keys_denied == 1 ? "has" : "have"),
            "keys are counted by --suggest 1%keys");
}

/// One line per limiter, for comparison.
void append_summary(std::string& out, const Report& report, const Look& look) {
  std::vector<std::string> names, limits, shares, keys;
  for (const auto& run : report.runs) {
    if (!run.suggestion) continue;
    names.push_back(shown_name(run));
    const auto& [tried, chosen] = *run.suggestion;
    limits.push_back(chosen ? limit_text(tried[*chosen].limit, report) : "no limit");
    shares.push_back(chosen ? percent_text(tried[*chosen].share(false)) : std::string(kNoValue));
    keys.push_back(chosen ? percent_text(tried[*chosen].share(true)) : std::string(kNoValue));
  }
  if (names.size() < 2) return;
  Table table;
  table.add("suggested", std::move(names));
  table.add("limit", std::move(limits));
  table.add("denied", std::move(shares));
  table.add("keys denied", std::move(keys));
  table.append(out, look);
  out += '\n';
}

void append_tried(std::string& out, const Suggestion& suggestion, const Report& report,
                  const Run& run, const Look& look) {
  const auto& all = suggestion.tried;
  Table table;
  add_column(table, shown_name(run), all, [&](const auto& tried) {
    const bool chosen = suggestion.chosen && &tried == &all[*suggestion.chosen];
    return toned((chosen ? "* " : "  ") + limit_text(tried.limit, report),
                 chosen ? Tone::kGood : Tone::kPlain, look.colour);
  });
  add_column(table, "denied", all, [](const auto& tried) { return fmt::to_string(tried.denied); });
  add_column(table, "of all", all,
             [](const auto& tried) { return percent_text(tried.share(false)); });
  add_column(table, "keys denied", all, [](const auto& tried) {
    return fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                       percent_text(tried.share(true)));
  });
  table.append(out, look);
}

void append_suggestions(std::string& out, const Report& report, const Look& look) {
  if (!report.plan.suggest) return;
  for (const auto& run : report.runs) {
    if (!run.suggestion) continue;
    append_tried(out, *run.suggestion, report, run, look);
    TextBlock block(out, look);
    append_verdict(block, *run.suggestion, report, run);
    append_whose(block, *run.suggestion, report);
    out += '\n';
  }
  append_summary(out, report, look);
}

void append_report(std::string& out, const Report& report, const Look& look) {
  TextBlock block(out, look);
  append_header(block, report);
  out += '\n';
  if (!report.runs.empty()) {
    append_table(out, report, look);
    append_misreports(block, report);
    for (const auto& run : report.runs) {
      if (run.why) append_why(out, report, run, look);
      append_note_of_script(out, run, look);
      if (run.hint) append_sentence(out, "hint", shown_name(run) + ": " + *run.hint, look);
    }
    if (traffic_keys(report) > 1 && report.recording) {
      append_top_denied_table(out, report, look);
    } else if (traffic_keys(report) > 1) {
      append_top_denied(block, report);
    }
    out += '\n';
    if (report.plan.real) {
      append_timing(out, report, look);
      out += '\n';
    }
    append_suggestions(out, report, look);
    append_plot(out, report, look);
    out += '\n';
  }
  if (report.plan.is_comparison && (!report.interrupted || report.difference)) {
    append_difference_text(out, report.plan, report.difference,
                           report.runs.front().outcome.measured.sent, look);
    out += '\n';
  }
  append_pasteable(out, report.plan.command, look);
}

}  // namespace

void append_text(std::string& out, const Report& report, const Look& look) {
  std::string text;
  append_report(text, report, look);
  out += without_micro_sign(std::move(text), look.utf8);
}

}  // namespace rlctl::cli::burst
