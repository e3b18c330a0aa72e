#include "cli/commands/burst/leases.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/errors/failure.h"
#include "cli/options/holder_options.h"
#include "cli/options/limits.h"
#include "cli/options/log_options.h"
#include "cli/options/options.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kConcurrency = "--concurrency";

void parse_hold(const std::string& text, traffic::HoldPlan& hold) {
  const auto [time, is_exponential] = parse_random_time(text, "--hold");
  hold.hold = time;
  hold.is_exponential = is_exponential;
}

std::string times_text(std::int64_t count, std::string_view what, microseconds longest) {
  return fmt::format("{} {}{}", grouped(count), what,
                     longest.count() > 0 ? ", for up to " + span_text(longest) : "");
}

}  // namespace

void add_lease_options(Options& options, Plan& plan) {
  auto& leases = plan.leases;
  options.group("Leases");
  options.value(std::string(kConcurrency), "NUMBER",
                into(plan.concurrency, number_between(kConcurrency, 1, limiter::kLargestLimit)),
                "ask for leases instead, at most NUMBER held at once");
  const auto of_lease = [](Option row) { row.needs(kConcurrency); };
  of_lease(options.value("--lease", "TIME", into(leases.lease, parse_lease),
                         "a lease lapses after this unless it is renewed (default: 30s)"));
  options.value(
      "--hold", "TIME", [&leases](const std::string& text) { parse_hold(text, leases.hold); },
      "how long each holder keeps its lease; 2s~: exponential, 2s on average (default: 1s); "
      "or how long reserved units are held (default: 30s)");
  options.value("--crash", "SHARE",
                into(leases.hold.crash_share,
                     [](const std::string& text) { return parse_share(text, "--crash"); }),
                "share of the holders that die and never release or settle (default: 0%)");
  of_lease(options.flag("--renew", leases.hold.renews, "renew each lease after a third of it"));
  of_lease(options.value("--release", "FILE", leases.release,
                         "the script that releases what --script acquires"));
  of_lease(options
               .value("--release-args", "WORDS", leases.release_arguments,
                      "its ARGV (default: those of --args)")
               .needs("--release"));
}

void require_lease_options(const Options& options, const Plan& plan) {
  const auto counts = [](const limiter::Algorithm* algorithm) {
    return limiter::counts_requests(*algorithm);
  };
  if (!plan.concurrency) {
    for (const std::string_view name : {"--hold", "--crash"}) {
      if (!options.is_given(name) || plan.reserve) continue;
      throw UsageError(fmt::format("{} requires --concurrency or --reserve", name));
    }
    if (plan.log.fields.has_hold()) throw UsageError("--fields hold requires --concurrency");
    if (std::ranges::all_of(plan.algorithms, counts)) return;
    throw UsageError("--algorithm concurrency requires --concurrency NUMBER");
  }
  const auto refuse = [&](std::initializer_list<std::string_view> names, std::string_view why,
                          std::string_view hint = {}) {
    for (const auto name : names) {
      if (options.is_given(name)) refuse_both(name, kConcurrency, why, hint);
    }
  };
  const auto counting = std::ranges::find_if(plan.algorithms, counts);
  if (counting != plan.algorithms.end()) {
    throw UsageError(
        fmt::format("--concurrency: {} counts requests and gives no leases", (*counting)->name),
        "--algorithm concurrency does");
  }
  refuse({"--limit", "--burst"}, "it counts requests", "a lease has --lease, not a window");
  constexpr std::string_view kOneLease = "each holder has one lease";
  refuse({"--cost"}, kOneLease);
  if (plan.log.fields.has_cost()) {
    refuse_both("--fields cost", kConcurrency, kOneLease);
  }
  refuse({"--compare"}, "holders follow from what each limiter allows",
         "name both: --script A.lua --script B.lua");
  refuse({"--suggest"}, "it finds limits of requests");
  if (writes(plan, ReportFormat::kHtml)) {
    refuse_both("-o *.html", kConcurrency, "the page is about windows",
                "draw a picture: -o FILE.svg");
  }
  refuse({"--delay"}, "a lease begins when it is given");
  constexpr std::string_view kOnlyVirtual = "leases have the virtual clock";
  if (plan.is_real) refuse_both("--clock real", kConcurrency, kOnlyVirtual);
  if (plan.search) require_holder_search(options, plan);
  if (plan.leases.release && plan.script.scripts.empty()) {
    throw UsageError("--release requires --script: it releases what a script acquires");
  }
}

void set_leases(Plan& plan, const Options& options) {
  auto& hold = plan.leases.hold;
  hold.seed = plan.request.seed;
  plan.limits = {{.limit = *plan.concurrency, .window = plan.leases.lease}};
  if (plan.algorithms.empty() && plan.script.scripts.empty() && plan.exec.programs.empty()) {
    plan.algorithms = {limiter::find_algorithm("concurrency")};
  }
  if (plan.log.given()) {
    hold.is_in_cost = plan.log.fields.has_hold();
    if (hold.is_in_cost && options.is_given("--hold")) {
      refuse_both("--hold", "--fields hold", "the log has the times");
    }
    return;
  }
  // So that the pattern asks for as many leases as there are.
  plan.request.limit = {.limit = *plan.concurrency,
                        .window = std::max(hold.hold, limiter::kShortestWindow)};
}

void ask_for_leases(traffic::Candidate& candidate, const Plan& plan) {
  if (!candidate.foreign) return;
  auto script = *candidate.foreign;
  const auto& leases = plan.leases;
  cli::ask_for_leases(script, leases.release, leases.release_arguments);
  if (leases.hold.renews && !tells_event(script)) {
    throw UsageError(fmt::format("--renew: nothing renews the leases of {}", escape(script.name)),
                     "let it renew when {event} in --args says so");
  }
  candidate.foreign = std::make_shared<const traffic::ForeignLimiter>(std::move(script));
  const auto tick = clock_tick_of(candidate);
  if (plan.search || tick < leases.lease) return;
  throw UsageError(fmt::format(
      "--lease: {} is not longer than {}, the unit of the clock of {}, so "
      "that nothing would be known of who holds",
      format_duration(leases.lease), format_duration(tick), escape(candidate.foreign->name)));
}

traffic::HoldPlan hold_plan_of(const traffic::Candidate& candidate, const Plan& plan) {
  auto hold = plan.leases.hold;
  hold.tick = clock_tick_of(candidate);
  return hold;
}

// ---- The report ----

std::string leases_text(const Plan& plan) {
  return fmt::format("{} of {}", counted(*plan.concurrency, "lease"), span_text(plan.leases.lease));
}

std::string holds_text(const Plan& plan) {
  const auto& hold = plan.leases.hold;
  auto text = hold.is_in_cost ? std::string("held as long as the log says")
                              : fmt::format("held for {}{}", span_text(hold.hold),
                                            hold.is_exponential ? " on average" : "");
  if (hold.crash_share > 0) text += fmt::format(", {:.6g} % die", 100 * hold.crash_share);
  if (hold.renews) text += ", renewed";
  return text;
}

HoldersVerdict lease_verdict(const Report& report, const Run& run) {
  const auto& held = *run.held;
  const auto limit = *report.plan.concurrency;
  if (held.most.held > limit) {
    return {fmt::format("{} held at once, {} more than the limit", held.most.held,
                        held.most.held - limit),
            Tone::kBad};
  }
  if (run.outcome.measured.allowed == 0) return {"allowed nothing", Tone::kBad};
  if (held.leaked > 0) {
    return {fmt::format("lost up to {}", counted(held.leaked, "slot")), Tone::kBad};
  }
  if (held.most_ever.held > limit) {
    return {"within the limit but for leases that had ended, no slot lost", Tone::kWarning};
  }
  return {"within the limit, no slot lost", Tone::kGood};
}

std::vector<Remark> remarks_on_leases(const Report& report, const Run& run) {
  const auto& held = *run.held;
  const auto limit = *report.plan.concurrency;
  const auto name = report.runs.size() > 1 ? escaped_message(run.name) + ": " : std::string();
  std::vector<Remark> remarks;
  const auto add = [&](std::string_view label, const std::string& text) {
    remarks.push_back({label, name + text});
  };
  const auto key_of = [&](const std::string& key) {
    return traffic_keys(report) > 1 ? " of key " + quoted_and_masked(key) : std::string();
  };
  if (held.most.held > limit) {
    add("held", fmt::format("{} at once{}, whose leases had not ended, {} more than the limit",
                            held.most.held, key_of(run.held_key), held.most.held - limit));
  }
  if (held.most_ever.lapsed > 0) {
    add("lapsed", fmt::format("{} held at once{}, {} of them although {} lease had ended{}",
                              held.most_ever.held, key_of(run.held_ever_key), held.most_ever.lapsed,
                              held.most_ever.lapsed == 1 ? "its" : "their",
                              report.plan.leases.hold.renews ? "" : ": --renew keeps them"));
  }
  if (held.starved > 0) {
    add("starved", times_text(held.starved,
                              fmt::format("acquire{} denied although a slot was free",
                                          held.starved == 1 ? " was" : "s were"),
                              held.longest_starved));
  }
  if (!held.end) {
    add("end", "nobody asked for all slots when everybody had gone: some may be lost");
  } else if (held.end->keys < run.outcome.measured.keys) {
    add("end", fmt::format("of {} keys only {} were asked for all slots when everybody had gone",
                           grouped(run.outcome.measured.keys), grouped(held.end->keys)));
  }
  if (held.leaked > 0) {
    add("leaked", times_text(held.leaked,
                             fmt::format("slot{} at once that nobody had and nobody got",
                                         plural(held.leaked)),
                             held.longest_leaked));
  }
  if (held.end && held.end->taken > 0) {
    add("at the end",
        fmt::format("{} {} still taken {} after the last holder had gone",
                    counted(held.end->taken, "slot"), held.end->taken == 1 ? "was" : "were",
                    span_text(held.end->after)));
  }
  if (held.releases_refused.value_or(0) > 0) {
    add("refused", times_text(*held.releases_refused,
                              fmt::format("release{} of a lease that had not ended",
                                          plural(*held.releases_refused)),
                              {}));
  }
  if (held.renewals_refused > 0) {
    add("refused", times_text(held.renewals_refused,
                              fmt::format("renewal{} of a lease that had not ended",
                                          plural(held.renewals_refused)),
                              {}));
  }
  if (run.hint) add("hint", *run.hint);
  return remarks;
}

void append_event_json(std::string& out, std::string_view run, std::int64_t number,
                       std::string_view key, const traffic::Arrival& arrival,
                       const limiter::Decision& decision) {
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("event", traffic::event_name(arrival.event));
  json.field("holder", traffic::holder_name(arrival.holder)).field("allowed", decision.allowed);
  json.field("request", number).end_object();
  out += '\n';
}

}  // namespace rlctl::cli::burst
