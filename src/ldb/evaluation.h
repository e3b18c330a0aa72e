#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/session.h"
#include "ldb/value.h"

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

/// None where an expression is something else.
[[nodiscard]] std::optional<VariablePath> parse_path(std::string_view expression);

/// The field of a table by its key: nil where there is none. None where that is not known: of what
/// is no table, or one that is cut.
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

/// The names that stand in code, fields aside; none where it is not Lua as far as it can be taken
/// apart.
[[nodiscard]] std::set<std::string> names_in(std::string_view code);

/// The variable that a statement assigns to, or to what is in it: "t" of "t.a = 1"; empty where it
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

}  // namespace rlctl::ldb
