#pragma once

#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "redis/connection.h"

namespace rlctl::ldb {

/// The lines of a script on which the debugger of this server can stop, in order: those of which
/// there is an instruction that can be reached in any way at all, so not of an `end` behind a
/// `return`. It is the server's own compiler that says so, by a script, which changes nothing.
///
/// Throws redis::Error: kRejected where the source does not compile, with the server's words.
[[nodiscard]] std::vector<int> coverable_lines(redis::Connection& connection,
                                               std::string_view source);

/// The same for a script that is run with probes, in lines of the source. There are some more: Lua
/// has no instruction for a "local a" at some places, nor for "do end", and jumps to a jump (a
/// `break`) lead to where that would; not so behind a probe.
[[nodiscard]] std::vector<int> coverable_lines(redis::Connection& connection,
                                               const ProbedScript& script);

/// The same for a script in the form in which begin_walk() runs it where length does not matter:
/// with probes, or wrapped, or as it is.
[[nodiscard]] std::vector<int> coverable_lines_as_run(redis::Connection& connection,
                                                      std::string_view source);

}  // namespace rlctl::ldb
