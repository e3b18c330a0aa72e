#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "redis/connection.h"

// At which lines a script can stop: the server compiles it, and its bytecode tells which lines have
// an instruction that can be reached. `rlctl debug --coverage` counts against these lines, and
// Debugger refuses breakpoints at others.

namespace rlctl::ldb {

// ---- The lines ----

/// The lines of a script at which the server's debugger can stop, in order: those with an
/// instruction that any path can reach, so not an `end` after a `return`. The server's own compiler
/// determines them, in a script that changes nothing.
///
/// Throws redis::Error: kRejected, with the server's message, if the source does not compile.
std::vector<int> coverable_lines(redis::Connection& connection, std::string_view source);

/// The lines of the source at which a script with probes can stop. There are a few more: Lua omits
/// the instruction for some "local a" and for "do end", and collapses a jump to a jump (a `break`),
/// but not after a probe.
std::vector<int> coverable_lines(redis::Connection& connection, const ProbedScript& script);

/// The lines of the source at which begin_walk() can stop: it runs a script with probes, or
/// wrapped, or unmodified.
std::vector<int> coverable_lines_as_run(redis::Connection& connection, std::string_view source);

// ---- Bytecode, for tests ----

/// A Lua 5.1 function in compiled form.
struct LuaPrototype {
  std::vector<std::uint32_t> code = {};
  std::vector<int> lines = {};  ///< the line of each instruction
  std::vector<LuaPrototype> inner = {};
  int upvalues = 0;  ///< their number
};

/// Parses the output of string.dump(), with any sizes and byte order. Throws
/// redis::Error(kProtocol) if it is not Lua 5.1 bytecode.
LuaPrototype parse_bytecode(std::string_view dump);

/// Appends the lines that have a reachable instruction, in this function and in those it creates,
/// in any order and possibly repeated.
void append_reachable_lines(const LuaPrototype& function, std::vector<int>& lines);

}  // namespace rlctl::ldb
