#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/debug/plan.h"
#include "redis/url.h"

namespace rlctl::cli {

/// The file of a bundled script, which `cmake --install` puts beside the program; empty where there
/// is none, or another one.
[[nodiscard]] std::string bundled_file(const ldb::Debuggee& script);

/// The words of `redis-cli --ldb --eval FILE key , argument`, which debugs the same on the server
/// at this URL. No password is among them: redis-cli takes it from REDISCLI_AUTH. Throws UsageError
/// for keys that cannot be said so.
[[nodiscard]] std::vector<std::string> redis_cli_words(const DebugPlan& plan, const redis::Url& url,
                                                       const std::string& file);

/// --print-command: the command in one line; a bundled script of which no file is installed is
/// written to one in a folder of its own, which is said on stderr. --redis-cli: becomes redis-cli,
/// and comes back only by an exception: ProblemError where it cannot be run.
ExitStatus run_redis_cli(const DebugPlan& plan, Invocation& invocation);

}  // namespace rlctl::cli
