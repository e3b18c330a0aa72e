#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "ldb/value.h"

namespace rlctl::ldb {

/// Parses a value in a probe's format: d1.5, {d1;sx=n;}. Returns none for anything else.
[[nodiscard]] std::optional<Value> parse_told(std::string_view text);

/// What a probe reported about one activation of a function.
struct ProbeReading {
  std::size_t probe = 0;  ///< index into ProbedScript::probes
  struct Variable {
    std::size_t local = 0;        ///< index into ProbedScript::locals
    std::int64_t activation = 0;  ///< of the function that declares it; 0: the main function
    Value value = {};
  };
  std::vector<Variable> variables = {};  ///< all of the probe's locals
};

/// A call by the script, reported before it is executed, since the debugger truncates its words to
/// ten. A call that cannot be a command (no words, or a word that is neither a string nor a number)
/// is not reported.
using CallWords = std::vector<std::string>;

/// A message of the script, by redis.debug() or redis.log().
struct ScriptMessage {
  std::string text = {};   ///< of redis.debug(): as the debugger prints its arguments
  std::string level = {};  ///< of redis.log(): "notice"; empty: by redis.debug()
  bool operator==(const ScriptMessage&) const = default;
};

/// Parses the lines that a probed script writes with redis.debug(). A probe does not repeat values
/// that did not change since the last report, so use one reader per run and give it every line.
class ProbeReader {
 public:
  explicit ProbeReader(const ProbedScript& script);

  struct Line {
    enum class Kind { kScripts, kProbe, kCall, kLog, kPause } kind = Kind::kScripts;
    ProbeReading reading = {};   ///< kProbe
    CallWords words = {};        ///< kCall
    ScriptMessage message = {};  ///< kLog
    /// kCall: the script's reply if the server is not asked: the two texts of TIME.
    std::optional<std::vector<std::string>> answer = {};
  };
  /// `text` is what follows "<debug> line N: "; kScripts if the script itself wrote it.
  [[nodiscard]] Line read(std::string_view text);

 private:
  bool read_values(std::string_view text, std::size_t& probe);
  [[nodiscard]] ProbeReading reading_of(std::size_t index);

  const ProbedScript& script_;
  std::vector<ProbePart> parts_;  ///< [n]: part number n + 1
  /// The values that each place of the script had last; see ProbePart::place_of().
  std::map<std::size_t, std::array<Value, ProbePart::kMaxValues>> last_;
};

}  // namespace rlctl::ldb
