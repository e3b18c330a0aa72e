#include "traffic/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rlctl::traffic {
namespace {

constexpr std::int64_t kLongestNs = nanoseconds{std::chrono::hours{1}}.count();
/// Durations have so many bits that are told apart: the first is always set, so that 2^10 values of
/// the rest fill each magnitude. What is shorter has a bucket for each ns.
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

void Histogram::merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
  sum_of_squares_ += other.sum_of_squares_;
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

/// The squares are summed around the mean's whole part, in integers: around 0 most digits of the
/// difference would be lost where all durations are alike.
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
  // In integers: 99.9 % of 10,000 are 9,990, not one more.
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

}  // namespace rlctl::traffic
