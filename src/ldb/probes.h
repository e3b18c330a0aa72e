#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/value.h"

namespace rlctl::ldb {

/// A local variable as a script declares it: a `local`, a parameter, a variable of a `for`.
struct Local {
  std::string name = {};
  int declared_at = 0;       ///< the line
  std::size_t function = 0;  ///< which one of the script's declares it; 0: the main one
  bool operator==(const Local&) const = default;
};

/// Which lines a function stands on.
struct FunctionLines {
  int first = 0;  ///< that of `function`
  int last = 0;   ///< that of `end`
  bool operator==(const FunctionLines&) const = default;
};

/// What one call tells: some of the values of a probe, which are the activations of
/// Probe::functions and then its locals. Parts are numbered from 1 on, through all the probes of a
/// script.
struct ProbePart {
  /// So that registers suffice.
  static constexpr std::size_t kMostValues = 30;

  std::size_t probe = 0;
  std::size_t first = 0;  ///< of its values

  /// The probes of one function tell of the same places, from which values are known.
  static std::size_t place_of(std::size_t function, std::size_t first) {
    constexpr std::size_t kMostParts = 16;  // (200 locals, 60 upvalues, and a marker for each) / 30
    return function * kMostParts + first / kMostValues;
  }
};

/// Where the values of locals are told: before a line that begins with a statement.
struct Probe {
  int line = 0;                        ///< the line that it stands before
  std::vector<std::size_t> locals;     ///< indices into ProbedScript::locals, the innermost last
  std::vector<std::size_t> functions;  ///< whose activations it tells, before the locals
  std::size_t function = 0;            ///< in which it stands; 0: the main one
};

/// A script with a probe before each line that begins with a statement, or with the end of a block
/// where that can be, on a line of its own. The server's debugger knows numbers to six digits, the
/// outer of two variables of one name, and nothing of upvalues; a probe tells what each name means
/// there, exactly.
///
/// What the script does stays the same, but for its SHA1, its length, and where it says that errors
/// come from, and that the debugger also stops where Lua would have left out the instruction: at
/// each `break` and "local a". Its lines number differently: see line_of(). On its first line
/// (after "#!...", the second) stands nothing of the source where there are probes.
struct ProbedScript {
  std::string text = {};  ///< to be sent instead of the source
  std::vector<Local> locals = {};
  std::vector<FunctionLines> functions = {};  ///< the main one first, with no lines
  std::vector<Probe> probes = {};
  /// [n]: the line of the source that line n of the text holds; 0 if it is ours. [0] is unused.
  std::vector<int> lines = {};

  /// The source's line for one of the text; 0 for one of ours, and for none.
  [[nodiscard]] int line_of(int line) const noexcept;
  /// The innermost function of which a line of the source is neither the first nor the last one: on
  /// these stand things of the function around it, too.
  [[nodiscard]] std::size_t function_around(int line) const noexcept;
  /// False if it is known that the main function is the only one.
  [[nodiscard]] bool may_have_functions() const noexcept { return functions.size() != 1; }
};

struct ProbeOptions {
  /// Around all of it stands a function, which lets a script have as many locals as Lua takes; its
  /// frame is one more.
  bool wrapped = false;
  bool probes = true;  ///< none: only `now` is seen to; nothing is told, and lines stay lines
  /// What TIME answers to redis.call and redis.pcall of the script, in µs since 1970; none: what
  /// the server says.
  std::optional<std::chrono::microseconds> now = {};
};

/// The probes of a function tell its own locals, and those outer ones that it refers to anyway.
/// Left out are functions that would have more than the 60 upvalues that Lua takes. Where there
/// are too many locals, which Lua knows, the text does not compile: see ProbeOptions::wrapped.
///
/// None if the source is not Lua as far as we know it: then it is to be run as it is, and the
/// server says what is wrong with it.
[[nodiscard]] std::optional<ProbedScript> add_probes(std::string_view source,
                                                     const ProbeOptions& options = {});

/// What a probe told: of one function's activation.
struct ProbeReading {
  std::size_t probe = 0;  ///< index into ProbedScript::probes
  struct Variable {
    std::size_t local = 0;        ///< index into ProbedScript::locals
    std::int64_t activation = 0;  ///< of the function that declares it; 0: the main one
    Value value = {};
  };
  std::vector<Variable> variables = {};  ///< all of the probe's locals
};

/// A call of the script's, told before it is executed, since the debugger cuts its words at ten.
/// What cannot be a command (without words, or with one that is neither string nor number) is not
/// told.
using CallWords = std::vector<std::string>;

/// Understands the lines that a probed script writes by redis.debug(). Values that did not change
/// since a probe last told them are not told again: one reader for one run, given every line.
class ProbeReader {
 public:
  explicit ProbeReader(const ProbedScript& script);

  struct Line {
    enum class Kind { kScripts, kProbe, kCall } kind = Kind::kScripts;
    ProbeReading reading = {};  ///< kProbe
    CallWords words = {};       ///< kCall
    /// kCall: what the script was answered, where the server is not asked: TIME's two texts.
    std::optional<std::vector<std::string>> answer = {};
  };
  /// `text` is what follows "<debug> line N: "; kScripts where it is the script's own.
  [[nodiscard]] Line read(std::string_view text);

 private:
  bool read_values(std::string_view text, std::size_t& probe);
  [[nodiscard]] ProbeReading reading_of(std::size_t index);

  const ProbedScript& script_;
  std::vector<ProbePart> parts_;  ///< [n]: what is told as n + 1
  std::map<std::size_t, std::array<Value, ProbePart::kMostValues>> last_;  ///< by place
};

}  // namespace rlctl::ldb
