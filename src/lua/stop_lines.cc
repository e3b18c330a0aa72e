#include "lua/stop_lines.h"

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
  std::vector<int> lines = {};  ///< the line of each instruction
  std::vector<Prototype> inner = {};
  int upvalues = 0;  ///< their number
};

/// Reads what lua_dump() has written in this process: see ldump.c of Lua 5.1.
class DumpReader {
 public:
  explicit DumpReader(std::string_view dump) : rest_(dump) { skip(kHeader); }

  Prototype function() {
    Prototype function;
    skip_text();
    skip(2 * sizeof(int));
    function.upvalues = number<unsigned char>();
    skip(3);
    for (int left = number<int>(); left > 0; --left) {
      function.code.push_back(number<std::uint32_t>());
    }
    skip_constants();
    for (int left = number<int>(); left > 0; --left) function.inner.push_back(this->function());
    for (int left = number<int>(); left > 0; --left) function.lines.push_back(number<int>());
    for (int left = number<int>(); left > 0; --left) {  // local variables
      skip_text();
      skip(2 * sizeof(int));
    }
    for (int left = number<int>(); left > 0; --left) skip_text();  // upvalues
    return function;
  }

 private:
  static constexpr std::size_t kHeader = 12;

  void skip(std::size_t size) {
    if (size > rest_.size()) throw std::logic_error("a compiled script ends early");
    rest_.remove_prefix(size);
  }
  template <typename Number>
  Number number() {
    Number number{};
    const auto* const bytes = rest_.data();
    skip(sizeof(number));
    std::memcpy(&number, bytes, sizeof(number));
    return number;
  }
  void skip_text() { skip(number<std::size_t>()); }
  void skip_constants() {
    for (int left = number<int>(); left > 0; --left) {
      switch (number<unsigned char>()) {
        case LUA_TBOOLEAN:
          skip(1);
          break;
        case LUA_TNUMBER:
          skip(sizeof(lua_Number));
          break;
        case LUA_TSTRING:
          skip_text();
          break;
        default:  // nil
          break;
      }
    }
  }

  std::string_view rest_;
};

/// See lopcodes.h of Lua 5.1.
struct Instruction {
  enum Code : unsigned {
    kLoadBool = 2,
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
        return go_to(at + (instruction.c() == 0 ? 2 : 1));
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

int append_dump(lua_State* /*state*/, const void* bytes, std::size_t size, void* dump) {
  static_cast<std::string*>(dump)->append(static_cast<const char*>(bytes), size);
  return 0;
}

}  // namespace

std::set<int> stop_lines(std::string_view source) {
  std::string dump, error;
  Sandbox sandbox;
  source.remove_prefix(shebang_line(source).size());
  const bool ran = sandbox.run(
      [&](lua_State* state) {
        if (Sandbox::compile(state, source, "=script")) lua_dump(state, append_dump, &dump);
      },
      error);
  std::set<int> lines;
  if (ran && !dump.empty()) add_lines(DumpReader(dump).function(), lines);
  return lines;
}

}  // namespace rlctl::lua
