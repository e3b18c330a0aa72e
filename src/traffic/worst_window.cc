#include "traffic/worst_window.h"

#include <iterator>

namespace rlctl::traffic {

/// Drops what no window that ends at `at` holds. What is moved down is never more than what has
/// been dropped, so that each unit is moved once on average.
void WorstWindow::forget_before(microseconds at) {
  while (first_ < recent_.size() && at - recent_[first_].at >= window_) {
    in_window_ -= recent_[first_++].count;
  }
  if (first_ == recent_.size()) {
    recent_.clear();
    first_ = 0;
  } else if (recent_.size() == recent_.capacity() && first_ >= recent_.size() / 2) {
    recent_.erase(recent_.begin(), std::next(recent_.begin(), static_cast<std::ptrdiff_t>(first_)));
    first_ = 0;
  }
}

void WorstWindow::allow(microseconds at, std::int64_t cost) {
  forget_before(at);
  if (!recent_.empty() && recent_.back().at == at) {
    recent_.back().count += cost;
  } else {
    recent_.push_back({at, cost});
  }
  in_window_ += cost;
  if (in_window_ <= most_) return;
  most_ = in_window_;
  from_ = recent_[first_].at;
  span_ = at - from_;
}

}  // namespace rlctl::traffic
