#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/exhaustive.h"
#include "adversary/holdings.h"
#include "adversary/schedule.h"
#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

// The search for the schedules of acquires, renewals and releases under which more leases are held
// than the limit allows, or a slot is lost. Holders come late, repeat themselves, release what they
// do not hold, or die. `adversary --concurrency` is this search, with a random part or with
// --exhaustive; lint calls it too.

namespace rlctl::adversary {

/// A schedule with new holders at its end, who ask for all leases at one instant, long after
/// everybody else is gone: `settles` after the last lease that its last event may have given.
Schedule with_probe(Schedule schedule, const limiter::Limit& limit, microseconds settles);

/// See search_holdings(). Throws UsageError if the tries are too few for the limit.
HoldingSearchResult search_leases(Trial& trial, const HoldingSearch& request,
                                  const Interrupt& interrupt,
                                  const OnSearchProgress& on_progress = {});
/// See search_all_holdings().
HoldingSearchResult search_all_leases(Trial& trial, const HoldingSearch& request, int events,
                                      const Interrupt& interrupt,
                                      const OnExhaustiveProgress& on_progress = {});

/// A trial of the model of `concurrency`.
class LeaseModelTrial final : public Trial {
 public:
  explicit LeaseModelTrial(const limiter::Limit& limit) : limit_(limit) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::vector<std::string> contents() const override { return contents_; }

 private:
  limiter::Limit limit_;
  std::vector<std::string> contents_;
};

}  // namespace rlctl::adversary
