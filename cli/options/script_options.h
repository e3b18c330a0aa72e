#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "limiter/configuration.h"
#include "script/script.h"

namespace rlctl::cli {

// ---- What is said about a script ----

/// Who says a word about a script: the first of these wins.
enum class WordSource { kOption, kHeadOption, kConfiguration, kScript };

/// What is said with a word.
struct WordValue {
  std::string text = {};
  WordSource source = WordSource::kOption;
  /// "--allowed-when", "--head allowed", "my.lua:3: allowed", "rlctl.toml:3: script 'my': allowed"
  ValueOrigin origin = {};
};

/// What is said about scripts: on the command line, in [script.NAME] of the configuration, and in
/// the head of the script (script/head.h).
struct ScriptOptions {
  std::vector<std::string> scripts = {};  ///< files, and names in the configuration
  std::string_view named_with = {};       ///< the option that named them; empty: operands
  std::map<std::string_view, WordValue> words = {};  ///< by the names of script_words()

  /// Null if the word is not said.
  const std::string* find(std::string_view word) const;
  /// The origin of a word's value; of a word that is not said, the word itself.
  ValueOrigin origin_of(std::string_view word) const;
  std::optional<std::string> text(std::string_view word) const;
  /// Adds a word, unless a source that wins has said it. Of one source the last wins, except that
  /// the values of a word with lines are joined.
  void say(std::string_view word, const WordValue& value);
};

/// A word about a script: a row of the table in script_options.cc, from which come the words of
/// heads and of --head, the options, the keys of [script.NAME], and what `config show` shows.
struct ScriptWord {
  enum class About { kTraffic, kCall, kReply };
  std::string_view name, value_name, help;
  std::string_view about_value = {};  ///< a sentence about its field in kScriptWordsJson
  About about = About::kCall;
  /// Sets what the text says. Throws UsageError.
  void (*parse)(const std::string& text, script::ForeignLimiter& limiter) = nullptr;
  std::string_view option = {};  ///< "--allowed-when"; empty: --head says it, or each command's own
  bool has_lines = false;        ///< the option may be given several times, for a line each
  bool names_file = false;       ///< the first word of its value is a script's file
};
std::span<const ScriptWord> script_words();
/// The texts of all words but the keys.
extern const JsonObject<ScriptOptions> kScriptWordsJson;

/// Whether a word is said about how a script is called or read, which only concerns scripts in Lua.
bool gives_call(const ScriptOptions& options);
/// Whether anything is said about the script's reply.
bool has_reading(const ScriptOptions& options);
/// Whether the reading of the reply refers to the limit. Throws UsageError.
bool reading_tells_limit(const ScriptOptions& options);
/// What --keys says: one of the KEYS.
void add_key(ScriptOptions& options, const std::string& key);

/// The help text of --burst where it only fills a placeholder.
inline constexpr std::string_view kScriptBurstHelp =
    "requests that may come at once (in scripts with a burst; default: the limit)";
/// What to do with a second --limit where one fills the placeholders.
inline constexpr const char* kOneLimitHint = "write further limits in --args";

/// Adds the options about a script except --keys, whose meaning differs between commands.
void add_script_options(Options& options, ScriptOptions& target);
/// Throws UsageError if the options say anything about a script: none is named.
void refuse_words_without_script(const ScriptOptions& options);
/// The sections of --help that list the words of --head and the placeholders.
std::string script_help();

// ---- Which script ----

inline constexpr std::string_view kStandardInput = "-";
/// The operand that names each algorithm that counts requests.
inline constexpr std::string_view kAllAlgorithms = "all";

/// A script, and all that is said about it.
struct NamedScript {
  std::string name = {};  ///< for reports: that of its section, or the file's
  std::string path = {};  ///< of its file; kStandardInput
  /// The program of its section, instead of a script.
  std::shared_ptr<const script::ProgramLimiter> program = {};
  bool is_configured = false;  ///< `name` is its section in the configuration
  ScriptOptions options = {};  ///< with the words of its section and, after add_head(), its head
  std::size_t line = 0;        ///< of its section
};

/// Whether a SCRIPT is a file and never a name: it has a / in it, ends in .lua, or is
/// kStandardInput.
bool is_script_file(std::string_view value);
/// Throws UsageError if the options say how to call a script: the program of this name is none.
void require_no_call(const ScriptOptions& options, const std::string& name);
/// Throws UsageError for a program, where only a script in Lua will do.
void require_lua(const NamedScript& script);
/// A SCRIPT as it is written in a command: a file's name must not look like an option.
std::string script_operand(const std::string& script);
/// The script of this name in the configuration, else the file of this name; it is not read.
/// `option` is the one with the value, or empty. Throws UsageError if there is neither, and what
/// reading the configuration throws.
NamedScript find_script(std::string_view option, const std::string& value,
                        const ScriptOptions& given, ConfigurationSource& configuration);
/// A file's name without its folder, for tables and traces; "stdin" for standard input.
std::string script_name(const std::string& path);
/// Throws UsageError, which names the option, for a file that cannot be read.
std::string read_source(std::string_view option, const NamedScript& script);
/// Adds the words of the source's head. The files that they name are beside the script. Throws
/// InputError, which names the line, for a mistake in it, and for a file elsewhere.
void add_head(NamedScript& script, const std::string& source);
/// Throws InputError if the script's head prepares keys, on a server that an option names: a file
/// from elsewhere must not write to it.
void refuse_setup_of_head(const ScriptOptions& options);
/// Makes the limiter that the words about a script describe. Throws UsageError, which begins with
/// the origin of the word. The source may still be unknown, and empty: then
/// script::choose_function() remains to be called.
script::ForeignLimiter make_limiter(const NamedScript& script, std::string source);

/// A script, or a program that a section of the configuration names.
struct NamedLimiter {
  script::Candidate candidate = {};  ///< without limits
  ScriptOptions options = {};        ///< all that is said about it
};

/// All scripts, in order and each once, and with names that differ.
struct NamedLimiters {
  std::vector<NamedLimiter> limiters = {};
  bool uses_configuration = false;  ///< at least one is from the configuration
};
/// Throws UsageError as above, and if standard input is wanted twice. `input_reader` is another
/// option that reads standard input; it may be empty.
NamedLimiters read_scripts(const ScriptOptions& options, ConfigurationSource& configuration,
                           std::string_view input_reader);

/// The keys of the script; {key} if none is given.
std::vector<std::string> script_keys(const ScriptOptions& options);
/// Lets the script have the KEYS that script_keys() tells.
void set_default_key(ScriptOptions& options);

// ---- Scripts in the configuration ----

/// What a section says, which must have no errors. `path` is relative to the configuration.
NamedScript script_of(const limiter::ScriptSection& section,
                      const limiter::Configuration& configuration);
/// The mistakes in all sections: unknown keys, files that cannot be read, bad values.
std::vector<limiter::ConfigurationMistake> script_mistakes(
    const limiter::Configuration& configuration);

/// Describes the reading: "allowed when its reply is nonzero".
std::string reading_text(const script::ForeignLimiter& limiter);

}  // namespace rlctl::cli
