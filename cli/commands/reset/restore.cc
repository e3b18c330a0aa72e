#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "cli/commands/reset/session.h"
#include "stored/backup.h"

namespace rlctl::cli::reset {
namespace {

using stored::RestoreResult;
using stored::SavedKey;

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
  explicit RestoreReport(Session& session) : session_(session) {}

  void add(const SavedKey& key, RestoreResult result) {
    ++counts_[static_cast<std::size_t>(result)];
    const bool is_failure = result == RestoreResult::kExists || result == RestoreResult::kForeign;
    if (is_failure && first_left_.empty()) first_left_ = key.key;
    const auto& words = kRestoreWords[static_cast<std::size_t>(result)];
    session_.write({.key = key.key,
                    .result = words.result,
                    .type = key.type,
                    .library = key.library,
                    .algorithm = key.algorithm,
                    .reason = words.reason,
                    .shows_type = !words.reason.empty()});
  }

  std::size_t restored() const { return count(RestoreResult::kRestored); }

  std::string summary() const {
    const auto done = restored() + count(RestoreResult::kWouldRestore);
    auto text = (session_.plan.dry_run ? "would restore " : "restored ") + count_of_keys(done);
    const auto append = [&](RestoreResult result, std::string_view what) {
      if (count(result) > 0) text += fmt::format("; {} {}", count(result), what);
    };
    append(RestoreResult::kIdentical, "already back");
    append(RestoreResult::kExpired, "expired meanwhile");
    append(RestoreResult::kExists, "left, with another dump or TTL");
    append(RestoreResult::kForeign, "left, with a dump that this server does not understand");
    return text;
  }

  /// Throws ProblemError if a key was left that is not there as it was saved.
  ExitStatus finish() const {
    const auto exist = count(RestoreResult::kExists), foreign = count(RestoreResult::kForeign);
    if (exist + foreign > 0) {
      throw ProblemError(
          {.status = ExitStatus::kRejected,
           .code = "left",
           .message = count_of_keys(exist + foreign) +
                      (exist + foreign == 1 ? " was left: '" : " were left; the first is '") +
                      first_left_ + "'",
           .hint = exist > 0 ? "such a key exists with another dump or TTL; --replace replaces it"
                             : "the dumps are damaged or too new for this server; restore them to "
                               "the version that the file's first line names, or to a newer one"});
    }
    const auto back =
        restored() + count(RestoreResult::kWouldRestore) + count(RestoreResult::kIdentical);
    return back > 0 ? ExitStatus::kDone : ExitStatus::kDenied;
  }

 private:
  std::size_t count(RestoreResult result) const {
    return counts_[static_cast<std::size_t>(result)];
  }

  Session& session_;
  std::array<std::size_t, kRestoreWords.size()> counts_{};
  std::string first_left_;
};

/// The next keys, which together are not much larger than a megabyte.
std::vector<SavedKey> next_keys(stored::SaveFileReader& reader) {
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

}  // namespace

ExitStatus restore_keys(const Plan& plan, Invocation& invocation) {
  if (!plan.quiet) invocation.out.require_open();
  stored::SaveFileReader reader(*plan.restore);
  if (reader.is_cut()) {
    warn("warning: the last line of " + quoted_and_masked(*plan.restore) +
             " is incomplete; if its writing was stopped there, its key was not removed",
         invocation.command);
  }
  Session session(plan, invocation);
  auto connection = session.connector.open();
  RestoreReport report(session);
  const auto restore_all = [&] {
    for (auto keys = next_keys(reader); !keys.empty(); keys = next_keys(reader)) {
      stored::restore_keys(
          connection, keys, {.replace = plan.replace, .dry_run = plan.dry_run},
          [&](const SavedKey& key, RestoreResult result) { report.add(key, result); });
      session.flush();
      session.progress.update(reader.share(), "the file");
      invocation.interrupt.check();
    }
  };
  session.guard(restore_all, [&](Problem problem) {
    problem = drop_in_doubt_note(std::move(problem));
    problem.message +=
        "; " + count_of_keys(report.restored()) + " had been restored; run it again to continue";
    return problem;
  });
  session.summarize(report.summary());
  return report.finish();
}

}  // namespace rlctl::cli::reset
