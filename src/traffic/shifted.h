#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "traffic/traffic.h"

namespace rlctl::traffic {

/// The same traffic at another time: what comes at `from` there comes at `to`, all else as far from
/// it as it was.
class ShiftedTraffic final : public Traffic {
 public:
  ShiftedTraffic(std::unique_ptr<Traffic> traffic, microseconds from, microseconds to)
      : traffic_(std::move(traffic)), by_(to - from) {}

  [[nodiscard]] bool next(Arrival& arrival) override {
    if (!traffic_->next(arrival)) return false;
    arrival.at += by_;
    return true;
  }
  [[nodiscard]] std::string_view key_name(std::uint32_t key) const override {
    return traffic_->key_name(key);
  }
  [[nodiscard]] std::int64_t size() const override { return traffic_->size(); }

 private:
  std::unique_ptr<Traffic> traffic_;
  microseconds by_;
};

}  // namespace rlctl::traffic
