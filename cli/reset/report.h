#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "limiter/reset.h"

namespace rlctl::cli {

/// How many of each kind: of an algorithm, or of a type where no algorithm is known.
class KindCounts {
 public:
  void add(std::string_view kind, std::size_t count = 1);
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// "600 gcra, 400 fixed-window": the most first.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, std::size_t, std::less<>> counts_;
  std::size_t total_ = 0;
};

/// Which of the results have a line of their own.
enum class ResetLines {
  kNone,     ///< --quiet
  kChanges,  ///< what is removed, or would be; and what was to be, but has changed
  kAll,
};

/// What `reset` says of each key, on standard output, and of all of them.
class ResetReport {
 public:
  ResetReport(ResetLines lines, bool json, Output& out) : lines_(lines), json_(json), out_(out) {}

  /// Appends its line, where it has one, and counts it.
  void add(const limiter::ResetOutcome& outcome);

  [[nodiscard]] std::size_t removed() const noexcept { return removed_.total(); }
  /// How many were to be removed and were left, since others wrote them.
  [[nodiscard]] std::size_t changed() const noexcept { return changing_ + changed_; }
  /// A sentence for people: what was removed, what was left, and why.
  [[nodiscard]] std::string summary(bool dry_run) const;

 private:
  void append_text(const limiter::ResetOutcome& outcome);
  void append_json(const limiter::ResetOutcome& outcome);

  ResetLines lines_;
  bool json_;
  Output& out_;
  KindCounts removed_;  ///< in a dry run: what would be
  KindCounts foreign_;  ///< left, perhaps another program's
  KindCounts other_;    ///< left, no limiter state; by type
  std::size_t changing_ = 0, changed_ = 0;
};

/// What a key holds, in one word: its algorithm's name, else its type.
[[nodiscard]] std::string_view kind_of(const limiter::ResetOutcome& outcome);

/// "1 key", "412 keys"
[[nodiscard]] std::string count_of_keys(std::size_t count);
/// "login:ann, login:bob, login:cid and 409 more": the first three, escaped, long ones cut.
[[nodiscard]] std::string first_keys(std::span<const std::string> keys);

}  // namespace rlctl::cli
