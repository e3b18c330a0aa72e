#pragma once

#include <cstdint>
#include <string>

namespace rlctl::cli {

/// What a batch's lines came to.
class Tally {
 public:
  /// A decision of the limiter.
  void add(bool allowed) { ++(allowed ? allowed_ : denied_); }
  /// A line without a decision, whatever --on-error made of it.
  void add_error() { ++errors_; }

  /// "3 of 10 requests would have been denied (--shadow); 1 request had no decision"
  [[nodiscard]] std::string shadow_text() const;

 private:
  std::int64_t allowed_ = 0, denied_ = 0, errors_ = 0;
};

}  // namespace rlctl::cli
