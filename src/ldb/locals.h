#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/value.h"
#include "ldb/walk.h"

namespace rlctl::ldb {

/// A variable, or what is in it: t.a[2]["b c"][i].
struct VariablePath {
  struct Step {
    Value key = {};
    std::string variable = {};  ///< whose value is the key; empty: `key` is
  };
  std::string root = {};
  std::vector<Step> steps = {};
};

/// None if an expression is something else.
[[nodiscard]] std::optional<VariablePath> parse_path(std::string_view expression);

/// The field of a table by its key: nil where there is none. None if that is not known: if it
/// is not a table, or is one that is cut.
[[nodiscard]] std::optional<Value> field_of(const Value& table, const Value& key);

/// What came of code that was run at a stop.
struct Evaluation {
  enum class Outcome {
    kValues,
    kCompileError,
    kError,   ///< it raised one, or could not be sent
    kCutOff,  ///< the session has ended over it
  } outcome = Outcome::kValues;
  std::vector<Value> values = {};  ///< all that an expression has, or `return` returned
  std::string message = {};        ///< of the errors

  bool operator==(const Evaluation&) const = default;
};

/// The names that stand in code, fields aside; none if it is not Lua as far as it can be taken
/// apart.
[[nodiscard]] std::set<std::string> names_in(std::string_view code);

/// The variable that a statement assigns to, or to what is in it: "t" of "t.a = 1"; empty if it
/// is none of that kind.
[[nodiscard]] std::string assigned_in(std::string_view code);

/// Whether code may run without an end by itself, or so long: it has a loop, or a function of its
/// own, takes code from a string, or repeats one.
[[nodiscard]] bool may_be_endless(std::string_view code);

/// Runs code, an expression or statements, at the stop at which a session is, in the server.
/// `prelude` stands before it: "local a, b = 1, 2 ". It sees globals, and calls Redis. Values are
/// exact, but where the server takes short commands only and this would be a long one: then there
/// is one at most, and it may be approximate.
[[nodiscard]] Evaluation evaluate(Session& session, std::string_view prelude, std::string_view code,
                                  std::chrono::microseconds limit);

/// Tells which local variables are new or different, from what probes tell.
class LocalWatch {
 public:
  /// The script must outlive it.
  explicit LocalWatch(const ProbedScript& script) : script_(&script) {}

  [[nodiscard]] std::vector<LocalChange> changes(const ProbeReading& reading);

 private:
  /// Of one activation of a function: its variables, by their number in the script.
  using Frame = std::map<std::size_t, Value>;
  using Activation = std::pair<std::size_t, std::int64_t>;

  [[nodiscard]] Activation owner_of(const ProbeReading::Variable& variable) const;
  void forget_gone(const ProbeReading& reading);

  const ProbedScript* script_;
  std::map<Activation, Frame> frames_;
};

/// The same from what the debugger's own `print` says, which knows the innermost function's
/// variables alone, by their places on the stack.
class PrintedLocals {
 public:
  /// `items` are what "print" answered, `depth` is how many functions have been entered, `line` is
  /// the one that was executed.
  [[nodiscard]] std::vector<LocalChange> changes(const std::vector<std::string>& items,
                                                 std::size_t depth, int line);

 private:
  using Frame = std::vector<LocalChange>;
  std::vector<Frame> frames_;
};

/// A variable that can be seen at a stop.
using VisibleLocal = LocalChange;

/// What is known of a script's variables where it stands, in one run of it: what probes told, or,
/// where there are none, what the server's debugger prints.
class VisibleLocals {
 public:
  /// What a probe told; each, in their order.
  void hear(const ProbedScript& script, const ProbeReading& reading);

  /// Where a walk has come to stand; each such place. `in_midst`: it was stopped in a line that
  /// goes on and on. There, and where it comes back to a line that nothing was told before, values
  /// may be others than were told: such a one is then what the server prints, which may be
  /// approximate. The session may end over it.
  void look(Walk& walk, bool in_midst);
  /// What is new or different since this was asked last, at the last look.
  [[nodiscard]] std::vector<LocalChange> changes(Walk& walk);

  /// Of a line that begins with no statement it is what was known before the statement that it
  /// belongs to.
  [[nodiscard]] const std::vector<VisibleLocal>& all() const noexcept { return locals_; }
  /// The one that a name means; null if there is none.
  [[nodiscard]] const VisibleLocal* find(std::string_view name) const noexcept;
  struct Found {
    std::optional<Value> value = {};  ///< none: Lua may know it
    std::string why_not = {};         ///< not even Lua would, from a copy
  };
  /// The value of a variable, or of what is in it.
  [[nodiscard]] Found find(const VariablePath& path) const;
  /// The function of the script's in which it stands.
  [[nodiscard]] std::size_t function() const noexcept { return function_; }
  /// Nothing is in sight any more.
  void clear() noexcept { locals_.clear(); }

  /// "local a,b=1,2 " of the variables that code names: copies of them. Those that `absent` takes,
  /// of the names that are not in sight, are what is global of that name, or nil.
  [[nodiscard]] std::string copies_for(std::string_view code,
                                       const std::function<bool(std::string_view)>& absent) const;
  /// Why code could not see a variable: there is no copy of it. Empty if that is not so.
  [[nodiscard]] std::string why_not_copied(std::string_view code) const;

 private:
  [[nodiscard]] std::size_t function_at(const ProbedScript& script, int line) const;
  [[nodiscard]] const ProbeReading* reading_here() const;
  void take_printed(const std::vector<std::string>& items);

  std::map<std::size_t, ProbeReading> readings_;  ///< the last one of each function
  std::optional<ProbeReading> last_reading_;
  std::optional<LocalWatch> watch_;
  PrintedLocals printed_;
  std::vector<std::string> printed_items_;  ///< where there are no probes
  std::vector<VisibleLocal> locals_;
  std::size_t function_ = 0;
  int line_ = 0;        ///< of the last look
  bool heard_ = false;  ///< something since then
};

}  // namespace rlctl::ldb
