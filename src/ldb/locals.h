#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ldb/evaluation.h"
#include "ldb/probes.h"
#include "ldb/trace.h"
#include "ldb/value.h"
#include "ldb/walk.h"

namespace rlctl::ldb {

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
  /// The one that a name means; null where there is none.
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
  /// Why code could not see a variable: there is no copy of it. Empty where that is not so.
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
