#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/limits.h"
#include "cli/term/progress.h"
#include "limiter/reset.h"
#include "redis/connection.h"

namespace rlctl::cli {

/// Counts keys by kind: by algorithm, or by type if no algorithm is known.
class KindCounts {
 public:
  void add(std::string_view kind);
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// "600 gcra, 400 fixed-window": the most first.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, std::size_t> counts_;
  std::size_t total_ = 0;
};

/// What `reset` was asked to do.
struct ResetPlan {
  std::optional<std::string> match = {};  ///< else the operands are keys
  std::optional<Limiter> limiter = {};    ///< whose keys they are, if known
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool verbose = false;
  bool quiet = false;
};

/// The report of `reset`: a line for each key on standard output, and a summary.
class ResetReport {
 public:
  /// Both must outlive it.
  ResetReport(const ResetPlan& plan, Invocation& invocation)
      : plan_(plan), invocation_(invocation) {}

  /// Counts a key, and appends its line: of keys that match, only of those that are removed, would
  /// be, or have changed meanwhile, unless --verbose asks for all.
  void add(const limiter::ResetOutcome& outcome);

  [[nodiscard]] std::size_t removed() const noexcept { return removed_.total(); }
  /// How many were to be removed and were left, since other clients changed them.
  [[nodiscard]] std::size_t changed() const noexcept { return changing_ + changed_; }
  /// A sentence for people: what was removed, what was left, and why.
  [[nodiscard]] std::string summary() const;

 private:
  void append_text(const limiter::ResetOutcome& outcome);
  void append_json(const limiter::ResetOutcome& outcome);

  const ResetPlan& plan_;
  Invocation& invocation_;
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

/// What both ways to reset have in common: a server, results, and how a failure half way is
/// reported.
struct ResetSession {
  /// Throws ProblemError if results could not be written. Both must outlive it.
  ResetSession(const ResetPlan& plan, Invocation& invocation);

  /// Neither JSON nor quiet was asked for.
  [[nodiscard]] bool is_for_people() const noexcept { return !plan.quiet && !invocation.json; }

  /// Runs `work` with a Resetter that passes each outcome to `on_outcome`. Results are written out
  /// as they come. Exceptions also tell what had already been removed.
  void run(redis::Connection& connection, bool dry_run, const limiter::Resetter::Report& on_outcome,
           const std::function<void(limiter::Resetter&)>& work);
  /// Runs `work`, which searches for keys and writes nothing.
  void search(const std::function<void()>& work);
  /// Writes the results so far.
  void flush();
  /// Writes the report's summary to stderr, unless JSON or quiet was asked for.
  void summarize();

  const ResetPlan& plan;
  Invocation& invocation;
  Connector connector;
  Progress progress;
  ResetReport report;

 private:
  [[nodiscard]] Problem explain(Problem problem, std::span<const std::string> in_doubt) const;
};

}  // namespace rlctl::cli
