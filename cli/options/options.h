#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rlctl::cli {

/// An option with an optional value, which must follow '=': --wait, --wait=5s.
struct OptionalValue {
  bool given = false;
  std::optional<std::string> value;
};

struct Completion;
using Completer = struct Completions (*)(const struct Typed&);  // see completions.h

/// Whether an option is part of the command line that repeats a run.
enum class Repeats { kNever, kAlways, kWithServer };

/// The options of rlctl and of the chosen command, one row each: names, value, help, what it
/// excludes and requires, whether it repeats, and how a shell completes it. Parsing, consistency
/// checks, help, completion and the command line that repeats a run all use the rows. Values stay
/// text here; the commands parse them.
///
/// Parsing follows GNU getopt_long: options and operands in any order, "--" ends the options,
/// "-p6379", "-qj", "--opt value", "--opt=value"; the last of a repeated scalar wins. Abbreviated
/// names are refused, since allowing them would freeze every name. Reports the first mistake on the
/// line.
///
/// rlctl has its own parser because CLI11 2.1.2, the available version, handles most of that
/// wrongly: it reports a missing option instead of the misspelt one and extra operands in reverse,
/// takes "--opt=" for "--opt NEXT" and "-q-json" for "-q --json", drops an operand "++", splits the
/// value "[a,b]" of a list, cannot require '=' for an optional value, and accepts values for flags.
///
/// Does not copy names, value names, help texts and reasons. Targets must outlive parse().
class Options {
 public:
  /// An option, to which a caller adds its rules. A condition is
  ///   "--rate"      that option is given
  ///   "--rate max"  it is given with this value (the last one counts)
  ///   "adversary"   this word is the first operand
  class Row {
   public:
    /// Refuses both: "--wait and --now cannot be combined: WHY". `why` and `hint` may be empty.
    Row& excludes(std::string_view condition, std::string_view why = {},
                  std::string_view hint = {});
    /// Refuses this option without the other: "--burst requires --limit: WHY".
    Row& needs(std::string_view condition, std::string_view why = {}, std::string_view hint = {});
    /// The preceding rule does not apply if this condition holds.
    Row& unless(std::string_view condition);
    /// Refuses a second occurrence: "--match may be given only once". The hint must not be empty.
    Row& once(std::string_view hint);
    Row& repeats(Repeats at = Repeats::kAlways);
    /// For a list: a value may consist of several, separated by commas.
    Row& comma_separated();
    /// For an optional value: refuses to take the next argument for an operand if this returns true
    /// for it: "--watch 5s".
    Row& mistakable(bool (*is_value)(const std::string& text));
    /// How a shell completes the value. Without this, only a FILE or a PATH is completed.
    Row& completes(Completer complete);

    /// Null: nothing is known of the value.
    [[nodiscard]] Completer completion() const;
    /// Whether a value may consist of several, separated by commas.
    [[nodiscard]] bool takes_several() const { return comma_separated_; }

   private:
    friend class Options;
    using Target =
        std::variant<bool*, std::optional<std::string>*, std::vector<std::string>*, OptionalValue*>;
    struct Rule {
      bool excludes;
      std::string_view condition, why, hint;
      std::vector<std::string_view> unless = {};
    };
    template <typename Wanted>
    [[nodiscard]] Wanted* target() const {
      const auto* found = std::get_if<Wanted*>(&target_);
      return found == nullptr ? nullptr : *found;
    }
    [[nodiscard]] bool is_flag() const { return target<bool>() != nullptr; }
    /// The long name: "--quiet" for "-q,--quiet".
    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] bool is_named(std::string_view wanted) const;
    void set(std::optional<std::string> text);
    void refuse_detached(const std::string& next) const;

    std::string_view group_, names_, value_name_;
    std::string_view help_;  ///< empty: not shown and not suggested
    Target target_;
    std::vector<Rule> rules_;
    std::string_view once_hint_;  ///< empty: may be repeated
    Repeats when_ = Repeats::kNever;
    bool comma_separated_ = false;
    bool (*is_value_)(const std::string& text) = nullptr;
    Completer complete_ = nullptr;
    std::size_t given_ = 0;            ///< number of occurrences
    std::vector<std::string> values_;  ///< in order; for a scalar, the last one
  };

  /// The heading in --help for the options that are added next. Each of them needs `condition`, if
  /// that is not empty: see Row::needs().
  void group(std::string_view title, std::string_view condition = {}) {
    group_ = title;
    group_needs_ = condition;
  }
  Row& flag(std::string_view names, bool& target, std::string_view help) {
    return add(names, "", &target, help);
  }
  Row& value(std::string_view names, std::string_view value_name,
             std::optional<std::string>& target, std::string_view help) {
    return add(names, value_name, &target, help);
  }
  Row& list(std::string_view names, std::string_view value_name, std::vector<std::string>& target,
            std::string_view help) {
    return add(names, value_name, &target, help);
  }
  Row& optional_value(std::string_view names, std::string_view value_name, OptionalValue& target,
                      std::string_view help) {
    return add(names, value_name, &target, help);
  }

  /// Whether an option that --help shows has this long name.
  [[nodiscard]] bool has(std::string_view name) const;
  /// For the message about an unknown option: a hint, or nothing.
  void explain_unknown(std::function<std::string(std::string_view name)> hint) {
    unknown_hint_ = std::move(hint);
  }

  /// Where the first operand is, the command's name, for example.
  struct FirstOperand {
    std::size_t at = 0;            ///< the number of arguments if there is none
    bool after_separator = false;  ///< after --
  };
  /// Throws UsageError on an unknown option before it.
  [[nodiscard]] FirstOperand find_operand(std::span<const std::string> arguments);

  /// Sets the targets and returns the operands. Throws UsageError on the first mistake.
  std::vector<std::string> parse(std::span<const std::string> arguments);

  /// A command line that is still being typed.
  struct Unfinished {
    std::vector<std::string> operands;
    const Row* awaiting = nullptr;  ///< the option whose value comes next
    bool after_separator = false;   ///< -- has ended the options
    /// Its index in the arguments; their number if there is none.
    std::size_t first_operand = 0;
  };
  /// Like parse(), but ignores mistakes.
  Unfinished parse_unfinished(std::span<const std::string> arguments);
  /// The options that may follow those that are given: without those that an exclusion rules out,
  /// and without scalars that are given already.
  [[nodiscard]] std::vector<Completion> completions(std::span<const std::string> operands);
  /// Whether an option was given.
  [[nodiscard]] bool is_given(std::string_view name) const;
  /// The last row with this name: a command may give another meaning to a general short option.
  /// Null if there is none.
  [[nodiscard]] const Row* find(std::string_view name) const;

  /// Throws UsageError if the given options break a rule; checks exclusions first, then
  /// requirements, in the order of the rows.
  void require_consistent(std::span<const std::string> operands);

  /// The options that repeat a run, with the given values or, for options in `resolved`, with the
  /// values there, even if the option was not given. In the order of the rows; options for the
  /// server come last, and only if `with_server` is true.
  [[nodiscard]] std::vector<std::string> repeated(
      const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const;
  /// Only the options with this mark.
  [[nodiscard]] std::vector<std::string> repeated(
      Repeats when, const std::map<std::string_view, std::vector<std::string>>& resolved) const;

  /// The options as --help lists them, at most 80 columns wide. If `brief`, as -h lists them:
  /// without groups, and each help text cut at the first "; ", " (" or ". ".
  [[nodiscard]] std::string help(bool brief = false) const;

 private:
  struct Token {
    Row* row;
    std::optional<std::string> value;
  };
  Row& add(std::string_view names, std::string_view value_name, Row::Target target,
           std::string_view help);
  [[nodiscard]] Row* row(std::string_view name);
  [[noreturn]] void throw_unknown(const std::string& name, const std::string& hint = {}) const;
  Unfinished read_each(std::span<const std::string> arguments,
                       const std::function<std::size_t(std::size_t)>& read);
  std::size_t read_option(std::span<const std::string> arguments, std::size_t at,
                          std::vector<Token>& tokens);
  std::size_t read_long(std::span<const std::string> arguments, std::size_t at,
                        std::vector<Token>& tokens);
  std::size_t read_short(std::span<const std::string> arguments, std::size_t at,
                         std::vector<Token>& tokens);
  void set(std::vector<Token>& tokens);
  [[nodiscard]] bool holds(std::string_view condition, std::span<const std::string> operands) const;
  [[nodiscard]] bool applies(const Row::Rule& rule, std::span<const std::string> operands) const;
  void require(bool excludes, std::span<const std::string> operands);

  std::string_view group_, group_needs_;
  std::function<std::string(std::string_view)> unknown_hint_;
  std::deque<Row> rows_;  ///< a deque, since callers hold references
};

// Texts of options that several commands have.

inline constexpr std::string_view kNowHelp =
    "use this time, not the server's clock: microseconds since 1970, or ISO 8601 with a zone";
/// Why an option that waits excludes --now.
inline constexpr std::string_view kNowStandsStill = "a given time does not advance";
inline constexpr std::string_view kCostHelp =
    "units to take (default: 1); 0 takes nothing, a negative number gives back";
inline constexpr std::string_view kQuietHelp = "print no results, only set the exit status";

// Refusals, as UsageError.

/// Refuses an empty text, which a shell makes of a variable that is not set: "WHAT is empty".
void require_not_empty(std::string_view text, const std::string& what);
/// Refuses operands beyond the first `most`.
void require_at_most(std::size_t most, std::span<const std::string> operands,
                     std::string hint = {});
/// Refuses a word that is none of `names`: the message, then the name that may be meant; the hint
/// lists all.
[[noreturn]] void refuse_word(const std::string& message, std::string_view word,
                              std::span<const std::string_view> names);

// Parsers for values that several commands have. All throw UsageError, which names the option.

/// Parses a whole number from `least` to `most`.
[[nodiscard]] std::int64_t parse_between(const std::string& text, std::string_view option,
                                         std::int64_t least, std::int64_t most);
/// Parses a duration with a unit: "90s", "1h30m".
[[nodiscard]] std::chrono::microseconds parse_duration_of(const std::string& text,
                                                          std::string_view option);
/// Whether parse_duration_of() accepts the text.
[[nodiscard]] bool is_duration(const std::string& text);
/// Parses the value of --now or of another option that takes a time, in µs since 1970. Refuses a
/// number that looks like seconds or milliseconds, such as the output of `date +%s`, which would
/// mean January 1970.
[[nodiscard]] std::chrono::microseconds parse_now(const std::string& text,
                                                  std::string_view option = "--now");

}  // namespace rlctl::cli
