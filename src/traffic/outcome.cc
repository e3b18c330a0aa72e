#include "traffic/outcome.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "traffic/reply_reading.h"

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

/// The widths of a timeline's bins.
constexpr std::array<microseconds, 31> kWidths = [] {
  using namespace std::chrono_literals;
  using std::chrono::days;
  return std::array<microseconds, 31>{
      1us,     2us,     10us,     20us,     100us,     200us,     1ms,       2ms,
      10ms,    20ms,    100ms,    200ms,    1s,        2s,        10s,       20s,
      1min,    2min,    10min,    20min,    1h,        2h,        6h,        12h,
      days{1}, days{2}, days{10}, days{20}, days{100}, days{200}, days{1000}};
}();

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

void RepliesSeen::add(redis::ReplyView reply) {
  all_nil = all_nil && reply.is_nil();
  const bool has_element = reply.type() == redis::ReplyType::kArray && reply.size() > 0;
  const auto verdict = has_element ? reply[0] : reply;
  any_negative |= verdict.type() == redis::ReplyType::kInteger && verdict.integer() < 0;
  all_count = all_count && reply.type() == redis::ReplyType::kInteger && reply.integer() > 0;
  if (all_count) highest = std::max(highest, reply.integer());
  if (first.size() < kMax) first.push_back(reply_text(reply));
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

/// The last multiple of the width at or before a time.
microseconds Timeline::bin_before(microseconds at) const {
  const auto past = (at - zero()) % width_;
  return at - past - (past.count() < 0 ? width_ : microseconds{0});
}

/// Merges neighbours.
void Timeline::widen() {
  const auto old_first = first_, old_width = width_;
  width_ = kWidths.at(++widened_);
  first_ = bin_before(old_first);
  std::size_t last = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Bin bin = std::exchange(bins_[i], {});
    const auto at = old_first + old_width * static_cast<std::int64_t>(i);
    last = static_cast<std::size_t>((at - first_) / width_);
    add_to(bins_[last], bin);
  }
  bins_.resize(last + 1);
}

void Timeline::begin_at(microseconds at) {
  begin_ = end_ = at;
  first_ = bin_before(at);
  bins_.resize(1);
}

void Timeline::add(microseconds at, bool allowed, std::int64_t count) {
  if (bins_.empty()) begin_at(at);
  end_ = std::max(end_, at);
  auto index = static_cast<std::size_t>((at - first_) / width_);
  while (index >= kMax) {
    widen();
    index = static_cast<std::size_t>((at - first_) / width_);
  }
  if (index >= bins_.size()) bins_.resize(index + 1);
  (allowed ? bins_[index].allowed : bins_[index].denied) += count;
}

std::vector<Timeline::Bin> Timeline::columns(microseconds from, microseconds width,
                                             std::size_t count) const {
  std::vector<Bin> result(count);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto at = first_ + width_ * static_cast<std::int64_t>(i);
    if (at < from) continue;
    const auto column = static_cast<std::size_t>((at - from) / width);
    if (column >= count) break;
    add_to(result[column], bins_[i]);
  }
  return result;
}

}  // namespace rlctl::traffic
