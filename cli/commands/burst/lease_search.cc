#include "cli/commands/burst/lease_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/leases.h"
#include "cli/options/lease_options.h"
#include "cli/terminal/table.h"
#include "traffic/template.h"

namespace rlctl::cli::burst {
namespace {

using adversary::LeaseFinding;
using std::chrono::microseconds;

/// The findings with their names, null if there is none.
std::array<std::pair<std::string_view, const LeaseFinding*>, 2> lease_findings_of(
    const adversary::LeaseSearchResult& result) {
  const auto found = [](const auto& finding) { return finding ? &*finding : nullptr; };
  return {{{"overfilled", found(result.overfilled)}, {"leak", found(result.leak)}}};
}

/// What an exhaustive search has proved.
std::string proof_of(const adversary::LeaseSearchResult& result, const Plan& plan) {
  const auto events = counted(*plan.search->exhaustive, "event");
  const auto tried = grouped(*result.tried);
  std::string text;
  if (result.interrupted) {
    text = fmt::format("none: interrupted after {} schedules of up to {}", tried, events);
  } else if (result.overfilled || result.leak) {
    text =
        fmt::format("the worst of all {} schedules of up to {} at critical times", tried, events);
  } else {
    text = fmt::format(
        "no schedule of up to {} at critical times holds more than {} or loses a slot ({} tried)",
        events, *plan.concurrency, tried);
  }
  if (result.undecided == 0) return text;
  return text + fmt::format("; skipped {} of them {}, and all that begin with these",
                            grouped(result.undecided), kUndecided);
}

/// Appends the findings about one limiter.
class LeaseText {
 public:
  /// `tells_release`: the answers to releases are read, which those of a script are not.
  LeaseText(std::string& out, const Report& report, const Look& look, bool tells_release)
      : out_(out), plan_(report.plan), look_(look), tells_release_(tells_release) {}

  void append(std::string_view name, const Run* run) {
    out_ += '\n';
    const auto limit = *plan_.concurrency;
    if (run == nullptr || !run->lease_search || run->lease_search->result.requests_sent == 0) {
      return title(name, "nothing is known: interrupted", Tone::kWarning);
    }
    const auto& result = run->lease_search->result;
    if (result.held == 0) {
      title(name, "allowed nothing", Tone::kBad);
    } else if (!result.overfilled && !result.leak) {
      title(name, fmt::format("at most {} of {} held at once, no slot lost", result.held, limit),
            Tone::kGood);
    }
    if (const auto& finding = result.overfilled) {
      auto text = fmt::format("{} held at once, {} more than the limit", finding->score.held,
                              finding->score.held - limit);
      if (result.held > finding->score.held) {
        text += fmt::format("; {} in longer schedules", result.held);
      }
      title(name, text, Tone::kBad);
      append_steps(*finding);
    }
    if (const auto& finding = result.leak) {
      title(name,
            fmt::format("{} lost: nobody has {}, and nobody gets {}{}",
                        counted(finding->score.leaked, "slot"),
                        finding->score.leaked == 1 ? "it" : "them",
                        finding->score.leaked == 1 ? "it" : "them",
                        result.leaks_for_ever ? ", not even a year later" : ""),
            Tone::kBad);
      append_steps(*finding);
    }
    if (run->hint) sentence("hint", *run->hint);
    if (result.tried) {
      sentence("proof", proof_of(result, plan_));
    } else if (result.undecided > 0) {
      sentence("left out",
               fmt::format("skipped {} {}", counted(result.undecided, "schedule"), kUndecided));
    }
  }

 private:
  void title(std::string_view name, const std::string& text, Tone tone) {
    const auto shown = escaped_text(name);
    const auto fits = display_width(shown) + 2 + text.size() <= look_.columns;
    out_ += toned(shown, Tone::kLabel, look_.colour);
    out_ += fits ? "  " : "\n  ";
    out_ += toned(text, tone, look_.colour) + '\n';
  }
  void sentence(std::string_view label, std::string_view text) {
    out_ += toned(label, Tone::kLabel, look_.colour);
    pad(out_, label.size(), TextBlock::kLabel);
    append_filled(out_, text, TextBlock::kLabel, look_.columns);
  }

  /// One row per event.
  void append_steps(const LeaseFinding& finding) {
    constexpr std::size_t kMaxRows = 20;
    const auto steps =
        adversary::lease_steps_of(finding.schedule, finding.answers, plan_.limits.front());
    const auto shown = std::min(steps.size(), kMaxRows);
    Cells times, holders, events, answers, held, notes;
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& request = finding.schedule[i];
      times.push_back(exact_offset_text(request.at - search_base(plan_)));
      holders.push_back(traffic::holder_name(request.holder));
      events.emplace_back(traffic::event_name(request.event));
      const bool is_told = request.event != traffic::Event::kRelease || tells_release_;
      answers.emplace_back(!is_told ? "" : finding.answers[i].allowed ? "allowed" : "denied");
      held.push_back(fmt::to_string(steps[i].held));
      notes.emplace_back(steps[i].note);
    }
    Table table;
    table.add("at", std::move(times));
    table.add("holder", std::move(holders));
    table.add("event", std::move(events));
    table.add("answer", std::move(answers));
    table.add("held", std::move(held));
    table.add("", std::move(notes));
    table.append(out_, look_);
    if (steps.size() > shown) {
      out_ += fmt::format("  and {} more; --json lists all\n", steps.size() - shown);
    }
  }

  std::string& out_;
  const Plan& plan_;
  const Look& look_;
  bool tells_release_;
};

void write_event(JsonWriter& json, const LeaseFinding& finding,
                 const std::vector<adversary::LeaseStep>& steps, std::size_t i) {
  const auto& request = finding.schedule[i];
  json.field("at_us", request.at).field("event", traffic::event_name(request.event));
  json.field("holder", traffic::holder_name(request.holder));
  json.field("allowed", finding.answers[i].allowed).field("held", steps[i].held);
}

}  // namespace

void require_lease_search(const Options& options, const Plan& plan) {
  const auto refuse = [&](std::initializer_list<std::string_view> names, std::string_view why) {
    for (const auto name : names) {
      if (options.is_given(name)) refuse_both(name, kAdversary, why);
    }
  };
  refuse({"--hold", "--hold-field", "--crash", "--renew"},
         "the search finds when holders come and go");
  refuse({"--svg"}, "a schedule of leases has no picture");
  constexpr std::string_view kConcurrency = "--concurrency";
  if (plan.search->write) {
    refuse_both("--write", kConcurrency, "a log has no releases", "--json has the schedules");
  }
  if (plan.search->refunds) refuse_both("--refunds", kConcurrency, "a release gives back a lease");
}

void require_conclusive_leases(const Plan& plan) {
  const auto limit = *plan.concurrency;
  const auto& events = plan.search->exhaustive;
  if (events && *events <= limit) {
    throw UsageError(fmt::format("--exhaustive: {} cannot hold more than {}, so nothing would be "
                                 "proved",
                                 counted(*events, "event"), counted(limit, "lease")),
                     "use fewer leases and more events: --concurrency 2 --exhaustive 5");
  }
  if (plan.search->tick.count() == 0 || plan.search->tick > plan.leases.lease) {
    throw UsageError(fmt::format("--tick must be more than 0, and at most the lease, not {}",
                                 format_duration(plan.search->tick)));
  }
  const auto latest = adversary::latest_time({.limit = plan.limits.front()}, events);
  if (search_base(plan) + latest <= limiter::kLatestNow) return;
  throw UsageError(
      fmt::format("--lease: the search needs {} before the year 2096, where the times of the "
                  "scripts end",
                  span_text(latest)),
      "use a shorter lease, or an earlier --start");
}

adversary::LeaseSearchRequest lease_request_of(const traffic::Candidate& candidate,
                                               const Plan& plan) {
  const auto tick =
      std::max(plan.search->tick, std::min(clock_tick_of(candidate), plan.leases.lease));
  return {.limit = plan.limits.front(),
          .renews = takes_renewals(candidate),
          .budget = plan.search->budget,
          .seed = plan.request.seed,
          .base = search_base(plan),
          .tick = tick};
}

void append_lease_search(std::string& out, const Report& report, const Look& look) {
  const auto& plan = report.plan;
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    LeaseText text(out, report, look, plan.candidates[i].foreign == nullptr);
    text.append(name_of(plan.candidates[i]), i < report.runs.size() ? &report.runs[i] : nullptr);
  }
  out += '\n';
}

void write_lease_findings(JsonWriter& json, const Plan& plan, const Run& run) {
  const auto& [result, tick] = *run.lease_search;
  json.begin_object().field("algorithm", run.name).field("asked", result.requests_sent);
  json.field("tick_us", tick).field("tried", result.tried).field("undecided", result.undecided);
  json.field("held", result.held).field("leaked", result.leaked);
  json.field("leaks_for_ever", result.leaks_for_ever);
  for (const auto& [name, finding] : lease_findings_of(result)) {
    json.name(name);
    if (finding == nullptr) {
      json.null();
      continue;
    }
    const auto steps =
        adversary::lease_steps_of(finding->schedule, finding->answers, plan.limits.front());
    json.begin_object().field("held", finding->score.held).field("leaked", finding->score.leaked);
    json.name("schedule").begin_array();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      json.begin_object();
      write_event(json, *finding, steps, i);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.field("hint", run.hint).end_object();
}

void append_lease_steps_json(std::string& out, const Report& report) {
  for (const auto& run : report.runs) {
    for (const auto& [name, finding] : lease_findings_of(run.lease_search->result)) {
      if (finding == nullptr) continue;
      const auto steps = adversary::lease_steps_of(finding->schedule, finding->answers,
                                                   report.plan.limits.front());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        JsonWriter json(out);
        json.begin_object().field("algorithm", run.name).field("finding", name);
        json.field("request", i + 1);
        write_event(json, *finding, steps, i);
        json.end_object();
        out += '\n';
      }
    }
  }
}

}  // namespace rlctl::cli::burst
