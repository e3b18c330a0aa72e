#include "lua/compiled.h"

#include <lua5.1/lua.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lua/lexer.h"
#include "lua/sandbox.h"

namespace rlctl::lua {
namespace {

/// A compiled function.
struct Prototype {
  std::vector<std::uint32_t> code = {};
  std::vector<int> lines = {};              ///< the line of each instruction
  std::vector<std::string> constants = {};  ///< the texts among them; empty for others
  std::vector<Prototype> inner = {};
  int upvalues = 0;  ///< their number
};

/// Reads what lua_dump() has written in this process: see ldump.c of Lua 5.1.
class DumpReader {
 public:
  explicit DumpReader(std::string_view dump) : rest_(dump) { skip(kHeader); }

  Prototype function() {
    Prototype function;
    text();
    skip(2 * sizeof(int));
    function.upvalues = number<unsigned char>();
    skip(3);
    for (int left = number<int>(); left > 0; --left) {
      function.code.push_back(number<std::uint32_t>());
    }
    for (int left = number<int>(); left > 0; --left) function.constants.push_back(constant());
    for (int left = number<int>(); left > 0; --left) function.inner.push_back(this->function());
    for (int left = number<int>(); left > 0; --left) function.lines.push_back(number<int>());
    for (int left = number<int>(); left > 0; --left) {  // local variables
      text();
      skip(2 * sizeof(int));
    }
    for (int left = number<int>(); left > 0; --left) text();  // upvalues
    return function;
  }

 private:
  static constexpr std::size_t kHeader = 12;

  std::string_view skip(std::size_t size) {
    if (size > rest_.size()) throw std::logic_error("a compiled script ends early");
    const auto skipped = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return skipped;
  }
  template <typename Number>
  Number number() {
    Number number{};
    std::memcpy(&number, skip(sizeof(number)).data(), sizeof(number));
    return number;
  }
  /// A name or a text, without the NUL at its end.
  std::string text() {
    const auto bytes = skip(number<std::size_t>());
    return std::string(bytes.substr(0, bytes.empty() ? 0 : bytes.size() - 1));
  }
  /// The text of a constant; empty if it is another value.
  std::string constant() {
    switch (number<unsigned char>()) {
      case LUA_TBOOLEAN:
        skip(1);
        return {};
      case LUA_TNUMBER:
        skip(sizeof(lua_Number));
        return {};
      case LUA_TSTRING:
        return text();
      default:  // nil
        return {};
    }
  }

  std::string_view rest_;
};

/// See lopcodes.h of Lua 5.1.
struct Instruction {
  enum Code : unsigned {
    kLoadBool = 2,
    kGetGlobal = 5,
    kJmp = 22,
    kEq = 23,
    kTestSet = 27,
    kReturn = 30,
    kForLoop = 31,
    kForPrep = 32,
    kTForLoop = 33,
    kSetList = 34,
    kClosure = 36,
  };

  std::uint32_t bits = 0;
  unsigned code() const { return bits & 0x3f; }
  unsigned c() const { return bits >> 14 & 0x1ff; }
  std::size_t bx() const { return bits >> 14; }
  std::ptrdiff_t sbx() const { return static_cast<std::ptrdiff_t>(bx()) - 131071; }
  /// Whether a number follows in place of the next instruction.
  bool has_operand_behind() const { return code() == kSetList && c() == 0; }
  /// Skips the next instruction or jumps as that one says; the two act as one.
  bool is_test() const { return (code() >= kEq && code() <= kTestSet) || code() == kTForLoop; }
};

/// Finds the instructions of one function that can be reached.
class ReachableCode {
 public:
  explicit ReachableCode(const Prototype& function)
      : function_(function), reached_(function.code.size()) {
    go_to(0);
    while (!next_.empty()) {
      const auto at = next_.back();
      next_.pop_back();
      go_on_from(at);
    }
  }

  bool reached(std::size_t at) const { return reached_[at]; }

 private:
  void go_to(std::ptrdiff_t at) {
    const auto index = static_cast<std::size_t>(at);
    if (reached_.at(index)) return;
    reached_[index] = true;
    next_.push_back(at);
  }

  void go_on_from(std::ptrdiff_t at) {
    const auto index = static_cast<std::size_t>(at);
    const Instruction instruction{function_.code[index]};
    if (instruction.is_test()) {
      go_to(at + 2);
      return go_to(at + 2 + Instruction{function_.code.at(index + 1)}.sbx());
    }
    switch (instruction.code()) {
      case Instruction::kReturn:
        return;
      case Instruction::kJmp:
      case Instruction::kForPrep:
        return go_to(at + 1 + instruction.sbx());
      case Instruction::kForLoop:
        go_to(at + 1 + instruction.sbx());
        return go_to(at + 1);
      case Instruction::kLoadBool:
        return go_to(at + (instruction.c() != 0 ? 2 : 1));
      case Instruction::kSetList:
        return go_to(at + (instruction.has_operand_behind() ? 2 : 1));
      case Instruction::kClosure:
        return go_to(at + 1 + function_.inner.at(instruction.bx()).upvalues);
      default:
        return go_to(at + 1);
    }
  }

  const Prototype& function_;
  std::vector<bool> reached_;
  std::vector<std::ptrdiff_t> next_;
};

/// Adds the lines of a function, and of those that it makes.
void add_lines(const Prototype& function, std::set<int>& lines) {
  const ReachableCode code(function);
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    if (!code.reached(at)) continue;
    lines.insert(function.lines.at(at));
    const Instruction instruction{function.code[at]};
    if (instruction.code() == Instruction::kClosure) {
      add_lines(function.inner[instruction.bx()], lines);
    }
  }
}

void add_globals(const Prototype& function, Globals& globals) {
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    const Instruction instruction{function.code[at]};
    if (instruction.code() == Instruction::kGetGlobal) {
      globals.insert(function.constants.at(instruction.bx()));
    }
    if (instruction.has_operand_behind()) ++at;
  }
  for (const auto& inner : function.inner) add_globals(inner, globals);
}

int append_dump(lua_State* /*state*/, const void* bytes, std::size_t size, void* dump) {
  static_cast<std::string*>(dump)->append(static_cast<const char*>(bytes), size);
  return 0;
}

/// Returns std::nullopt if the source does not compile.
std::optional<Prototype> compiled(std::string_view source) {
  constexpr std::size_t kLongest = 256 << 10;
  if (source.size() > kLongest) return std::nullopt;
  const auto first_line = shebang_line(source).size();
  // The server wants a line end there.
  if (first_line > 0 && first_line == source.size()) return std::nullopt;
  source.remove_prefix(first_line);
  std::string dump, error;
  Sandbox sandbox;
  const bool ran = sandbox.run(
      [&](lua_State* state) {
        if (Sandbox::compile(state, source, "=script")) {
          lua_dump(state, append_dump, &dump);
        }
      },
      error);
  if (!ran || dump.empty()) return std::nullopt;
  return DumpReader(dump).function();
}

}  // namespace

std::set<int> stop_lines(std::string_view source) {
  std::set<int> lines;
  const auto function = compiled(source);
  if (function) add_lines(*function, lines);
  return lines;
}

std::optional<Globals> read_globals(std::string_view source) {
  const auto function = compiled(source);
  if (!function) return std::nullopt;
  Globals globals;
  add_globals(*function, globals);
  return globals;
}

}  // namespace rlctl::lua
