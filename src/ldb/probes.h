#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::ldb {

/// A local variable that a script declares: a `local`, a parameter, or a `for` variable.
struct Local {
  std::string name = {};
  int declared_at = 0;       ///< the line
  std::size_t function = 0;  ///< the script's function that declares it; 0: the main function
  bool operator==(const Local&) const = default;
};

/// The lines that a function spans.
struct FunctionLines {
  int first = 0;  ///< the line of `function`
  int last = 0;   ///< the line of `end`
  bool operator==(const FunctionLines&) const = default;
};

/// What one call reports: a part of the values of a probe, which are the activations of
/// Probe::functions followed by its locals. Parts are numbered from 1, across all probes of a
/// script.
struct ProbePart {
  /// Keeps within Lua's registers.
  static constexpr std::size_t kMaxValues = 30;

  std::size_t probe = 0;
  std::size_t first = 0;  ///< index of its first value

  /// Probes of the same function share places; a place holds the last reported values.
  static std::size_t place_of(std::size_t function, std::size_t first) {
    constexpr std::size_t kMaxParts = 16;  // 200 locals and 60 upvalues with markers need 9
    return function * kMaxParts + first / kMaxValues;
  }
};

/// Reports the values of locals before a line that begins with a statement.
struct Probe {
  int line = 0;                        ///< the line that it precedes
  std::vector<std::size_t> locals;     ///< indices into ProbedScript::locals, innermost last
  std::vector<std::size_t> functions;  ///< whose activations it reports, before the locals
  std::size_t function = 0;            ///< that contains it; 0: the main function
  std::size_t part = 0;                ///< the number of its first part

  [[nodiscard]] bool is_one_part() const noexcept {
    return functions.size() + locals.size() <= ProbePart::kMaxValues;
  }
};

/// A script with a probe before each line that begins with a statement or, where possible, with the
/// end of a block. A probe is on a line of its own, but at the end of a block on that of the last
/// statement: the debugger does not stop at it there, which saves time. A probe reports exactly
/// what each name means at that point, which the server's debugger cannot: it prints numbers to six
/// digits, only the outer of two variables of one name, and no upvalues.
///
/// The script behaves the same, except that its SHA1, its length and the places in its errors
/// differ, and the debugger also stops where Lua would have omitted the instruction: at each
/// `break` and "local a". Its lines are numbered differently: see line_of(). With probes, its first
/// line (after "#!...", the second) contains nothing of the source.
struct ProbedScript {
  std::string text = {};  ///< to send instead of the source
  std::vector<Local> locals = {};
  std::vector<FunctionLines> functions = {};  ///< the main function first, with no lines
  std::vector<Probe> probes = {};
  /// [n]: the source line on line n of the text; 0 if that line was added. [0] is unused.
  std::vector<int> lines = {};

  /// The source line for a line of the text; 0 if it was added or does not exist.
  [[nodiscard]] int line_of(int line) const noexcept;
  /// The innermost function that contains a source line other than as its first or last line: those
  /// may hold parts of the enclosing function, too.
  [[nodiscard]] std::size_t function_around(int line) const noexcept;
  /// The probe in front of a source line; null if it has none.
  [[nodiscard]] const Probe* probe_at(int line) const noexcept;
  /// False if the main function is known to be the only one.
  [[nodiscard]] bool may_have_functions() const noexcept { return functions.size() != 1; }
};

struct ProbeOptions {
  /// Wrap the script in a function, which lets a script have as many locals as Lua allows; this
  /// adds one stack frame.
  bool wrapped = false;
  bool probes = true;  ///< if false, apply only `now`: no reports, same line numbers
  /// The reply of TIME to redis.call and redis.pcall in the script, in µs since 1970; none: the
  /// server's own.
  std::optional<std::chrono::microseconds> now = {};
};

/// Lua for the `redis` of a script at a time, in µs since 1970: see lua::Substitutes.
[[nodiscard]] std::string redis_at(std::chrono::microseconds now);

/// Adds probes to a source. A function's probes report its own locals and the outer ones that it
/// refers to anyway. Functions that would exceed Lua's limit of 60 upvalues are left out. If the
/// main function then has more locals or registers than Lua allows, the text does not compile: see
/// ProbeOptions::wrapped.
///
/// Returns none if the source is not valid Lua: run it unmodified, and the server reports the
/// error.
[[nodiscard]] std::optional<ProbedScript> add_probes(std::string_view source,
                                                     const ProbeOptions& options = {});

}  // namespace rlctl::ldb
