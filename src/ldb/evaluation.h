#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/session.h"
#include "ldb/value.h"

// Code that the user types into rlctl debug, or gives as a condition or a watch: which variables it
// names, whether it may run for ever, and its values at a stop. Debugger and VisibleLocals call
// this. Lua's own scopes are out of reach at a stop, so the code runs with copies of the variables.

namespace rlctl::ldb {

// ---- Reading code ----

/// A variable or a field of it: t.a[2]["b c"][i].
struct VariablePath {
  struct Step {
    Value key = {};
    std::string variable = {};  ///< the variable that holds the key; if empty, use `key`
  };
  std::string root = {};
  std::vector<Step> steps = {};
};

/// Returns std::nullopt if the expression is anything but a variable or a field of one.
std::optional<VariablePath> parse_path(std::string_view expression);

/// "t.a = 1", or "t.a 1" without the sign.
struct Assignment {
  std::string variable = {};    ///< a variable or a field of one, and blanks
  std::string expression = {};  ///< may be empty
  bool has_sign = false;
};

/// Splits code behind the longest variable at its beginning; std::nullopt if it begins with none.
std::optional<Assignment> parse_assignment(std::string_view code);

/// The field of a table with this key, nil if there is none. Returns std::nullopt if it cannot be
/// known: the value is not a table, or is a truncated one.
std::optional<Value> field_of(const Value& table, const Value& key);

/// The names used in code, except fields; empty if the code cannot be tokenized.
std::set<std::string> names_in(std::string_view code);

/// The variable that a statement assigns to, directly or to a field: "t" for "t.a = 1"; empty for
/// any other statement.
std::string assigned_in(std::string_view code);

/// Whether code may not terminate or may run long: it contains a loop or a function, loads code
/// from a string, or repeats a string.
bool may_be_endless(std::string_view code);

// ---- Running code ----

/// The result of code that was run at a stop.
struct Evaluation {
  enum class Outcome {
    kValues,
    kCompileError,
    kError,   ///< the code raised an error, or could not be sent
    kCutOff,  ///< the code ended the session
  } outcome = Outcome::kValues;
  std::vector<Value> values = {};  ///< all values of the expression or of `return`
  std::string message = {};        ///< the error

  bool operator==(const Evaluation&) const = default;
};

/// Runs code, an expression or statements, in the server at the session's current stop, after
/// `prelude`: "local a, b = 1, 2 ". The code sees globals and can call Redis, whose time is `now`,
/// if given. The outcome is kError if the code is too long for the server's debugger.
Evaluation evaluate(Session& session, std::string_view prelude, std::string_view code,
                    std::chrono::microseconds limit,
                    std::optional<std::chrono::microseconds> now = {});

}  // namespace rlctl::ldb
