#include "lint/conduct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
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
  /// Requests of cost 1 of a client, one more than are allowed at one instant.
  Schedule filling(std::uint32_t client) const {
    const auto count = static_cast<std::size_t>(at_once) + 1;
    return Schedule(count, {.at = start, .client = client});
  }
};

/// The rows return a finding, or std::nullopt if nothing is wrong or nothing can be said.
using Verdict = std::optional<Finding>;

// ---- The limit ----

Verdict judge_limit(const Examination& exam) {
  const auto& limit = exam.profile.limit;
  const auto promised = limit.burst_or_limit(), got = exam.at_once;
  if (!exam.profile.has_limit || got == promised) return std::nullopt;
  const auto schedule = exam.filling(0);
  const auto answers = exam.ask(schedule);
  // A queue lets the first one through at once, and holds the limit besides.
  const auto waits = [](const auto& answer) { return answer.delay > microseconds{0}; };
  if (answers.empty() || std::ranges::any_of(answers, waits)) return std::nullopt;
  return Finding{
      .name = "wrong-limit",
      .severity = Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("{} {} allowed at one instant, not {}.", counted(got, "request"),
                            got == 1 ? "was" : "were", promised),
      .fix = got > promised ? "deny what would make more than the limit, and count the first "
                              "request, too"
                            : "allow as many as the limit says: deny only what exceeds it"};
}

// ---- A client that asks too often ----

Verdict judge_refill(const Examination& exam) {
  const auto unit = exam.window() / exam.profile.limit.limit;
  const auto full = exam.filling(0);
  // A bucket lets in again as soon as one unit is there; a window, or a ban, takes longer. A bucket
  // of one unit rightly loses what refills while it is full.
  const auto soon = exam.ask(joined(full, exam.start + unit * 3 / 2, 1));
  if (exam.at_once < 2 || soon.empty() || !soon.back().allowed) return std::nullopt;
  constexpr int kWindows = 8;
  const auto asking_each = [&](microseconds gap) {
    auto schedule = full;
    for (auto at = gap; at <= kWindows * exam.window(); at += gap) {
      schedule.push_back({.at = exam.start + at});
    }
    return schedule;
  };
  const auto slow = unit * 10 / 11, fast = unit / 12;
  if (fast == microseconds{0}) return std::nullopt;
  const auto schedule = asking_each(slow);
  const auto answers = exam.ask(schedule), others = exam.ask(asking_each(fast));
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

// ---- A second client ----

/// What only these requests of a schedule were answered.
std::int64_t allowed_to(const Schedule& schedule, const Answers& answers, std::uint32_t client) {
  std::int64_t allowed = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (schedule[i].client == client && answers[i].allowed) ++allowed;
  }
  return allowed;
}

Verdict judge_second_client(const Examination& exam) {
  if (exam.profile.is_global && !exam.profile.has_client) return std::nullopt;
  auto schedule = exam.filling(0);
  const auto other = exam.filling(1);
  schedule.insert(schedule.end(), other.begin(), other.end());
  const auto answers = exam.ask(schedule);
  const auto got = allowed_to(schedule, answers, 1);
  if (answers.empty() || got == exam.at_once) return std::nullopt;
  const bool is_global = exam.profile.is_global;
  return Finding{
      .name = "shared-limit",
      .severity = is_global ? Severity::kNote : Severity::kCritical,
      .what = schedule_text(schedule, answers),
      .detail = fmt::format("Once one client has reached the limit, another is allowed {}, not {}.",
                            counted(got, "request"), exam.at_once),
      .fix = is_global ? "if the limit is for each client, put {key} into --keys"
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

struct Row {
  std::string_view tested;  ///< what is sent
  Verdict (*judge)(const Examination& exam);
};
constexpr std::array kRows{
    Row{"one request more than the limit at one instant", judge_limit},
    Row{"clients that ask slightly more often than what refills, and far more often", judge_refill},
    Row{"a second client after one that has reached the limit", judge_second_client},
    Row{"a request whose clock is ahead by a second, a window, an hour", judge_future_clock},
};

}  // namespace

Profile profile_of(const traffic::Candidate& candidate) {
  Profile profile{.limit = candidate.limits.front()};
  if (!candidate.foreign) return profile;
  const auto any = [](const std::vector<traffic::Template>& words, auto holds) {
    return std::ranges::any_of(words, holds);
  };
  const auto& [keys, arguments] = std::tie(candidate.foreign->keys, candidate.foreign->arguments);
  const auto limits = [](const auto& word) { return word.holds("limit") || word.holds("burst"); };
  const auto times = [](const auto& word) { return !word.times().empty(); };
  const auto clients = [](const auto& word) { return word.holds("key"); };
  profile.has_limit = any(keys, limits) || any(arguments, limits);
  profile.has_time = any(keys, times) || any(arguments, times);
  profile.is_global = !any(keys, clients);
  profile.has_client = !profile.is_global || any(arguments, clients);
  return profile;
}

std::vector<Finding> judge_conduct(const Profile& profile, std::int64_t at_once, const Ask& ask,
                                   std::vector<std::string>& tested) {
  std::vector<Finding> findings;
  const Examination exam{.profile = profile,
                         .at_once = at_once,
                         .ask = ask,
                         .start = start_of_traffic(profile.limit.window)};
  for (const auto& row : kRows) {
    tested.emplace_back(row.tested);
    if (auto finding = row.judge(exam)) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace rlctl::lint
