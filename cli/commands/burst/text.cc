#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/measures.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/report.h"
#include "cli/options/log_options.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::burst {
namespace {

using adversary::Finding;
using std::chrono::microseconds;
using traffic::Histogram;
using traffic::Suggestion;
using traffic::Timing;

/// A run's name, escaped for a terminal.
std::string shown_name(const Run& run) {
  return escaped_message(run.name);
}

/// A row whose text is wrapped at blanks if it is too wide.
void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look) {
  out += toned(label, Tone::kLabel, look.colour);
  pad(out, label.size(), TextBlock::kLabel);
  append_filled(out, text, TextBlock::kLabel, look.columns);
}

/// "0", "+59.999999 s"
std::string exact_offset_text(microseconds offset) {
  if (offset == microseconds{0}) return "0";
  return (offset < microseconds{0} ? "-" : "+") + exact_text(std::chrono::abs(offset));
}

/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
std::string window_origin_text(microseconds begin) {
  return "from the beginning of a window, " + instant_text(begin);
}

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

/// What was sent, besides its name.
std::string about_text(const Report& report) {
  const auto& plan = report.plan;
  if (report.recording) {
    const auto cost = report.recording->max_cost();
    return cost > 1 ? fmt::format("a request costs up to {}", cost) : std::string();
  }
  auto about = fmt::format("seed {}", plan.request.seed);
  if (plan.search && plan.search->exhaustive) {
    about = fmt::format("every schedule of up to {} at critical times",
                        counted(*plan.search->exhaustive, "request"));
  } else if (plan.search) {
    about += fmt::format(", a budget of {} requests each", plan.search->budget);
  }
  if (plan.request.keys > 1) about += fmt::format(", {} keys", plan.request.keys);
  const auto& costs = plan.search ? plan.search->costs : plan.costs;
  if (costs.size() > 1 || costs.front() > 1) {
    about += fmt::format(", cost {}", fmt::join(costs, ", "));
  }
  return about;
}

/// What a report lacks that was ended early.
std::string ended_text(const Report& report) {
  const std::string how = report.failed ? "ended by an error: " : "interrupted: ";
  if (report.plan.search) return how + "shows the findings so far";
  return how + (report.failed ? "covers the decisions before it" : "covers the beginning only");
}

/// The traffic, the limiters and the clock.
void append_header(TextBlock& block, const Report& report) {
  const auto& plan = report.plan;
  if (report.recording) {
    append_replay_rows(block, *report.recording);
  } else {
    block.row("pattern", traffic_name(report), traffic_text(report));
  }
  block.row("limit", limits_text(plan.limits), about_text(report));
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign) continue;
    block.row("script", escaped_text(candidate.foreign->name), reading_text(*candidate.foreign));
  }
  if (plan.real) {
    block.row("clock", "real time", clock_text(*plan.real));
  } else {
    block.row("clock", "virtual time", "latencies not measured");
  }
  if (report.interrupted) block.row("", block.tone(ended_text(report), Tone::kWarning));
}

// --- What was decided ----------------------------------------------------------------------------

std::string_view origin_text(const Report& report, const TimeAxis& axis) {
  if (axis.is_about_edge) return "from the edge of a window";
  return report.recording ? "from the first request" : "from the beginning";
}

void append_table(std::string& out, const Report& report, const Look& look) {
  const auto axis = axis_of(scale_of(report), 2);
  append_decisions(out, report, look, axis.origin);
  if (shows_dates(report)) return;
  const bool each_its_own = report.plan.real && report.runs.size() > 1;
  TextBlock(out, look).row("times", origin_text(report, axis),
                           each_its_own
                               ? "each run from its own"
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
    Cells keys, requests, shares;
    for (const auto& [key, denied] : run.top_denied) {
      keys.push_back(escaped_text(key));
      requests.push_back(fmt::to_string(denied));
      shares.push_back(fmt::format("{:.1f} %", 100 * static_cast<double>(denied) / all));
    }
    out += '\n';
    Table table;
    table.add("denied most by " + shown_name(run), std::move(keys));
    table.add("requests", std::move(requests));
    table.add("of all denied", std::move(shares));
    table.append(out, look);
  }
}

// --- How long it took ----------------------------------------------------------------------------

/// The answers needed for each percentile that some run lacks; empty if no run lacks any.
std::string needs_text(const Report& report) {
  std::string text;
  for (const auto& statistic : time_statistics()) {
    const auto lacks = [&](const Run& run) {
      const auto& timing = run.outcome.timing;
      return timing && timing->service.count() < statistic.needs;
    };
    if (statistic.title.empty() || statistic.needs == 1) continue;
    if (std::none_of(report.runs.begin(), report.runs.end(), lacks)) continue;
    text +=
        fmt::format("{}{} needs {}", text.empty() ? "" : ", ", statistic.title, statistic.needs);
  }
  return text;
}

void append_timing(std::string& out, const Report& report, const Look& look) {
  TextBlock block(out, look);
  const bool has_schedule = !report.plan.real->is_closed_loop();
  if (has_schedule) {
    append_times(out, report, look, "response time", &Timing::response);
    out += '\n';
  }
  append_times(out, report, look, "service time", &Timing::service);
  out += '\n';
  append_rates(out, report, look);
  if (has_schedule) block.row("response", "from due to answered", "however late it was sent");
  block.row("service", "from sent to answered");
  const auto needs = needs_text(report);
  if (!needs.empty()) block.row(kNoValue, "too few answers", needs);
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
  Cells names, limits, shares, keys;
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
  Cells limits, denied, shares, keys;
  for (const auto& tried : all) {
    const bool chosen = suggestion.chosen && &tried == &all[*suggestion.chosen];
    limits.push_back(toned((chosen ? "* " : "  ") + limit_text(tried.limit, report),
                           chosen ? Tone::kGood : Tone::kPlain, look.colour));
    denied.push_back(fmt::to_string(tried.denied));
    shares.push_back(percent_text(tried.share(false)));
    keys.push_back(fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                               percent_text(tried.share(true))));
  }
  Table table;
  table.add(shown_name(run), std::move(limits));
  table.add("denied", std::move(denied));
  table.add("of all", std::move(shares));
  table.add("keys denied", std::move(keys));
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

// --- How two limiters differ ---------------------------------------------------------------------

/// One row for consecutive requests that are answered alike.
void append_shrunk(std::string& out, const adversary::Difference& difference, std::string_view one,
                   std::string_view other, microseconds window, const Look& look) {
  constexpr std::size_t kMaxShown = 20;
  const auto& schedule = difference.schedule;
  const auto base = schedule.front().at - schedule.front().at % window;
  const auto alike = [&](std::size_t i, std::size_t j) {
    return schedule[i] == schedule[j] && difference.one[i].allowed == difference.one[j].allowed &&
           difference.other[i].allowed == difference.other[j].allowed;
  };
  const auto answer = [&](bool allowed) {
    return toned(allowed ? "allowed" : "denied", allowed ? Tone::kGood : Tone::kBad, look.colour);
  };
  const bool shows_cost = std::any_of(schedule.begin(), schedule.end(),
                                      [](const auto& request) { return request.cost != 1; });
  std::vector<Cells> rows;
  for (std::size_t first = 0; first < schedule.size();) {
    auto last = first;
    while (last < schedule.size() && alike(first, last)) ++last;
    rows.push_back({exact_offset_text(schedule[first].at - base), fmt::to_string(last - first),
                    shows_cost ? fmt::to_string(schedule[first].cost) : "",
                    answer(difference.one[first].allowed),
                    answer(difference.other[first].allowed)});
    first = last;
  }
  // The last row has the difference.
  if (rows.size() > kMaxShown) rows.erase(rows.begin(), rows.end() - kMaxShown);
  rows.insert(rows.begin(),
              {"at", "requests", shows_cost ? "cost" : "", escape(one), escape(other)});
  append_rows(out, rows);
  append_sentence(out, "times",
                  window_origin_text(base) + "; the last request makes the difference", look);
}

/// What --against found.
void append_difference(std::string& out, const Report& report, const Look& look) {
  const auto& plan = report.plan;
  const auto& found = report.difference;
  const auto one = name_of(plan.candidates[0]), other = name_of(plan.candidates[1]);
  if (!found) {
    const auto requests = report.runs.front().outcome.measured.sent;
    append_sentence(out, "differ",
                    fmt::format("no: {} and {} decide {} alike; other traffic may show a "
                                "difference",
                                escape(one), escape(other),
                                requests == 1 ? "the request"
                                              : fmt::format("all {} requests", grouped(requests))),
                    look);
    return;
  }
  append_sentence(
      out, "differ",
      "yes, " + difference_text(plan, *found) +
          (found->vanishes_alone ? "; the requests of this key alone do not show it" : ""),
      look);
  if (!found->shrunk) return;
  append_sentence(
      out, "shrunk",
      fmt::format("{} of one key",
                  counted(static_cast<std::int64_t>(found->shrunk->schedule.size()), "request")),
      look);
  append_shrunk(out, *found->shrunk, one, other, plan.limits.front().window, look);
}

// --- Reports of traffic --------------------------------------------------------------------------

void append_traffic(std::string& out, const Report& report, const Look& look) {
  TextBlock block(out, look);
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
  if (tells_difference(report)) {
    append_difference(out, report, look);
    out += '\n';
  }
}

// --- Reports of searches -------------------------------------------------------------------------

/// "within 20 ms"
std::string within_text(microseconds span) {
  return span == microseconds{0} ? "at one instant" : "within " + exact_text(span);
}

/// The most instants in the text report; --json has all of them.
constexpr std::size_t kMaxRows = 20;

/// One row per instant: its requests, and how many were allowed and denied.
void append_schedule(std::string& out, const Finding& finding, const Plan& plan, const Look& look) {
  const auto instants = adversary::instants_of(finding.schedule);
  Cells at, cost, asked, allowed, denied;
  for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMaxRows))) {
    const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
    const auto passed = static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [](const auto& answer) { return answer.allowed; }));
    at.push_back(exact_offset_text(instant.at - search_base(plan)));
    cost.push_back(fmt::to_string(instant.cost));
    asked.push_back(fmt::to_string(instant.count));
    allowed.push_back(fmt::to_string(passed));
    denied.push_back(fmt::to_string(instant.count - passed));
  }
  Table table;
  table.add("at", std::move(at));
  if (plan.search->costs.size() > 1) table.add("cost", std::move(cost));
  table.add("requests", std::move(asked));
  table.add("allowed", std::move(allowed));
  table.add("denied", std::move(denied));
  table.append(out, look);
  if (instants.size() > kMaxRows) {
    out += fmt::format("  and {} more; --json lists all\n", instants.size() - kMaxRows);
  }
}

/// The bound that the algorithm guarantees, so that reaching it does not look like a fault.
std::string promise_of(const limiter::Algorithm& algorithm, const Plan& plan) {
  const auto& limit = plan.limits.front();
  const auto& costs = plan.search->costs;
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

/// A finding: the title, the verdict on the same line if there is room, and the schedule.
void append_finding(std::string& out, const std::string& title, const Finding& finding,
                    const SearchFindings& search, const Plan& plan, const Look& look) {
  const auto verdict = finding_verdict(finding, search, look);
  const auto line = title + "  " + verdict;
  if (display_width(line) <= look.columns) {
    out.append(line).append("\n");
  } else {
    out.append(title).append("\n");
    TextBlock(out, look).item(verdict);
  }
  append_schedule(out, finding, plan, look);
}

/// If the schedule shows no more than the rounding of the time that the script gets: how to leave
/// it out. Otherwise empty.
std::string rounding_text(const SearchFindings& search, const limiter::Limit& limit) {
  const auto& score = search.result.most.score;
  if (search.rounded_by == nullptr || score.worst <= limit.limit) return {};
  const auto tick = search.rounded_by->tick;
  if (limit.window - score.worst_span >= tick) return {};
  const auto& beyond = search.result.beyond_rounding;
  return fmt::format(
      "{} only in windows within {} of a full one, which {{{}}} rounds off; --tick {} ignores it{}",
      beyond ? "this many appear" : "the excess appears", exact_text(tick), search.rounded_by->name,
      format_duration(tick),
      beyond ? fmt::format(" ({} remain {})", beyond->worst, within_text(beyond->worst_span))
             : std::string());
}

void append_denied(std::string& out, const adversary::SearchResult& result, const Plan& plan,
                   const Look& look) {
  if (const auto& wrong = result.wrongly_denied) {
    const bool is_minor = wrong->score.only_at_edge();
    const bool is_back = adversary::steps_back(wrong->schedule);
    std::string title =
        is_minor ? "denied exactly one window after" : "denied what an exact log would allow";
    if (is_minor && !is_back) title += ", where an exact log would allow";
    if (is_back) title += ", by a clock that steps back";
    out += toned(title, is_minor ? Tone::kWarning : Tone::kBad, look.colour) + "\n";
    append_schedule(out, *wrong, plan, look);
    if (is_minor) {
      append_sentence(out, "edge",
                      "the limiter denies exactly one window after a unit, where an exact log "
                      "allows, and not a moment later: it compares with > instead of >=, or it "
                      "rounds; no other denial differs",
                      look);
    }
  } else {
    append_sentence(out, "denied",
                    result.interrupted ? "so far nothing that an exact log would allow"
                                       : "nothing that an exact log would allow",
                    look);
  }
}

/// What an exhaustive search has proved, and for which schedules. Empty after another search.
std::string proof_text(const adversary::SearchResult& result, const Plan& plan) {
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
    text = fmt::format("no schedule of up to {} at critical times leaks ({} tried)", requests,
                       grouped(tried));
  }
  if (undecided == 0) return text;
  return text + fmt::format("; {} of them are left out, and so are all that begin with them: {}",
                            grouped(undecided), kUndecided);
}

/// `algorithm`: null for a script.
void append_findings(std::string& out, const Run& run, const limiter::Algorithm* algorithm,
                     const Plan& plan, const Look& look) {
  const auto& result = run.search->result;
  append_finding(out, toned(escaped_text(run.name), Tone::kLabel, look.colour), result.most,
                 *run.search, plan, look);
  if (run.hint) append_sentence(out, "hint", *run.hint, look);
  if (const auto text = rounding_text(*run.search, plan.limits.front()); !text.empty()) {
    append_sentence(out, "rounding", text, look);
  }
  if (const auto text = proof_text(result, plan); !text.empty()) {
    append_sentence(out, "proof", text, look);
  } else if (result.undecided > 0) {
    append_sentence(out, "left out",
                    fmt::format("{}: {}", counted(result.undecided, "schedule"), kUndecided), look);
  }
  if (result.is_unbounded) append_sentence(out, "at most", kUnbounded, look);
  if (algorithm != nullptr) append_sentence(out, "at most", promise_of(*algorithm, plan), look);
  if (result.most_stepping_back) {
    append_finding(out, "by a clock that steps back", *result.most_stepping_back, *run.search, plan,
                   look);
  }
  if (algorithm == nullptr || algorithm->is_exact) append_denied(out, result, plan, look);
}

/// The times that an exhaustive search tries.
std::string critical_text(const SearchPlan& search) {
  const auto tick = exact_text(search.tick);
  return fmt::format(
      "the time of the previous request; {} later; 1/4, 1/2 and 3/4 of a window later; and {} "
      "before, "
      "at, and {} after the next edge of the clock's windows and one window after each earlier "
      "request",
      tick, tick, tick);
}

void append_search(std::string& out, const Report& report, const Look& look) {
  const auto& plan = report.plan;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    out += '\n';
    append_findings(out, report.runs[i], plan.candidates[i].algorithm, plan, look);
  }
  auto times = window_origin_text(search_base(plan));
  const auto tick = plan.search->tick;
  if (tick > microseconds{1}) times += "; multiples of " + exact_text(tick);
  append_sentence(out, "times", times, look);
  if (plan.search->exhaustive) append_sentence(out, "critical", critical_text(*plan.search), look);
  out += '\n';
}

// --- A schedule as a log -------------------------------------------------------------------------

/// The finding worth replaying: too much allowed, else a wrong denial, else the most allowed. A
/// replay sorts requests by time, so that it cannot show what needs a clock that steps back.
const Finding& finding_to_replay(const SearchFindings& search) {
  const auto& most = search.result.most;
  const auto& wrong = search.result.wrongly_denied;
  const bool keeps_limit = most.score.worst <= search.limit;
  return keeps_limit && wrong && !adversary::steps_back(wrong->schedule) ? *wrong : most;
}

/// Turns each line of the text into a comment.
std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const auto c : text) out += c == '\n' ? "\n# " : std::string(1, c);
  return out + "\n";
}

}  // namespace

std::string finding_verdict(const Finding& finding, const SearchFindings& search,
                            const Look& look) {
  const auto ratio = search.ratio_of(finding);
  if (const auto kept = verdict_within_limit(finding.score.worst, ratio)) {
    return toned(kept->text, kept->tone, look.colour);
  }
  return toned(fmt::format("{}{} the limit: {} {}", ratio_text(ratio), glyphs(look.utf8).times,
                           finding.score.worst, within_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

void append_text(std::string& out, const Report& report, const Look& look) {
  std::string text;
  TextBlock block(text, look);
  append_header(block, report);
  if (report.plan.search) {
    append_search(text, report, look);
  } else {
    append_traffic(text, report, look);
  }
  for (const auto& line : command_lines(report.plan.command, look.columns)) text += line + '\n';
  out += without_micro_sign(std::move(text), look.utf8);
}

std::string schedule_log(const Report& report) {
  const auto& run = report.runs.front();
  const auto& finding = finding_to_replay(*run.search);
  auto log = comment(command_line(report.plan.replay_command)) +
             comment(command_line(report.plan.command));
  log +=
      fmt::format("# {}: {} allowed {}, {} of {} requests wrongly denied\n", escaped_text(run.name),
                  finding.score.worst, within_text(finding.score.worst_span),
                  finding.score.wrongly_denied.size(), finding.schedule.size());
  for (const auto& [at, cost] : finding.schedule) {
    log += fmt::format("{} 1 {}\n", decimal_seconds(at), cost);
  }
  return log;
}

}  // namespace rlctl::cli::burst
