#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "ldb/session.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// What follows `rlctl debug`, as it was typed.
struct DebugOptions {
  std::vector<std::string> limits = {}, keys = {};
  std::optional<std::string> burst, policy, cost, now, arguments;
  ReplayArguments replay = {};
  std::optional<std::string> skip;
  std::optional<std::string> lcov, max_steps, commands;
  bool attach = false, sync = false, yes = false;
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  bool quiet = false;
};

void add_debug_options(Options& options, DebugOptions& target);
/// The sections of --help that list scripts, placeholders and formats.
[[nodiscard]] std::string debug_notes();

/// Where a script is debugged.
enum class DebugWhere {
  kPrivate,  ///< on a server of this process's own
  kForked,   ///< in a fork of the server that the connection's options name
  kSync,     ///< in that server itself
};

/// What `rlctl debug` is to do.
struct DebugPlan {
  /// What is debugged; with a log without keys and arguments, which its requests have.
  ldb::Debuggee debuggee = {};
  std::string path = {};                          ///< of the script; empty if it is bundled
  const limiter::Algorithm* algorithm = nullptr;  ///< the bundled one; null: a file
  /// At least one where it is called as `check` calls it.
  std::vector<limiter::Limit> limits = {};
  /// How a log's requests become keys and arguments; null: as `check` makes them.
  std::shared_ptr<const traffic::ForeignLimiter> words = {};
  std::optional<std::chrono::microseconds> now = {};
  std::optional<replay::ReplayOptions> replay = {};
  std::int64_t skip = 0;         ///< requests of the log before the one that is debugged
  bool is_whole_replay = false;  ///< all of the log's requests are

  DebugWhere where = DebugWhere::kPrivate;
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  /// Stepped by hand: what is none of the forms above.
  bool interactive = false;
  std::string commands = {};  ///< the file they are read from; empty: a terminal, or what is there
  bool quiet = false;
  bool is_sure = false;  ///< --yes
  std::int64_t max_steps = 100'000;
};

/// Whether TIME answers `now` to the script, which has no argument that holds it. Scripts that are
/// called as `check` calls them get it as an argument.
[[nodiscard]] bool freezes_time(const DebugPlan& plan);

/// What the options mean together with the operands; reads the script. Throws UsageError if that
/// cannot be run, so that nothing is started for it, and what reading the configuration throws.
[[nodiscard]] DebugPlan make_debug_plan(const DebugOptions& options, const Invocation& invocation);

}  // namespace rlctl::cli
