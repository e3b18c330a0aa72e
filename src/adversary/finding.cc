#include "adversary/finding.h"

namespace rlctl::adversary {

bool tells_less_than(const Finding& one, const Finding& other, microseconds window) {
  if (one.score.worst != other.score.worst) return one.score.worst < other.score.worst;
  const auto digits = margin_digits(one.score, window);
  const auto other_digits = margin_digits(other.score, window);
  if (digits != other_digits) return digits < other_digits;
  return one.schedule.size() > other.schedule.size();
}

void Leads::keep_denial(const Finding& candidate, bool is_smaller) {
  if (candidate.score.wrongly_denied.empty()) return;
  if (wrongly_denied) {
    const bool is_minor = candidate.score.only_at_edge();
    const bool was_minor = wrongly_denied->score.only_at_edge();
    if (is_minor != was_minor ? is_minor : !is_smaller) return;
  }
  wrongly_denied = candidate;
}

void Leads::keep_beyond_rounding(const Score& score, const limiter::Limit& limit,
                                 microseconds rounding) {
  const auto known = beyond_rounding ? beyond_rounding->worst : limit.limit;
  const bool is_rounded = limit.window - score.worst_span < rounding;
  if (score.worst > known && !is_rounded) beyond_rounding = score;
}

}  // namespace rlctl::adversary
