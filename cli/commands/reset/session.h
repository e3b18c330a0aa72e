#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "cli/app/command.h"
#include "cli/options/limits.h"
#include "cli/server/targets.h"
#include "cli/terminal/output.h"
#include "redis/connection.h"
#include "stored/backup.h"
#include "stored/libraries.h"
#include "stored/reset.h"

namespace rlctl::cli::reset {

/// The options of `reset`.
struct Plan {
  std::optional<std::string> match = {};    ///< none: the operands are keys
  std::optional<std::string> holder = {};   ///< whose lease is freed
  std::optional<std::string> save = {};     ///< the file that keeps what is removed
  std::optional<std::string> restore = {};  ///< the file with the keys to put back
  LimitOptions limit = {};
  std::optional<Limiter> limiter = {};  ///< the limiter of the keys, if known
  bool replace = false;
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool quiet = false;
  bool must_exist = false;  ///< status 1 if there is nothing to remove
};

/// The number of keys of each kind: by algorithm, or by type if the algorithm is unknown.
using KindCounts = std::map<std::string, std::size_t, std::less<>>;

/// The counts in decreasing order: "600 gcra, 400 fixed-window".
std::string text_of(const KindCounts& counts);
/// The kind of a key: the label of its form, else its type; "part of another key".
std::string kind_of(const stored::ResetOutcome& outcome);

/// The line of a key. Empty words are not known; `result` and `reason` are as in text.
struct Line {
  std::string_view key, result, type = {}, library = {}, algorithm = {}, reason = {};
  std::string_view part_of = {};                ///< the key to whose state this one belongs
  bool shows_type = false;                      ///< as text too, even if there is an algorithm
  std::optional<std::string_view> holder = {};  ///< whose lease it is about
  /// The names that were looked at for the KEY, on its first line; empty: its limits were given.
  std::span<const std::string> looked_at = {};
};

/// What `reset` prints as JSON.
extern const JsonOutput kJson;

/// "no key", "1 key" or "412 keys".
std::string count_of_keys(std::size_t count);
/// "login:ann, login:bob, login:cid and 409 more": the first three, escaped, long ones cut.
std::string first_keys(std::span<const std::string> keys);

/// What all kinds of reset share: the server, a line per key on standard output, a summary, and the
/// report of a failure half way.
struct Session {
  /// Both arguments must outlive the session. Throws what Connector() throws; OutputError if the
  /// results or the file of --save cannot be written; UsageError if that file exists.
  Session(const Plan& plan, Invocation& invocation);

  /// Whether the output is for people: neither JSON nor quiet.
  bool is_for_people() const noexcept { return !plan.quiet && !invocation.json; }

  /// Runs `work` with a Resetter that passes each outcome to `on_outcome`. Writes results as they
  /// come. Exceptions include what was already removed.
  void run(redis::Connection& connection, bool dry_run, const stored::Resetter::Report& on_outcome,
           const std::function<void(stored::Resetter&)>& work);
  /// Runs `work` and writes the results. If it fails half way, first writes those so far, with
  /// `explain` applied to the problem.
  void guard(const std::function<void()>& work, const std::function<Problem(Problem)>& explain);
  /// Runs `work`, which searches for keys and writes nothing.
  void search(const std::function<void()>& work);

  /// Appends the line, as text or JSON, unless the output is quiet.
  void write(const Line& line);
  /// Counts a key and writes its line. For --match, only keys that were removed, would be removed,
  /// have changed meanwhile, or are too large to be saved get a line. A key that is left counts
  /// once, although SCAN may return it twice.
  void add(const stored::ResetOutcome& outcome, std::span<const std::string> looked_at = {});
  std::size_t removed() const;
  /// Whether no key was found, not even one that was left.
  bool found_none() const;
  /// Returns the status of a run without errors. Only with --must-exist does it matter that a key
  /// was `missing`.
  ExitStatus status_if(bool missing) const {
    return missing && plan.must_exist ? ExitStatus::kDenied : ExitStatus::kDone;
  }
  /// The number of keys that were left for this reason.
  std::size_t left(stored::KeptReason reason) const;
  /// A sentence that reports what was removed, what was left, and why.
  std::string summary() const;

  /// Writes the results so far.
  void flush();
  /// Writes a summary to stderr, except with --json or --quiet.
  void summarize(const std::string& text);
  /// Says once, before several keys are removed without --save, that it would keep them, except
  /// with --json or --quiet.
  void suggest_save(std::size_t removable);
  /// Writes to stderr how to undo what was done, except with --json or --quiet.
  void explain_undo();

  const Plan& plan;
  Invocation& invocation;
  Connector connector;
  stored::Libraries libraries;
  Look look;
  Progress progress;
  std::optional<stored::SaveFile> save_file;  ///< none in a dry run
  bool has_suggested = false;                 ///< --save was mentioned
  KindCounts removed_kinds;                   ///< in a dry run: would be removed
  /// The keys that are left, by reason: those of kUncertain and kPart as kForeign. Only
  /// kNoLimiterState (by type) and kForeign show their kinds.
  std::map<stored::KeptReason, KindCounts> left_kinds;
  std::unordered_set<std::size_t> left_keys;  ///< hashes, since there may be many keys
  /// The matching keys that this user may not read: they are left, without a line.
  RefusedKeys refused;
};

/// Puts back what is saved in the file plan.restore, and reports each key. Throws InputError for a
/// file that is not what --save wrote, before anything is sent, and redis::Error.
ExitStatus restore_keys(const Plan& plan, Invocation& invocation);

}  // namespace rlctl::cli::reset
