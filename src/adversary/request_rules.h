#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/search.h"
#include "adversary/search_engine.h"
#include "traffic/pattern.h"

// The rules of a search for requests: the schedules that are known to make limiters fail
// (schedule.h), random changes to the best of those that were tried, the critical times at which a
// limiter's answer may change, which findings are the worst, and the round times that make a
// schedule easy to read.

namespace rlctl::adversary {

/// The unit of a clock that rounds nothing.
inline constexpr microseconds kExact{1};

/// The requests that it takes to fill the limit with the smallest cost.
std::int64_t most_fills(const SearchRequest& request);
/// The most requests of a random schedule, if `fills` requests fill the limit.
constexpr std::int64_t most_requests(std::int64_t fills) {
  return 4 * fills + 8;
}
/// The latest time of a random request, in windows, unless it waits for a TTL.
inline constexpr std::int64_t kMaxWindows = 8;
/// No request that waits for this TTL is later, after the base.
constexpr microseconds latest_with_ttl(microseconds ttl, const limiter::Limit& limit) {
  return ttl + 2 * limit.window;
}
/// The step of the limiter's clock, if that is fine compared with the window.
microseconds clock_step(const SearchRequest& request);
/// The score of answers, with the most as the limiter's clock sees it.
Score score_of(const Schedule& schedule, const Answers& answers, const SearchRequest& request);

/// What random schedules of requests are like.
struct RandomBounds {
  bool may_step_back = false;
  std::size_t most_requests = 0;
  microseconds latest{0};               ///< no request is later, after the base
  std::vector<microseconds> gaps = {};  ///< mostly between requests
};

class RequestRules final : public Rules {
 public:
  /// The rules for a clock that never steps back, or for one that may; in an exhaustive search, for
  /// every schedule of a few requests. `ttls`: those for which schedules wait, the shortest first.
  /// What the references name must outlive this.
  RequestRules(const SearchRequest& request, bool clock_steps_back,
               std::span<const microseconds> ttls);

  std::vector<Schedule> next_known() override;
  Schedule new_schedule(traffic::Random& random) const override;
  bool learns() const override { return true; }
  void judge(Schedule schedule, Answers answers) override;
  std::int64_t most() const override { return best_.empty() ? 0 : best_.front().score.worst; }
  bool is_done() const override;

  std::vector<Request> requests_after(const Schedule& schedule,
                                      const Answers& answers) const override;
  void begin_after(const Schedule& schedule, const Answers& answers) override;
  bool is_worth_judging(const Request& request, const Answer& answer) const override;

  void simplify(Shrinking& finding) const override;

  /// The findings, without totals.
  SearchResult take_result();

 private:
  std::vector<Schedule> known_schedules() const;
  void add_waiting(std::vector<Schedule>& known) const;
  std::int64_t most_with_ttl(std::int64_t cost) const;
  bool has_no_bound() const;
  bool is_smaller(const Schedule& one, const Schedule& other) const;
  void keep_rounding(const Finding& candidate);
  void keep_early_denial(const Finding& candidate);

  const SearchRequest& request_;
  std::span<const microseconds> ttls_;
  RandomBounds bounds_;
  int known_given_ = 0;        ///< how often next_known() was called
  std::int64_t judged_ = 0;    ///< schedules
  std::vector<Finding> best_;  ///< best first
  SearchResult result_;
  // The schedule that is_worth_judging() extends, and what it leaves.
  const Schedule* before_ = nullptr;
  ExactLog log_{microseconds{0}};  ///< holds its allowed units
  bool has_delay_ = false;
};

}  // namespace rlctl::adversary
