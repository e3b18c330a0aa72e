#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "redis/connection.h"

namespace rlctl::ldb {

/// A function of Lua 5.1 as its compiler made it.
struct LuaPrototype {
  std::vector<std::uint32_t> code = {};
  std::vector<int> lines = {};  ///< of each instruction
  std::vector<LuaPrototype> inner = {};
  std::vector<int> upvalues_of_inner = {};  ///< how many each of them has
};

/// Takes apart what string.dump() gave, with sizes and byte order of whatever machine. Throws
/// redis::Error(kProtocol) where it is something else.
[[nodiscard]] LuaPrototype parse_bytecode(std::string_view dump);

/// The lines of which an instruction can be reached, of this function and those that it makes, in
/// any order and more than once.
void append_reachable_lines(const LuaPrototype& function, std::vector<int>& lines);

/// The lines of a script on which the debugger of this server can stop, in order: those of which
/// there is an instruction that can be reached in any way at all, so not of an `end` behind a
/// `return`. The server's own compiler tells them, by a script, which changes nothing.
///
/// Throws redis::Error: kRejected where the source does not compile, with the server's words.
[[nodiscard]] std::vector<int> coverable_lines(redis::Connection& connection,
                                               std::string_view source);

/// The same for a script that is run with probes, in lines of the source. There are some more: Lua
/// has no instruction for a "local a" at some places, nor for "do end", and jumps to a jump (a
/// `break`) lead to where that would; not so after a probe.
[[nodiscard]] std::vector<int> coverable_lines(redis::Connection& connection,
                                               const ProbedScript& script);

/// The same for a script in the form in which begin_walk() runs it where length does not matter:
/// with probes, or wrapped, or as it is.
[[nodiscard]] std::vector<int> coverable_lines_as_run(redis::Connection& connection,
                                                      std::string_view source);

}  // namespace rlctl::ldb
