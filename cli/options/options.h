#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
[[nodiscard]] Take into(std::optional<std::string>& target);
[[nodiscard]] Take into(std::vector<std::string>& target);
/// A Take that parses the text: into(plan.cost, parse_cost).
template <typename Target, typename Parse>
[[nodiscard]] Take into(Target& target, Parse parse) {
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
  Option& excludes(std::string_view name, std::string_view why = {}, std::string_view hint = {});
  /// Refuses this option without the other: "--burst requires --limit: WHY".
  Option& needs(std::string_view name, std::string_view why = {}, std::string_view hint = {});
  /// Refuses a second value: "--match may be given only once".
  Option& once(std::string_view hint);
  /// For an optional value: refuses an operand for which this is true, as in "--watch 5s".
  Option& rejects_detached(bool (*is_value)(const std::string& text));
  /// A detail, which -h does not show.
  Option& only_in_long_help();
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
  Option value(std::string_view names, std::string_view type, Take take, std::string_view help);
  Option value(std::string_view names, std::string_view type, std::optional<std::string>& target,
               std::string_view help) {
    return value(names, type, into(target), help);
  }
  /// `take` is called for each value.
  Option list(std::string_view names, std::string_view type, Take take, std::string_view help);
  Option list(std::string_view names, std::string_view type, std::vector<std::string>& target,
              std::string_view help) {
    return list(names, type, into(target), help);
  }
  /// A list of which each value may consist of several, separated by commas.
  Option comma_list(std::string_view names, std::string_view type, Take take,
                    std::string_view help);
  Option comma_list(std::string_view names, std::string_view type, std::vector<std::string>& target,
                    std::string_view help) {
    return comma_list(names, type, into(target), help);
  }
  /// An option with an optional value, which must follow '=': --wait, --wait=5s. `take` is called
  /// only if there is a value.
  Option optional_value(std::string_view names, std::string_view type, bool& given, Take take,
                        std::string_view help);
  /// A command of the command: `declare` is called if it is chosen, and for its help.
  void subcommand(const CommandText& text, std::function<void(Options&)> declare);

  /// The command does nothing without one of its commands, such as that of `example`.
  void require_subcommand(std::string_view example);

  [[nodiscard]] bool is_given(std::string_view name) const;

  /// The options that repeat a run, with the given values or, for options in `resolved`, with the
  /// values there, even if the option was not given. In the order of their declaration; options for
  /// the server come last, and only if `with_server`.
  [[nodiscard]] std::vector<std::string> repeated(
      const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const;
  /// Only the options for the server.
  [[nodiscard]] std::vector<std::string> repeated_server(
      const std::map<std::string_view, std::vector<std::string>>& resolved) const;

 private:
  Option add(std::string_view names, std::string_view type,
             std::function<void(const std::vector<std::string>&)> take_all, std::string_view help,
             bool is_list);

  CLI::App* app_;
  CommandLineState* line_;
};

/// The group of the options for the server.
inline constexpr const char* kConnectionGroup = "Connection";

// Refusals, as UsageError.

/// "FIRST and SECOND cannot be combined: WHY"; `why` and `hint` may be empty.
[[noreturn]] void refuse_both(std::string_view first, std::string_view second,
                              std::string_view why = {}, std::string_view hint = {});

}  // namespace rlctl::cli
