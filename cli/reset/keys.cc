#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/inspect_hint.h"
#include "cli/reset/session.h"
#include "cli/warning.h"
#include "limiter/key_family.h"

namespace rlctl::cli {
namespace {

using limiter::LeftReason;
using limiter::ResetOutcome;
using limiter::ResetResult;

/// A key as it was asked for.
struct AskedKey {
  std::string key;
  std::vector<std::string> redis_keys;  ///< it, and those that several limits of it may have
};

std::vector<AskedKey> make_asked_keys(const ResetPlan& plan, const Invocation& invocation) {
  const Limiter* limiter = plan.limiter ? &*plan.limiter : nullptr;
  const auto limits = limiter ? limiter->limits : std::vector<limiter::Limit>{};
  std::vector<AskedKey> asked;
  for (auto& key : asked_keys(limiter, invocation.operands)) {
    AskedKey each{.key = key, .redis_keys = {key}};
    for (auto& derived : limiter::redis_keys(key, limits)) {
      if (derived != key) each.redis_keys.push_back(std::move(derived));
    }
    asked.push_back(std::move(each));
  }
  if (asked.empty()) {
    throw UsageError("no KEY is given", "rlctl reset KEY, or rlctl reset --match PATTERN");
  }
  return asked;
}

/// Nobody has said which limits the keys have: whatever is there of several is theirs.
void add_families(redis::Connection& connection, std::vector<AskedKey>& asked, Progress& progress) {
  std::vector<std::string> keys;
  for (const auto& each : asked) keys.push_back(each.key);
  const auto families = limiter::find_families(
      connection, keys, [&](double share) { progress.update(share, "the database"); });
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i].redis_keys.insert(asked[i].redis_keys.end(), families[i].begin(), families[i].end());
  }
}

std::string what_it_holds(const ResetOutcome& outcome) {
  if (outcome.reason == LeftReason::kChanging) {
    return "others wrote it each time before it could be removed";
  }
  if (outcome.reason == LeftReason::kForeign) {
    return "it holds " + std::string(outcome.form->summary) + ", and may be another program's";
  }
  if (outcome.reason == LeftReason::kUncertain) {
    return "it holds a list of numbers, and may be another program's";
  }
  return "it holds " + limiter::with_article(outcome.type) + " that is no limiter's state";
}

/// Tells what became of the Redis keys, a line each in the order in which they were asked for; of a
/// key of which nothing was there, one line with its own name.
class KeysReport {
 public:
  KeysReport(std::vector<AskedKey> asked, ResetReport& report)
      : asked_(std::move(asked)), report_(report) {
    std::unordered_set<std::string> seen;
    for (const auto& each : asked_) {
      for (const auto& key : each.redis_keys) {
        if (seen.insert(key).second) redis_keys_.push_back(key);
      }
      ends_.push_back(redis_keys_.size());
    }
  }

  /// All of them, none twice.
  [[nodiscard]] const std::vector<std::string>& redis_keys() const { return redis_keys_; }

  /// The next one's.
  void add(const ResetOutcome& outcome) {
    ++outcomes_;
    if (outcome.result != ResetResult::kNone) {
      there_.insert(std::string(outcome.key));
      report_.add(outcome);
    }
    if (outcome.reason && left_++ == 0) {
      first_left_key_ = outcome.key;
      first_left_ = "'" + std::string(outcome.key) + "': " + what_it_holds(outcome);
    }
    force_helps_ = force_helps_ || (outcome.reason && outcome.reason != LeftReason::kChanging);
    for (; told_ < asked_.size() && ends_[told_] <= outcomes_; ++told_) tell(asked_[told_]);
  }

  /// Once all are told. Throws ProblemError where one was left.
  [[nodiscard]] ExitStatus finish() const {
    if (left_ == 0) return missing_ > 0 ? ExitStatus::kDenied : ExitStatus::kDone;
    throw ProblemError(
        {.status = ExitStatus::kRejected,
         .code = "left",
         .message = (left_ == 1 ? "left " : count_of_keys(left_) + " were left; the first is ") +
                    first_left_,
         .hint = force_helps_ ? inspect_hint(first_left_key_) + "; --force would remove " +
                                    (left_ == 1 ? "it" : "all of them") + " all the same"
                              : "try again"});
  }

 private:
  void tell(const AskedKey& asked) {
    const bool there = std::any_of(asked.redis_keys.begin(), asked.redis_keys.end(),
                                   [&](const auto& key) { return there_.contains(key); });
    if (there) return;
    if (++missing_ == 1 && asked.key.find_first_of("*?[") != asked.key.npos) {
      warn("warning: a KEY is taken as it is; --match takes a pattern", "reset");
    }
    report_.add({.key = asked.key, .result = ResetResult::kNone});
  }

  std::vector<AskedKey> asked_;
  ResetReport& report_;
  std::vector<std::string> redis_keys_;
  std::vector<std::size_t> ends_;  ///< behind the Redis keys of each that was asked for
  std::unordered_set<std::string> there_;
  std::size_t outcomes_ = 0, told_ = 0, left_ = 0, missing_ = 0;
  std::string first_left_, first_left_key_;
  bool force_helps_ = false;
};

}  // namespace

ExitStatus reset_keys(const ResetPlan& plan, Invocation& invocation) {
  auto asked = make_asked_keys(plan, invocation);
  ResetSession session(plan, invocation);
  auto connection = session.connector.open();
  if (!plan.limiter) {
    session.search([&] { add_families(connection, asked, session.progress); });
  }
  KeysReport keys(std::move(asked), session.report);
  session.run(
      connection, plan.dry_run, [&](const ResetOutcome& outcome) { keys.add(outcome); },
      [&](limiter::Resetter& resetter) { resetter.reset(keys.redis_keys()); });
  return keys.finish();
}

}  // namespace rlctl::cli
