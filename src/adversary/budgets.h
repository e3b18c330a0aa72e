#pragma once

#include <chrono>
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

// The search for the schedules of reserves and settles under which a reserve brings what is spent
// and held above the limit, or units are lost. Reservations cost less or more than their units, are
// settled late, twice or never, and are asked for again. `adversary --reserve` is this
// search, with a random part or with --exhaustive; lint calls it too.

namespace rlctl::adversary {

/// See search_holdings(). The search has units, at most the limit, and a hold.
HoldingSearchResult search_budgets(Trial& trial, const HoldingSearch& search,
                                   const Interrupt& interrupt,
                                   const OnSearchProgress& on_progress = {});
/// See search_all_holdings().
HoldingSearchResult search_all_budgets(Trial& trial, const HoldingSearch& search, int events,
                                       const Interrupt& interrupt,
                                       const OnExhaustiveProgress& on_progress = {});

/// A trial of the model of `budget`.
class BudgetModelTrial final : public Trial {
 public:
  explicit BudgetModelTrial(const limiter::Limit& limit) : limit_(limit) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::vector<std::string> contents() const override { return contents_; }

 private:
  limiter::Limit limit_;
  std::vector<std::string> contents_;
};

}  // namespace rlctl::adversary
