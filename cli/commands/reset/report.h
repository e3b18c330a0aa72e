#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/app/command.h"
#include "cli/errors/refused_keys.h"
#include "cli/options/limits.h"
#include "cli/terminal/progress.h"
#include "redis/connection.h"
#include "state/reset.h"
#include "state/save_file.h"

namespace rlctl::cli::reset {

/// Counts keys by kind: by algorithm, or by type if the algorithm is unknown.
class KindCounts {
 public:
  void add(std::string_view kind);
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// The counts in decreasing order: "600 gcra, 400 fixed-window".
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, std::size_t> counts_;
  std::size_t total_ = 0;
};

/// The options of `reset`.
struct Plan {
  std::optional<std::string> match = {};    ///< none: the operands are keys
  std::optional<std::string> holder = {};   ///< whose lease is freed
  std::optional<std::string> save = {};     ///< the file that keeps what is removed
  std::optional<std::string> restore = {};  ///< the file with the keys to put back
  LimitOptions limit = {};
  std::optional<Limiter> limiter = {};  ///< the limiter of the keys, if known
  bool replace = false;
  bool key_base64 = false;
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool verbose = false;
  bool quiet = false;
};

/// The report of `reset`: one line per key on standard output, and a summary.
class Report {
 public:
  /// `plan` and `invocation` must outlive it.
  Report(const Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {}

  /// Counts a key and appends its line. For --match, without --verbose, only keys that were
  /// removed, would be removed, have changed meanwhile, or are too large to be saved get a line.
  void add(const state::ResetOutcome& outcome);

  /// The matching keys that this user may not read: they are left, without a line.
  [[nodiscard]] RefusedKeys& refused() noexcept { return refused_; }

  [[nodiscard]] std::size_t removed() const noexcept { return removed_.total(); }
  /// The number of keys that were to be removed, but could not: other clients changed them, or
  /// they are too large to be saved.
  [[nodiscard]] std::size_t kept() const noexcept { return changing_ + changed_ + too_large_; }
  /// A sentence that reports what was removed, what was left, and why.
  [[nodiscard]] std::string summary() const;

 private:
  const Plan& plan_;
  Invocation& invocation_;
  KindCounts removed_;  ///< in a dry run: would be removed
  KindCounts foreign_;  ///< left, since another program may own them
  KindCounts other_;    ///< left, since they hold no limiter state; by type
  std::size_t changing_ = 0, changed_ = 0, too_large_ = 0;
  RefusedKeys refused_;
};

/// The kind of a key: the label of its form, else its type.
[[nodiscard]] std::string kind_of(const state::ResetOutcome& outcome);

/// Appends the line of a key, as text or JSON. Empty words are not known; `result` and `reason` are
/// written as in text. As text, shows the type only if `shows_type`.
struct Line {
  std::string_view key, result, type, library, algorithm, reason;
  bool shows_type = false;
};
void append_line(std::string& out, const Line& line, bool json);

/// Formats "1 key" or "412 keys".
[[nodiscard]] std::string count_of_keys(std::size_t count);
/// Formats "login:ann, login:bob, login:cid and 409 more": the first three, escaped, long ones cut.
[[nodiscard]] std::string first_keys(std::span<const std::string> keys);

/// The parts that both kinds of reset share: server, results, and the report of a failure half way.
struct Session {
  /// Both arguments must outlive the session. Throws what Connector() throws; OutputError if the
  /// results or the file of --save cannot be written; UsageError if that file exists.
  Session(const Plan& plan, Invocation& invocation);

  /// Whether the output is for people: neither JSON nor quiet.
  [[nodiscard]] bool is_for_people() const noexcept { return !plan.quiet && !invocation.json; }

  /// Runs `work` with a Resetter that passes each outcome to `on_outcome`. Writes results as they
  /// come. Exceptions include what was already removed.
  void run(redis::Connection& connection, bool dry_run, const state::Resetter::Report& on_outcome,
           const std::function<void(state::Resetter&)>& work);
  /// Runs `work`, which searches for keys and writes nothing.
  void search(const std::function<void()>& work);
  /// Writes the results so far.
  void flush();
  /// Writes the summary to stderr, except with --json or --quiet.
  void summarize();
  /// Writes to stderr how to undo what was done, except with --json or --quiet.
  void explain_undo();

  const Plan& plan;
  Invocation& invocation;
  Connector connector;
  Progress progress;
  Report report;
  std::optional<state::SaveFile> save_file;  ///< none in a dry run

 private:
  [[nodiscard]] Problem explain(Problem problem, std::span<const std::string> in_doubt) const;
};

}  // namespace rlctl::cli::reset
