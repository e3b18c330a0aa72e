#include "cli/commands/lint/plan.h"
#include "cli/commands/lint/probes.h"

#include <fmt/format.h>
#include <unistd.h>

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
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "lint/answers.h"
#include "lint/calls.h"
#include "lint/conduct.h"
#include "lint/figures.h"
#include "lua/substitute.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "traffic/key_aging.h"

namespace rlctl::cli::lint {
namespace {

using ldb::Ending;
using rlctl::lint::allowed_from;
using rlctl::lint::Ask;
using rlctl::lint::has_cost_other_than_1;
using rlctl::lint::joined;
using rlctl::lint::kTtlStep;
using rlctl::lint::Observation;
using rlctl::lint::Request;
using rlctl::lint::Sizes;
using std::chrono::microseconds;

/// The most requests sent to reach the limit, at one instant and again one tick apart.
constexpr int kMaxToFill = kLargestLimit + 1;

/// Supplies key names only; lint sends its requests itself.
class KeyNames final : public traffic::Traffic {
 public:
  bool next(traffic::Arrival& /*arrival*/) override { return false; }
  std::string_view key_name(std::uint32_t key) const override { return key == 0 ? "ann" : "bob"; }
  std::int64_t size() const override { return 0; }
};

/// Refuses a call without its exact words: "no findings" would prove nothing.
void require_exact(const ldb::Call& call, const std::string& place) {
  if (!call.raw) return;
  throw ProblemError(
      {.status = ExitStatus::kRejected,
       .code = "unprepared",
       .message = place + " leaves no room for what observes its calls: Lua allows 200 local "
                          "variables and 60 upvalues in a function",
       .hint = "use fewer variables"});
}

/// One attempt to observe a script.
class Observer {
 public:
  Observer(const Subject& subject, Connector& connector, const Invocation& invocation)
      : subject_(subject),
        connector_(connector),
        invocation_(invocation),
        debuggee_(subject.debuggee),
        script_(traffic::make_script(subject.candidate, names_, "", {.virtual_clock = false})),
        connection_(connector.open()) {
    if (subject.candidate.foreign && !subject.candidate.foreign->setup.empty()) {
      setup_ = traffic::make_script(subject.candidate, names_, "");
      setup_->load(connection_);
    }
    traffic::ScriptServer server(connection_);
    auto accepted = traffic::load_accepted(server, debuggee_.source, subject.debuggee.name);
    debuggee_.source = std::move(accepted.source);
    // An unknown flag is a finding.
    if (lua::unknown_flags(debuggee_.shown).empty()) change_ = std::move(accepted.change);
    const auto& limit = subject.candidate.limits.front();
    seen_.source = debuggee_.shown;
    seen_.limit = std::max(limit.limit, limit.burst.value_or(0));
    seen_.window = limit.window;
    seen_.refill = microseconds(std::llround(static_cast<double>(limit.window.count()) *
                                             static_cast<double>(limit.burst_or_limit()) /
                                             static_cast<double>(limit.limit)));
    start_ = rlctl::lint::start_of_traffic(limit.window);
    tick_ = rlctl::lint::shortest_gap(limit.window);
  }

  /// The requests of light traffic alone.
  void send_once() {
    begin_run();
    send_main_traffic();
  }

  void observe() {
    send_once();
    check_replies();
    if (doubts_.empty()) {
      send_in_two_parts();
      send_costs();
      if (!is_held_up()) run_probes();
      if (!is_held_up()) watch_growth();
    } else {
      not_tested_.push_back({"retries, idle gaps, costs and figures", doubts_.front()});
    }
  }

  /// Whether keys may have expired by real time, so that the tests of the expiry prove nothing.
  bool is_held_up() const noexcept { return has_lost_keys_ && slowest_ >= seen_.window / 10; }

  Observed take() {
    if (is_held_up()) {
      seen_.probed = {};
      seen_.cause.reset();
      seen_.growth = {};
      figures_seen_ = {};
      conduct_.clear();
      doubts_.clear();
      not_tested_.clear();
      tested_.resize(1);  // what the main traffic showed
      not_tested("retries, idle gaps, costs, figures and what grows",
                 "requests took longer than the TTLs; try again, or use a longer window");
    }
    Observed observed{.requests = number_ + probes_sent_,
                      .tested = std::move(tested_),
                      .not_tested = std::move(not_tested_)};
    note_scaling(subject_, observed);
    if (!change_.empty()) observed.warnings.push_back(std::move(change_));
    std::move(doubts_.begin(), doubts_.end(), std::back_inserter(observed.warnings));
    return observed;
  }

  Observation& seen() { return seen_; }
  const rlctl::lint::AnswerObservation& figures() const { return figures_seen_; }
  const std::vector<rlctl::lint::Finding>& conduct() const { return conduct_; }

 private:
  using Index = std::size_t;  ///< of a request

  void send_main_traffic() {
    using std::chrono::hours;
    const auto window = seen_.window;
    if (fill(start_)) test_zero_wait();
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
    tested_.push_back(
        fmt::format("requests at one instant, through a window of {}, and {} later; two clients",
                    period_text(window), span_text(later)));
  }

  /// Sends the last request, which was denied, again in a fork, where a key with a TTL has one of
  /// 0, and notes whether it is allowed then by the same calls.
  void test_zero_wait() {
    const auto& denied = seen_.requests.back();
    if (std::ranges::none_of(denied.calls, rlctl::lint::reads_ttl)) return;
    const auto source = debuggee_.source;
    debuggee_.source =
        with_calls(source,
                   "local reply = f(name, ...) if type(reply) == 'number' and reply > 0 and "
                   "string.find(n, '^p?ttl$') then return 0 end return reply ");
    Request request{.at = denied.at, .keys = denied.keys, .arguments = denied.arguments};
    const auto result = trace({.at = denied.at}, request, ldb::Mode::kForked);
    debuggee_.source = source;
    const auto commands_of = [](const Request& each) {
      std::vector<std::string> commands;
      for (const auto& call : each.calls) {
        if (!rlctl::lint::reads_ttl(call)) commands.push_back(rlctl::lint::command_of(call));
      }
      return commands;
    };
    if (result.ending != Ending::kReturned || commands_of(request) != commands_of(denied)) return;
    try {
      if (!script_->parse(*result.reply, {.at = denied.at}, number_).allowed) return;
      seen_.zero_wait = seen_.requests.size() - 1;
    } catch (const redis::Error&) {  // a reply that cannot be read allows nothing
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
      doubts_.push_back(
          "nothing was allowed: see --allowed-when for how to read the reply" +
          (cut_from_ ? fmt::format("; Redis cut the reply {} to 0", *cut_from_) : std::string()));
    } else if (is_denied(0)) {
      doubts_.emplace_back(
          "the reply may be inverted: the first request was denied, and a later one was "
          "allowed; see --allowed-when");
    } else if (!any_denied && !delays_) {
      doubts_.emplace_back(
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

  /// Sends what the debugger is too slow for, and then has it name the lines of what that showed.
  void run_probes() {
    ProbeRequest request{
        .start = start_, .tick = tick_, .ttls = seen_ttls(), .costs = subject_.costs};
    begin_run();
    auto connection = connector_.open();
    const auto make_trial_within = [&](const traffic::Candidate& candidate,
                                       microseconds tolerance) {
      auto limiter = std::make_unique<LimiterTrial>();
      limiter->script = traffic::make_script(candidate, limiter->keys, "");
      auto trial = std::make_unique<rlctl::adversary::ScriptTrial>(
          connection, *limiter->script,
          rlctl::adversary::StateScope{.server = connector_.private_server(),
                                       .ttl_tolerance = tolerance});
      limiter->script_trial = trial.get();
      limiter->trial = std::move(trial);
      return limiter;
    };
    const auto make_trial = [&](const traffic::Candidate& candidate) {
      return make_trial_within(candidate, microseconds{0});
    };
    auto probed = probe(subject_, make_trial, request);
    seen_.probed = probed.flaws;
    probes_sent_ = probed.requests;
    const auto probe_again = [&](const Subject& changed) -> std::optional<Probed> {
      try {
        auto again = probe(changed, make_trial, request);
        probes_sent_ += again.requests;
        return again;
      } catch (const UsageError&) {
      } catch (const redis::Error&) {  // replies to its requests may be unread
        begin_run();
        connection = connector_.open();
      }
      return std::nullopt;
    };
    seen_.cause = find_cause(subject_, probed, time_stored_in(seen_) != nullptr, probe_again);
    tested_.insert(tested_.end(), probed.tested.begin(), probed.tested.end());
    if (!probed.fills.empty()) {
      const auto usual = make_trial(subject_.candidate);
      const auto careful = make_trial_within(subject_.candidate, kTtlStep);
      judge_figures(probed.fills, *usual->trial, *careful->trial);
    }
    const bool is_known = !doubts_.empty() || seen_.is_denied_for_ever || seen_.cause;  // why
    for (const auto& [what, why] : probed.not_tested) {
      if (is_known) {
        not_tested_.push_back({what, why});
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

  /// Compares the figures in the replies with the answers to later requests.
  void judge_figures(const std::map<std::int64_t, Fill>& fills, rlctl::adversary::Trial& usual,
                     rlctl::adversary::Trial& careful) {
    const auto ask_of = [this](rlctl::adversary::Trial& trial) -> Ask {
      return
          [this, &trial](const rlctl::adversary::Schedule& schedule) -> rlctl::adversary::Answers {
            probes_sent_ += std::ssize(schedule);
            try {
              return trial.run({&schedule, 1}).front();
            } catch (const redis::Error& error) {
              if (error.failure() != redis::Failure::kRejected || !has_cost_other_than_1(schedule))
                throw;
              connector_.private_server()->remove_keys();
              return {};
            }
          };
    };
    const auto ask = ask_of(usual), certain = ask_of(careful);
    const auto& limit = subject_.candidate.limits.front();
    const auto count = static_cast<std::size_t>(rlctl::lint::requests_at_once(limit));
    const auto at_once = allowed_from(ask(joined({}, start_, 1, count)), 0);
    rlctl::lint::Figures figures(limit, ask, certain);
    if (const auto& script = subject_.candidate.foreign) {
      if (script->reading.retry_after) figures.expect(rlctl::lint::kWait);
      if (script->reading.remaining) figures.expect(rlctl::lint::kRemaining);
      if (script->reading.reset_after) figures.expect(rlctl::lint::kReset);
    }
    figures.check(fills, at_once, figures_seen_, tested_, not_tested_);
    std::vector<NotTested> unknown;
    conduct_ =
        rlctl::lint::judge_conduct(rlctl::lint::profile_of(subject_.candidate, subject_.all_costs),
                                   at_once, certain, tested_, unknown);
    for (const auto& [what, why] : unknown) not_tested(what, why);
  }

  /// The sizes after so many requests. No virtual time passes for keys with TTLs that are not among
  /// KEYS: their bytes prove nothing, nor do the calls then.
  static Sizes sizes_of(redis::Connection& connection, const traffic::Script& script,
                        double requests) {
    Sizes sizes;
    const auto counts = redis::read_call_counts(connection).value();
    const auto hash = script.key_of_ttls().value_or("");
    const auto keys = connection.call({"KEYS", "*"});
    bool are_known = true;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto key = keys[i].text();
      const bool is_known = connection.call({"PTTL", key}).integer() == -1 ||
                            connection.call({"HEXISTS", hash, key}).integer() == 1;
      are_known &= is_known;
      if (key == hash || !is_known) continue;
      sizes[{"", std::string(key)}] =
          as_double(connection.call({"MEMORY", "USAGE", key, "SAMPLES", "0"}).integer());
    }
    if (!are_known) return sizes;
    for (const auto& [command, calls] : counts) sizes[{command, ""}] = as_double(calls) / requests;
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
    auto connection = connector_.open();
    const auto script = traffic::make_script(subject_.candidate, names_, "");
    traffic::ScriptDecider decider(connection, *script);
    decider.send_one_at_a_time();
    std::int64_t sent = 0;
    auto at = start_;
    const auto send = [&](microseconds length) {
      std::vector<traffic::Arrival> arrivals;
      for (const auto end = at + length; at < end; at += gap) {
        arrivals.push_back({.at = at, .cost = cost});
      }
      std::vector<limiter::Decision> decisions(arrivals.size());
      connection.call({"CONFIG", "RESETSTAT"});
      decider.decide(arrivals, decisions);
      sent += std::ssize(arrivals);
      return sizes_of(connection, *script, as_double(std::ssize(arrivals)));
    };
    auto &half = seen_.growth.half, &whole = seen_.growth.whole;
    auto& span = seen_.growth.span;
    span = kWindows * limit.window;
    whole = send(span);
    const bool are_known = !whole.empty() && !whole.rbegin()->first.first.empty();
    for (int round = 0; !whole.empty(); ++round) {
      const bool has_loops = !whole.rbegin()->first.first.empty();
      if (round >= kRounds && sent >= (has_loops ? kEnoughLoops : kEnough)) break;
      half = std::exchange(whole, send(span));
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
      const auto pause = latest_ - start_ + std::chrono::hours{25};
      decider.set_ttl_slack(2 * pause);
      at += pause;
      auto later = send(kWindows * limit.window);
      std::erase_if(whole, [&](auto& each) { return later[each.first] < kLess * each.second; });
    }
    probes_sent_ += sent;
    tested_.push_back(fmt::format(
        "a client that asks slightly more often than the limit allows, for {}: whether {} grow",
        span_text(span), are_known ? "keys or calls" : "keys in KEYS or without TTLs"));
  }

  void not_tested(std::string_view finding, std::string_view why) {
    doubts_.push_back(fmt::format("not tested: {}: {}", finding, why));
    not_tested_.push_back({std::string(finding), std::string(why)});
  }

  /// Empties the database: the next requests are a run of their own.
  void begin_run() {
    ++run_;
    known_.clear();
    connector_.private_server()->remove_keys();
    if (setup_) setup_->restart();
    aging_.emplace(connection_, traffic::KeyAging::kHashName, script_->may_read_ttl());
  }

  /// Lets virtual time pass for all keys of this run; real time passes from now on.
  void age(microseconds to) {
    const std::vector<std::string_view> keys(known_.begin(), known_.end());
    if (aging_->advance(to, keys)) finish_aging();
  }

  void finish_aging() {
    const auto reply = connection_.read();
    traffic::KeyAging::require_done(reply);
    has_lost_keys_ |= traffic::KeyAging::is_late(reply);
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
    invocation_.interrupt.check();
    progress_.update(fmt::format("{}: {} requests; Ctrl-C stops", debuggee_.name, number_));
    const traffic::Arrival arrival{.at = at, .key = key, .cost = cost};
    const auto call = script_->call(arrival);
    ++number_;
    Request request{.run = run_,
                    .client = static_cast<int>(key),
                    .at = at,
                    .keys = {call.keys.begin(), call.keys.end()},
                    .arguments = {call.arguments.begin(), call.arguments.end()}};
    known_.insert(request.keys.begin(), request.keys.end());
    const auto begin = Clock::now();
    age(at);
    if (setup_) prepare(arrival);
    const auto result = trace(arrival, request);
    require_returned(result, arrival);
    if (result.returned && result.returned->kind == ldb::Value::Kind::kNumber &&
        result.reply->type() == redis::ReplyType::kInteger && result.reply->integer() == 0) {
      cut_from_ = result.returned->number;
    }
    try {
      const auto decision = script_->parse(*result.reply, arrival, number_);
      request.allowed = decision.allowed;
      delays_ |= decision.delay.count() > 0;
    } catch (const redis::Error& error) {
      throw script_->with_request(error, arrival, number_);
    }
    look_at_keys(request);
    slowest_ = std::max(slowest_, Clock::now() - begin);
    seen_.requests.push_back(std::move(request));
    return seen_.requests.size() - 1;
  }

  /// Sends what --setup says, and makes virtual time pass for the keys that have TTLs from it.
  void prepare(const traffic::Arrival& arrival) {
    if (!traffic::prepare(*setup_, connection_, arrival)) return;
    const auto keys = connection_.call({"HKEYS", traffic::KeyAging::kHashName});
    for (std::size_t i = 0; i < keys.size(); ++i) known_.emplace(keys[i].text());
    known_.erase(traffic::KeyAging::kHashName);
    age(arrival.at);
  }

  ldb::TraceResult trace(const traffic::Arrival& arrival, Request& request,
                         ldb::Mode mode = ldb::Mode::kSync) {
    debuggee_.keys = request.keys;
    debuggee_.arguments = request.arguments;
    ldb::TraceOptions options{.now = arrival.at};
    if (invocation_.connection.timeout) options.limits.step = connector_.timeout();
    return ldb::trace(
        debuggee_, mode, [this] { return connector_.open(); }, options,
        [&](const ldb::TracedLine& line) {
          for (const auto& call : line.calls) {
            require_exact(call, debuggee_.name);
            request.calls.push_back({.line = line.line, .words = call.words});
            if (!call.failed()) request.calls.back().reply = call.reply;
          }
          invocation_.interrupt.check();
        });
  }

  void require_returned(const ldb::TraceResult& result, const traffic::Arrival& arrival) {
    const bool is_returned = result.ending == Ending::kReturned;
    const auto& foreign = subject_.candidate.foreign;
    if (is_returned &&
        (!result.reply->is_error() || (foreign && is_denial(*result.reply, foreign->reading)))) {
      return;
    }
    const auto place = result.error_line > 0
                           ? fmt::format("{}:{}", debuggee_.name, result.error_line)
                           : debuggee_.name;
    if (result.ending == Ending::kCutOff) {
      const bool is_long = result.lines >= ldb::TraceOptions().max_steps;
      throw ProblemError(
          {.status = ExitStatus::kRejected,
           .code = "cut_off",
           .message = fmt::format("{}: request {} {}", place, number_,
                                  is_long ? fmt::format("was cut off after {} lines", result.lines)
                                          : "did not end: " + result.message),
           .hint = is_long
                       ? "if the script ends after more, use arguments with which its loops are "
                         "shorter; see where it loops with rlctl debug"
                       : "the script may never end: step through it with rlctl debug; if it is "
                         "slow, use a longer --timeout"});
    }
    auto message = result.message;
    std::string hint;
    if (result.ending == Ending::kReturned) {
      const auto reply = redis::to_error(*result.reply);
      message = ldb::with_source_lines(reply.what(), result.text_lines);
      hint = traffic::hint_at_denial(reply);
    }
    const redis::Error error(redis::Failure::kRejected, place + ": " + message, {}, hint);
    if (result.ending == Ending::kCompileError) throw error;
    throw script_->with_request(error, arrival, number_);
  }

  bool writes(const std::string& command) {
    const auto name = lower_case(command);
    const auto found = writes_.find(name);
    if (found != writes_.end()) return found->second;
    const auto reply = connection_.call({"COMMAND", "INFO", name});
    bool is_write = false;
    if (reply.size() == 1 && reply[0].size() > 2) {
      const auto flags = reply[0][2];
      for (std::size_t i = 0; i < flags.size(); ++i) is_write |= flags[i].text() == "write";
    }
    return writes_[name] = is_write;
  }

  /// An error means that the command has no keys.
  std::vector<std::string> keys_of(const std::vector<std::string>& words) {
    std::vector<std::string_view> command{"COMMAND", "GETKEYS"};
    command.insert(command.end(), words.begin(), words.end());
    const auto reply = connection_.call(redis::Arguments(command));
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < reply.size(); ++i) keys.emplace_back(reply[i].text());
    return keys;
  }

  void look_at_keys(Request& request) {
    std::set<std::string> written;
    for (auto& call : request.calls) {
      if (call.words.empty() || !call.reply) continue;
      call.keys = keys_of(call.words);
      call.writes = writes(call.words.front());
      known_.insert(call.keys.begin(), call.keys.end());
      if (call.writes) written.insert(call.keys.begin(), call.keys.end());
    }
    for (const auto& key : written) {
      const auto ttl = connection_.call({"PTTL", key}).integer();
      constexpr std::int64_t kAbsent = -2, kForever = -1;
      if (ttl == kAbsent) continue;
      request.left.push_back({.key = key, .expires = ttl != kForever});
    }
    // Real time stops for all keys of this run, also for those that were not known before:
    // otherwise that of all requests of one instant adds up.
    age(request.at);
    if (aging_->pause()) finish_aging();
  }

  const Subject& subject_;
  Connector& connector_;
  const Invocation& invocation_;
  Progress progress_{is_terminal(STDERR_FILENO)};
  ldb::Debuggee debuggee_;
  std::string change_;  ///< what was changed in the script so that the server accepts it
  std::vector<std::string> doubts_;  ///< what could not be tested, and why
  std::vector<std::string> tested_;
  std::vector<NotTested> not_tested_;
  KeyNames names_;
  std::unique_ptr<traffic::Script> script_;
  std::unique_ptr<traffic::Script> setup_;  ///< null without --setup
  redis::Connection connection_;
  std::optional<traffic::KeyAging> aging_;
  std::set<std::string> known_;         ///< all keys of this run
  std::map<std::string, bool> writes_;  ///< by command
  std::int64_t number_ = 0;             ///< of the last request, from 1
  std::int64_t probes_sent_ = 0;        ///< the requests that went past the debugger
  int run_ = 0;
  std::optional<double> cut_from_;  ///< a reply of 0 was this number in the script
  bool delays_ = false;             ///< a request was allowed with a delay
  /// Keys may have expired by real time: see traffic::KeyAging::is_late().
  bool has_lost_keys_ = false;
  Clock::duration slowest_{0};  ///< the real time that the slowest request took
  microseconds start_{0}, tick_{0};
  microseconds latest_{0};  ///< when nothing may count any more
  Observation seen_;
  rlctl::lint::AnswerObservation figures_seen_;
  std::vector<rlctl::lint::Finding> conduct_;
};

}  // namespace

Observed observe(const Subject& subject, Connector& connector, const Invocation& invocation) {
  // A busy machine can make keys whose TTL is about to end expire during a request, even within the
  // script, since time goes on under the debugger; or the script takes so long.
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const bool is_last = attempt == kAttempts;
    std::vector<Request> unscaled;
    Subject typed = subject;
    if (subject.unscaled) typed.candidate.limits.front() = *subject.unscaled;
    Observer observer(subject, connector, invocation);
    try {
      if (subject.unscaled) {
        Observer light(typed, connector, invocation);
        light.send_once();
        unscaled = std::move(light.seen().requests);
      }
      observer.observe();
    } catch (const redis::Error& error) {
      if (error.failure() != redis::Failure::kRejected || is_last) throw;
      continue;
    }
    if (observer.is_held_up() && !is_last) continue;
    auto observed = observer.take();
    for (auto& request : unscaled) {
      request.run = -request.run;  // no other request is of its run
      request.allowed.reset();     // another limit decided it
      observer.seen().requests.push_back(std::move(request));
    }
    observed.findings = find_flaws(observer.seen());
    std::ranges::move(find_flaws(observer.figures()), std::back_inserter(observed.findings));
    std::ranges::copy(observer.conduct(), std::back_inserter(observed.findings));
    return observed;
  }
}

}  // namespace rlctl::cli::lint
