#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

namespace rlctl::test {

/// When the traffic of tests begins.
inline constexpr std::chrono::microseconds kVirtualStart{1'767'225'600'000'000};

/// These arrivals, or arrivals at these times after kVirtualStart, all of one key.
class Arrivals final : public traffic::Traffic {
 public:
  explicit Arrivals(std::vector<traffic::Arrival> arrivals) : arrivals_(std::move(arrivals)) {}
  explicit Arrivals(const std::vector<std::chrono::microseconds>& times) {
    for (const auto at : times) arrivals_.push_back({.at = kVirtualStart + at});
  }
  bool next(traffic::Arrival& arrival) override {
    if (next_ == arrivals_.size()) return false;
    arrival = arrivals_[next_++];
    return true;
  }
  std::string_view key_name(std::uint32_t /*key*/) const override { return "1"; }
  std::int64_t size() const override { return std::ssize(arrivals_); }

 private:
  std::vector<traffic::Arrival> arrivals_;
  std::size_t next_ = 0;
};

/// A limiter that is a function.
class Answers final : public simulation::Decider {
 public:
  explicit Answers(std::function<bool(const traffic::Arrival&)> allows)
      : allows_(std::move(allows)) {}
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override {
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      decisions[i] = {.allowed = allows_(arrivals[i])};
    }
    return arrivals.size();
  }

 private:
  std::function<bool(const traffic::Arrival&)> allows_;
};

}  // namespace rlctl::test
