#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/completions.h"
#include "cli/options/options.h"

namespace rlctl::cli {

/// An option that users look for at a command, and what to type in its place.
struct Instead {
  std::string_view option, advice;
};

/// What --help shows of a command.
struct CommandText {
  std::string_view name = {};
  std::string_view summary = {};   ///< its description in a list of commands
  std::string_view synopsis = {};  ///< what follows "Usage: rlctl ", one form per line
  std::string_view about = {};     ///< a paragraph, in lines of at most 80 columns
  std::string_view brief = {};     ///< the long options that -h shows; empty: all
  /// What the exit statuses from 0 mean; an empty text is not listed.
  std::array<std::string_view, 6> statuses = {};
  std::string_view epilogue = {};  ///< remarks on the statuses, and examples, of which -h shows two
  /// Makes the part between the options and the exit statuses, such as a table.
  std::string (*notes)() = nullptr;
  /// How a shell completes an operand; null: nothing is known.
  Completer complete_operand = nullptr;
  /// Whether an argument such as -5 is an operand, for the command to refuse.
  bool takes_numbers = false;
  /// The hints of errors about options that the command does not have.
  std::span<const Instead> instead = {};
};

/// -h shows the usage, the options that matter and two examples on one screen; --help shows
/// everything.
enum class HelpExtent { kShort, kAll };

/// The command line: which command is chosen, its options and its operands.
///
/// CLI11 parses what precedes the first --; the rest is taken as it is. "--name=" without a value
/// is refused, because CLI11 would take the next argument.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Sets what declares the options that every command accepts.
  void set_general(std::function<void(Options&)> declare);
  /// `declare` is called if the command is chosen, and for its help.
  void add_command(const CommandText& text, std::function<void(Options&)> declare);

  /// What is declared before the line is read. Declaring is most of what CLI11 does, so a command
  /// that must start soon declares only what may be on the line; Options::repeated() then lacks the
  /// rest. If there is a mistake, or help is asked for, the line is read again with everything.
  enum class Declares { kAll, kWhatMayBeGiven };
  /// Calls the Take of each given option. Throws UsageError on the first mistake. Unknown names
  /// come first; others do not matter if `asks_help`, which is asked when the options have been
  /// read.
  void parse(
      std::span<const std::string> arguments,
      const std::function<bool()>& asks_help = [] { return false; },
      Declares declares = Declares::kAll);

  /// Throws UsageError if no command is chosen, though there are operands, or if the chosen one
  /// lacks a command of its own.
  void require_command() const;

  /// The chosen command; null if there is none, or if it is not known yet.
  const CommandText* command() const;
  /// Whether what stands before it was refused.
  bool fails_before_command() const;
  /// The same, or the command of it that is chosen too.
  const CommandText* innermost_command() const;
  /// Without the command, in order; those after -- are last.
  std::vector<std::string> operands() const;
  std::vector<std::string> operands_before_separator() const;
  /// What follows the first --; none if there is no --.
  const std::optional<std::vector<std::string>>& after_separator() const;
  /// The options of the chosen command, or of a command of it.
  Options options() const;

  /// The help of the chosen command; of rlctl, if there is none or it has no help.
  std::string help(HelpExtent extent) const;

  /// The command whose help tells more about a mistake: "scripts load". Empty for rlctl's.
  std::string path() const;

  // ---- A line that is still being typed ----

  /// Like parse(), but ignores mistakes.
  void parse_unfinished(std::span<const std::string> arguments);
  /// How the value of an option is completed.
  struct Value {
    Completer complete = nullptr;  ///< null: nothing is known of it
    bool comma_separated = false;
  };
  /// The option whose value comes next, if the last argument is one.
  std::optional<Value> awaited_value() const;
  std::optional<Value> value_of(const std::string& option) const;
  /// The options that may follow: without those that an exclusion rules out, and without those that
  /// are given and take one value.
  std::vector<Completion> options_to_follow() const;
  /// rlctl's commands.
  std::vector<Completion> commands() const;
  /// The commands of the chosen command.
  std::vector<Completion> subcommands() const;

 private:
  void begin(std::span<const std::string> arguments, Declares declares);

  std::function<void(Options&)> declare_general_;
  std::vector<std::pair<const CommandText*, std::function<void(Options&)>>> commands_;
  std::unique_ptr<CommandLineState> state_;  ///< what parse() has read; begin() replaces it
};

}  // namespace rlctl::cli
