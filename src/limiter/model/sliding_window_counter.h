#pragma once

#include <optional>

#include "limiter/model/model.h"

namespace rlctl::limiter {

/// sliding-window-counter: the counts of this window and of the one before, which is taken to have
/// been spread evenly and fades out as this one goes on (Cloudflare's, 2017). An estimate: up to
/// almost twice the limit passes in the worst case.
class SlidingWindowCounterModel final : public KeyModel {
 public:
  struct Frame {
    microseconds start;
    microseconds window;
    std::int64_t previous = 0;
    std::int64_t current = 0;

    [[nodiscard]] microseconds end() const { return start + window; }
    [[nodiscard]] Frame next() const {
      return {.start = end(), .window = window, .previous = current, .current = 0};
    }
    /// The estimate at `t`, in this frame: what a request of this cost makes of it.
    [[nodiscard]] double with(std::int64_t cost, microseconds t) const;
    /// How many requests of cost 1 are allowed at `t`, one after the other.
    [[nodiscard]] std::int64_t remaining(std::int64_t limit, microseconds t) const;
    /// The first instant in [from, end) at which the cost is allowed; end() if there is none.
    [[nodiscard]] microseconds first_allowed(std::int64_t limit, std::int64_t cost,
                                             microseconds from) const;
  };

  SlidingWindowCounterModel() = default;
  /// With what is stored.
  explicit SlidingWindowCounterModel(const Frame& stored) : stored_(stored) {}

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
