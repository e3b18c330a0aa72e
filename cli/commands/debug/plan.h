#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/log_options.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "ldb/session.h"
#include "ldb/trace.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// The options of `rlctl debug` as typed.
struct DebugOptions {
  std::vector<std::string> limits = {};
  ScriptOptions script = {};
  std::optional<std::string> algorithm, burst, policy, cost, now;
  ReplayArguments replay = {};
  std::optional<std::string> skip;
  std::optional<std::string> lcov, fail_under, max_steps, maxlen, commands;
  bool attach = false, sync = false, yes = false;
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  bool quiet = false;
};

void add_debug_options(Options& options, DebugOptions& target);
/// The sections of --help that list scripts, placeholders and formats.
[[nodiscard]] std::string debug_notes();

/// Where a script is debugged.
enum class DebugWhere {
  kPrivate,  ///< on a private server
  kForked,   ///< in a fork of the server that the connection's options name
  kSync,     ///< in that server itself
};

/// What `rlctl debug` has to do.
struct DebugPlan {
  /// What to debug; with a log, without keys and arguments, which come from its requests.
  ldb::Debuggee debuggee = {};
  std::string path = {};                          ///< as in NamedScript; empty if it is bundled
  std::string function = {};                      ///< the library's function, if it is a library
  const limiter::Algorithm* algorithm = nullptr;  ///< the bundled algorithm; null: a file
  /// At least one if the script is called as `check` calls it.
  std::vector<limiter::Limit> limits = {};
  /// How to make keys and arguments, also of a log's requests; null: as `check` does.
  std::shared_ptr<const traffic::ForeignLimiter> foreign = {};
  bool reads_reply = false;  ///< show the decision that the reply is, as `foreign` reads it
  traffic::TemplateValues values = {};  ///< without a log, those of the call; without its key
  std::optional<std::chrono::microseconds> now = {};
  std::optional<replay::ReplayOptions> replay = {};
  std::int64_t skip = 0;         ///< log requests to run before the debugged one
  bool is_whole_replay = false;  ///< all requests of the log are debugged

  DebugWhere where = DebugWhere::kPrivate;
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  /// Interactive stepping: none of the modes above.
  bool interactive = false;
  /// The file of the commands for that; the terminal counts as standard input.
  std::string commands{kStandardInput};
  bool quiet = false;
  bool is_sure = false;  ///< --yes
  std::int64_t max_steps = ldb::kUsualSteps;
  double least_coverage = 0;               ///< in percent
  std::optional<std::size_t> maxlen = {};  ///< as ViewLengths::value

  /// Whether the log is standard input.
  [[nodiscard]] bool reads_log_from_input() const;
  /// Whether the commands for stepping by hand come from the terminal or standard input.
  [[nodiscard]] bool reads_commands_from_input() const;
};

/// Whether TIME replies `now` to the script because no argument holds the time. Scripts called as
/// `check` calls them get it as an argument.
[[nodiscard]] bool freezes_time(const DebugPlan& plan);

/// Makes a plan from the options and operands, and reads the script. Throws UsageError if the plan
/// cannot run, before anything is started, and what reading the configuration throws.
[[nodiscard]] DebugPlan make_debug_plan(const DebugOptions& options, const Invocation& invocation);

/// Which words of its call a script may lack that ended in an error; empty if none does, or if it
/// did not end so.
[[nodiscard]] std::string missing_words(const DebugPlan& plan, const ldb::TraceResult& result);
/// A KEY that ends in a comma, as if ARGV followed; empty if there is none.
[[nodiscard]] std::string key_with_comma(const DebugPlan& plan);

/// The plan's debuggee with its file's current contents; none if it does not come from a file.
/// Throws UsageError if the file cannot be read.
[[nodiscard]] std::optional<ldb::Debuggee> read_again(const DebugPlan& plan);

}  // namespace rlctl::cli
