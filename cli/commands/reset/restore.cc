#include "cli/commands/reset/restore.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "state/save_file.h"
#include "state/saved_key.h"

namespace rlctl::cli::reset {
namespace {

using state::RestoreResult;
using state::SavedKey;

struct ResultWords {
  std::string_view result, reason;
};
/// In the order of the enumerators.
constexpr std::array<ResultWords, 6> kRestoreWords{{{"restored", ""},
                                                    {"would-restore", ""},
                                                    {"left", "identical"},
                                                    {"left", "exists"},
                                                    {"left", "expired"},
                                                    {"left", "dump-format"}}};

/// The report of --restore: a line for each key, and how many there were of each result.
class RestoreReport {
 public:
  RestoreReport(const Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {}

  void add(const SavedKey& key, RestoreResult result) {
    ++counts_[static_cast<std::size_t>(result)];
    if (is_failure(result) && first_left_.empty()) first_left_ = key.key;
    if (plan_.quiet) return;
    const auto& words = kRestoreWords[static_cast<std::size_t>(result)];
    append_line(invocation_.out.buffer(),
                {.key = key.key,
                 .result = words.result,
                 .type = key.type,
                 .library = key.library,
                 .algorithm = key.algorithm,
                 .reason = words.reason,
                 .shows_type = !words.reason.empty()},
                invocation_.json);
  }

  [[nodiscard]] std::size_t restored() const { return count(RestoreResult::kRestored); }

  [[nodiscard]] std::string summary() const {
    const auto done = restored() + count(RestoreResult::kWouldRestore);
    std::string text = fmt::format("{} {}", plan_.dry_run ? "would restore" : "restored",
                                   done == 0 ? "no key" : count_of_keys(done));
    const auto append = [&](RestoreResult result, std::string_view what) {
      if (count(result) > 0) text += fmt::format("; {} {}", count(result), what);
    };
    append(RestoreResult::kIdentical, "already back");
    append(RestoreResult::kExpired, "expired meanwhile");
    append(RestoreResult::kExists, "left, with other contents or another TTL");
    append(RestoreResult::kForeign, "left, saved by a newer server");
    return text;
  }

  /// Throws ProblemError if a key was left that is not there as it was saved.
  [[nodiscard]] ExitStatus finish() const {
    const auto exist = count(RestoreResult::kExists), foreign = count(RestoreResult::kForeign);
    if (exist + foreign > 0) {
      throw ProblemError(
          {.status = ExitStatus::kRejected,
           .code = "left",
           .message = count_of_keys(exist + foreign) +
                      (exist + foreign == 1 ? " was left: '" : " were left; the first is '") +
                      first_left_ + "'",
           .hint = exist > 0 ? "such a key exists with other contents or another TTL; --replace "
                               "replaces it"
                             : "the dumps are too new for this server, and too large to have been "
                               "saved in another form; restore them to the version that the "
                               "file's first line names"});
    }
    const auto back =
        restored() + count(RestoreResult::kWouldRestore) + count(RestoreResult::kIdentical);
    return back > 0 ? ExitStatus::kDone : ExitStatus::kDenied;
  }

 private:
  [[nodiscard]] static bool is_failure(RestoreResult result) {
    return result == RestoreResult::kExists || result == RestoreResult::kForeign;
  }
  [[nodiscard]] std::size_t count(RestoreResult result) const {
    return counts_[static_cast<std::size_t>(result)];
  }

  const Plan& plan_;
  Invocation& invocation_;
  std::array<std::size_t, kRestoreWords.size()> counts_{};
  std::string first_left_;
};

/// The next keys, which together are not much larger than a megabyte.
std::vector<SavedKey> next_keys(state::SaveFileReader& reader) {
  constexpr std::size_t kMaxKeys = 200, kMaxBytes = std::size_t{1} << 20;
  std::vector<SavedKey> keys;
  std::size_t bytes = 0;
  while (keys.size() < kMaxKeys && bytes < kMaxBytes) {
    auto key = reader.next();
    if (!key) break;
    bytes += key->dump.size();
    keys.push_back(std::move(*key));
  }
  return keys;
}

/// Adds how many keys are back.
Problem with_restored(Problem problem, const RestoreReport& report) {
  problem = drop_in_doubt_note(std::move(problem));
  problem.message += "; " + (report.restored() == 0 ? "no key" : count_of_keys(report.restored())) +
                     " had been restored; run it again to continue";
  return problem;
}

void restore_all(state::SaveFileReader& reader, state::Restorer& restorer,
                 const RestoreReport& report, Progress& progress, Invocation& invocation) {
  const auto flush = [&] {
    if (!invocation.out.pending()) return;
    progress.clear();
    invocation.out.flush();
  };
  try {
    for (auto keys = next_keys(reader); !keys.empty(); keys = next_keys(reader)) {
      restorer.restore(keys);
      flush();
      progress.update(reader.share(), "the file");
      invocation.interrupt.check();
    }
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::exception& error) {
    const Problem problem = with_restored(describe(error), report);
    progress.clear();
    const bool is_signal = dynamic_cast<const Interrupted*>(&error) != nullptr;
    if (is_signal) write_stderr(render(problem, invocation.command, invocation.json));
    flush();
    if (is_signal) throw;
    throw ProblemError(problem);
  }
  progress.clear();
}

}  // namespace

ExitStatus restore_keys(const Plan& plan, Invocation& invocation) {
  if (!plan.quiet) invocation.out.require_open();
  state::SaveFileReader reader(*plan.restore);
  if (reader.is_cut()) {
    warn("warning: the last line of " + in_quotes(*plan.restore) +
             " is incomplete; if its writing was stopped there, its key was not removed",
         invocation.command);
  }
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  auto connection = connector.open();
  Progress progress(!plan.quiet && is_terminal(STDERR_FILENO));
  RestoreReport report(plan, invocation);
  state::Restorer restorer(
      connection, {.replace = plan.replace, .dry_run = plan.dry_run},
      [&](const SavedKey& key, RestoreResult result) { report.add(key, result); });
  restore_all(reader, restorer, report, progress, invocation);
  if (!plan.quiet && !invocation.json) write_stderr(report.summary() + "\n");
  return report.finish();
}

}  // namespace rlctl::cli::reset
