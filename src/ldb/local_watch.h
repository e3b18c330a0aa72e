#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ldb/probes.h"
#include "ldb/trace.h"
#include "ldb/value.h"

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

}  // namespace rlctl::ldb
