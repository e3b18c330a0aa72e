#pragma once

#include <optional>

#include "limiter/model/model.h"

namespace rlctl::limiter {

/// token-bucket: `burst` tokens at most, `limit` of them come back in each window, a request takes
/// its cost. In doubles, as the script: where exactness matters, gcra has it.
class TokenBucketModel final : public KeyModel {
 public:
  struct Bucket {
    double tokens = 0;
    microseconds at;

    /// What it holds at `t`, not before `at`.
    [[nodiscard]] double tokens_at(const Limit& limit, microseconds t) const;
    /// The first whole µs, not before `from`, at which it holds `cost` tokens, at most a full
    /// bucket.
    [[nodiscard]] microseconds first_with(const Limit& limit, std::int64_t cost,
                                          microseconds from) const;
  };

  TokenBucketModel() = default;
  /// With what is stored.
  explicit TokenBucketModel(const Bucket& stored) : stored_(stored) {}

  [[nodiscard]] Decision look(const Limit& limit, std::int64_t cost,
                              microseconds now) const override;
  [[nodiscard]] Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  [[nodiscard]] bool empty() const override { return !stored_; }

 private:
  [[nodiscard]] Bucket bucket_at(const Limit& limit, microseconds now) const;

  std::optional<Bucket> stored_;  // none: full
};

}  // namespace rlctl::limiter
