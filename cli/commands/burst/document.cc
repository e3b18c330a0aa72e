#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/report.h"
#include "cli/trial/measures.h"
#include "cli/trial/picture.h"
#include "cli/trial/wording.h"

namespace rlctl::cli::burst {
namespace {

using simulation::Suggestion;
using trial::Document;
using trial::Fact;
using trial::HeadFact;
using trial::Judgement;
using trial::Pictured;
using trial::Plan;
using trial::PlotPlace;
using trial::Report;
using trial::Rows;
using trial::Run;
using trial::Section;
using trial::Sentence;
using trial::Text;

// ---- The traffic --------------------------------------------------------------------------------

std::string lines_text(const replay::LineCounts& counts) {
  auto text =
      fmt::format("{} in {}", counted(counts.requests, "request"), counted(counts.lines, "line"));
  if (counts.bad > 0) text += fmt::format(", {} cannot be read", counts.bad);
  if (counts.blank > 0) text += fmt::format(", {} blank", counts.blank);
  return text;
}

HeadFact file_fact(const replay::RecordedFile& file, std::string_view label) {
  auto about = std::string("empty");
  if (!file.format.empty() || file.counts.bad > 0) {
    about = fmt::format(
        "{}{}, {}", file.format.empty() ? "unknown format" : escaped_message(file.format),
        file.prefix.empty() ? "" : " after " + file.prefix, lines_text(file.counts));
  }
  return {{std::string(label), escaped_message(replay::input_name(file.name)), {about}},
          Pictured::kNothing};
}

std::vector<HeadFact> replay_facts(const replay::Recording& recording) {
  constexpr std::size_t kMaxFiles = 8;  // the last line counts the rest
  const auto& files = recording.files();
  const auto shown = files.size() > kMaxFiles ? kMaxFiles - 1 : files.size();
  std::vector<HeadFact> facts;
  for (std::size_t i = 0; i < shown; ++i) {
    facts.push_back(file_fact(files[i], i == 0 ? "replay" : ""));
  }
  if (shown < files.size()) {
    facts.push_back({{"", fmt::format("and {} files", files.size() - shown)}, Pictured::kNothing});
  }
  facts.push_back({{"traffic",
                    counted(recording.counts().requests, "request"),
                    {counted(static_cast<std::int64_t>(recording.keys()), "key")}}});
  facts.push_back(
      {{"from", instant_text(recording.first()), {"to " + instant_text(recording.last())}},
       Pictured::kNothing});
  if (recording.out_of_order() > 0) {
    facts.push_back({{"sorted",
                      fmt::to_string(recording.out_of_order()),
                      {"behind later ones", "by up to " + span_text(recording.out_of_order_by())}},
                     Pictured::kNothing});
  }
  return facts;
}

/// What was sent, besides its name.
std::string about_text(const Report& report) {
  const auto& plan = report.plan;
  if (report.recording) {
    const auto cost = report.recording->max_cost();
    return cost > 1 && !plan.concurrency ? fmt::format("a request costs up to {}", cost) : "";
  }
  auto about = fmt::format("seed {}", plan.request.seed);
  if (plan.request.keys > 1) about += fmt::format(", {} keys", plan.request.keys);
  if (!plan.reserve && plan.costs.front() > 1)
    about += fmt::format(", cost {}", plan.costs.front());
  return about;
}

// ---- The runs -----------------------------------------------------------------------------------

/// The instant that is shown as 0.
Fact times_fact(const Report& report, const trial::Plot& plot) {
  const bool each_its_own = report.plan.is_real() && report.runs.size() > 1;
  return {"times",
          plot.times,
          {each_its_own ? "each run from its own"
                        : instant_text(report.runs.front().begin + plot.origin)}};
}

/// Where the remaining and the reset_after that a script or a program reports differ from an exact
/// log.
void add_misreports(Section& section, const Run& run) {
  const auto& remaining = run.outcome.measured.remaining_error;
  const auto& reset = run.outcome.measured.reset_error;
  if (remaining.too_many > 0 || remaining.too_few > 0) {
    section.push_back(Fact{"remaining",
                           shown_name(run),
                           {fmt::format("at most {} too many", remaining.too_many),
                            fmt::format("{} too few", remaining.too_few)}});
  }
  if (reset.too_early.count() > 0 || reset.too_late.count() > 0) {
    section.push_back(Fact{"reset",
                           shown_name(run),
                           {fmt::format("at most {} too early", span_text(reset.too_early)),
                            span_text(reset.too_late) + " too late"}});
  }
}

/// The remarks on a run begin with its name, unless it is clear; and why it did what it did, with
/// the key of its worst window.
void add_remarks(Section& section, const Report& report, const Run& run,
                 const Judgement& judgement) {
  const bool is_clear = has_holders(report.plan) && report.runs.size() == 1;
  for (auto [sentence, is_advice] : judgement.remarks) {
    const bool says_key =
        sentence.label == trial::kWhy && run.requests() && traffic_keys(report) > 1;
    const auto key = says_key ? fmt::format(" (key {})", escaped_message(run.worst_key())) : "";
    if (!is_clear) sentence.words = fmt::format("{}{}: {}", shown_name(run), key, sentence.words);
    section.push_back(std::move(sentence));
  }
}

Section decided(const Report& report, std::span<const Judgement> judgements,
                const trial::Plot& plot) {
  Section section{decisions_table(report, plot.origin)};
  if (!shows_dates(report)) section.push_back(times_fact(report, plot));
  for (const auto& run : report.runs) {
    if (!run.is_bundled && run.requests()) add_misreports(section, run);
  }
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    add_remarks(section, report, report.runs[i], judgements[i]);
  }
  return section;
}

/// The most denied keys of a log, which are real clients.
Rows denied_keys(const Run& run) {
  const auto all = as_double(run.outcome.measured.denied);
  Rows table{.rows = {{"denied most by " + shown_name(run), "requests", "of all denied"}}};
  for (const auto& [key, denied] : run.top_denied) {
    table.rows.push_back({escaped_text(key), fmt::to_string(denied),
                          fmt::format("{:.1f} %", 100 * as_double(denied) / all)});
  }
  return table;
}

// ---- Suggestions --------------------------------------------------------------------------------

std::string limit_text(std::int64_t limit, const Plan& plan) {
  return fmt::format("{} per {}", limit, window_text(plan.limits.front()));
}

Rows tried_limits(const Suggestion& suggestion, const Plan& plan, const Run& run) {
  Rows table{.rows = {{shown_name(run), "denied", "of all", "keys denied"}}};
  for (const auto& tried : suggestion.tried) {
    const bool is_chosen = suggestion.chosen && &tried == &suggestion.tried[*suggestion.chosen];
    table.rows.push_back({{(is_chosen ? "* " : "  ") + limit_text(tried.limit, plan),
                           is_chosen ? Tone::kGood : Tone::kPlain},
                          fmt::to_string(tried.denied),
                          trial::percent_text(tried.share(false)),
                          fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                                      trial::percent_text(tried.share(true)))});
  }
  return table;
}

Fact suggested(const Suggestion& suggestion, const Plan& plan, const Run& run) {
  const auto share = denied_share_text(*plan.traffic()->suggest);
  if (suggestion.chosen) {
    return {"suggested",
            limit_text(suggestion.tried[*suggestion.chosen].limit, plan),
            {fmt::format("smallest with at most {} denied", share)}};
  }
  const auto& burst = run.requests()->burst;
  return {"suggested",
          "no limit",
          {fmt::format("denies at most {}{}", share,
                       burst ? fmt::format(" with a burst of {}", *burst) : "")}};
}

// ---- Differences --------------------------------------------------------------------------------

/// Whether the two limiters of --compare decide alike, or where they first differ.
Sentence difference(const Report& report) {
  const auto& plan = report.plan;
  if (report.difference) return {"differ", "yes, " + difference_text(plan, *report.difference)};
  const auto requests = report.runs.front().outcome.measured.sent;
  return {"differ",
          fmt::format(
              "no: {} and {} decide {} alike; other traffic may show a difference",
              escape(name_of(plan.candidates[0])), escape(name_of(plan.candidates[1])),
              requests == 1 ? "the request" : fmt::format("all {} requests", grouped(requests)))};
}

}  // namespace

Document make_document(const Report& report) {
  auto traffic = report.recording ? replay_facts(*report.recording)
                                  : std::vector<HeadFact>{traffic_fact(report)};
  auto document = begin_document(report, std::move(traffic), about_text(report));
  if (report.runs.empty()) return document;
  auto& sections = document.sections;
  const auto judgements = judge_runs(report);
  document.plot = make_plot(report, judgements);
  sections.push_back(decided(report, judgements, document.plot));
  for (const auto& run : report.runs) {
    if (report.recording && traffic_keys(report) > 1 && !run.top_denied.empty()) {
      sections.push_back({denied_keys(run)});
    }
  }
  for (const auto& run : report.runs) {
    if (!run.requests() || !run.requests()->suggestion) continue;
    const auto& suggestion = *run.requests()->suggestion;
    sections.push_back(
        {tried_limits(suggestion, report.plan, run), suggested(suggestion, report.plan, run)});
  }
  const auto sent = [](const Run& run) { return run.outcome.measured.sent > 0; };
  if (std::ranges::any_of(report.runs, sent)) sections.push_back({PlotPlace{}});
  if (tells_difference(report)) sections.push_back({difference(report)});
  return document;
}

}  // namespace rlctl::cli::burst
