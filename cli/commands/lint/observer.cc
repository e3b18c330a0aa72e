#include "cli/commands/lint/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "lint/calls.h"
#include "lua/shebang.h"
#include "redis/error.h"
#include "traffic/pattern.h"

namespace rlctl::cli::lint {
namespace {

using ldb::Ending;
using std::chrono::microseconds;

/// The most requests sent to reach the limit, at one instant and again one tick apart.
constexpr int kMaxToFill = 100;
/// The traffic begins this part of a window after the window, and its ticks are no longer.
constexpr int kPartOfWindow = 16;

/// Supplies key names only; lint sends its requests itself.
class KeyNames final : public traffic::Traffic {
 public:
  [[nodiscard]] bool next(traffic::Arrival& /*arrival*/) override { return false; }
  [[nodiscard]] std::string_view key_name(std::uint32_t key) const override {
    return key == 0 ? "ann" : "bob";
  }
  [[nodiscard]] std::int64_t size() const override { return 0; }
};

/// The script cannot be observed exactly, so that "no findings" would prove nothing.
ProblemError not_observable(const std::string& place) {
  return ProblemError(
      {.status = ExitStatus::kRejected,
       .code = "unprepared",
       .message = place + " leaves no room for what observes its calls: Lua allows 200 local "
                          "variables and 60 upvalues in a function",
       .hint = "use fewer variables"});
}

std::vector<std::string> strings(redis::Arguments words) {
  return {words.begin(), words.end()};
}

std::vector<std::string_view> views(const std::set<std::string>& words) {
  return {words.begin(), words.end()};
}

}  // namespace

Observer::Observer(const Subject& subject, Connector& connector, const Invocation& invocation,
                   Progress& progress)
    : subject_(subject),
      connector_(connector),
      invocation_(invocation),
      progress_(progress),
      debuggee_{.name = subject.place, .source = subject.runnable, .shown = subject.source},
      traffic_(std::make_unique<KeyNames>()),
      script_(traffic::make_script(subject.candidate, *traffic_, "",
                                   {.virtual_clock = false, .registers_made_keys = false})),
      connection_(connector.open()) {
  auto accepted = traffic::load_accepted(connection_, debuggee_.source, subject.place);
  debuggee_.source = std::move(accepted.source);
  // An unknown flag is a finding.
  if (lua::unknown_flags(subject.source).empty()) change_ = std::move(accepted.change);
  const auto& limit = subject.candidate.limits.front();
  seen_.source = subject.source;
  seen_.limit = std::max(limit.limit, limit.burst.value_or(0));
  seen_.window = limit.window;
}

Observation Observer::observe() {
  // Early in a window of the clock, at a time with six decimals.
  constexpr microseconds kDecimals{123'457}, kMillisecond{1000};
  const auto window = seen_.window;
  start_ = traffic::window_from(traffic::PatternRequest{}.start, window) + window / kPartOfWindow;
  if (window >= 4 * kDecimals) start_ += kDecimals;
  tick_ = std::min(kMillisecond, window / kPartOfWindow);
  // A busy machine can make keys whose TTL is about to end expire during a request, even within the
  // script, since time goes on under the debugger; or the script takes so long.
  constexpr microseconds kSafeWindow{1'000'000};
  constexpr int kAttempts = 5;
  const auto unseen = seen_;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    seen_ = unseen;
    doubts_.clear();
    allowed_.reset();
    delays_ = is_held_up_ = false;
    number_ = 0;
    try {
      observe_once();
    } catch (const redis::Error& error) {
      if (error.failure() != redis::Failure::kRejected || attempt + 1 == kAttempts) throw;
      continue;
    }
    if (!is_held_up_ || window >= kSafeWindow) break;
  }
  if (is_held_up_ && window < kSafeWindow) {
    seen_.early_expiry.reset();
    seen_.counted_denial.reset();
    doubts_.clear();
    not_tested("short-ttl, denied-write",
               "requests took longer than the TTLs; try again, or use a longer window");
  }
  return std::move(seen_);
}

void Observer::observe_once() {
  begin_run();
  send_main_traffic();
  check_replies();
  if (doubts_.empty()) {
    test_early_expiry();
    test_denials();
    check_limit();
  }
}

void Observer::send_main_traffic() {
  using std::chrono::hours;
  const auto window = seen_.window;
  if (fill(start_)) allowed_ = filled_;
  send(start_);
  send(start_ + microseconds{1});
  for (const auto after : {tick_, window / 4, window / 2, window - tick_, window + tick_}) {
    send(start_ + after);
  }
  send(start_ + window + tick_, 1);
  send(start_ + window + 2 * tick_, 1);
  constexpr int kWindows = 100;
  const auto later = std::min({window * kWindows + hours{2}, kLatestInstant - start_ - tick_});
  seen_.is_denied_for_ever = is_denied(send(start_ + later));
  send(start_ + later + tick_);
  send(start_ + later + tick_, 1);
}

/// Notes a doubt if no request was denied or the replies look inverted: denials then prove nothing.
void Observer::check_replies() {
  const auto& requests = seen_.requests;
  const auto is_allowed = [](const Request& each) { return each.allowed == true; };
  const bool any_allowed = std::any_of(requests.begin(), requests.end(), is_allowed);
  const bool any_denied = !std::all_of(requests.begin(), requests.end(), is_allowed);
  if (!any_allowed) {
    doubts_.emplace_back("nothing was allowed: see --allowed-when for how to read the reply");
  } else if (is_denied(0)) {
    doubts_.emplace_back(
        "the reply may be inverted: the first request was denied, and a later one was "
        "allowed; see --allowed-when");
  } else if (!any_denied && seen_.limit >= kMaxToFill) {
    doubts_.emplace_back(
        "nothing was denied, since the traffic does not reach the limit: use a smaller --limit");
  } else if (!any_denied && !delays_) {
    doubts_.emplace_back(
        "nothing was denied: the script's limit is not --limit, or --allowed-when does not fit "
        "the reply");
  }
  if (any_allowed && !is_denied(0)) return;
  for (auto& request : seen_.requests) request.allowed.reset();
}

/// The key of this run that expires first, by the last command that set its TTL.
std::optional<EarlyExpiry> Observer::first_expiry() const {
  std::map<std::string, EarlyExpiry> keys;
  for (Index i = 0; i < seen_.requests.size(); ++i) {
    const auto& request = seen_.requests[i];
    if (request.run != run_) continue;
    for (const auto& call : request.calls) {
      const auto ttl = rlctl::lint::ttl_set_by(call);
      if (!ttl) continue;
      const auto from = ttl->is_absolute ? microseconds{0} : request.at;
      const microseconds end{
          from + microseconds(std::llround(ttl->value * static_cast<double>(ttl->unit.count())))};
      for (const auto& key : call.keys) keys[key] = {i, key, end - request.at, end, ttl->unit};
    }
  }
  const auto first = std::min_element(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.second.end < b.second.end;
  });
  return first == keys.end() ? std::nullopt : std::optional(first->second);
}

/// Finds out whether a key expires while what it holds still counts.
void Observer::test_early_expiry() {
  // A counter of a window of the clock rightly expires at its end, in a whole unit, whenever it
  // began; another TTL may end there once by chance.
  for (const auto from : {start_, start_ + seen_.window / 4}) {
    begin_run();
    if (!fill(from)) return not_tested("short-ttl", why_not_full());
    const auto first = first_expiry();
    if (!first) return;
    if (first->end % seen_.window > first->unit) return test_expiry(*first, from);
  }
}

/// Tests the expiry of a key by a request after it, once as it is and once with the key kept.
void Observer::test_expiry(const EarlyExpiry& first, microseconds from) {
  const auto latest = from + seen_.window - tick_;
  auto then = first.end + tick_;
  if (then > latest) return;
  // Virtual TTLs are rounded up.
  for (auto step = tick_; then <= latest && !is_gone(first.key, then); step *= 2) then += step;
  if (then > latest) {
    return not_tested("short-ttl",
                      fmt::format("{} expires only {} before the window ends", in_quotes(first.key),
                                  span_text(from + seen_.window - first.end)));
  }
  if (is_denied(send(then))) return;
  begin_run();
  const auto count = seen_.requests.size();
  if (fill(from)) {
    for (const auto& key : known_) static_cast<void>(ask({"PERSIST", key}));
    forget_ttls();
    if (is_denied(send(then))) seen_.early_expiry = first;
  }
  seen_.requests.resize(count);  // the script has not left these keys without a TTL
}

/// Finds out whether denied requests count: by a request a window after the limit was reached, once
/// with denied ones before it and once without.
void Observer::test_denials() {
  constexpr std::string_view kName = "denied-write";
  begin_run();
  if (!fill(start_)) return not_tested(kName, why_not_full());
  // Sooner than a limiter that forgets one request at a time allows the next; but the window of the
  // allowed requests must end well before that of the denied ones.
  const auto filling = seen_.requests.back().at - start_;
  // As many as were allowed fill the limit, if it is that of the script, or less.
  const auto count = std::clamp<std::int64_t>(filled_, 1, seen_.limit);
  const auto gap = std::max(seen_.window / (2 * count), 2 * (filling + tick_));
  if (gap > seen_.window / 2) {
    return not_tested(kName, "the window is too short for the limit; use a longer one");
  }
  const auto then = start_ + seen_.window + gap / 2;
  const auto step = std::min(tick_, gap / count);
  const auto first = send(start_ + gap);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_denied(seen_.requests.size() - 1)) {
      if (seen_.early_expiry) return;  // that is why
      return not_tested(kName, fmt::format("{} after the limit was reached, a request was allowed",
                                           span_text(seen_.requests.back().at - start_)));
    }
    send(start_ + gap + i * step);
  }
  const bool is_locked_out = is_denied(send(then));
  begin_run();
  if (!fill(start_)) return not_tested(kName, why_not_full());
  if (!is_denied(send(then)) && is_locked_out) seen_.counted_denial = first;
}

/// A script with a limit of its own, lower than the one that it is tested for, shows little of what
/// it would do at that one.
void Observer::check_limit() {
  const auto& limit = subject_.candidate.limits.front();
  const auto at_once = std::min(limit.limit, limit.burst_or_limit());
  if (!allowed_ || *allowed_ >= at_once) return;
  doubts_.push_back(
      fmt::format("denied after {}, not {}: the limit is not --limit, or --burst is missing",
                  counted(*allowed_, "request"), at_once));
}

void Observer::not_tested(std::string_view finding, std::string_view why) {
  doubts_.push_back(fmt::format("not tested: {}: {}", finding, why));
}

std::string_view Observer::why_not_full() const {
  if (delays_) return "requests are delayed, not denied";
  return "nothing was denied at one instant";
}

// ---- Requests ----

void Observer::begin_run() {
  ++run_;
  known_.clear();
  static_cast<void>(ask({"FLUSHALL"}));
  forget_ttls();
}

/// Restarts virtual time: TTLs are now those that Redis has.
void Observer::forget_ttls() {
  static_cast<void>(ask({"UNLINK", traffic::KeyAging::kHashName}));
  aging_.emplace(connection_, traffic::KeyAging::kHashName, script_->may_read_ttl());
}

/// Lets virtual time pass for all keys of this run; real time passes from now on.
void Observer::age(microseconds to) {
  if (aging_->advance(to, views(known_))) finish_aging();
}

/// Real time stops for all keys of this run: otherwise that of all requests of one instant adds up.
void Observer::protect_keys(microseconds at) {
  age(at);  // for keys that were not known before
  if (aging_->pause()) finish_aging();
}

void Observer::finish_aging() {
  const auto reply = connection_.read();
  traffic::KeyAging::require_done(reply);
  is_held_up_ |= traffic::KeyAging::is_late(reply);
}

bool Observer::is_gone(const std::string& key, microseconds at) {
  age(at);
  return ask({"EXISTS", key}).integer() == 0;
}

bool Observer::fill(microseconds at) {
  const auto max = std::min<std::int64_t>(seen_.limit + 1, kMaxToFill);
  filled_ = 0;
  for (const auto step : {microseconds{0}, tick_}) {
    for (std::int64_t i = 0; i < max; ++i, ++filled_, at += step) {
      if (is_denied(send(at))) return true;
    }
  }
  return false;
}

Observer::Index Observer::send(microseconds at, std::uint32_t key) {
  invocation_.interrupt.check();
  progress_.update(fmt::format("{}: {} requests; Ctrl-C stops", subject_.place, number_));
  const traffic::Arrival arrival{.at = at, .key = key};
  const auto call = script_->call(arrival);
  ++number_;
  Request request{.run = run_,
                  .client = static_cast<int>(key),
                  .at = at,
                  .keys = strings(call.keys),
                  .arguments = strings(call.arguments)};
  known_.insert(request.keys.begin(), request.keys.end());
  age(at);
  const auto result = trace(arrival, request);
  require_returned(result, arrival);
  try {
    const auto decision = script_->parse(*result.reply, arrival, number_);
    request.allowed = decision.allowed;
    delays_ |= decision.delay.count() > 0;
  } catch (const redis::Error& error) {
    throw script_->with_question(error, arrival, number_);
  }
  look_at_keys(request);
  seen_.requests.push_back(std::move(request));
  return seen_.requests.size() - 1;
}

ldb::TraceResult Observer::trace(const traffic::Arrival& arrival, Request& request) {
  debuggee_.keys = request.keys;
  debuggee_.arguments = request.arguments;
  ldb::TraceOptions options{.max_steps = subject_.max_steps, .now = arrival.at};
  if (invocation_.connection.timeout) options.limits.step = connector_.timeout();
  return ldb::trace(
      debuggee_, ldb::Mode::kSync, [this] { return connector_.open(); }, options,
      [&](const ldb::TracedLine& line) {
        for (const auto& call : line.calls) {
          if (call.raw) throw not_observable(subject_.place);
          request.calls.push_back({.line = line.line, .words = call.words});
          if (!call.failed()) request.calls.back().reply = call.reply;
        }
        invocation_.interrupt.check();
      });
}

void Observer::require_returned(const ldb::TraceResult& result, const traffic::Arrival& arrival) {
  if (result.ending == Ending::kReturned && !result.reply->is_error()) return;
  const auto place = result.error_line > 0 ? fmt::format("{}:{}", subject_.place, result.error_line)
                                           : subject_.place;
  if (result.ending == Ending::kCutOff && result.lines >= subject_.max_steps) {
    throw ProblemError(
        {.status = ExitStatus::kRejected,
         .code = "cut_off",
         .message =
             fmt::format("{}: request {} was cut off after {} lines", place, number_, result.lines),
         .hint = "if the script ends after more, use a larger --max-steps, or arguments with which "
                 "its loops are shorter; see where it loops with rlctl debug"});
  }
  if (result.ending == Ending::kCutOff) {
    throw ProblemError(
        {.status = ExitStatus::kRejected,
         .code = "cut_off",
         .message = fmt::format("{}: request {} did not end: {}", place, number_, result.message),
         .hint = "the script may never end: step through it with rlctl debug; if it "
                 "is slow, use a longer --timeout"});
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
  throw script_->with_question(error, arrival, number_);
}

// ---- What the server knows ----

redis::Reply Observer::ask(const std::vector<std::string>& words) {
  const std::vector<std::string_view> command(words.begin(), words.end());
  auto reply = connection_.call(redis::Arguments(command));
  return reply;
}

bool Observer::writes(const std::string& command) {
  const auto name = lower_case(command);
  const auto found = writes_.find(name);
  if (found != writes_.end()) return found->second;
  const auto reply = ask({"COMMAND", "INFO", name});
  bool is_write = false;
  if (reply.size() == 1 && reply[0].size() > 2) {
    const auto flags = reply[0][2];
    for (std::size_t i = 0; i < flags.size(); ++i) is_write |= flags[i].text() == "write";
  }
  return writes_[name] = is_write;
}

/// An error means that the command has no keys.
std::vector<std::string> Observer::keys_of(const std::vector<std::string>& words) {
  std::vector<std::string> command{"COMMAND", "GETKEYS"};
  command.insert(command.end(), words.begin(), words.end());
  const auto reply = ask(command);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < reply.size(); ++i) keys.emplace_back(reply[i].text());
  return keys;
}

void Observer::look_at_keys(Request& request) {
  std::set<std::string> written;
  for (auto& call : request.calls) {
    if (call.words.empty() || !call.reply) continue;
    call.keys = keys_of(call.words);
    call.writes = writes(call.words.front());
    known_.insert(call.keys.begin(), call.keys.end());
    if (call.writes) written.insert(call.keys.begin(), call.keys.end());
  }
  for (const auto& key : written) {
    const auto ttl = ask({"PTTL", key}).integer();
    constexpr std::int64_t kAbsent = -2, kForever = -1;
    if (ttl == kAbsent) continue;
    request.left.push_back({.key = key, .expires = ttl != kForever});
  }
  protect_keys(request.at);
}

}  // namespace rlctl::cli::lint
