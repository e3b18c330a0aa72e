#include "cli/options/script_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/exec_options.h"
#include "cli/options/options.h"
#include "cli/terminal/table.h"
#include "limiter/algorithm.h"

namespace rlctl::cli {
namespace {

using limiter::ScriptSection;

constexpr std::string_view kDefaultKey = "{key}";
constexpr std::string_view kScriptOption = "--script";
/// An error shows at most this much of a name in the configuration.
constexpr std::size_t kMaxShown = 40;
constexpr std::string_view kArguments = "--args", kFunction = "--function", kSetup = "--setup";

bool is_setup_file(const std::vector<std::string>& words) {
  return words.size() == 1 && words.front() != kStandardInput && is_script_file(words.front());
}

/// Calls `use` with each line that is not blank or a comment, and its words.
template <typename Use>
void for_each_command(std::string_view lines, Use use) {
  while (!lines.empty()) {
    const auto line = take_until(lines, "\n");
    const auto words = shell_words(line);
    if (!words.empty() && !words.front().starts_with('#')) use(line, words);
  }
}

void add_command(const std::vector<std::string>& words, traffic::ForeignLimiter& limiter) {
  auto& step = limiter.setup.emplace_back();
  for (const auto& word : words) step.words.emplace_back(word);
}

void parse_setup(const std::string& text, traffic::ForeignLimiter& limiter) {
  for_each_command(text, [&](std::string_view, const std::vector<std::string>& words) {
    if (!is_setup_file(words)) return add_command(words, limiter);
    const auto& path = words.front();
    auto source = read_source("", {.path = path});
    if (path.ends_with(".lua")) {
      limiter.setup.push_back({.name = script_name(path), .source = std::move(source)});
      return;
    }
    const auto before = limiter.setup.size();
    for_each_command(source,
                     [&](std::string_view, const auto& command) { add_command(command, limiter); });
    if (limiter.setup.size() > before) return;
    throw UsageError(quoted_and_masked(path) + " has no commands");
  });
  if (limiter.setup.empty()) throw UsageError("no command is given");
}

constexpr std::array kSettings{
    ScriptSetting{kFunction, "NAME", "the function of a library to call (default: its only one)",
                  &ScriptOptions::function, "",
                  [](const auto& text, auto& limiter) {
                    if (text.empty()) throw UsageError("the name of the function is empty");
                    limiter.function = text;
                  }},
    ScriptSetting{kArguments, "WORDS",
                  "ARGV of the script (in one string that is split as a shell does; default: none)",
                  &ScriptOptions::arguments, "",
                  [](const auto& text, auto& limiter) {
                    for (const auto& word : shell_words(text)) limiter.arguments.emplace_back(word);
                  }},
    ScriptSetting{kSetup, "COMMAND",
                  "prepare the keys by this command ('HSET {key} rate 5'), by the commands in "
                  "./FILE, or by the script FILE.lua, before the first request of each schedule",
                  &ScriptOptions::setup, "", parse_setup, true},
    ScriptSetting{"--allowed-when", "CONDITION",
                  "reply that means allowed (nonzero, zero, nil, '<=limit', always, or an "
                  "expression in Lua over the reply r: 'r[1] == 1'; default: nonzero)",
                  &ScriptOptions::allowed_when, "nonzero",
                  [](const auto& text, auto& limiter) {
                    limiter.reading.allowed_when = traffic::parse_allowed_when(text);
                  }},
    ScriptSetting{"--denied-error", "CODE",
                  "errors that deny (the first word: LIMIT for 'LIMIT too many')",
                  &ScriptOptions::denied_error, "",
                  [](const auto& text, auto& limiter) {
                    limiter.reading.denied_error = traffic::parse_error_code(text);
                  }},
    ScriptSetting{"--delay", "EXPR",
                  "time after which an allowed request proceeds (with its unit: 'r - now_ms ms')",
                  &ScriptOptions::delay, "",
                  [](const auto& text, auto& limiter) {
                    limiter.reading.delay = traffic::parse_wait_expression(text);
                  }},
    ScriptSetting{"--remaining", "EXPR",
                  "units that remain (an expression in Lua over the reply r: 'r[2]')",
                  &ScriptOptions::remaining, "",
                  [](const auto& text, auto& limiter) {
                    limiter.reading.remaining = traffic::parse_number_expression(text);
                  }},
    ScriptSetting{
        "--retry-after", "EXPR",
        "time until a denied request would be allowed (with its unit, s, ms or us: 'r[3] s')",
        &ScriptOptions::retry_after, "",
        [](const auto& text, auto& limiter) {
          limiter.reading.retry_after = traffic::parse_wait_expression(text);
        }},
    ScriptSetting{
        "--reset-after", "EXPR",
        "time until the script no longer counts anything (with its unit: 'r[4] - now_ms ms')",
        &ScriptOptions::reset_after, "",
        [](const auto& text, auto& limiter) {
          limiter.reading.reset_after = traffic::parse_wait_expression(text);
        }},
};

/// The limiter that the options describe, without its name and its source.
traffic::ForeignLimiter parse(const ScriptOptions& options) {
  traffic::ForeignLimiter limiter;
  parsed("--keys", [&] {
    for (const auto& key : options.keys) limiter.keys.emplace_back(key);
  });
  for (const auto& row : kSettings) {
    if (const auto& text = options.*row.value) {
      parsed(row.option, [&] { row.parse(*text, limiter); });
    }
  }
  return limiter;
}

std::string with_option(std::string_view option, const std::string& message) {
  return option.empty() ? message : std::string(option) + ": " + message;
}

NamedScript script_in_file(const std::string& path, const ScriptOptions& given) {
  return {.name = script_name(path), .path = path, .options = given};
}

/// Sets the options that are not given to those of `others`.
void add_missing(ScriptOptions& options, const ScriptOptions& others) {
  if (options.keys.empty()) options.keys = others.keys;
  for (const auto& row : kSettings) {
    if (!(options.*row.value)) options.*row.value = others.*row.value;
  }
}

[[noreturn]] void throw_no_script(std::string_view option, const std::string& value,
                                  ConfigurationSource& configuration,
                                  std::span<const std::string_view> bundled) {
  if (limiter::find_algorithm(value) != nullptr) {
    throw UsageError(with_option(option, quoted_and_masked(value) + " is a bundled algorithm"),
                     "--algorithm " + value);
  }
  const auto path = configuration.path();
  std::vector<std::string_view> names(bundled.begin(), bundled.end());
  for (const auto& script : configuration.scripts().scripts) names.push_back(script.name);
  const auto meant = did_you_mean(value, names);
  const auto hint = names.empty() ? "" : "expected one of: " + one_of(names) + "; ";
  throw UsageError(
      with_option(
          option,
          fmt::format("no {} {}{}{}", bundled.empty() ? "script" : "bundled script",
                      quoted_and_masked(value),
                      path ? ", and no script of that name in " + display_path(*path) : "", meant)),
      hint + "for a file, write ./" + value);
}

/// Far more than any script has, and less than would fill the memory: a device never ends.
constexpr std::size_t kLargestScript = std::size_t{16} << 20U;

std::string read_standard_input() {
  FileDescriptor input(STDIN_FILENO);
  auto text = read_all(input, kLargestScript + 1);
  static_cast<void>(input.release());
  if (!text.empty()) return text;
  throw UsageError("standard input is empty, but a script is read from it");
}

void require_one_input(const ScriptOptions& options, std::string_view taken_by) {
  const auto wanted = std::count(options.scripts.begin(), options.scripts.end(), kStandardInput);
  if (wanted > 0 && !taken_by.empty()) {
    throw UsageError(
        fmt::format("{} - and {} both read standard input", options.named_with, taken_by),
        "pass a file for one of them");
  }
  if (wanted > 1) throw UsageError("--script - is given twice, but standard input is read once");
}

// ---- Sections of the configuration ----

using Setting = limiter::ScriptSection::Setting;

/// The lines of a setup, whose files are relative to this folder.
std::string setup_in(const std::filesystem::path& folder, const Setting& setting) {
  std::string lines;
  const auto add = [&](std::string_view line, const std::vector<std::string>& words) {
    if (!lines.empty()) lines += '\n';
    lines += is_setup_file(words) ? joined_words({folder / words.front()}) : std::string(line);
  };
  for (const auto& value : setting.values) for_each_command(value, add);
  return lines;
}

/// Sets what a setting says, if it is about an option. `folder`: that of the configuration.
void apply(const Setting& setting, const std::filesystem::path& folder, ScriptOptions& options) {
  if (setting.name == ScriptSection::kKeys) options.keys = setting.values;
  for (const auto& row : kSettings) {
    if (row.key() != setting.name) continue;
    options.*row.value = row.has_lines     ? setup_in(folder, setting)
                         : setting.is_list ? joined_words(setting.values)
                                           : setting.values.front();
  }
}

/// "keys: '{kye}' contains..." for "--keys: '{kye}' contains..."
std::string with_key(std::string message) {
  const auto end = message.begin() + static_cast<std::ptrdiff_t>(message.find(':'));
  std::replace(message.begin() + 2, end, '-', '_');
  return message.substr(2);
}

void require_file(const std::string& name, const std::string& path) {
  if (name.empty()) throw UsageError("file: the name of the file is empty");
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (!is_folder && ::access(path.c_str(), R_OK) == 0) return;
  throw UsageError(fmt::format("file: cannot read {}: {}", quoted_and_masked(path),
                               errno_text(is_folder ? EISDIR : errno)));
}

[[noreturn]] void refuse_key(const std::string& key) {
  std::vector<std::string> keys{std::string(ScriptSection::kFile),
                                std::string(ScriptSection::kExec),
                                std::string(ScriptSection::kKeys)};
  for (const auto& row : kSettings) keys.push_back(row.key());
  throw UsageError(fmt::format(
      "unknown key '{}'{}", escape(key, kMaxShown),
      did_you_mean_or_all(key, std::vector<std::string_view>(keys.begin(), keys.end()))));
}

/// Throws UsageError, which begins with an option or with the key.
void require_correct(const Setting& setting, const limiter::ScriptSection& section,
                     const limiter::Configuration& configuration) {
  ScriptOptions options;
  const auto is_setting = [&](const ScriptSetting& row) { return row.key() == setting.name; };
  const bool is_file = setting.name == ScriptSection::kFile,
             is_exec = setting.name == ScriptSection::kExec,
             is_keys = setting.name == ScriptSection::kKeys;
  if (!is_file && !is_exec && !is_keys &&
      std::none_of(kSettings.begin(), kSettings.end(), is_setting)) {
    refuse_key(setting.name);
  }
  if (setting.is_list && !ScriptSection::takes_list(setting.name)) {
    throw UsageError(setting.name + " must be a string, not a list");
  }
  if (is_file) {
    return require_file(setting.values.front(), script_of(section, configuration).path);
  }
  if (is_exec) {
    return parsed(ScriptSection::kExec,
                  [&] { static_cast<void>(parse_program(setting.values.front())); });
  }
  if (is_keys && setting.values.empty()) throw UsageError("keys is an empty list");
  apply(setting, std::filesystem::path(configuration.file).parent_path(), options);
  static_cast<void>(parse(options));
}

/// The mistakes of a section.
std::vector<limiter::ConfigurationMistake> mistakes_in(
    const limiter::ScriptSection& section, const limiter::Configuration& configuration) {
  std::vector<limiter::ConfigurationMistake> mistakes;
  const auto add = [&](std::size_t line, const std::string& message) {
    mistakes.push_back(
        limiter::mistake_at(configuration.file, line,
                            fmt::format("script '{}': {}", escape(section.name, kMaxShown),
                                        message.starts_with("--") ? with_key(message) : message),
                            "script." + section.name));
  };
  const auto* exec = section.find(ScriptSection::kExec);
  for (const auto& setting : section.settings) {
    if (exec != nullptr && &setting != exec) {
      add(setting.line, setting.name + ": exec is a program, which takes nothing else");
      continue;
    }
    try {
      require_correct(setting, section, configuration);
    } catch (const UsageError& error) {
      add(setting.line, error.what());
    }
  }
  if (exec == nullptr && section.find(ScriptSection::kFile) == nullptr) {
    add(section.line, "file is missing; write file = \"my.lua\"");
  }
  return mistakes;
}

}  // namespace

// ---- What is said about a script ----

std::string ScriptSetting::key() const {
  std::string key(option.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::span<const ScriptSetting> script_settings() {
  return kSettings;
}

bool has_reading(const ScriptOptions& options) {
  return std::ranges::any_of(kSettings, [&](const auto& row) {
    return row.option != kArguments && row.option != kFunction && row.option != kSetup &&
           options.*row.value;
  });
}

bool reading_tells_limit(const ScriptOptions& options) {
  return traffic::uses_limit(parse(options).reading);
}

std::vector<std::string> script_keys(const ScriptOptions& options) {
  return options.keys.empty() ? std::vector{std::string(kDefaultKey)} : options.keys;
}

void add_script_options(Options& options, ScriptOptions& target, bool has_option) {
  if (has_option) {
    options
        .list(std::string(kScriptOption), "SCRIPT", target.scripts,
              "run this Lua script, not a bundled algorithm (a file, one that the configuration "
              "names, or - for standard input)")
        .completes(complete_script);
  }
  for (const auto& setting : kSettings) {
    const std::string name(setting.option), value_name(setting.value_name);
    auto& text = target.*setting.value;
    auto option =
        setting.has_lines
            ? options.list(
                  name, value_name,
                  [&text](const std::string& line) { text = text ? *text + '\n' + line : line; },
                  setting.help)
            : options.value(name, value_name, text, setting.help);
    if (has_option) option.needs(kScriptOption, "", "name the script with --script FILE.lua");
  }
}

std::string placeholder_help() {
  std::vector<HelpRow> rows;
  for (const auto& row : traffic::placeholders()) {
    rows.push_back({fmt::format("{{{}}}", row.name), std::string(row.summary)});
  }
  return help_section("In --keys and --args of a script", rows);
}

std::optional<CommaOperands> split_at_comma(std::span<const std::string> operands,
                                            const ScriptOptions& options) {
  const auto comma = std::find(operands.begin(), operands.end(), ",");
  if (comma == operands.end()) return std::nullopt;
  if (options.arguments) {
    throw UsageError("--args and ',' cannot be combined: both give the script's ARGV");
  }
  return CommaOperands{.before = {operands.begin(), comma},
                       .arguments = joined_words({comma + 1, operands.end()})};
}

// ---- Which script ----

bool is_script_file(std::string_view value) {
  return value == kStandardInput || value.find('/') != value.npos || value.ends_with(".lua");
}

std::string script_name(const std::string& path) {
  if (path == kStandardInput) return "stdin";
  const auto name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

void require_no_call(const ScriptOptions& options, const std::string& name) {
  const auto refuse = [&](std::string_view option) {
    throw UsageError(fmt::format("{} is for a script in Lua, but '{}' is a program", option,
                                 escape(name, kMaxShown)));
  };
  if (!options.keys.empty()) refuse("--keys");
  for (const auto& row : kSettings) {
    if (options.*row.value) refuse(row.option);
  }
}

void require_lua(const NamedScript& script) {
  if (!script.program) return;
  throw UsageError(
      quoted_and_masked(script.name) + " is a program, but only a script in Lua will do",
      "rlctl burst and lint ask programs");
}

NamedScript find_script(std::string_view option, const std::string& value,
                        const ScriptOptions& given, ConfigurationSource& configuration,
                        std::span<const std::string_view> bundled) {
  require_not_empty(value, with_option(option, "the name"));
  if (is_script_file(value)) return script_in_file(value, given);
  if (const auto* section = configuration.script(value)) {
    auto script = script_of(*section, configuration.scripts());
    auto options = given;
    add_missing(options, script.options);
    script.options = std::move(options);
    return script;
  }
  if (::access(value.c_str(), F_OK) == 0) return script_in_file(value, given);
  throw_no_script(option, value, configuration, bundled);
}

std::string read_source(std::string_view option, const NamedScript& script) {
  const bool is_input = script.path == kStandardInput;
  std::string source;
  try {
    source =
        is_input ? read_standard_input() : read_all(open_file(script.path), kLargestScript + 1);
  } catch (const std::system_error& error) {
    throw UsageError(with_option(option, "cannot read " + quoted_and_masked(script.path) + ": " +
                                             errno_text(error.code().value())));
  }
  if (source.size() <= kLargestScript) return source;
  throw UsageError(
      with_option(option, fmt::format("{} is larger than {} MiB, the most that a script may have",
                                      is_input ? "standard input" : quoted_and_masked(script.path),
                                      kLargestScript >> 20U)));
}

traffic::ForeignLimiter make_limiter(const NamedScript& script, std::string source) {
  auto limiter = parse(script.options);
  limiter.name = script.name;
  limiter.source = std::move(source);
  return limiter;
}

NamedLimiters read_scripts(const ScriptOptions& options, ConfigurationSource& configuration,
                           std::string_view input_reader) {
  if (options.scripts.empty() && !options.keys.empty()) {
    throw UsageError("--keys must be a whole number in decimal digits, not " +
                         quoted_and_masked(options.keys.front()),
                     "a key of a script needs --script FILE.lua");
  }
  require_one_input(options, input_reader);
  std::vector<std::string> typed;
  std::vector<NamedScript> scripts;
  NamedLimiters named;
  for (const auto& value : options.scripts) {
    if (std::find(typed.begin(), typed.end(), value) != typed.end()) continue;
    typed.push_back(value);
    auto& script =
        scripts.emplace_back(find_script(options.named_with, value, options, configuration));
    script.options.keys = script_keys(script.options);
    named.uses_configuration |= script.is_configured;
  }
  make_names_differ(scripts, typed);
  for (const auto& script : scripts) {
    if (script.program) {
      require_no_call(options, script.name);
      named.limiters.push_back({.program = script.program});
      continue;
    }
    // Reading standard input may wait: find mistakes in the options first.
    auto limiter = make_limiter(script, {});
    limiter.source = read_source(options.named_with, script);
    parsed(kFunction, [&] { traffic::choose_function(limiter); });
    named.limiters.push_back(
        {.foreign = std::make_shared<const traffic::ForeignLimiter>(std::move(limiter))});
  }
  return named;
}

// ---- Scripts in the configuration ----

NamedScript script_of(const limiter::ScriptSection& section,
                      const limiter::Configuration& configuration) {
  NamedScript script{.name = section.name, .is_configured = true, .line = section.line};
  const auto folder = std::filesystem::path(configuration.file).parent_path();
  if (const auto* file = section.find(ScriptSection::kFile)) {
    script.path = folder / file->values.front();
  }
  if (const auto* exec = section.find(ScriptSection::kExec)) {
    script.program = std::make_shared<const traffic::ProgramLimiter>(
        traffic::ProgramLimiter{.name = section.name,
                                .words = parse_program(exec->values.front()).words,
                                .folder = folder});
  }
  for (const auto& setting : section.settings) apply(setting, folder, script.options);
  return script;
}

std::vector<limiter::ConfigurationMistake> script_mistakes(
    const limiter::Configuration& configuration) {
  std::vector<limiter::ConfigurationMistake> all;
  for (const auto& section : configuration.scripts) {
    auto mistakes = mistakes_in(section, configuration);
    std::move(mistakes.begin(), mistakes.end(), std::back_inserter(all));
  }
  return all;
}

std::string reading_text(const traffic::ForeignLimiter& limiter) {
  const auto& [named, expression] = limiter.reading.allowed_when;
  if (named == nullptr) return "allowed when " + escape(expression->source());
  if (named->is_always()) {
    return limiter.reading.delay ? "allowed always, after a delay" : "allowed always";
  }
  return fmt::format("allowed when its reply is {}", named->name);
}

}  // namespace rlctl::cli
