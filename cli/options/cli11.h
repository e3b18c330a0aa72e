#pragma once

#include <CLI/CLI.hpp>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.h"

namespace rlctl::cli {

/// CLI11's text for an option without a value.
inline constexpr std::string_view kNoValue = "true";

/// What CLI11 does not know of an option.
struct OptionDetails {
  CLI::App* command;  ///< where it is declared
  CLI::Option* option = nullptr;
  Completer complete = nullptr;
  std::string_view once_hint = {};  ///< empty: may be repeated
  bool splits_at_commas = false;
  bool has_stream = false;  ///< see Option::takes_stream()
};

/// A rule of an option. CLI11's excludes() and needs() keep no reason and no hint, accept only an
/// option that is declared already, and are checked in the order of addresses.
struct OptionRule {
  const OptionDetails* option;
  bool excludes;  ///< else it needs the other
  std::string_view other, why, hint;
};

/// What CLI11 does not know of a command.
struct CommandDetails {
  const CommandText* text;
  std::function<void(Options&)> declare;
  bool is_declared = false;
  std::string_view example = {};  ///< of a command that is none without a command of its own
};

struct CommandLineState {
  CommandLineState();

  CLI::App app{"", "rlctl"};
  std::deque<OptionDetails> options = {};  ///< in the order of their declaration
  std::map<const CLI::App*, CommandDetails> commands = {};
  std::deque<OptionRule> rules = {};
  std::vector<std::string> before_separator = {};
  std::optional<std::vector<std::string>> after_separator = {};
  bool is_before_command = false;           ///< what is wrong stands before the command
  bool is_unfinished = false;               ///< the line is still being typed
  const OptionDetails* awaiting = nullptr;  ///< the last word of that line, without its value
  bool declares_all = true;                 ///< see CommandLine::Declares

  /// Whether the option may be on the line, or all are declared. `names` are "-q,--quiet".
  bool wants(std::string_view names) const;
  /// Adds a command, which is declared when it is chosen.
  void add(CLI::App& parent, const CommandText& text, std::function<void(Options&)> declare);
  /// Declares the command's options, once.
  void declare(CLI::App& command);
  /// The innermost chosen command, or rlctl itself.
  CLI::App& chosen();
  /// The option of this name, of the command or of one around it. Null if there is none.
  const OptionDetails* find(const CLI::App& command, std::string_view name) const;
  /// The options that the command itself declares and --help shows, in order. (Since 2.6.2, CLI11
  /// also lists those of the commands around it.)
  std::vector<const OptionDetails*> own_options(const CLI::App& command) const;
};

/// "--quiet" for "-q,--quiet".
std::string long_name(const CLI::Option& option);
/// The text before a default or a detail.
std::string_view first_clause(std::string_view text);

/// The help of a command, or of rlctl itself, in rlctl's form. CLI11's own formatter wraps, trims
/// and capitalises it differently in each version.
std::string help_text(const CLI::App& app, const CommandLineState& line, HelpExtent extent);

}  // namespace rlctl::cli
