#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/value.h"

namespace rlctl::ldb {

/// A local variable as a script declares it: a `local`, a parameter, a variable of a `for`.
struct Local {
  std::string name = {};
  int declared_at = 0;  ///< the line
  bool operator==(const Local&) const = default;
};

/// Where the values of locals are told: before a line that begins with a statement.
struct Probe {
  int line = 0;                     ///< the line that it stands before
  std::vector<std::size_t> locals;  ///< indices into ProbedScript::locals, the innermost last
};

/// A script with a probe before each line that begins with a statement, on a line of its own. The
/// server's debugger knows numbers to six digits, the outer of two variables of one name, and
/// nothing of upvalues; a probe tells what each name means there, exactly.
///
/// What the script does stays the same, but for its SHA1, its length, and where it says that errors
/// come from. Its lines number differently: see line_of().
struct ProbedScript {
  std::string text = {};  ///< to be sent instead of the source
  std::vector<Local> locals = {};
  std::vector<Probe> probes = {};
  /// [n]: the line of the source that line n of the text holds; 0 where it is ours. [0] is unused.
  std::vector<int> lines = {};

  /// The source's line for one of the text; 0 for one of ours, and for none.
  [[nodiscard]] int line_of(int line) const noexcept;
};

struct ProbeOptions {
  /// Around all of it stands a function, which lets a script have as many locals as Lua takes; its
  /// frame is one more.
  bool wrapped = false;
  bool probes = true;  ///< none: only `now` is seen to
  /// What TIME answers to redis.call and redis.pcall of the script, in µs since 1970; none: what
  /// the server says.
  std::optional<std::chrono::microseconds> now = {};
};

/// None where the source is not Lua as far as we know it: then it is to be run as it is, and the
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
  };
  /// `text` is what follows "<debug> line N: "; kScripts where it is the script's own.
  [[nodiscard]] Line read(std::string_view text);

 private:
  const ProbedScript& script_;
  std::vector<std::vector<ProbeReading::Variable>> last_;  ///< what each probe told last
};

}  // namespace rlctl::ldb
