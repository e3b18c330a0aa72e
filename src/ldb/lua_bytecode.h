#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

}  // namespace rlctl::ldb
