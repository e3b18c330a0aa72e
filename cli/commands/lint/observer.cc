#include "cli/commands/lint/plan.h"
#include "cli/commands/lint/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "base/time.h"
#include "base/worker.h"
#include "lint/answers.h"
#include "lint/calls.h"
#include "lint/conduct.h"
#include "lint/figures.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "simulation/engine.h"

// Runs a script in the engine, with a record of each command that it calls in a few requests. What
// thousands of requests show, probes.cc sends first; a few of them are then sent again for the
// record, so that a finding has a line.

namespace rlctl::cli::lint {
namespace {

using rlctl::lint::allowed_from;
using rlctl::lint::Ask;
using rlctl::lint::has_cost_other_than_1;
using rlctl::lint::joined;
using rlctl::lint::Observation;
using rlctl::lint::Request;
using rlctl::lint::Sizes;
using std::chrono::microseconds;

/// The most requests sent to reach the limit, at one instant and again one tick apart.
constexpr int kMaxToFill = kLargestLimit + 1;

constexpr const char* kBesidesMainTraffic = "retries, idle gaps, costs and figures";

/// Supplies key names only; lint sends its requests itself.
class KeyNames final : public traffic::Traffic {
 public:
  bool next(traffic::Arrival& /*arrival*/) override { return false; }
  std::string_view key_name(std::uint32_t key) const override { return key == 0 ? "ann" : "bob"; }
  std::int64_t size() const override { return 0; }
};

/// A reply as lint::Call has it.
std::optional<std::string> recorded_reply(std::string_view reply) {
  if (reply.starts_with('-')) return std::nullopt;
  if (reply == "$-1\r\n") return "NULL";
  if (reply.starts_with(':')) return std::string(reply.substr(1, reply.size() - 3));
  return std::string(reply);
}

class Observer {
 public:
  Observer(const Subject& subject, const Interrupt& interrupt)
      : subject_(subject), interrupt_(interrupt), decider_(subject.candidate, names_, interrupt) {
    decider_.answer_calls(
        [this](const simulation::EngineCall& call, std::string& reply) { answer(call, reply); });
    const auto& limit = subject.candidate.limits.front();
    seen_.source = subject.source;
    seen_.limit = std::max(limit.limit, limit.burst.value_or(0));
    seen_.window = limit.window;
    seen_.refill = microseconds(std::llround(static_cast<double>(limit.window.count()) *
                                             static_cast<double>(limit.burst_or_limit()) /
                                             static_cast<double>(limit.limit)));
    start_ = rlctl::lint::start_of_traffic(limit.window);
    tick_ = rlctl::lint::shortest_gap(limit.window);
  }

  /// The requests of light traffic alone.
  std::vector<Request> observe_lightly() {
    begin_run();
    send_main_traffic();
    return std::move(seen_.requests);
  }

  /// Sends all traffic, and judges the script by it and by `others`: requests for another limit.
  Observed observe(std::vector<Request> others) {
    begin_run();
    send_main_traffic();
    check_replies();
    if (const auto& doubts = observed_.warnings; !doubts.empty()) {
      observed_.not_tested.push_back({kBesidesMainTraffic, doubts.front()});
    } else {
      send_more_traffic();
    }
    for (auto& request : others) {
      request.run = -request.run;  // no other request is of its run
      request.allowed.reset();
      seen_.requests.push_back(std::move(request));
    }
    observed_.findings = find_flaws(seen_);
    std::ranges::move(answer_findings_, std::back_inserter(observed_.findings));
    observed_.requests = number_ + probes_sent_;
    // An unknown flag is a finding.
    const auto change = decider_.script()->change();
    if (lua::unknown_flags(subject_.source).empty() && !change.empty()) {
      observed_.warnings.insert(observed_.warnings.begin(), change);
    }
    note_scaling(subject_, observed_);
    return std::move(observed_);
  }

 private:
  using Index = std::size_t;  ///< of a request

  void send_main_traffic() {
    using std::chrono::hours;
    const auto window = seen_.window;
    fill(start_);
    send(start_);
    send(start_ + microseconds{1});
    for (const auto after : {tick_, window / 4, window / 2, window - tick_, window + tick_}) {
      send(start_ + after);
    }
    send(start_ + window + tick_, 1);
    send(start_ + window + 2 * tick_, 1);
    constexpr int kWindows = 100;
    // Not in the second in which a window of the clock begins.
    const auto later =
        std::min({window * kWindows + window / 2 + hours{2}, kLatestInstant - start_ - tick_});
    latest_ = start_ + later;
    seen_.is_denied_for_ever = is_denied(send(latest_));
    send(start_ + later + tick_);
    send(start_ + later + tick_, 1);
    observed_.tested.push_back(
        fmt::format("requests at one instant, through a window of {}, and {} later; two clients",
                    period_text(window), span_text(later)));
  }

  /// Finds less if the time for it is used up.
  void send_more_traffic() {
    std::string_view left = kBesidesMainTraffic;
    try {
      send_in_two_parts();
      send_costs();
      run_probes();
      left = "whether keys or calls grow";
      watch_growth();
    } catch (const worker::TimeIsUp&) {
      recorded_ = nullptr;
      seen_.growth = {};
      add_lack_of_time(left, observed_);
    }
  }

  bool is_denied(Index index) const { return seen_.requests[index].allowed == false; }

  /// Notes a doubt if no request was denied or the replies look inverted: denials then prove
  /// nothing.
  void check_replies() {
    const auto& requests = seen_.requests;
    const auto is_allowed = [](const Request& each) { return each.allowed == true; };
    const bool any_allowed = std::any_of(requests.begin(), requests.end(), is_allowed);
    const bool any_denied = !std::all_of(requests.begin(), requests.end(), is_allowed);
    if (!any_allowed) {
      observed_.warnings.push_back(
          "nothing was allowed: see --allowed-when for how to read the reply" +
          (cut_from_ ? fmt::format("; Redis cut the reply {} to 0", *cut_from_) : std::string()));
    } else if (is_denied(0)) {
      observed_.warnings.emplace_back(
          "the reply may be inverted: the first request was denied, and a later one was "
          "allowed; see --allowed-when");
    } else if (!any_denied && !delays_) {
      observed_.warnings.emplace_back(
          "nothing was denied: the script's own limit differs, or its reply is misread; see "
          "--allowed-when");
    }
    if (any_allowed && !is_denied(0)) return;
    for (auto& request : seen_.requests) request.allowed.reset();
  }

  /// Reaches the limit in two parts, and sends one more request once the first part has left the
  /// window: then the key is there still, with requests that no longer count.
  void send_in_two_parts() {
    begin_run();
    send(start_);
    if (fill(start_ + seen_.window / 2)) send(start_ + seen_.window + tick_);
  }

  /// Sends each cost once more than fits: a script may set the TTL only if the first cost is 1.
  void send_costs() {
    for (const auto cost : subject_.costs) {
      if (cost == 1) continue;
      begin_run();
      if (is_denied(send(start_, 0, cost))) continue;  // the probes say so
      const auto most = seen_.limit / cost + 1;
      bool is_full = false;
      for (std::int64_t i = 0; i < most && !is_full; ++i)
        is_full = is_denied(send(start_, 0, cost));
      if (is_full && is_denied(send(latest_, 0, cost))) seen_.is_denied_for_ever = true;
    }
  }

  /// The TTLs that were seen, rounded to milliseconds, of which only a few are probed: the shortest
  /// and the longest.
  std::vector<microseconds> seen_ttls() const {
    constexpr microseconds kMillisecond{1000};
    constexpr std::chrono::hours kLongest{24 * 365};
    std::set<microseconds> ttls;
    for (const auto& request : seen_.requests) {
      for (const auto& call : request.calls) {
        const auto ttl = rlctl::lint::ttl_set_by(call);
        if (!ttl || !call.reply) continue;
        const auto from = ttl->is_absolute ? request.at : microseconds{0};
        const microseconds end{std::llround(ttl->value * static_cast<double>(ttl->unit.count()))};
        const auto length = (end - from) / kMillisecond * kMillisecond;
        if (length >= kMillisecond && length <= kLongest) ttls.insert(length);
      }
    }
    constexpr std::size_t kMost = 6;
    std::vector<microseconds> all(ttls.begin(), ttls.end());
    while (all.size() > kMost) all.erase(all.begin() + kMost / 2);
    return all;
  }

  /// Sends thousands of requests, and then those again whose calls explain what they showed.
  void run_probes() {
    const ProbeRequest request{
        .start = start_, .tick = tick_, .ttls = seen_ttls(), .costs = subject_.costs};
    const MakeTrial make_trial = [this](const script::Candidate& candidate) {
      return std::make_unique<LimiterTrial>(candidate, interrupt_);
    };
    const auto probed = probe(subject_, make_trial, request);
    seen_.probed = probed.flaws;
    probes_sent_ = probed.requests;
    const auto probe_again = [&](const Subject& changed,
                                 const simulation::AnswerCall& answer) -> std::optional<Probed> {
      try {
        auto again = probe(
            changed,
            [&](const script::Candidate& candidate) {
              auto limiter = std::make_unique<LimiterTrial>(candidate, interrupt_);
              limiter->engine()->answer_calls(answer);
              return limiter;
            },
            request);
        probes_sent_ += again.requests;
        return again;
      } catch (const UsageError&) {
      } catch (const redis::Error&) {
      }
      return std::nullopt;
    };
    seen_.cause = find_cause(subject_, probed, time_stored_in(seen_) != nullptr, probe_again);
    observed_.tested.insert(observed_.tested.end(), probed.tested.begin(), probed.tested.end());
    if (!probed.fills.empty()) judge_answers(probed);
    const bool is_known =
        !observed_.warnings.empty() || seen_.is_denied_for_ever || seen_.cause;  // why
    for (const auto& [what, why] : probed.not_tested) {
      if (is_known) {
        observed_.not_tested.push_back({what, why});
      } else {
        not_tested(what, why);
      }
    }
    if (seen_.probed.lock_out) {
      auto& lock_out = *seen_.probed.lock_out;
      begin_run();
      fill(start_, lock_out.cost);
      const auto full = seen_.requests.back().at;
      lock_out.denial = seen_.requests.size();
      constexpr int kRetries = 4;
      for (int i = 1; i <= kRetries; ++i) send(full + i * lock_out.gap, 0, lock_out.cost);
    }
    if (seen_.probed.free_pass) {
      begin_run();
      fill(start_);
      seen_.probed.free_pass->request =
          send(seen_.requests.back().at + seen_.probed.free_pass->after);
    }
  }

  /// Judges the figures in the replies, and what the script does to other traffic.
  void judge_answers(const Probed& probed) {
    LimiterTrial limiter(subject_.candidate, interrupt_);
    const Ask ask = [&](const rlctl::adversary::Schedule& schedule) -> rlctl::adversary::Answers {
      probes_sent_ += std::ssize(schedule);
      try {
        return limiter.trial().run({&schedule, 1}).front();
      } catch (const redis::Error& error) {
        const bool may_refuse = has_cost_other_than_1(schedule);
        if (error.failure() != redis::Failure::kRejected || !may_refuse) throw;
        return {};
      }
    };
    const auto& limit = subject_.candidate.limits.front();
    const auto count = static_cast<std::size_t>(rlctl::lint::requests_at_once(limit));
    const auto at_once = allowed_from(ask(joined({}, start_, 1, count)), 0);
    // A key with a TTL exists to the end of its last millisecond.
    const microseconds late{probed.needs_expiry ? 1000 : 0};
    rlctl::lint::Figures figures(limit, ask, late);
    if (const auto& script = subject_.candidate.foreign) {
      if (script->reading.retry_after) figures.expect(rlctl::lint::kWait);
      if (script->reading.remaining) figures.expect(rlctl::lint::kRemaining);
      if (script->reading.reset_after) figures.expect(rlctl::lint::kReset);
    }
    rlctl::lint::AnswerObservation figures_seen;
    figures.check(probed.fills, at_once, figures_seen, observed_.tested, observed_.not_tested);
    std::vector<NotTested> unknown;
    answer_findings_ = find_flaws(figures_seen);
    std::ranges::move(
        rlctl::lint::judge_conduct(rlctl::lint::profile_of(subject_.candidate, subject_.all_costs),
                                   at_once, ask, observed_.tested, unknown),
        std::back_inserter(answer_findings_));
    for (const auto& [what, why] : unknown) not_tested(what, why);
  }

  /// Sends requests each `gap` for so long, and returns what the keys take then, and the calls for
  /// each request.
  Sizes sizes_after(microseconds& at, microseconds length, microseconds gap) {
    std::vector<traffic::Arrival> arrivals;
    for (const auto end = at + length; at < end; at += gap) {
      arrivals.push_back({.at = at, .cost = subject_.costs.front()});
    }
    calls_.clear();
    std::vector<limiter::Decision> decisions(arrivals.size());
    if (decider_.decide(arrivals, decisions) < arrivals.size()) throw Interrupted();
    probes_sent_ += std::ssize(arrivals);
    Sizes sizes;
    for (const auto& [command, count] : calls_) {
      sizes[{command, ""}] = as_double(count) / as_double(std::ssize(arrivals));
    }
    const auto& keys = decider_.state().keys;
    for (const auto name : keys.keys()) {
      sizes[{"", std::string(name)}] =
          static_cast<double>(keyspace::size_of(*keys.find(name)->value));
    }
    return sizes;
  }

  /// Sends slightly more than the limit allows, for twice as long each time, while anything grows;
  /// and again after a pause in which no key expires, since a script may prune what is a day old.
  void watch_growth() {
    // A script may keep a thousand entries. A loop over them is slow.
    constexpr std::int64_t kEnough = 2000, kEnoughLoops = 500;
    constexpr double kMore = 1.4, kLess = 0.5;
    constexpr int kWindows = 10, kRounds = 2;
    const auto& limit = subject_.candidate.limits.front();
    const auto cost = subject_.costs.front();
    const auto gap = std::max(microseconds{1}, limit.window * cost * 10 / (11 * limit.limit));
    begin_run();
    auto at = start_;
    auto &half = seen_.growth.half, &whole = seen_.growth.whole;
    auto& span = seen_.growth.span;
    span = kWindows * limit.window;
    const auto sent_before = probes_sent_;
    whole = sizes_after(at, span, gap);
    for (int round = 0; !whole.empty(); ++round) {
      const bool has_loops = !whole.rbegin()->first.first.empty();
      const auto enough = has_loops ? kEnoughLoops : kEnough;
      if (round >= kRounds && probes_sent_ - sent_before >= enough) break;
      half = std::exchange(whole, sizes_after(at, span, gap));
      span *= 2;
      std::erase_if(whole, [&](const auto& each) {
        const auto before = half.find(each.first);
        return before == half.end() || each.second < before->second + 1;
      });
    }
    // A key is large before it grows.
    std::erase_if(whole,
                  [&](const auto& each) { return each.second < kMore * half.at(each.first) + 1; });
    if (!whole.empty()) {
      decider_.keep_keys(true);
      at += latest_ - start_ + std::chrono::hours{25};
      auto later = sizes_after(at, kWindows * limit.window, gap);
      decider_.keep_keys(false);
      std::erase_if(whole, [&](auto& each) { return later[each.first] < kLess * each.second; });
    }
    observed_.tested.push_back(
        fmt::format("a client that asks slightly more often than the limit allows, for {}: whether "
                    "keys or calls grow",
                    span_text(span)));
  }

  void not_tested(std::string_view finding, std::string_view why) {
    observed_.warnings.push_back(fmt::format("not tested: {}: {}", finding, why));
    observed_.not_tested.push_back({std::string(finding), std::string(why)});
  }

  /// The next requests find no keys.
  void begin_run() {
    ++run_;
    decider_.forget();
  }

  /// Sends at one instant until a request is denied, and if none is, one tick apart; returns
  /// whether one was.
  bool fill(microseconds at, std::int64_t cost = 1) {
    const auto max = std::min<std::int64_t>(seen_.limit + 1, kMaxToFill);
    for (const auto step : {microseconds{0}, tick_}) {
      for (std::int64_t i = 0; i < max; ++i, at += step) {
        if (is_denied(send(at, 0, cost))) return true;
      }
    }
    return false;
  }

  Index send(microseconds at, std::uint32_t key = 0, std::int64_t cost = 1) {
    const traffic::Arrival arrival{.at = at,
                                   .key = key,
                                   .cost = cost,
                                   .index_within_key = static_cast<std::uint32_t>(++number_)};
    const auto call = decider_.script()->call(arrival);
    Request request{.run = run_,
                    .client = static_cast<int>(key),
                    .at = at,
                    .keys = {call.keys.begin(), call.keys.end()},
                    .arguments = {call.arguments.begin(), call.arguments.end()}};
    recorded_ = &request;
    limiter::Decision decision;
    if (decider_.decide({&arrival, 1}, {&decision, 1}) == 0) throw Interrupted();
    recorded_ = nullptr;
    request.allowed = decision.allowed;
    delays_ |= decision.delay.count() > 0;
    const auto returned = decider_.returned_number().value_or(0);
    if (returned != 0 && std::abs(returned) < 1) cut_from_ = returned;
    note_left_keys(request);
    seen_.requests.push_back(std::move(request));
    return seen_.requests.size() - 1;
  }

  void answer(const simulation::EngineCall& call, std::string& reply) {
    call.run(reply);
    if (recorded_ == nullptr) {
      ++calls_[lower_case(call.words.front())];
      return;
    }
    auto& seen = recorded_->calls.emplace_back();
    seen.line = call.line;
    seen.words.assign(call.words.begin(), call.words.end());
    seen.reply = recorded_reply(reply);
    if (!seen.reply) return;
    const auto keys = keyspace::keys_of(call.words);
    seen.keys.assign(keys.begin(), keys.end());
    seen.writes = keyspace::writes_keys(call.words.front());
  }

  void note_left_keys(Request& request) const {
    std::set<std::string> written;
    for (const auto& call : request.calls) {
      if (call.writes) written.insert(call.keys.begin(), call.keys.end());
    }
    for (const auto& name : written) {
      const auto* const key = decider_.state().keys.find(name);
      if (key != nullptr) request.left.push_back({.key = name, .expires = key->expiry.has_value()});
    }
  }

  const Subject& subject_;
  const Interrupt& interrupt_;
  KeyNames names_;
  simulation::EngineDecider decider_;
  Request* recorded_ = nullptr;  ///< the request whose calls are recorded; null: they are counted
  std::map<std::string, std::int64_t> calls_;  ///< how many were counted, by command
  std::int64_t number_ = 0;                    ///< of the last request that was recorded, from 1
  std::int64_t probes_sent_ = 0;               ///< the requests that were not recorded
  int run_ = 0;
  std::optional<double> cut_from_;  ///< a reply of 0 was this number in the script
  bool delays_ = false;             ///< a request was allowed with a delay
  microseconds start_{0}, tick_{0};
  microseconds latest_{0};  ///< when nothing may count any more
  Observation seen_;
  std::vector<rlctl::lint::Finding> answer_findings_;  ///< what the answers to probes show
  Observed observed_;
};

}  // namespace

Observed observe(const Subject& subject, const Interrupt& interrupt) {
  std::vector<Request> unscaled;
  if (subject.unscaled) {
    auto typed = subject;
    typed.candidate.limits.front() = *subject.unscaled;
    unscaled = Observer(typed, interrupt).observe_lightly();
  }
  return Observer(subject, interrupt).observe(std::move(unscaled));
}

}  // namespace rlctl::cli::lint
