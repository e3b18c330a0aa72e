#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
namespace CLI {
class App;
}  // namespace CLI

namespace rlctl::cli {

struct CommandLineState;
struct OptionDetails;
struct CommandText;
using Completer = struct Completions (*)(const struct CompletionContext&);  // see completions.h

/// Takes the text of a value. Throws UsageError, which names the option, if the value is wrong.
using Take = std::function<void(const std::string& text)>;

/// A Take that keeps the text.
Take into(std::optional<std::string>& target);
Take into(std::vector<std::string>& target);
/// A Take that parses the text: into(plan.cost, parse_cost).
template <typename Target, typename Parse>
Take into(Target& target, Parse parse) {
  return [&target, parse](const std::string& text) { target = parse(text); };
}

/// A declared option, to which its command adds rules. The texts must be literals, or live as long
/// as the command line.
class Option {
 public:
  /// `details` are null for an option that cannot be on the line, whose rules do not matter.
  Option(OptionDetails* details, CommandLineState& line) : details_(details), line_(&line) {}

  /// Refuses both options: "--wait and --now cannot be combined: WHY". The other one may be
  /// declared later; `why` and `hint` may be empty.
  Option& excludes(std::string_view name, std::string_view why = {}, std::string_view hint = {}) {
    return add_rule(true, name, why, hint);
  }
  /// excludes() for each of these names.
  Option& excludes_each(std::initializer_list<std::string_view> names, std::string_view why = {},
                        std::string_view hint = {}) {
    for (const auto name : names) excludes(name, why, hint);
    return *this;
  }
  /// Refuses this option without the other: "--burst requires --limit: WHY".
  Option& needs(std::string_view name, std::string_view why = {}, std::string_view hint = {}) {
    return add_rule(false, name, why, hint);
  }
  /// Refuses a second value: "--match may be given only once".
  Option& once(std::string_view hint);
  /// For a list: a value may consist of several, separated by commas.
  Option& splits_at_commas();
  /// For a FILE: a value - is standard input or output. Without this, a FILE, PATH or KEY that is -
  /// is refused, since it would silently be a file or a key of that name.
  Option& takes_stream();
  /// How a shell completes the value. Without this, only a FILE or a PATH is completed.
  Option& completes(Completer complete);

 private:
  friend class Options;
  Option& add_rule(bool excludes, std::string_view name, std::string_view why,
                   std::string_view hint);

  OptionDetails* details_;
  CommandLineState* line_;
};

/// Whether the command that repeats a run has the options of a group.
enum class Repeats { kNo, kYes };

/// Declares the options of rlctl or of one command, which CLI11 parses: options and operands in any
/// order, "--opt value", "--opt=value", "-p6379", "-qj"; the last of a repeated value wins. Values
/// are parsed where they are declared. Targets must outlive the command line.
class Options {
 public:
  Options(CLI::App& app, CommandLineState& line) : app_(&app), line_(&line) {}

  /// The heading in --help for the options that are added next.
  void group(const std::string& title, Repeats repeats = Repeats::kYes);
  /// `names` are "-q,--quiet", or one name. An option without a help text is not shown.
  Option flag(std::string_view names, bool& target, std::string_view help);
  /// `type` names the value in the help: NUMBER.
  Option value(std::string_view names, std::string_view type, Take take, std::string_view help) {
    return add(names, type, std::move(take), help, false);
  }
  Option value(std::string_view names, std::string_view type, std::optional<std::string>& target,
               std::string_view help) {
    return value(names, type, into(target), help);
  }
  /// `take` is called for each value.
  Option list(std::string_view names, std::string_view type, Take take, std::string_view help) {
    return add(names, type, std::move(take), help, true);
  }
  Option list(std::string_view names, std::string_view type, std::vector<std::string>& target,
              std::string_view help) {
    return list(names, type, into(target), help);
  }
  /// An option with an optional value, which must follow '=': --wait, --wait=5s. `take` is called
  /// only if there is a value. For a TIME, an operand that is one is refused, as in "--wait 5s".
  Option optional_value(std::string_view names, std::string_view type, bool& given, Take take,
                        std::string_view help);
  /// A command of the command: `declare` is called if it is chosen, and for its help.
  void subcommand(const CommandText& text, std::function<void(Options&)> declare);

  /// The command does nothing without one of its commands, such as that of `example`.
  void require_subcommand(std::string_view example);

  bool is_given(std::string_view name) const;

  /// The options that repeat a run, with the given values or, for options in `resolved`, with the
  /// values there, even if the option was not given. In the order of their declaration; options for
  /// the server come last, and only if `with_server`.
  std::vector<std::string> repeated(
      const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const;
  /// Only the options for the server.
  std::vector<std::string> repeated_server(
      const std::map<std::string_view, std::vector<std::string>>& resolved) const;

 private:
  Option add(std::string_view names, std::string_view type, Take take, std::string_view help,
             bool is_list);

  CLI::App* app_;
  CommandLineState* line_;
};

// ---- What several commands have ----

inline constexpr std::string_view kNowHelp =
    "use this time, not the server's clock (microseconds since 1970, or ISO 8601 with a zone)";
inline constexpr std::string_view kCostHelp =
    "units to take (default: 1); 0 takes nothing, a negative number gives back";
inline constexpr std::string_view kQuietHelp = "print no results, only set the exit status";

/// The group of the options for the server.
inline constexpr const char* kConnectionGroup = "Connection";

// Refusals, as UsageError.

/// "FIRST and SECOND cannot be combined: WHY"; `why` and `hint` may be empty.
[[noreturn]] void refuse_both(std::string_view first, std::string_view second,
                              std::string_view why = {}, std::string_view hint = {});

/// Refuses an empty text, which a shell makes of a variable that is not set: "WHAT is empty".
void require_not_empty(std::string_view text, const std::string& what);
/// Refuses operands beyond the first `most`.
void require_at_most(std::size_t most, std::span<const std::string> operands,
                     std::string hint = {});
/// The hint for a KEY that is -.
inline constexpr std::string_view kDashAsKey = "-- - is taken literally";
/// Refuses an operand - among the first `typed` ones, those before --: it would be standard input,
/// which is not read.
void refuse_dash(std::span<const std::string> operands, std::size_t typed,
                 std::string_view hint = kDashAsKey);
/// Refuses a word that is none of `names`: the message, then the name that may be meant; the hint
/// lists all.
[[noreturn]] void refuse_word(const std::string& message, std::string_view word,
                              std::span<const std::string_view> names);
/// The row of a table whose `name` is this word. If there is none, the word is refused: `unknown`
/// says of what, such as "--sort: unknown order".
template <typename Rows>
const auto& find_named(const Rows& rows, std::string_view word, std::string_view unknown) {
  if (const auto* row = find_by_name(rows, word)) return *row;
  refuse_word(fmt::format("{} {}", unknown, quoted_and_masked(word)), word, names_of(rows));
}

// Parsers for values that several commands have. All throw UsageError, which names the option.

/// Parses a whole number from `least` to `most`.
std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most);
/// A parser for into(): a whole number from `least` to `most`.
inline auto number_between(std::string_view option, std::int64_t least, std::int64_t most) {
  return [=](const std::string& text) { return parse_between(text, option, least, most); };
}
/// Parses a duration with a unit: "90s", "1h30m".
std::chrono::microseconds parse_duration_of(const std::string& text, std::string_view option);
/// A parser for into(): a duration with a unit.
inline auto duration_of(std::string_view option) {
  return [=](const std::string& text) { return parse_duration_of(text, option); };
}
/// The ways to write a number as a percentage, for a hint: "write 80% or 0.8%" for 0.8, which may
/// be a share, and "write 80%" for 80.
std::string percentage_hint(double number);
/// Parses a percentage with its sign, from 0% to `most`: "80%", "0.5%".
double parse_percentage(const std::string& text, std::string_view option, double most = 100);
/// The same as a share: 0.8 for "80%".
double parse_share(const std::string& text, std::string_view option, double most = 100);
/// Parses the value of --cost, a whole number that may be negative.
std::int64_t parse_cost(const std::string& text);
/// Parses several, separated by commas: without duplicates, in the order of first mention, but 0
/// comes after all above 0, and refunds, which are below 0, come last.
std::vector<std::int64_t> parse_costs(const std::string& text);
/// Throws UsageError if no cost is above 0.
void require_cost_above_0(const std::vector<std::int64_t>& costs, const ValueOrigin& origin);
/// Parses a time, in µs since 1970. Refuses a number that looks like seconds or milliseconds, such
/// as the output of `date +%s`, which would mean January 1970.
std::chrono::microseconds parse_time_of(const std::string& text, std::string_view option);
/// Parses the value of --now, a time.
std::chrono::microseconds parse_now(const std::string& text);

}  // namespace rlctl::cli
