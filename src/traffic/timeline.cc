#include "traffic/timeline.h"

#include <algorithm>

namespace rlctl::traffic {
namespace {

void add_to(Timeline::Bin& bin, const Timeline::Bin& more) {
  bin.allowed += more.allowed;
  bin.denied += more.denied;
}

}  // namespace

/// Two neighbours become one.
void Timeline::widen() {
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Bin bin = bins_[i];
    bins_[i] = {};
    add_to(bins_[i / 2], bin);
  }
  bins_.resize((bins_.size() + 1) / 2);
  width_ *= 2;
  ++width_bits_;
}

void Timeline::begin_at(microseconds at) {
  begin_ = end_ = at;
  bins_.resize(1);
}

void Timeline::add(microseconds at, bool allowed, std::int64_t count) {
  if (bins_.empty()) begin_at(at);
  end_ = std::max(end_, at);
  const auto past_us = static_cast<std::uint64_t>((at - begin_).count());
  while (past_us >> width_bits_ >= kMost) widen();
  const auto index = static_cast<std::size_t>(past_us >> width_bits_);
  if (index >= bins_.size()) bins_.resize(index + 1);
  (allowed ? bins_[index].allowed : bins_[index].denied) += count;
}

std::vector<Timeline::Bin> Timeline::resampled(microseconds from, microseconds to,
                                               std::size_t count) const {
  std::vector<Bin> result(count);
  if (count == 0) return result;
  const auto share = static_cast<double>(count) / static_cast<double>((to - from).count() + 1);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto first = begin_ + width_ * static_cast<std::int64_t>(i);
    const auto last = std::min(first + width_ - microseconds{1}, end_);
    const auto middle = first + (last - first) / 2;
    if (middle < from || middle > to) continue;
    const auto at = static_cast<double>((middle - from).count()) * share;
    add_to(result[std::min(static_cast<std::size_t>(at), count - 1)], bins_[i]);
  }
  return result;
}

}  // namespace rlctl::traffic
