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

namespace rlctl::ldb {

/// A local variable and its value at a stop.
struct LocalValue {
  Local local = {};
  Value value = {};
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

/// The variables of a script that are known at a stop, within one run. Without probes, none are.
class VisibleLocals {
 public:
  /// Takes a probe's reading; call it for each one, in order.
  void on_reading(const ProbedScript& script, const ProbeReading& reading);

  /// The probes are off until the next stop: each function's reading is out of date there, until
  /// the next one.
  void mark_stale() noexcept { readings_.clear(); }

  /// Updates the variables; call it at each stop of the walk. `in_midst`: the script was stopped
  /// within a line that keeps running. There, and when execution returns to a line, the values may
  /// be outdated: without a new reading of the function, none are known.
  void refresh(const Walk& walk, bool in_midst);
  /// The variables that are new or changed at the last refresh(), since the previous call.
  std::vector<LocalValue> changes();

  /// For a line that does not begin a statement, the values known before the statement it belongs
  /// to.
  const std::vector<LocalValue>& all() const noexcept { return locals_; }
  /// The variable that a name refers to; null if there is none.
  const LocalValue* find(std::string_view name) const noexcept;
  struct Found {
    std::optional<Value> value = {};  ///< none if there is no such variable, or it is not known
    std::string why_not = {};         ///< set if the server cannot know it from a copy either
  };
  /// The value of a variable or of a field of it.
  Found find(const VariablePath& path) const;
  /// The script's function that contains the current line.
  std::size_t function() const noexcept { return function_; }
  /// Forgets all visible variables.
  void clear() noexcept { locals_.clear(); }

  /// "local a,b=1,2 ": copies of the variables that code names. Names that are not visible and that
  /// `absent` accepts get the value of the global of that name, or nil.
  std::string copies_for(std::string_view code,
                         const std::function<bool(std::string_view)>& absent) const;
  /// Why a variable in the code has no copy; empty if all have one.
  std::string why_not_copied(std::string_view code) const;

 private:
  std::size_t function_at(const ProbedScript& script, int line) const;
  const ProbeReading* reading_here() const;

  std::map<std::size_t, ProbeReading> readings_;  ///< the latest of each function
  std::optional<ProbeReading> last_reading_;
  std::optional<LocalWatch> watch_;
  std::vector<LocalValue> locals_;
  std::size_t function_ = 0;
  int line_ = 0;                ///< of the last refresh()
  std::set<std::size_t> read_;  ///< the functions with a reading since the last refresh()
  bool is_outdated_ = false;    ///< reading_here() may be from before the current stop
};

}  // namespace rlctl::ldb
