#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cli/errors/failure.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {

/// The spellings of a batch's keys. With several limits, KEY and {KEY} have the same keys in Redis:
/// two lines that mean different keys would share a limit.
class Spellings {
 public:
  /// The most keys that are remembered, and the most bytes of them.
  static constexpr std::size_t kMaxKeys = 100'000;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  /// Throws UsageError if an earlier key is the other spelling of this one. `redis_key` is the
  /// first of the key's several keys in Redis, for `limit`.
  void require_same(std::string_view key, const std::string& redis_key,
                    const limiter::Limit& limit);

 private:
  std::unordered_map<std::string, bool> has_braces_;  ///< by the key in Redis
  std::size_t bytes_ = 0;
};

/// Chooses the failures to report on stderr, since all lines of a batch may fail alike: of
/// consecutive lines whose messages differ only in their values, the first few; of the server's
/// errors, none twice.
class FailureRun {
 public:
  /// Whether the failure differs from those before it only in values.
  [[nodiscard]] bool is_alike(const Problem& problem) const;
  /// Adds a failure that is alike; returns whether to report it.
  [[nodiscard]] bool add(std::size_t line, const Problem& problem, std::size_t most_reported);
  [[nodiscard]] bool empty() const noexcept { return reported_ == 0; }
  /// Of the last one that was reported.
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }
  /// "the same error on 199997 more lines (4 to 200000)"; empty if all were reported.
  [[nodiscard]] std::string others() const;

 private:
  std::string pattern_, message_;  ///< of the last one that was reported
  ExitStatus status_ = ExitStatus::kDone;
  std::size_t reported_ = 0;
  std::size_t others_ = 0, first_ = 0, last_ = 0;
};

}  // namespace rlctl::cli::check
