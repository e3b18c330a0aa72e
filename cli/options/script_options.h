#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "limiter/configuration.h"
#include "traffic/script.h"

namespace rlctl::cli {

// ---- What is said about a script ----

/// --script and the options about scripts, as typed, or the keys of [script.NAME] in the
/// configuration.
struct ScriptOptions {
  std::vector<std::string> scripts = {};     ///< files and names; none in the configuration
  std::string_view named_with = "--script";  ///< the option whose values `scripts` are
  std::vector<std::string> keys = {};        ///< templates
  std::optional<std::string> function = {}, arguments = {}, setup = {}, allowed_when = {},
                             denied_error = {}, delay = {}, remaining = {}, retry_after = {},
                             reset_after = {};
};

/// An option about a script that has one text, or lines that are given one by one: a row of the
/// table in script_options.cc, from which come the option, its place in the printed command, and
/// the key of the configuration.
struct ScriptSetting {
  std::string_view option;  ///< "--allowed-when"; the key is allowed_when
  std::string_view value_name, help;
  std::optional<std::string> ScriptOptions::*value;
  std::string_view if_not_given;  ///< the default in a printed command; empty: leave it out
  /// Sets what the text says. Throws UsageError.
  void (*parse)(const std::string& text, traffic::ForeignLimiter& limiter);
  bool has_lines = false;  ///< may be given several times, for a line each

  /// Its key in the configuration.
  std::string key() const;
};
std::span<const ScriptSetting> script_settings();

/// Whether anything is said about the script's reply.
bool has_reading(const ScriptOptions& options);
/// Whether the reading of the reply refers to the limit. Throws UsageError.
bool reading_tells_limit(const ScriptOptions& options);

/// The help text of --burst where it only fills a placeholder.
inline constexpr std::string_view kScriptBurstHelp =
    "requests that may come at once (in scripts with a burst; default: the limit)";
/// What to do with a second --limit where one fills the placeholders.
inline constexpr const char* kOneLimitHint = "write further limits in --args";

/// Adds the options about a script except --keys, whose meaning differs between commands. With
/// `has_option`, they need --script, which is added too; otherwise operands name scripts.
void add_script_options(Options& options, ScriptOptions& target, bool has_option);
/// The section of --help that lists the placeholders.
std::string placeholder_help();

/// KEYS and ARGV as redis-cli has them: KEY... , ARG...
struct CommaOperands {
  std::vector<std::string> before;
  std::string arguments;  ///< as a value of --args
};
/// None if no operand is a lone comma. Throws UsageError if --args is given too.
std::optional<CommaOperands> split_at_comma(std::span<const std::string> operands,
                                            const ScriptOptions& options);

// ---- Which script ----

inline constexpr std::string_view kStandardInput = "-";

/// A script, and all that is said about it.
struct NamedScript {
  std::string name = {};  ///< for reports: that of its section, or the file's
  std::string path = {};  ///< of its file; kStandardInput
  /// The program of its section, instead of a script.
  std::shared_ptr<const traffic::ProgramLimiter> program = {};
  bool is_configured = false;  ///< `name` is its section in the configuration
  ScriptOptions options = {};  ///< those that are given, else those of its section
  std::size_t line = 0;        ///< of its section
};

/// Whether a value of --script, or a SCRIPT, is a file and never a name: it has a / in it, ends in
/// .lua, or is kStandardInput.
bool is_script_file(std::string_view value);
/// Throws UsageError if the options say how to call a script: the program of this name is none.
void require_no_call(const ScriptOptions& options, const std::string& name);
/// Throws UsageError for a program, where only a script in Lua will do.
void require_lua(const NamedScript& script);
/// The script of this name in the configuration, else the file of this name; it is not read.
/// `option` is the one with the value, or empty. Throws UsageError if there is neither, and what
/// reading the configuration throws.
/// `bundled` are names that the caller accepts too, for the message.
NamedScript find_script(std::string_view option, const std::string& value,
                        const ScriptOptions& given, ConfigurationSource& configuration,
                        std::span<const std::string_view> bundled = {});
/// A file's name without its folder, for tables and traces; "stdin" for standard input.
std::string script_name(const std::string& path);
/// Throws UsageError, which names the option, for a file that cannot be read.
std::string read_source(std::string_view option, const NamedScript& script);
/// Parses what is said about the script. Throws UsageError, which names the option. The source may
/// still be unknown, and empty: then traffic::choose_function() remains to be called.
traffic::ForeignLimiter make_limiter(const NamedScript& script, std::string source);

/// All scripts of --script, in order and each once, and with names that differ.
struct NamedLimiters {
  /// Without limits; a section of the configuration may be a program.
  std::vector<traffic::Candidate> limiters = {};
  bool uses_configuration = false;  ///< at least one is from the configuration
};
/// Throws UsageError as above, if standard input is wanted twice, and for --keys with a template
/// without --script. `input_reader` is another option that reads standard input; it may be empty.
NamedLimiters read_scripts(const ScriptOptions& options, ConfigurationSource& configuration,
                           std::string_view input_reader);

/// The keys of the script; {key} if none is given.
std::vector<std::string> script_keys(const ScriptOptions& options);

// ---- Scripts in the configuration ----

/// What a section says, which must have no errors. `path` is relative to the configuration.
NamedScript script_of(const limiter::ScriptSection& section,
                      const limiter::Configuration& configuration);
/// The mistakes in all sections: unknown keys, files that cannot be read, bad values.
std::vector<limiter::ConfigurationMistake> script_mistakes(
    const limiter::Configuration& configuration);

/// Describes the reading: "allowed when its reply is nonzero".
std::string reading_text(const traffic::ForeignLimiter& limiter);

}  // namespace rlctl::cli
