#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/lint/plan.h"
#include "cli/commands/lint/probes.h"
#include "cli/server/programs.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "exec/program.h"
#include "lint/answers.h"
#include "lint/calls.h"
#include "lint/conduct.h"
#include "lint/figures.h"

namespace rlctl::cli::lint {
namespace {

using limiter::Decision;
using rlctl::adversary::Answers;
using rlctl::adversary::Schedule;
using rlctl::lint::allowed_from;
using rlctl::lint::Ask;
using rlctl::lint::joined;
using rlctl::lint::kSecond;
using rlctl::lint::schedule_text;
using std::chrono::microseconds;

/// Asks a program, and shows how many requests it has answered.
class WatchedProgram final : public simulation::ForgetfulDecider {
 public:
  /// The references must outlive this.
  WatchedProgram(const script::Candidate& candidate, const traffic::Traffic& names,
                 const exec::Settings& settings, Progress& progress, std::int64_t& requests)
      : candidate_(candidate),
        decider_(candidate_, names, settings),
        progress_(progress),
        requests_(requests) {}
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<Decision> decisions) override {
    progress_.update(
        fmt::format("{}: {} requests; Ctrl-C stops", script::name_of(candidate_), requests_));
    requests_ += std::ssize(arrivals);
    return decider_.decide(arrivals, decisions);
  }
  void forget() override { decider_.forget(); }
  void finish() override { decider_.finish(); }
  std::vector<exec::ServerCommand> commands_of(const traffic::Arrival& arrival) {
    ++requests_;
    return decider_.commands_of(arrival);
  }

 private:
  script::Candidate candidate_;
  exec::ProgramDecider decider_;
  Progress& progress_;
  std::int64_t& requests_;
};

/// The commands of one request that read a key, and then write it, in words, if nothing makes the
/// two one: no script, transaction, watch or lock.
std::optional<std::string> split_update(const std::vector<exec::ServerCommand>& commands) {
  struct Read {
    int unit = 0;
    std::string text = {};
  };
  int unit = 0;                             // the number of the command, script or transaction
  std::map<std::string, int> transactions;  // by client
  std::map<std::string, Read> reads;        // by key
  std::set<std::string> protected_keys;
  std::optional<std::string> lock;
  const auto deletes = [&commands](const std::string& key) {
    return std::ranges::any_of(commands, [&key](const auto& each) {
      const auto name = lower_case(each.words.front());
      return (name == "del" || name == "unlink") && std::ranges::count(each.keys, key) > 0;
    });
  };
  for (const auto& [client, words, keys, writes] : commands) {
    const rlctl::lint::Call call{.words = words, .keys = keys, .writes = writes};
    const auto name = command_of(call);
    if (client != "lua") ++unit;
    if (name == "multi") transactions[client] = unit;
    if (name == "exec" || name == "discard") transactions.erase(client);
    const int unit_of_call = transactions.contains(client) ? transactions[client] : unit;
    const bool is_conditional =
        name.ends_with("setnx") || (name == "set" && std::ranges::any_of(words, [](auto& word) {
                                      return lower_case(word) == "nx" || lower_case(word) == "ifeq";
                                    }));
    for (const auto& key : keys) {
      const auto read = reads.find(key);
      if (is_conditional) {
        reads.erase(key);
        if (deletes(key)) lock = key;
      } else if (name == "watch") {
        protected_keys.insert(key);
      } else if (!writes) {
        if (reads_ttl(call) || protected_keys.contains(key) || lock.value_or(key) != key) continue;
        reads[key] = {.unit = unit_of_call, .text = text_of(call)};
      } else if (!is_upkeep(call)) {
        if (read != reads.end() && read->second.unit != unit_of_call) {
          return fmt::format("{}, then {}", read->second.text, text_of(call));
        }
        // A request that counts first may read afterwards.
        if (name.find("set") == name.npos) protected_keys.insert(key);
      }
    }
  }
  return std::nullopt;
}

/// Finds out what the answers of a program tell besides what probe() does.
class ProgramObserver {
 public:
  ProgramObserver(const Subject& subject, const exec::Settings& settings)
      : subject_(subject),
        settings_(settings),
        limit_(subject.candidate.limits.front()),
        window_(limit_.window),
        start_(rlctl::lint::start_of_traffic(window_)),
        tick_(rlctl::lint::shortest_gap(window_)) {
    seen_.window = window_;
  }

  Observed observe() {
    limiter_ = make_trial_(subject_.candidate);
    if (can_be_judged()) {
      auto probed =
          probe(subject_, make_trial_, {.start = start_, .tick = tick_, .costs = subject_.costs});
      seen_.probed = probed.flaws;
      fills_ = std::move(probed.fills);
      observed_.tested = std::move(probed.tested);
      find_endless_denials();
      for (auto& [what, why] : probed.not_tested) {
        if (!seen_.denied_for_ever) skip(std::move(what), std::move(why));
      }
      if (!fills_.empty()) run_own_probes();
    }
    find_split_updates();
    limiter_->finish();
    progress_.clear();
    observed_.requests = requests_;
    observed_.findings = find_flaws(seen_);
    std::ranges::move(conduct_, std::back_inserter(observed_.findings));
    return std::move(observed_);
  }

 private:
  void skip(std::string what, std::string why) {
    observed_.warnings.push_back(fmt::format("not tested: {}: {}", what, why));
    observed_.not_tested.push_back({std::move(what), std::move(why)});
  }

  /// Whether the program denies what exceeds the limit, and nothing else; if not, says so.
  bool can_be_judged() {
    const auto count = rlctl::lint::requests_at_once(limit_);
    std::optional<Answers> first;
    for (const auto step : {microseconds{0}, tick_}) {
      Schedule schedule;
      for (std::int64_t i = 0; i < count; ++i) schedule.push_back({.at = start_ + i * step});
      const auto answers = ask_(schedule);
      const auto allowed = allowed_from(answers, 0);
      if (!first) at_once_ = allowed;
      if (allowed == 0) return doubt("nothing was allowed");
      if (!answers.front().allowed) {
        return doubt("the first request was denied, and a later one was allowed");
      }
      if (allowed == count) {
        first = answers;
        continue;
      }
      if (ask_(schedule) != answers) {
        return doubt("the same requests got different answers when they were sent again");
      }
      return follows_time(schedule);
    }
    const auto delays = [](const auto& answer) { return answer.delay.count() > 0; };
    return doubt(std::ranges::any_of(*first, delays)
                     ? "nothing was denied: requests are only delayed"
                     : "nothing was denied: the program must use the limit of the request");
  }

  bool doubt(std::string why) {
    observed_.warnings.push_back(why);
    observed_.not_tested.push_back({"retries, idle gaps, costs and figures", std::move(why)});
    return false;
  }

  /// The schedule, and one request so late that nothing may count.
  Schedule with_late_request(Schedule schedule, std::int64_t cost) const {
    constexpr int kLateWindows = 100;
    const auto last = schedule.back().at;
    const auto late =
        std::min(window_ * kLateWindows + std::chrono::hours{2}, kLatestInstant - last);
    return joined(std::move(schedule), last + late, cost);
  }

  /// Whether the answers follow the time of the requests, or no clock that rlctl knows of; if they
  /// follow one of the program's own, says so.
  bool follows_time(const Schedule& denied) {
    const auto schedule = with_late_request(denied, 1);
    if (ask_(schedule).back().allowed) return true;
    const auto hint = own_clock_hint(subject_.candidate, settings_, schedule);
    constexpr const char* kUnknown =
        "no time in now_us lets a denied client in, and the program cannot be given a clock";
    return !hint || doubt(hint->empty() ? kUnknown : *hint);
  }

  /// Whether a client is denied so late that nothing may count.
  void find_endless_denials() {
    for (const auto& [cost, fill] : fills_) {
      if (fill.wait || seen_.denied_for_ever) continue;
      const auto schedule = with_late_request(fill.schedule, cost);
      const auto answers = ask_(schedule);
      if (!answers.back().allowed) seen_.denied_for_ever = schedule_text(schedule, answers);
    }
  }

  /// Looks at the commands of single requests, the last of which comes when nothing may count.
  void find_split_updates() {
    auto& program = static_cast<WatchedProgram&>(*limiter_->decider());
    program.forget();
    std::optional<std::string> found;
    bool has_commands = false;
    for (const auto& request : with_late_request(joined({}, start_, 1, 3), 1)) {
      const auto commands = program.commands_of({.at = request.at});
      has_commands |= !commands.empty();
      if (!found) found = split_update(commands);
    }
    if (has_commands) observed_.tested.emplace_back("the commands of requests in Redis");
    if (!found) return;
    conduct_.push_back(
        {.name = "not-atomic",
         .what = *found,
         .detail = "A key is read, and then written by another command. A request that comes "
                   "between them reads the same, and both may be allowed, unless the reply to the "
                   "write decides. lint did not try this race.",
         .fix = "read and write in one script, or decide by the reply to the write"});
  }

  void run_own_probes() {
    const auto& [cost, fill] = *fills_.begin();
    if (fill.wait) {
      find_forgotten(fill, cost);
      find_whole_seconds(fill, cost);
    }
    figures_.check(fills_, at_once_, seen_, observed_.tested, observed_.not_tested);
    std::vector<NotTested> unknown;
    conduct_ =
        rlctl::lint::judge_conduct(rlctl::lint::profile_of(subject_.candidate, subject_.all_costs),
                                   at_once_, ask_any_cost_, observed_.tested, unknown);
    for (auto& [what, why] : unknown) skip(std::move(what), std::move(why));
  }

  // ---- What is forgotten ----

  /// Compares a client that was idle with one that kept asking, and was denied, for as long: if the
  /// first got more than refills, it was forgotten.
  void find_forgotten(const Fill& fill, std::int64_t cost) {
    if (seen_.probed.lock_out || seen_.probed.free_pass) return;  // which may be why
    constexpr int kGaps = 32;
    const auto size = fill.schedule.size();
    const auto full = fill.schedule.back().at;
    const auto step = window_ / kGaps;
    std::vector<microseconds> gaps;
    for (int i = 1; i <= kGaps; ++i) {
      gaps.push_back(step * i / limit_.limit);
      gaps.push_back(step * i - tick_);
    }
    std::ranges::sort(gaps);
    for (const auto gap : gaps) {
      if (gap <= microseconds{0} || gap >= window_) continue;
      const auto idle = joined(fill.schedule, full + gap, cost, size);
      const auto answers = ask_(idle);
      const auto allowed = allowed_from(answers, size);
      const auto refilled = gap.count() * limit_.limit / (window_.count() * cost);
      if (allowed <= refilled) continue;
      auto asking = fill.schedule;
      const auto pause = std::min(step, gap / 2);
      for (auto at = pause; at < gap && pause.count() > 0; at += pause) {
        asking.push_back({.at = full + at, .cost = cost});
      }
      asking = joined(std::move(asking), full + gap, cost, size);
      const auto if_asking = allowed_from(ask_(asking), size);
      if (allowed <= if_asking || ask_(idle) != answers) continue;
      seen_.idle_gap = {.gap = gap,
                        .allowed = allowed,
                        .if_asking = if_asking,
                        .schedule = schedule_text(idle, answers)};
      break;
    }
    observed_.tested.push_back(
        fmt::format("idle gaps of up to {} after the limit was reached, each beside a client that "
                    "kept asking",
                    period_text(window_)));
  }

  // ---- Whole seconds ----

  /// Reaches the limit at several fractions of a second: a clock of whole seconds lets clients in
  /// when a second begins.
  void find_whole_seconds(const Fill& fill, std::int64_t cost) {
    constexpr int kLongest = 100, kTimes = 3;
    // A window of a second begins when one does.
    const bool is_short = window_ < kSecond;
    if (window_ > kLongest * kSecond || (!is_short && window_ < 2 * kSecond)) return;
    if (fill.schedule.front().at != fill.schedule.back().at) return;
    // Within one window of the clock, so that its end is one; or within a second.
    const auto gap = is_short ? microseconds{310'000} : microseconds{1'310'000};
    const auto first = is_short ? start_ / kSecond * kSecond + microseconds{123'457} : start_;
    const auto second_of = [](const auto time) { return time / kSecond; };
    std::vector<microseconds> fulls, ends;
    std::string texts;
    bool is_whole = true;
    for (int i = 0; i < kTimes && is_whole; ++i) {
      const auto later = first + i * gap - start_;
      if (!is_short && later > window_ * 3 / 4) break;
      const auto schedule = rlctl::adversary::shifted(fill.schedule, later);
      const auto wait = figures_.wait_after(schedule, {.cost = cost}, microseconds{0});
      if (!wait) return;
      fulls.push_back(schedule.back().at);
      ends.push_back(fulls.back() + *wait);
      is_whole = ends.back() % kSecond == microseconds{0} &&
                 second_of(ends.back()) - second_of(ends.front()) ==
                     second_of(fulls.back()) - second_of(fulls.front());
      texts +=
          fmt::format("{}full {} after a second began, let in after {}", texts.empty() ? "" : "; ",
                      span_text(fulls.back() % kSecond), span_text(*wait));
    }
    if (is_whole && fulls.size() > 1) seen_.whole_seconds = texts;
    observed_.tested.push_back("reaching the limit at several fractions of a second");
  }

  const Subject& subject_;
  const exec::Settings& settings_;
  const limiter::Limit& limit_;
  microseconds window_, start_, tick_;
  Progress progress_{is_terminal(STDERR_FILENO)};
  std::int64_t requests_ = 0;  ///< that were sent
  MakeTrial make_trial_ = [this](const script::Candidate& candidate) {
    return std::make_unique<LimiterTrial>([&](const traffic::Traffic& names) {
      return std::make_unique<WatchedProgram>(candidate, names, settings_, progress_, requests_);
    });
  };
  std::unique_ptr<LimiterTrial> limiter_;
  std::int64_t at_once_ = 0;  ///< the requests of cost 1 that are allowed at one instant
  std::map<std::int64_t, Fill> fills_;
  Ask ask_ = [this](const Schedule& schedule) {
    return limiter_->trial().run({&schedule, 1}).front();
  };
  /// The same, but without answers if the program refuses a cost other than 1.
  Ask ask_any_cost_ = [this](const Schedule& schedule) -> Answers {
    try {
      return ask_(schedule);
    } catch (const exec::ProgramError&) {
      if (!rlctl::lint::has_cost_other_than_1(schedule)) throw;
      limiter_ = make_trial_(subject_.candidate);
      return {};
    }
  };
  rlctl::lint::Figures figures_{limit_, ask_any_cost_, microseconds{0}};
  rlctl::lint::AnswerObservation seen_;
  std::vector<rlctl::lint::Finding> conduct_;
  Observed observed_;
};

}  // namespace

Observed observe_program(const Subject& subject, const exec::Settings& settings) {
  auto observed = ProgramObserver(subject, settings).observe();
  note_scaling(subject, observed);
  return observed;
}

}  // namespace rlctl::cli::lint
