#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/prometheus.h"
#include "base/wait.h"
#include "cli/commands/check/plan.h"
#include "cli/errors/failure.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {

// What a batch remembers of its lines.

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
  bool is_alike(const Problem& problem) const;
  /// Adds a failure that is alike; returns whether to report it.
  bool add(std::size_t line, const Problem& problem, std::size_t most_reported);
  bool empty() const noexcept { return reported_ == 0; }
  /// Of the last one that was reported.
  ExitStatus status() const noexcept { return status_; }
  /// "the same error on 199997 more lines (4 to 200000)"; empty if all were reported.
  std::string others() const;

 private:
  std::string pattern_, message_;  ///< of the last one that was reported
  ExitStatus status_ = ExitStatus::kDone;
  std::size_t reported_ = 0;
  std::size_t others_ = 0, first_ = 0, last_ = 0;
};

/// Counts the answers of a batch: for --shadow and --textfile.
class Tally {
 public:
  /// How often the text file is written.
  static constexpr std::chrono::seconds kInterval{10};

  /// The arguments must outlive this. Writes the text file for the first time, and throws
  /// OutputError if it cannot be written.
  Tally(const Plan& plan, std::string_view command);

  /// A decision of the limiter.
  void add(const Answer& result);
  /// A line without a decision, whatever --on-error made of it.
  void add_error() { ++errors_; }

  /// When write_if_due() has something to do next.
  Deadline next_write() const noexcept { return next_write_; }
  /// Writes the text file if it is time. If that fails, returns a warning, once: the answers matter
  /// more.
  std::string write_if_due();
  /// Reports the totals: on stderr, and in the text file. Throws OutputError if that cannot be
  /// written.
  void end();

 private:
  std::string metrics() const;
  void write() const;
  void report_shadow() const;

  const Plan& plan_;
  std::string_view command_;
  std::int64_t allowed_ = 0, denied_ = 0, errors_ = 0;
  Deadline next_write_ = kNoDeadline;
  bool has_warned_ = false;
};

}  // namespace rlctl::cli::check
