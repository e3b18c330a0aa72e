#pragma once

#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/plan.h"
#include "ldb/session.h"
#include "redis/url.h"

namespace rlctl::cli::debug {

// The classic debugger, redis-cli --ldb, with the plan's script, keys and arguments.

/// Returns the installed file of a bundled script, which `cmake --install` puts next to the
/// program; empty if there is none, or if its contents differ.
[[nodiscard]] std::string bundled_file(const ldb::Debuggee& script);

/// Returns the words of `redis-cli --ldb --eval FILE key , argument`, which debugs the same script
/// on the server at this URL. They do not include the password: redis-cli takes it from
/// REDISCLI_AUTH. Throws UsageError for keys that this command cannot express.
[[nodiscard]] std::vector<std::string> redis_cli_ldb_words(const Plan& plan, const redis::Url& url,
                                                           const std::string& file);

/// --print-command: prints the command on one line; a bundled script without an installed file is
/// written to a new folder, which stderr reports. --redis-cli: executes redis-cli in place of this
/// process; throws ProblemError if that fails.
ExitStatus run_redis_cli(const Plan& plan, Invocation& invocation);

}  // namespace rlctl::cli::debug
