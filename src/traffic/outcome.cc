#include "traffic/outcome.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rlctl::traffic {
namespace {

constexpr std::int64_t kLongestNs = nanoseconds{std::chrono::hours{1}}.count();
/// The significant bits of a duration: the first is always set, so each magnitude has 2^10 buckets.
/// Shorter durations have a bucket for each ns.
constexpr int kBits = 11;
constexpr std::size_t kInMagnitude = std::size_t{1} << (kBits - 1);

std::size_t bucket_of(std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(ns);
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kBits);
  return static_cast<std::size_t>(shift) * kInMagnitude + static_cast<std::size_t>(value >> shift);
}

/// The longest duration in a bucket.
std::int64_t end_of(std::size_t bucket) {
  if (bucket < 2 * kInMagnitude) return static_cast<std::int64_t>(bucket);
  const auto shift = bucket / kInMagnitude - 1;
  const auto first = bucket % kInMagnitude + kInMagnitude;
  return static_cast<std::int64_t>(((first + 1) << shift) - 1);
}

void add_to(Timeline::Bin& bin, const Timeline::Bin& more) {
  bin.allowed += more.allowed;
  bin.denied += more.denied;
}

}  // namespace

void Histogram::add(nanoseconds duration) {
  const auto ns = std::clamp<std::int64_t>(duration.count(), 0, kLongestNs);
  const auto bucket = bucket_of(ns);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  min_ns_ = std::min(min_ns_, ns);
  max_ns_ = std::max(max_ns_, ns);
  sum_ns_ += ns;
  sum_of_squares_ += Wide{ns} * ns;
}

nanoseconds Histogram::min() const noexcept {
  return nanoseconds{count_ == 0 ? 0 : min_ns_};
}

nanoseconds Histogram::max() const noexcept {
  return nanoseconds{max_ns_};
}

double Histogram::mean_ns() const noexcept {
  return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_);
}

/// Sums the squares around the integer part of the mean, in integers: around 0, the difference
/// would lose most of its digits if all durations are alike.
double Histogram::stdev_ns() const noexcept {
  if (count_ == 0) return 0;
  const auto near_mean = sum_ns_ / count_;
  const auto squares =
      sum_of_squares_ - 2 * near_mean * sum_ns_ + Wide{count_} * near_mean * near_mean;
  const auto rest = mean_ns() - static_cast<double>(near_mean);
  const auto variance = static_cast<double>(squares) / static_cast<double>(count_) - rest * rest;
  return std::sqrt(std::max(0.0, variance));
}

std::optional<nanoseconds> Histogram::percentile(double percent) const {
  // In integers, so that 99.9 % of 10,000 is 9,990 and not one more.
  constexpr std::int64_t kAll = 100'000;
  const auto rank = static_cast<std::int64_t>(
      (Wide{std::llround(percent * kAll / 100)} * count_ + kAll - 1) / kAll);
  if (count_ - rank < kBeyond) return std::nullopt;
  std::int64_t passed = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    passed += buckets_[bucket];
    if (passed >= rank) return nanoseconds{std::min(end_of(bucket), max_ns_)};
  }
  return max();
}

bool Timing::is_valid() const {
  constexpr double kLagOfService = 0.1;
  constexpr double kPercent = 99;
  if (lag.count() == 0) return true;
  if (sent_per_second < kKeptUp * offered_per_second) return false;
  const auto lag_p99 = lag.percentile(kPercent);
  const auto service_p99 = service.percentile(kPercent);
  const bool enough = lag_p99 && service_p99;
  const auto most_lag = enough ? *lag_p99 : lag.max();
  const auto most_service = enough ? *service_p99 : service.max();
  return static_cast<double>(most_lag.count()) <=
         kLagOfService * static_cast<double>(most_service.count());
}

/// Merges neighbours in pairs.
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
