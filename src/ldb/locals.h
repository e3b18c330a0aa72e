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

#include "ldb/evaluation.h"
#include "ldb/probes.h"
#include "ldb/value.h"
#include "ldb/walk.h"

// The local variables of a script, from the readings of its probes: LocalWatch tells trace() which
// are new or changed, and VisibleLocals tells Debugger which are visible at a stop, and gives code
// copies of them. A value that may be out of date is not shown.

namespace rlctl::ldb {

/// A local variable and its value at a stop.
struct LocalValue {
  Local local = {};
  Value value = {};
};

/// An active function, by its index in the script, and its current line.
struct ActiveFunction {
  std::size_t function = 0;
  int line = 0;
};

/// Finds the local variables that are new or changed, from probe readings.
class LocalWatch {
 public:
  /// The script must outlive this.
  explicit LocalWatch(const ProbedScript& script) : script_(&script) {}

  std::vector<LocalValue> changes(const ProbeReading& reading);

 private:
  /// The variables of one function activation, by their index in the script.
  using Frame = std::map<std::size_t, Value>;
  using Activation = std::pair<std::size_t, std::int64_t>;

  Activation owner_of(const ProbeReading::Variable& variable) const;
  void forget_gone(const ProbeReading& reading);

  const ProbedScript* script_;
  std::map<Activation, Frame> frames_;
};

/// The variables of a script that are known at a stop, within one run. Without probes, there are
/// none.
class VisibleLocals {
 public:
  /// Takes a probe's reading; call it for each one, in order.
  void on_reading(const ProbedScript& script, const ProbeReading& reading);

  /// Forgets all readings: the probes are off from now on, so the variables of a function are not
  /// known before its next reading, unless the next stop is a Walk::line_halt(), before which all
  /// later readings arrive.
  void mark_stale() noexcept {
    stale_ = std::exchange(readings_, {});
    is_active_stale_ = true;
  }

  /// Takes a reading of the same probe once more, which Walk::read_again() asked for.
  void on_same_reading(const ProbedScript& script, const ProbeReading& reading);

  /// Updates the variables; call it at each stop of the walk. `is_within_line`: the script was
  /// stopped within a line that keeps running. At such a stop, and at the same line again, no
  /// variables are known unless the function has a new reading. At a Walk::line_halt(), they are as
  /// they were before the statement, and not known if another call of the function may have
  /// reported them.
  void refresh(const Walk& walk, bool is_within_line);
  /// The visible variables that are new or changed since the previous call.
  std::vector<LocalValue> changes();

  /// Shows the variables of an active function instead, until the next refresh() or
  /// show_innermost(). `frames` are all of them, innermost first. Returns why its variables are not
  /// known; empty if they are. A variable that a call may have changed meanwhile is left out.
  std::string show_frame(const ProbedScript& script, const std::vector<ActiveFunction>& frames,
                         std::size_t index);
  void show_innermost(const ProbedScript& script);

  /// The variables at the last refresh(). At a line that does not begin a statement, the values are
  /// those before the statement that it belongs to.
  const std::vector<LocalValue>& all() const noexcept { return locals_; }
  /// The variable that a name refers to; null if it refers to none that is visible.
  const LocalValue* find(std::string_view name) const noexcept;
  struct Found {
    std::optional<Value> value = {};  ///< std::nullopt if the variable is not known
    std::string why_not = {};  ///< set if the server cannot know the value from a copy either
  };
  /// The value of a variable or of a field of it.
  Found find(const VariablePath& path) const;
  /// The script's function that contains the current line, or the one that show_frame() shows.
  std::size_t function() const noexcept { return shown_function_; }

  /// Where a probe reports a variable: see ProbePart::place_of(). It counts from 1 there.
  struct Slot {
    std::size_t function = 0, first = 0, index = 0;
  };
  /// Where a visible variable of the innermost function was reported last.
  std::optional<Slot> slot_of(const ProbedScript& script, std::string_view name) const;
  /// Whether the script is stopped in front of a statement, and has just passed the probe there.
  bool is_at_probe() const noexcept { return is_at_probe_; }
  /// The probe whose reading the variables are from; null if there is none.
  const Probe* probe(const ProbedScript& script) const;
  /// Forgets all visible variables.
  void clear() noexcept { locals_.clear(); }

  /// "local a,b=1,2 ": copies of the variables that code names. Names that are not visible and that
  /// `absent` accepts get the value of the global of that name, or nil.
  std::string copies_for(std::string_view code,
                         const std::function<bool(std::string_view)>& absent) const;
  /// Why a variable in the code has no copy; empty if all have one.
  std::string why_not_copied(std::string_view code) const;

 private:
  using Activation = std::pair<std::size_t, std::int64_t>;  ///< a function, and which call of it

  void forget_active() noexcept {
    active_.clear();
    is_active_known_ = false;
  }
  void enter(std::size_t function, std::int64_t activation);
  void enter_again(std::size_t function);
  void show(const ProbedScript& script, const ProbeReading& reading);
  std::string why_not_known(const ProbedScript& script, const std::vector<ActiveFunction>& frames,
                            const ActiveFunction& frame) const;
  std::size_t function_at(const ProbedScript& script, int line) const;
  const ProbeReading* current_reading() const;
  static bool may_return_a_call(const Walk& walk, const ProbeReading& reading,
                                std::string_view code);
  bool is_of_this_call(const Walk& walk) const;
  bool may_be_of_inner_call(const Walk& walk) const;

  std::map<std::size_t, ProbeReading> readings_;  ///< the latest of each function
  std::map<std::size_t, ProbeReading> stale_;     ///< until the next refresh(): see mark_stale()
  std::optional<std::size_t> last_probe_;         ///< the probe of the latest reading
  std::optional<LocalWatch> watch_;
  std::vector<LocalValue> locals_;
  std::size_t function_ = 0, shown_function_ = 0;
  int line_ = 0;                ///< the line of the last refresh()
  std::set<std::size_t> read_;  ///< the functions with a reading since the last refresh()
  bool is_at_probe_ = false;
  /// The activations with a reading of which no caller has had one since, so that they may be
  /// active, outermost first. Only those since main's last reading, or since mark_stale().
  std::vector<Activation> active_;
  bool is_active_known_ = false;  ///< all active functions with probes are among them
  bool is_active_stale_ = false;  ///< the script runs freely since mark_stale()
  bool is_outdated_ = false;      ///< the function's latest reading may be too old for this stop
};

}  // namespace rlctl::ldb
