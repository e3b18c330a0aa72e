#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/budgets.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/commands/burst/leases.h"
#include "cli/commands/burst/measures.h"
#include "cli/commands/burst/picture.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::burst {
namespace {

using adversary::Finding;
using std::chrono::microseconds;
using traffic::Suggestion;

/// A run's name, escaped for a terminal.
std::string shown_name(const Run& run) {
  return escaped_message(run.name);
}

/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
std::string window_origin_text(microseconds begin) {
  return "from the beginning of a window, " + instant_text(begin);
}

// --- Words about traffic -------------------------------------------------------------------------

std::string limits_text(const std::vector<limiter::Limit>& limits) {
  std::string out;
  for (const auto& limit : limits) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} per {}", limit.limit, window_text(limit));
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

/// What was sent, besides its name.
std::string about_text(const Report& report) {
  const auto& plan = report.plan;
  if (report.recording) {
    const auto cost = report.recording->max_cost();
    return cost > 1 ? fmt::format("a request costs up to {}", cost) : std::string();
  }
  auto about = fmt::format("seed {}", plan.request.seed);
  const std::string_view what = has_holders(plan) ? "event" : "request";
  if (plan.search && plan.search->exhaustive) {
    about = fmt::format("every schedule of up to {} at critical times",
                        counted(*plan.search->exhaustive, what));
  } else if (plan.search) {
    about += fmt::format(", {} {}s for each limiter", plan.search->tries, what);
  }
  if (plan.request.keys > 1) about += fmt::format(", {} keys", plan.request.keys);
  if (!plan.reserve && (plan.costs.size() > 1 || plan.costs.front() > 1)) {
    about += fmt::format(", cost {}", fmt::join(plan.costs, ", "));
  }
  return about;
}

/// What a report lacks that was ended early.
std::string ended_text(const Report& report) {
  const std::string how = report.failed ? "ended by an error: " : "interrupted: ";
  if (report.plan.search) return how + "shows the findings so far";
  return how + (report.failed ? "covers the decisions before it" : "covers the beginning only");
}

std::string limit_text(std::int64_t limit, const Report& report) {
  return fmt::format("{} per {}", limit, window_text(report.plan.limits.front()));
}

// --- Words about searches ------------------------------------------------------------------------

/// The bound that the algorithm guarantees, so that reaching it does not look like a fault.
std::string promise_of(const limiter::Algorithm& algorithm, const Plan& plan) {
  const auto& limit = plan.limits.front();
  const auto& costs = plan.costs;
  std::string text(algorithm.allows_at_most);
  const auto cost = *std::max_element(costs.begin(), costs.end());
  if (algorithm.has_delay && costs.size() > 1) {
    text += fmt::format("; the last unit that fits may be the first of {}: {}", cost,
                        limit.limit - 1 + cost);
  } else if (algorithm.has_delay && limit.limit % cost != 0) {
    // The last unit that fits may be the first unit of a request.
    const auto whole = (limit.limit / cost + 1) * cost;
    text += fmt::format("; in whole requests of {}: {}", cost, whole);
  }
  const auto burst = limiter::effective_burst(algorithm, limit);
  if (!burst || algorithm.has_delay) return text;
  // The units refilled in less than one window.
  const auto back = std::min(limit.limit, limit.window.count()) - 1;
  return text + fmt::format(": {} + {}", *burst, back);
}

/// What an exhaustive search has proved, and for which schedules. Empty after another search.
std::string proof_text(const SearchFindings& search, const Plan& plan) {
  const auto& result = search.result;
  if (!result.tried) return {};
  const auto tried = *result.tried, undecided = result.undecided;
  const auto requests = counted(*plan.search->exhaustive, "request");
  std::string text;
  if (result.interrupted) {
    text =
        fmt::format("none: interrupted after {} schedules of up to {}", grouped(tried), requests);
  } else if (result.most.score.worst > plan.limits.front().limit) {
    text = fmt::format("the worst of all {} schedules of up to {} at critical times",
                       grouped(tried), requests);
  } else {
    text = fmt::format("no schedule of up to {} at critical times leaks{} ({} tried)", requests,
                       result.by_rounding ? ", but for rounding" : "", grouped(tried));
  }
  if (undecided == 0) return text;
  return text + fmt::format("; skipped {} of them {}, and all that begin with these",
                            grouped(undecided), kUndecided);
}

/// The times that an exhaustive search tries.
constexpr std::string_view kCriticalTimes =
    "the time of the previous request; 1 µs later; 1/4, 1/2 and 3/4 of a window later; and 1 µs "
    "before, at, and 1 µs after the next edge of the clock's windows and one window after each "
    "earlier request";

// --- The report ----------------------------------------------------------------------------------

/// Appends a report for people.
class TextReport {
 public:
  /// All arguments must outlive this.
  TextReport(std::string& out, const Report& report, const Look& look)
      : out_(out), report_(report), plan_(report.plan), look_(look), block_(out, look) {}

  void append() {
    append_header();
    if (plan_.search && has_holders(plan_)) {
      append_holder_search(out_, report_, look_);
    } else if (plan_.search) {
      append_search();
    } else {
      append_traffic();
    }
    for (const auto& line : command_lines(plan_.command, look_.columns)) out_ += line + '\n';
  }

 private:
  /// A row whose text is wrapped at blanks if it is too wide.
  void append_sentence(std::string_view label, std::string_view text) {
    out_ += toned(label, Tone::kLabel, look_.colour);
    pad(out_, label.size(), TextBlock::kLabel);
    append_filled(out_, text, TextBlock::kLabel, look_.columns);
  }

  /// Appends a table from rows, of which the first has the titles.
  void append_table(const std::vector<Cells>& rows) {
    Table table;
    for (std::size_t column = 0; column < rows.front().size(); ++column) {
      Cells cells;
      for (const auto& row : std::span(rows).subspan(1)) cells.push_back(row[column]);
      table.add(rows.front()[column], std::move(cells));
    }
    table.append(out_, look_);
  }

  void append_file(const replay::RecordedFile& file, std::string_view label) {
    const auto name = escaped_message(replay::input_name(file.name));
    if (file.format.empty() && file.counts.bad == 0) {
      block_.row(label, name, "empty");
    } else {
      const auto format = file.format.empty() ? "unknown format" : escaped_message(file.format);
      const auto after = file.prefix.empty() ? "" : " after " + file.prefix;
      block_.row(label, name, fmt::format("{}{}, {}", format, after, lines_text(file.counts)));
    }
  }

  void append_replay_rows(const replay::Recording& recording) {
    constexpr std::size_t kMaxFiles = 8;  // the last line counts the rest
    const auto& files = recording.files();
    const auto shown = files.size() > kMaxFiles ? kMaxFiles - 1 : files.size();
    for (std::size_t i = 0; i < shown; ++i) append_file(files[i], i == 0 ? "replay" : "");
    if (shown < files.size()) block_.row("", fmt::format("and {} files", files.size() - shown));
    const auto keys = static_cast<std::int64_t>(recording.keys());
    block_.row("requests", fmt::to_string(recording.counts().requests), counted(keys, "key"));
    block_.row("from", instant_text(recording.first()), "to " + instant_text(recording.last()));
    if (recording.out_of_order() == 0) return;
    block_.row(
        "sorted", fmt::to_string(recording.out_of_order()),
        fmt::format("behind later ones, by up to {}", span_text(recording.out_of_order_by())));
  }

  /// The traffic, the limiters and the clock.
  void append_header() {
    if (report_.recording) {
      append_replay_rows(*report_.recording);
    } else {
      block_.row("pattern", traffic_name(report_), traffic_text(report_));
    }
    if (plan_.concurrency) {
      block_.row("limit", leases_text(plan_), plan_.search ? "" : holds_text(plan_));
      if (!report_.recording) block_.row("", about_text(report_));
    } else if (plan_.reserve) {
      block_.row("limit", limits_text(plan_.limits), about_text(report_));
      block_.row("units", reservations_text(plan_));
    } else {
      block_.row("limit", limits_text(plan_.limits), about_text(report_));
    }
    for (const auto& candidate : plan_.candidates) {
      if (const auto& script = candidate.foreign) {
        block_.row("script", escaped_text(script->name), reading_text(*script));
      } else if (const auto& program = candidate.program) {
        block_.row("program", escaped_message(program->name), command_line(program->words));
      }
    }
    if (plan_.is_real) {
      block_.row("clock", "real time", counted(plan_.clients, "client"));
    } else {
      block_.row("clock", "virtual time");
    }
    if (report_.interrupted) block_.row("", block_.tone(ended_text(report_), Tone::kWarning));
  }

  void append_decided() {
    const auto axis = picture_of(report_, 2).axis;
    const auto make_table = plan_.concurrency ? leases_table
                            : plan_.reserve   ? budget_table
                                              : decisions_table;
    make_table(report_, look_, axis.origin).append(out_, look_);
    if (shows_dates(report_)) return;
    const auto* origin = axis.is_about_edge  ? "from the edge of a window"
                         : report_.recording ? "from the first request"
                                             : "from the beginning";
    const bool each_its_own = plan_.is_real && report_.runs.size() > 1;
    block_.row("times", origin,
               each_its_own ? "each run from its own"
                            : instant_text(report_.runs.front().begin + axis.origin));
  }

  /// Where the remaining and the reset_after that a script or a program reports differ from an
  /// exact log.
  void append_misreports() {
    for (std::size_t i = 0; i < std::min(report_.runs.size(), plan_.candidates.size()); ++i) {
      if (plan_.candidates[i].is_bundled()) continue;
      const auto& run = report_.runs[i];
      const auto& remaining = run.outcome.measured.remaining_error;
      const auto& reset = run.outcome.measured.reset_error;
      if (remaining.too_many > 0 || remaining.too_few > 0) {
        block_.row(
            "remaining", shown_name(run),
            fmt::format("at most {} too many, {} too few", remaining.too_many, remaining.too_few));
      }
      if (reset.too_early.count() > 0 || reset.too_late.count() > 0) {
        block_.row("reset", shown_name(run),
                   fmt::format("at most {} too early, {} too late", span_text(reset.too_early),
                               span_text(reset.too_late)));
      }
    }
  }

  void append_remarks(const std::vector<Remark>& remarks) {
    for (const auto& [label, text] : remarks) append_sentence(label, text);
  }

  /// The most denied keys.
  void append_top_denied() {
    constexpr std::size_t kMaxShown = 3;
    for (const auto& run : report_.runs) {
      std::string text;
      for (std::size_t i = 0; i < std::min(kMaxShown, run.top_denied.size()); ++i) {
        const auto& [key, count] = run.top_denied[i];
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", escaped_text(key), count);
      }
      if (text.empty()) continue;
      block_.row("denied", shown_name(run), "most: " + text);
    }
  }

  /// The most denied keys of a log, which are real clients: all of `top_denied`, with shares.
  void append_top_denied_table() {
    for (const auto& run : report_.runs) {
      if (run.top_denied.empty()) continue;
      const auto all = static_cast<double>(run.outcome.measured.denied);
      std::vector<Cells> rows{{"denied most by " + shown_name(run), "requests", "of all denied"}};
      for (const auto& [key, denied] : run.top_denied) {
        rows.push_back({escaped_text(key), fmt::to_string(denied),
                        fmt::format("{:.1f} %", 100 * static_cast<double>(denied) / all)});
      }
      out_ += '\n';
      append_table(rows);
    }
  }

  void append_verdict(const Suggestion& suggestion, const Run& run) {
    const auto share = denied_share_text(*plan_.suggest);
    if (!suggestion.chosen) {
      auto text = fmt::format("denies at most {}", share);
      if (run.burst) text += fmt::format(" with a burst of {}", *run.burst);
      block_.row("suggested", "no limit", text);
      return;
    }
    const auto& tried = suggestion.tried[*suggestion.chosen];
    block_.row("suggested", limit_text(tried.limit, report_),
               fmt::format("smallest with at most {} denied", share));
    // If few keys have all denials, the user may have meant a share of the keys.
    constexpr std::int64_t kOneIn = 100;  // few: one key in this many
    if (plan_.suggest->of_keys || tried.keys_denied == 0) return;
    if (tried.keys_denied > tried.keys / kOneIn) return;
    block_.row("",
               fmt::format("{} of {} keys {} all of these denials", tried.keys_denied, tried.keys,
                           tried.keys_denied == 1 ? "has" : "have"),
               "keys are counted by --suggest 1%keys");
  }

  /// One line per limiter, for comparison.
  void append_summary() {
    std::vector<Cells> rows{{"suggested", "limit", "denied", "keys denied"}};
    for (const auto& run : report_.runs) {
      if (!run.suggestion) continue;
      const auto& [tried, chosen] = *run.suggestion;
      const std::string none(kNoValue);
      rows.push_back({shown_name(run),
                      chosen ? limit_text(tried[*chosen].limit, report_) : "no limit",
                      chosen ? percent_text(tried[*chosen].share(false)) : none,
                      chosen ? percent_text(tried[*chosen].share(true)) : none});
    }
    if (rows.size() < 3) return;
    append_table(rows);
    out_ += '\n';
  }

  void append_tried(const Suggestion& suggestion, const Run& run) {
    std::vector<Cells> rows{{shown_name(run), "denied", "of all", "keys denied"}};
    for (const auto& tried : suggestion.tried) {
      const bool is_chosen = suggestion.chosen && &tried == &suggestion.tried[*suggestion.chosen];
      rows.push_back({toned((is_chosen ? "* " : "  ") + limit_text(tried.limit, report_),
                            is_chosen ? Tone::kGood : Tone::kPlain, look_.colour),
                      fmt::to_string(tried.denied), percent_text(tried.share(false)),
                      fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                                  percent_text(tried.share(true)))});
    }
    append_table(rows);
  }

  void append_suggestions() {
    if (!plan_.suggest) return;
    for (const auto& run : report_.runs) {
      if (!run.suggestion) continue;
      append_tried(*run.suggestion, run);
      append_verdict(*run.suggestion, run);
      out_ += '\n';
    }
    append_summary();
  }

  /// Appends whether the two limiters of --compare decide alike, or where they first differ.
  void append_difference() {
    if (report_.difference) {
      append_sentence("differ", "yes, " + difference_text(plan_, *report_.difference));
      return;
    }
    const auto one = name_of(plan_.candidates[0]), other = name_of(plan_.candidates[1]);
    const auto requests = report_.runs.front().outcome.measured.sent;
    append_sentence(
        "differ", fmt::format("no: {} and {} decide {} alike; other traffic may show a difference",
                              escape(one), escape(other),
                              requests == 1 ? "the request"
                                            : fmt::format("all {} requests", grouped(requests))));
  }

  void append_traffic() {
    out_ += '\n';
    if (!report_.runs.empty()) {
      append_decided();
      if (!has_holders(plan_)) append_misreports();
      for (const auto& run : report_.runs) {
        append_remarks(run.spent  ? remarks_on_budget(report_, run)
                       : run.held ? remarks_on_leases(report_, run)
                                  : remarks_on(report_, run));
      }
      if (traffic_keys(report_) > 1 && report_.recording) {
        append_top_denied_table();
      } else if (traffic_keys(report_) > 1) {
        append_top_denied();
      }
      out_ += '\n';
      append_suggestions();
      append_plot(out_, report_, look_);
      out_ += '\n';
    }
    if (tells_difference(report_)) {
      append_difference();
      out_ += '\n';
    }
  }

  /// One row per instant: its requests, and how many were allowed and denied.
  void append_schedule(const Finding& finding) {
    constexpr std::size_t kMaxRows = 20;
    const auto instants = adversary::instants_of(finding.schedule);
    const bool shows_cost = plan_.costs.size() > 1;
    std::vector<Cells> rows{{"at", shows_cost ? "cost" : "", "requests", "allowed", "denied"}};
    for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMaxRows))) {
      const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
      const auto allowed = static_cast<std::size_t>(std::count_if(
          answers.begin(), answers.end(), [](const auto& answer) { return answer.allowed; }));
      rows.push_back({exact_offset_text(instant.at - search_base(plan_)),
                      shows_cost ? fmt::to_string(instant.cost) : "", fmt::to_string(instant.count),
                      fmt::to_string(allowed), fmt::to_string(instant.count - allowed)});
    }
    append_table(rows);
    if (instants.size() > kMaxRows) {
      out_ += fmt::format("  and {} more; --json lists all\n", instants.size() - kMaxRows);
    }
  }

  /// A finding: the title, the verdict on the same line if there is room, and the schedule.
  void append_finding(const std::string& title, const Finding& finding,
                      const SearchFindings& search) {
    const auto verdict = finding_verdict(finding, search, look_);
    const auto line = title + "  " + verdict;
    if (display_width(line) <= look_.columns) {
      out_.append(line).append("\n");
    } else {
      out_.append(title).append("\n");
      block_.item(verdict);
    }
    append_schedule(finding);
  }

  void append_denied(const adversary::SearchResult& result) {
    if (const auto& wrong = result.wrongly_denied) {
      const bool is_minor = wrong->score.only_at_edge();
      const bool is_back = adversary::steps_back(wrong->schedule);
      std::string title =
          is_minor ? "denied exactly one window after" : "wrongly denied: an exact log would allow";
      if (is_minor && !is_back) title += ", where an exact log would allow";
      if (is_back) title += ", if the clock steps back";
      out_ += toned(title, is_minor ? Tone::kWarning : Tone::kBad, look_.colour) + "\n";
      append_schedule(*wrong);
      if (is_minor) {
        append_sentence("edge",
                        result.edge_agrees
                            ? "the limiter denies exactly one window after a unit, where an exact "
                              "log allows, and allows a moment later: it compares with > instead "
                              "of >=, or it rounds; no other denial differed in what was tried"
                            : "found such denials only exactly one window after a unit; whether "
                              "they end there was not established");
      }
    } else {
      append_sentence("denied", result.interrupted ? "so far nothing that an exact log would allow"
                                                   : "nothing that an exact log would allow");
    }
  }

  void append_findings(const Run& run, const traffic::Candidate& candidate) {
    const auto* algorithm = candidate.algorithm;
    const auto& result = run.search->result;
    append_finding(toned(escaped_text(run.name), Tone::kLabel, look_.colour), result.most,
                   *run.search);
    append_remarks(remarks_on_search(report_, run));
    if (result.most_stepping_back) {
      append_finding("if the clock steps back", *result.most_stepping_back, *run.search);
    }
    if (algorithm == nullptr || algorithm->is_exact) append_denied(result);
  }

  /// A limiter of which nothing is known; `result` is null if its search did not begin.
  void append_unknown(std::string_view name, const adversary::SearchResult* result) {
    const bool is_over = result != nullptr && !result->interrupted;
    const auto why = is_over ? "skipped " + left_out_text(*result) : "interrupted";
    out_ += toned(escaped_text(name), Tone::kLabel, look_.colour) + '\n';
    block_.item(toned("nothing is known: " + why, Tone::kWarning, look_.colour));
  }

  void append_search() {
    for (std::size_t i = 0; i < plan_.candidates.size(); ++i) {
      const auto& candidate = plan_.candidates[i];
      const auto* result = i < report_.runs.size() ? &report_.runs[i].search->result : nullptr;
      out_ += '\n';
      if (result == nullptr || result->most.schedule.empty()) {
        append_unknown(name_of(candidate), result);
      } else {
        append_findings(report_.runs[i], candidate);
      }
    }
    append_sentence("times", window_origin_text(search_base(plan_)));
    if (plan_.search->exhaustive) append_sentence("critical", std::string(kCriticalTimes));
    out_ += '\n';
  }

  std::string& out_;
  const Report& report_;
  const Plan& plan_;
  const Look& look_;
  TextBlock block_;
};

}  // namespace

std::vector<Remark> remarks_on_search(const Report& report, const Run& run) {
  const auto& plan = report.plan;
  const auto& result = run.search->result;
  const auto number = static_cast<std::size_t>(&run - report.runs.data());
  const auto& candidate = plan.candidates[number];
  std::vector<Remark> remarks;
  const auto add = [&remarks](std::string_view label, std::string text) {
    if (!text.empty()) remarks.push_back({label, std::move(text)});
  };
  add("hint", run.hint.value_or(""));
  add("rounding", rounding_text(*run.search));
  const auto proof = proof_text(*run.search, plan), left_out = left_out_text(result);
  add("proof", proof);
  if (proof.empty() && !left_out.empty()) add("left out", "skipped " + left_out);
  if (result.sent_each_whole) {
    add("states",
        candidate.program
            ? "could not be compared, since a program does not show them: each schedule was sent "
              "from its beginning"
            : "could not be compared, since schedules share a key, the script uses keys that are "
              "not among its KEYS, or the user may not DUMP them: each schedule was sent from its "
              "beginning");
  }
  if (result.is_unbounded) add("bound", std::string(kUnbounded));
  if (candidate.is_bundled()) add("promise", promise_of(*candidate.algorithm, plan));
  const auto& search = *run.search;
  if (search.bucket_allows) {
    const auto ratio = as_double(*search.bucket_allows) / as_double(search.limit.limit);
    add("bucket", fmt::format("a token bucket with this burst allows {}, {} times the limit",
                              *search.bucket_allows, ratio_text(ratio)));
  }
  if (const auto& found = search.clock_ahead) {
    add("ahead", fmt::format("after one request whose clock is {} ahead, {} of {} requests are "
                             "allowed instead of {}",
                             span_text(found->ahead), found->allowed, found->answers.size() - 1,
                             found->usual));
  }
  return remarks;
}

std::string finding_verdict(const Finding& finding, const SearchFindings& search,
                            const Look& look) {
  const auto ratio = search.ratio_of(finding);
  if (const auto kept = verdict_within_limit(finding.score.worst, ratio)) {
    const bool is_rounded = search.result.by_rounding && kept->tone == Tone::kGood;
    return toned(std::string(kept->text) + (is_rounded ? ", but for rounding" : ""), kept->tone,
                 look.colour);
  }
  return toned(fmt::format("{}{} the limit: {} {}", ratio_text(ratio), glyphs(look.utf8).times,
                           finding.score.worst, within_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

void append_text(std::string& out, const Report& report, const Look& look) {
  std::string text;
  TextReport(text, report, look).append();
  out += without_micro_sign(std::move(text), look.utf8);
}

std::string schedule_log(const Report& report) {
  const auto& run = report.runs.front();
  const auto& most = run.search->result.most;
  const auto& wrong = run.search->result.wrongly_denied;
  // A replay sorts requests by time, so that it cannot show what needs a clock that steps back.
  const bool shows_wrong = most.score.worst <= run.search->limit.limit && wrong &&
                           !adversary::steps_back(wrong->schedule);
  const auto& finding = shows_wrong ? *wrong : most;
  auto log = fmt::format("# {}\n# {}\n# {}: {} allowed {}, {} of {} requests wrongly denied\n",
                         command_line(report.plan.replay_command),
                         command_line(report.plan.command), escaped_text(run.name),
                         finding.score.worst, within_text(finding.score.worst_span),
                         finding.score.wrongly_denied.size(), finding.schedule.size());
  for (const auto& request : finding.schedule) {
    log += fmt::format("{} 1 {}\n", decimal_seconds(request.at), request.cost);
  }
  return log;
}

}  // namespace rlctl::cli::burst
