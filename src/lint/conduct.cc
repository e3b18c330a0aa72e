#include "lint/conduct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "adversary/probes.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::lint {
namespace {

using adversary::Answers;
using adversary::Schedule;
using std::chrono::microseconds;

/// What each row knows and asks.
struct Examination {
  const Profile& profile;
  std::int64_t at_once;  ///< requests of cost 1 that are allowed at one instant
  const Ask& ask;
  microseconds start;

  microseconds window() const { return profile.limit.window; }
  /// Whether some requests of one instant are allowed, and others denied.
  bool is_denied_at_once() const {
    return at_once > 0 && at_once < requests_at_once(profile.limit);
  }
  /// The schedule, and then a request each `gap` for eight windows.
  Schedule asking_each(microseconds gap, Schedule schedule = {}) const {
    for (auto at = gap; at <= 8 * window(); at += gap) schedule.push_back({.at = start + at});
    return schedule;
  }
  /// Requests of cost 1 of a client, one more than are allowed at one instant.
  Schedule filling(std::uint32_t client) const {
    const auto count = static_cast<std::size_t>(at_once) + 1;
    return Schedule(count, {.at = start, .client = client});
  }
};

/// The rows return a finding, or std::nullopt if nothing is wrong or nothing can be said.
using Verdict = std::optional<Finding>;

bool is_delayed(const Answers& answers) {
  return std::ranges::any_of(answers,
                             [](const auto& answer) { return answer.delay > microseconds{0}; });
}

// ---- The limit ----

Verdict judge_limit(const Examination& exam) {
  const auto& limit = exam.profile.limit;
  const auto promised = limit.burst_or_limit(), got = exam.at_once;
  if (!exam.profile.has_limit) return std::nullopt;
  const auto schedule = exam.filling(0);
  const auto answers = exam.ask(schedule);
  // A queue lets the first one through at once, and holds the limit besides.
  if (got == promised || answers.empty() || is_delayed(answers)) return std::nullopt;
  return Finding{
      .name = "wrong-limit",
      .severity = Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("{} {} allowed at one instant, not {}.", counted(got, "request"),
                            got == 1 ? "was" : "were", promised),
      .fix = got > promised
                 ? "deny what would make more than the limit, and count the first "
                   "request as well"
                 : fmt::format("allow as many as the limit says; or pass --head 'burst {}' if "
                               "so many at once are meant",
                               got),
      .may_follow = !exam.is_denied_at_once()};
}

// ---- A client that asks too often ----

Verdict judge_refill(const Examination& exam) {
  const auto unit = exam.window() / exam.profile.limit.limit;
  const auto full = exam.filling(0);
  // A bucket lets in again as soon as one unit is there; a window, or a ban, takes longer. A bucket
  // of one unit rightly loses what refills while it is full.
  const auto soon = exam.ask(joined(full, exam.start + unit * 3 / 2, 1));
  if (exam.at_once < 2 || soon.empty() || !soon.back().allowed) return std::nullopt;
  const auto slow = unit * 10 / 11, fast = unit / 12;
  if (fast == microseconds{0}) return std::nullopt;
  const auto schedule = exam.asking_each(slow, full);
  const auto answers = exam.ask(schedule), others = exam.ask(exam.asking_each(fast, full));
  if (answers.empty() || others.empty()) return std::nullopt;
  const auto sent = std::ssize(answers) - std::ssize(full);
  const auto got = allowed_from(answers, full.size()), most = allowed_from(others, full.size());
  if (3 * got >= 2 * std::min(most, sent)) return std::nullopt;
  return Finding{
      .name = "lost-refill",
      .severity = Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("A part of what refills is lost: a client that asks each {} was "
                            "allowed {}, and one that asks each {}, in the same time, {}.",
                            span_text(slow), counted(got, "request"), span_text(fast), most),
      .fix = "when whole units are added, advance the stored time by what those took, not to now"};
}

Verdict judge_fair_share(const Examination& exam) {
  constexpr int kPercent = 80;
  // With a smaller limit, a correct limiter that estimates the last window may deny as many.
  constexpr std::int64_t kLeast = 5;
  // A client that is denied more often in a row has met a second limit.
  constexpr std::int64_t kLongest = 3;
  const auto& limit = exam.profile.limit;
  if (!exam.profile.has_limit || exam.at_once != limit.burst_or_limit() || limit.limit < kLeast) {
    return std::nullopt;
  }
  const auto unit = exam.window() / limit.limit;
  const auto gap = unit + unit / 50 + microseconds{1};
  const auto schedule = exam.asking_each(gap);
  const auto answers = exam.ask(schedule);
  std::int64_t longest = 0, denied = 0;
  for (const auto& answer : answers) {
    denied = answer.allowed ? 0 : denied + 1;
    longest = std::max(longest, denied);
  }
  const auto got = allowed_from(answers, 0);
  if (longest > kLongest || 100 * got >= kPercent * std::ssize(answers)) return std::nullopt;
  return Finding{
      .name = "lost-refill",
      .severity = Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("A client that asks each {}, less often than the limit says, was "
                            "allowed {} of {} requests.",
                            span_text(gap), got, answers.size()),
      .fix = "compute what has refilled without rounding the rate to whole numbers"};
}

// ---- A second client ----

Verdict judge_second_client(const Examination& exam) {
  if (exam.profile.is_global && !exam.profile.has_client) return std::nullopt;
  // Denials of the first may count against all.
  constexpr std::int64_t kTries = 4;
  auto schedule = exam.filling(0);
  schedule.insert(schedule.end(), static_cast<std::size_t>(kTries * exam.at_once),
                  schedule.front());
  const auto first = schedule.size();
  const auto other = exam.filling(1);
  schedule.insert(schedule.end(), other.begin(), other.end());
  const auto answers = exam.ask(schedule);
  const auto got = allowed_from(answers, first), usual = allowed_from(exam.ask(other), 0);
  if (answers.empty() || got >= usual) return std::nullopt;
  const bool is_global = exam.profile.is_global;
  return Finding{
      .name = "shared-limit",
      .severity = is_global ? Severity::kNote : Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("Once one client has reached the limit, another is allowed {}, not {}.",
                            counted(got, "request"), usual),
      .fix = is_global ? "if the limit is for each client, put {key} into each of --keys"
                       : "count each client in a key of its own, which the request names"};
}

// ---- A clock that is ahead ----

Verdict judge_future_clock(const Examination& exam) {
  if (!exam.profile.has_time) return std::nullopt;
  const auto found = adversary::find_clock_ahead(exam.profile.limit, exam.start, exam.ask);
  if (!found) return std::nullopt;
  return Finding{
      .name = "future-clock",
      .severity = Severity::kNote,
      .what = schedule_text(found->schedule, found->answers),
      .detail = fmt::format("One request whose clock is {} ahead locks out those whose clocks "
                            "are right: of {}, {} {} allowed, and without it {}.",
                            span_text(found->ahead), found->answers.size() - 1, found->allowed,
                            found->allowed == 1 ? "was" : "were", found->usual),
      .fix = "let the limiter take the server's time (TIME), not that of each client"};
}

// ---- Costs ----

/// The cost of the first request that was allowed though less is left.
std::optional<std::int64_t> excess_of(const Schedule& schedule, const Answers& answers,
                                      std::int64_t most) {
  auto left = most;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].allowed) continue;
    if (schedule[i].cost > left) return schedule[i].cost;
    // A refund gives back no more than was taken.
    left = std::min(left - schedule[i].cost, most);
  }
  return std::nullopt;
}

/// Schedules that end before a unit refills.
std::vector<Schedule> schedules_of_costs(const Examination& exam) {
  const auto start = exam.start,
             later = start + std::min(shortest_gap(exam.window()),
                                      exam.window() / exam.profile.limit.limit / 2);
  const auto most = static_cast<std::size_t>(exam.at_once);
  std::vector<Schedule> same, mixed;
  auto costs = exam.profile.costs;
  costs.insert(costs.end(), {exam.at_once, exam.at_once + 1});
  for (const auto cost : costs) {
    if (cost > 1) {
      same.push_back(joined({}, start, cost, most + 1));
      mixed.push_back(joined(joined(joined({}, start, 1, most - 1), start, cost), later, cost));
    } else if (cost < 0) {
      mixed.push_back(joined(joined({}, start, cost), start, 1, most + 1));
      const auto refunded = joined(joined({}, start, 1, most + 1), start, cost, most + 1);
      mixed.push_back(joined(refunded, start, 1, most + 1));
    }
  }
  same.insert(same.end(), mixed.begin(), mixed.end());
  return same;
}

Verdict judge_units(const Examination& exam) {
  for (const auto& schedule : schedules_of_costs(exam)) {
    const auto answers = exam.ask(schedule);
    const auto cost = excess_of(schedule, answers, exam.at_once);
    if (!cost || is_delayed(answers)) continue;
    const bool is_same = schedule.front().cost == schedule.back().cost;
    const bool is_ignored = is_same && allowed_from(answers, 0) == exam.at_once;
    return Finding{
        .name = is_ignored ? "ignored-cost" : "wrong-cost",
        .severity = is_ignored ? Severity::kNote : Severity::kCritical,
        .what = schedule_text(schedule, answers),
        .detail =
            is_ignored
                ? fmt::format("A request of cost {} counts as cost 1.", *cost)
                : fmt::format("A request of cost {} was allowed although fewer of {} were left.",
                              *cost, counted(exam.at_once, "unit")),
        .fix = is_ignored ? "count the cost; or use --head 'cost 1' if there is no other"
                          : "compare what is counted with the cost added, not without it; a refund "
                            "gives back no more than was taken"};
  }
  return std::nullopt;
}

/// Some time after all that a schedule took is there again, between two units that refill.
microseconds end_of(const Examination& exam) {
  const auto& limit = exam.profile.limit;
  const auto unit = exam.window() / limit.limit;
  return exam.start + std::max(exam.window(), unit * limit.burst_or_limit()) + unit / 2 + kTtlStep;
}

/// Compares a schedule with the same one without its looks, which are requests of cost 0. The
/// others cost 1.
Verdict judge_looks(const Examination& exam, const Schedule& schedule) {
  const auto is_look = [](const auto& request) { return request.cost == 0; };
  const auto with_cost = [&](std::int64_t cost) {
    auto changed = schedule;
    for (auto& request : changed) request.cost = is_look(request) ? cost : request.cost;
    return exam.ask(changed);
  };
  const auto answers_to_others = [&](const Answers& answers) {
    std::vector<bool> allowed;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!is_look(schedule[i])) allowed.push_back(answers[i].allowed);
    }
    return allowed;
  };
  auto others = schedule;
  std::erase_if(others, is_look);
  const auto answers = exam.ask(schedule), usual = exam.ask(others);
  if (answers.empty() || usual.empty()) return std::nullopt;
  const auto after = answers_to_others(answers);
  const auto allowed = std::ranges::count(after, true), usually = allowed_from(usual, 0);
  // If denied requests do the same, that is another finding.
  const bool is_of_denials =
      allowed < usually && answers_to_others(with_cost(exam.at_once + 1)) == after;
  if (allowed == usually || is_of_denials) return std::nullopt;
  const bool is_one = with_cost(1) == answers;
  return Finding{
      .name = "wrong-cost",
      .severity = is_one ? Severity::kNote : Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = is_one ? "A request of cost 0 counts as cost 1."
                       : fmt::format("A request of cost 0 changes what follows. Without it: {}.",
                                     schedule_text(others, usual)),
      .fix = "let a request of cost 0 change nothing, not even a TTL, or refuse it"};
}

/// Compares a schedule with the same one without its request of more than is left.
Verdict judge_too_large(const Examination& exam) {
  auto schedule = exam.filling(0);
  const auto usual = allowed_from(exam.ask(schedule), 0);
  schedule.insert(schedule.begin() + 1, joined({}, exam.start, exam.at_once).front());
  const auto answers = exam.ask(schedule);
  const bool is_denied = answers.size() > 2 && !answers[1].allowed;
  if (!is_denied || allowed_from(answers, 0) >= usual) return std::nullopt;
  return Finding{
      .name = "wrong-cost",
      .severity = Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("A request of cost {} was denied, but took what was left. Without it, "
                            "{} of cost 1 are allowed.",
                            exam.at_once, counted(usual, "request")),
      .fix = "count a request only if it is allowed"};
}

Verdict judge_costs(const Examination& exam) {
  if (exam.profile.costs.empty()) return std::nullopt;
  if (auto finding = judge_units(exam)) return finding;
  if (auto finding = judge_too_large(exam)) return finding;
  const auto full = static_cast<std::size_t>(exam.at_once) + 1;
  const auto third = exam.window() / 3, end = end_of(exam);
  const auto first = joined({}, exam.start, 0), filled = joined(first, exam.start, 1, full);
  // Looks with the first request and at a full limit, and one before any request.
  const auto looks = joined(joined(filled, exam.start + third, 0), exam.start + 2 * third, 0);
  auto finding = judge_looks(exam, joined(looks, end, 1, full));
  return finding ? finding : judge_looks(exam, joined(first, end, 1, full));
}

struct Row {
  std::string_view tested;  ///< what is sent
  Verdict (*judge)(const Examination& exam);
};
constexpr std::array kRows{
    Row{"one request more than the limit at one instant", judge_limit},
    Row{"clients that ask slightly more often than what refills, and far more often", judge_refill},
    Row{"a client that asks for slightly less than the limit", judge_fair_share},
    Row{"a second client after one that has reached the limit", judge_second_client},
    Row{"a request whose clock is ahead by a second, a window, an hour", judge_future_clock},
    Row{"costs of 0, of more than is left, and above the limit, unless an error refuses them",
        judge_costs},
};

}  // namespace

Profile profile_of(const script::Candidate& candidate, std::vector<std::int64_t> costs) {
  Profile profile{.limit = candidate.limits.front(), .costs = std::move(costs)};
  if (!candidate.foreign) return profile;
  const auto any = [](const std::vector<script::Template>& words, auto holds) {
    return std::ranges::any_of(words, holds);
  };
  const auto& [keys, arguments] = std::tie(candidate.foreign->keys, candidate.foreign->arguments);
  const auto limits = [](const auto& word) { return word.holds("limit") || word.holds("burst"); };
  const auto times = [](const auto& word) { return !word.times().empty(); };
  const auto clients = [](const auto& word) { return word.holds("key"); };
  profile.has_limit = any(keys, limits) || any(arguments, limits);
  profile.has_time = any(keys, times) || any(arguments, times);
  profile.is_global = !std::ranges::all_of(keys, clients);
  profile.has_client = any(keys, clients) || any(arguments, clients);
  return profile;
}

std::vector<Finding> judge_conduct(const Profile& profile, std::int64_t at_once, const Ask& ask,
                                   std::vector<std::string>& tested,
                                   std::vector<NotTested>& not_tested) {
  std::vector<Finding> findings;
  bool is_answered = false;
  const Ask ask_noting = [&](const Schedule& schedule) {
    auto answers = ask(schedule);
    is_answered |= !answers.empty();
    return answers;
  };
  const Examination exam{.profile = profile,
                         .at_once = at_once,
                         .ask = ask_noting,
                         .start = start_of_traffic(profile.limit.window)};
  const std::span all(kRows);
  if (!exam.is_denied_at_once()) {
    not_tested.push_back(
        {"a second client, clocks that are ahead, costs",
         fmt::format("at one instant, {} requests were allowed", at_once == 0 ? "no" : "all")});
  }
  // The first row, about the limit, needs no denials.
  for (const auto& row : exam.is_denied_at_once() ? all : all.first(1)) {
    if (auto finding = row.judge(exam)) findings.push_back(std::move(*finding));
    if (std::exchange(is_answered, false)) tested.emplace_back(row.tested);
  }
  const auto most = std::min(profile.limit.limit, profile.limit.burst_or_limit());
  if (!profile.has_limit && at_once < most) {
    not_tested.push_back(
        {"the limit " + limiter::format_limit(profile.limit),
         fmt::format("denied after {}, not {}: its own limit differs, or the burst is missing",
                     counted(at_once, "request"), most)});
  }
  return findings;
}

}  // namespace rlctl::lint
