#include "ldb/coverable_lines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "embedded_ldb.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

constexpr int kDeepestFunction = 250;  // the compiler stops at 200

[[noreturn]] void fail_parsing() {
  throw redis::Error(redis::Failure::kProtocol, "the server's compiled script is not Lua 5.1");
}

/// See ldump.c and lundump.c of Lua 5.1.
class DumpReader {
 public:
  /// Reads the header.
  explicit DumpReader(std::string_view dump) : rest_(dump) {
    if (take(6) != std::string_view("\033LuaQ\0", 6)) fail_parsing();
    is_little_ = number(1) != 0;
    size_of_int_ = number(1);
    size_of_size_ = number(1);
    const auto size_of_instruction = number(1);
    size_of_number_ = number(1);
    take(1);
    if (size_of_int_ > 8 || size_of_size_ > 8 || size_of_instruction != 4) fail_parsing();
  }

  LuaPrototype function(int depth = 0) {
    if (depth > kDeepestFunction) fail_parsing();
    LuaPrototype function;
    skip_string();
    take(2 * size_of_int_);
    function.upvalues = static_cast<int>(number(1));
    take(3);
    for (auto left = count(); left > 0; --left) {
      function.code.push_back(static_cast<std::uint32_t>(number(4)));
    }
    skip_constants();
    for (auto left = count(); left > 0; --left) {
      function.inner.push_back(this->function(depth + 1));
    }
    for (auto left = count(); left > 0; --left) {
      function.lines.push_back(static_cast<int>(number(size_of_int_)));
    }
    skip_debug_names();
    if (function.lines.size() != function.code.size()) fail_parsing();
    return function;
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) fail_parsing();
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::uint64_t number(std::size_t size) {
    const auto bytes = take(size);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) {
      number = number << 8 | static_cast<unsigned char>(bytes[is_little_ ? size - 1 - i : i]);
    }
    return number;
  }

  // A count of items that take at least one byte each.
  std::size_t count() {
    const auto count = number(size_of_int_);
    if (count > rest_.size()) fail_parsing();
    return count;
  }

  void skip_string() { take(number(size_of_size_)); }
  void skip_constants() {
    enum Type { kNil = 0, kBoolean = 1, kNumber = 3, kString = 4 };
    for (auto left = count(); left > 0; --left) {
      switch (number(1)) {
        case kNil:
          break;
        case kBoolean:
          take(1);
          break;
        case kNumber:
          take(size_of_number_);
          break;
        case kString:
          skip_string();
          break;
        default:
          fail_parsing();
      }
    }
  }

  void skip_debug_names() {
    for (auto locals = count(); locals > 0; --locals) {
      skip_string();
      take(2 * size_of_int_);
    }
    for (auto upvalues = count(); upvalues > 0; --upvalues) skip_string();
  }

  std::string_view rest_;
  bool is_little_ = true;
  std::size_t size_of_int_ = 4, size_of_size_ = 8, size_of_number_ = 8;
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
  explicit ReachableCode(const LuaPrototype& function)
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
    if (at < 0 || std::cmp_greater_equal(at, reached_.size())) fail_parsing();
    const auto index = static_cast<std::size_t>(at);
    if (reached_[index]) return;
    reached_[index] = true;
    next_.push_back(at);
  }

  void go_on_from(std::ptrdiff_t at) {
    const auto index = static_cast<std::size_t>(at);
    const Instruction instruction{function_.code[index]};
    if (instruction.is_test()) {
      if (index + 1 >= function_.code.size()) fail_parsing();
      go_to(at + 2);
      go_to(at + 2 + Instruction{function_.code[index + 1]}.sbx());
      return;
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
        if (instruction.bx() >= function_.inner.size()) fail_parsing();
        return go_to(at + 1 + function_.inner[instruction.bx()].upvalues);
      default:
        return go_to(at + 1);
    }
  }

  const LuaPrototype& function_;
  std::vector<bool> reached_;
  std::vector<std::ptrdiff_t> next_;
};

}  // namespace

LuaPrototype parse_bytecode(std::string_view dump) {
  return DumpReader(dump).function();
}

void append_reachable_lines(const LuaPrototype& function, std::vector<int>& lines) {
  const ReachableCode code(function);
  // Look at a function once, however often it is made: a hostile dump may nest such repetitions.
  std::vector<bool> is_made(function.inner.size());
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    if (!code.reached(at)) continue;
    lines.push_back(function.lines[at]);
    const Instruction instruction{function.code[at]};
    if (instruction.code() == Instruction::kClosure) is_made[instruction.bx()] = true;
  }
  for (std::size_t i = 0; i < function.inner.size(); ++i) {
    if (is_made[i]) append_reachable_lines(function.inner[i], lines);
  }
}

std::vector<int> coverable_lines(redis::Connection& connection, std::string_view source) {
  auto code = source;
  if (code.substr(0, 2) == "#!") code.remove_prefix(std::min(code.find('\n'), code.size()));
  const auto reply = connection.call({"EVAL", embedded::k_compile.text, "0", code});
  if (reply.is_error()) throw redis::to_error(reply);
  std::vector<int> lines;
  append_reachable_lines(parse_bytecode(reply.text()), lines);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const auto last = static_cast<int>(lua::source_lines(source).size());
  std::erase_if(lines, [last](int line) { return line > last; });
  return lines;
}

std::vector<int> coverable_lines(redis::Connection& connection, const ProbedScript& script) {
  std::vector<int> lines;
  for (const int line : coverable_lines(connection, script.text)) {
    const int own = script.line_of(line);
    if (own > 0 && (lines.empty() || lines.back() != own)) lines.push_back(own);
  }
  return lines;
}

std::vector<int> coverable_lines_as_run(redis::Connection& connection, std::string_view source) {
  for (const bool wrapped : {false, true}) {
    const auto probed = add_probes(source, {.wrapped = wrapped});
    if (!probed || probed->probes.empty()) break;
    try {
      return coverable_lines(connection, *probed);
    } catch (const redis::Error& error) {
      if (error.failure() != redis::Failure::kRejected) throw;
    }
  }
  return coverable_lines(connection, source);
}

}  // namespace rlctl::ldb
