#pragma once

#include <optional>

#include "limiter/model/model.h"

namespace rlctl::limiter {

/// fixed-window: one counter, set to 0 at every multiple of the window since 1970. Twice the limit
/// passes around such an edge, which is what it is known for.
class FixedWindowModel final : public KeyModel {
 public:
  struct Frame {
    microseconds start;
    microseconds window;
    std::int64_t count = 0;
    [[nodiscard]] microseconds end() const { return start + window; }
  };

  FixedWindowModel() = default;
  /// With what is stored.
  explicit FixedWindowModel(const Frame& stored) : stored_(stored) {}

  [[nodiscard]] Decision look(const Limit& limit, std::int64_t cost,
                              microseconds now) const override;
  [[nodiscard]] Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  [[nodiscard]] bool empty() const override { return !stored_; }

 private:
  [[nodiscard]] Frame frame_at(const Limit& limit, microseconds now) const;

  std::optional<Frame> stored_;
};

}  // namespace rlctl::limiter
