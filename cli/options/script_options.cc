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
#include "base/table.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/exec_options.h"
#include "cli/options/options.h"
#include "cli/terminal/table.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "script/head.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

using limiter::ScriptSection;

constexpr std::string_view kDefaultKey = "{key}";
constexpr std::string_view kHeadOption = "--head";
/// An error shows at most this much of a name in the configuration.
constexpr std::size_t kMaxShown = 40;
constexpr auto kKeys = script::kKeysWord, kArguments = script::kArgumentsWord,
               kSetup = script::kSetupWord, kFunction = script::kFunctionWord;

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

void add_command(const std::vector<std::string>& words, script::ForeignLimiter& limiter) {
  auto& step = limiter.setup.emplace_back();
  for (const auto& word : words) step.words.emplace_back(word);
}

void parse_setup(const std::string& text, script::ForeignLimiter& limiter) {
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

void require_number(const std::string& text, std::string_view what, std::int64_t least) {
  static_cast<void>(parse_between(text, what, least, limiter::kLargestCost));
}

void parse_ending(const std::string& text, script::ForeignLimiter& /*limiter*/) {
  auto words = shell_words(text);
  if (words.empty() || words.front().empty()) throw UsageError("the name of the file is empty");
  if (words.front() == kStandardInput) {
    throw UsageError("'-' is not a file", "a file of that name is ./-");
  }
  for (const auto& word : std::span(words).subspan(1)) static_cast<void>(script::Template(word));
}

using About = ScriptWord::About;

constexpr std::array kWords{
    ScriptWord{
        .name = "limit",
        .value_name = "LIMIT",
        .help = "requests and window, if --limit does not say them: 5/60s",
        .about_value = "The limit for which it is asked if no option says one, or null.",
        .about = About::kTraffic,
        .parse = [](const auto& text, auto&) { static_cast<void>(limiter::parse_limit(text)); }},
    ScriptWord{.name = "burst",
               .value_name = "NUMBER",
               .help = "requests that may come at once (default: the limit)",
               .about_value = "Its burst, or null.",
               .about = About::kTraffic,
               .parse = [](const auto& text, auto&) { require_number(text, "the number", 1); }},
    ScriptWord{
        .name = "cost",
        .value_name = "NUMBERS",
        .help = "costs to try in lint and adversary: 1,3; 0 looks, -1 refunds",
        .about_value = "The costs that lint and adversary try, separated by commas, or null.",
        .about = About::kTraffic,
        .parse =
            [](const auto& text, auto&) {
              std::string_view rest = text;
              do {
                require_number(std::string(take_until(rest, ",")), "each cost",
                               -limiter::kLargestCost);
              } while (!rest.empty());
            }},
    ScriptWord{.name = kKeys,
               .value_name = "WORDS",
               .help = "KEYS of the script, as words of a shell (default: {key})",
               .parse =
                   [](const auto& text, auto& limiter) {
                     for (const auto& word : shell_words(text)) limiter.keys.emplace_back(word);
                   },
               .has_lines = true},
    ScriptWord{
        .name = kArguments,
        .value_name = "WORDS",
        .help = "ARGV of the script (in one string that is split as a shell does; default: "
                "none)",
        .about_value = "ARGV of the script, in one text that is split as a shell does, or null.",
        .parse =
            [](const auto& text, auto& limiter) {
              for (const auto& word : shell_words(text)) {
                limiter.arguments.emplace_back(word);
              }
            },
        .option = "--args"},
    ScriptWord{.name = kFunction,
               .value_name = "NAME",
               .help = "the function of a library to call (default: its only one)",
               .about_value = "The function of the library that is called, or null.",
               .parse =
                   [](const auto& text, auto& limiter) {
                     if (text.empty()) throw UsageError("the name of the function is empty");
                     limiter.function = text;
                   }},
    ScriptWord{.name = kSetup,
               .value_name = "COMMAND",
               .help = "prepare the keys by this command ('HSET {key} rate 5'), by the commands in "
                       "./FILE, or by the script FILE.lua, before the first request of each "
                       "schedule",
               .about_value = "What prepares the keys, a command or a file in each line, or null.",
               .parse = parse_setup,
               .option = "--setup",
               .has_lines = true},
    ScriptWord{.name = "allowed",
               .value_name = "CONDITION",
               .help = "reply that means allowed (nonzero, zero, nil, '<=limit', always, or an "
                       "expression in Lua over the reply r: 'r[1] == 1'; default: nonzero)",
               .about_value = "The reply that means allowed, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.allowed_when = script::parse_allowed_when(text);
                   },
               .option = "--allowed-when"},
    ScriptWord{.name = "denied_error",
               .value_name = "CODE",
               .help = "errors that deny (the first word: LIMIT for 'LIMIT too many')",
               .about_value = "The code of the errors that deny, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.denied_error = script::parse_error_code(text);
                   }},
    ScriptWord{.name = "delay",
               .value_name = "EXPR",
               .help = "time until an allowed request proceeds: r - now_ms ms",
               .about_value = "The expression for the delay of an allowed request, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.delay = script::parse_wait_expression(text);
                   }},
    ScriptWord{.name = "remaining",
               .value_name = "EXPR",
               .help = "units that remain, in Lua over the reply r: r[2]",
               .about_value = "The expression for the remaining units, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.remaining = script::parse_number_expression(text);
                   }},
    ScriptWord{.name = "retry_after",
               .value_name = "EXPR",
               .help = "time until a denied request would be allowed: r[3] s",
               .about_value = "The expression for the time until a retry, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.retry_after = script::parse_wait_expression(text);
                   }},
    ScriptWord{.name = "reset_after",
               .value_name = "EXPR",
               .help = "time until the script counts nothing: r[4] - now_ms ms",
               .about_value = "The expression for the time until nothing is used, or null.",
               .about = About::kReply,
               .parse =
                   [](const auto& text, auto& limiter) {
                     limiter.reading.reset_after = script::parse_wait_expression(text);
                   }},
    ScriptWord{.name = "release",
               .value_name = "FILE WORDS",
               .help = "script that releases leases, and its ARGV (default: args)",
               .about_value = "The file of the script that releases leases, and its ARGV, in one "
                              "text that is split as a shell does, or null.",
               .parse = parse_ending,
               .names_file = true},
    ScriptWord{.name = "settle",
               .value_name = "FILE WORDS",
               .help = "script that settles reservations, and its ARGV (default: args)",
               .about_value = "The file of the script that settles reservations, and its ARGV, in "
                              "one text that is split as a shell does, or null.",
               .parse = parse_ending,
               .names_file = true},
};

/// Its rows are those of kWords, except the keys, which are a list.
template <std::size_t... rows>
constexpr std::array<JsonField<ScriptOptions>, sizeof...(rows)> word_fields(
    std::index_sequence<rows...>) {
  constexpr auto kRowOfKeys = static_cast<std::size_t>(
      std::ranges::find(kWords, kKeys, &ScriptWord::name) - kWords.begin());
  const auto field_of = [](const ScriptWord& word) {
    // A script may be called without ARGV.
    const auto type = word.name == kArguments ? json_type::kStringOrNull : json_type::kTextOrNull;
    return JsonField<ScriptOptions>(word.name, type, word.about_value,
                                    [](const JsonFieldInfo& field, const ScriptOptions& options) {
                                      return options.text(field.name);
                                    });
  };
  return {field_of(kWords[rows + (rows < kRowOfKeys ? 0 : 1)])...};
}
constexpr auto kWordFields = word_fields(std::make_index_sequence<kWords.size() - 1>());

const ScriptWord& row_of(std::string_view word) {
  return *std::ranges::find(kWords, word, &ScriptWord::name);
}

std::vector<std::string_view> word_names() {
  return names_of(std::span(kWords));
}

/// The limiter that the words describe, without its name and its source.
script::ForeignLimiter parse(const ScriptOptions& options) {
  script::ForeignLimiter limiter;
  for (const auto& row : kWords) {
    const auto found = options.words.find(row.name);
    if (found == options.words.end()) continue;
    const auto& [text, source, origin] = found->second;
    parsed(origin, [&, &value = text] { row.parse(value, limiter); });
    const bool is_about_reply = row.about == About::kReply;
    (is_about_reply ? limiter.reading.origins : limiter.origins)[row.name] = origin;
  }
  return limiter;
}

std::string with_option(std::string_view option, const std::string& message) {
  return option.empty() ? message : std::string(option) + ": " + message;
}

NamedScript script_in_file(const std::string& path, const ScriptOptions& given) {
  return {.name = script_name(path), .path = path, .options = given};
}

[[noreturn]] void throw_no_script(std::string_view option, const std::string& value,
                                  ConfigurationSource& configuration) {
  const auto path = configuration.path();
  auto names = limiter::list_names(nullptr);
  for (const auto& script : configuration.scripts().scripts) names.push_back(script.name);
  const auto meant = did_you_mean(value, names);
  throw UsageError(
      with_option(
          option,
          fmt::format("no bundled script {}{}{}", quoted_and_masked(value),
                      path ? ", and no script of that name in " + display_path(*path) : "", meant)),
      "expected one of: " + one_of(names) + "; for a file, write ./" + value);
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

/// Says what a value of --head says.
void say_head_option(ScriptOptions& options, const std::string& text) {
  const auto line =
      parsed(kHeadOption, [&] { return script::parse_head_line(text, word_names()); });
  const auto& row = row_of(line.word);
  const auto known = options.words.find(row.name);
  const bool is_twice =
      known != options.words.end() && known->second.source == WordSource::kHeadOption;
  if (is_twice && row.name != kSetup) {
    throw UsageError(fmt::format("{} {} is given twice", kHeadOption, row.name));
  }
  options.say(row.name, {.text = line.value,
                         .source = WordSource::kHeadOption,
                         .origin = {fmt::format("{} {}", kHeadOption, row.name)}});
}

void require_one_input(const ScriptOptions& options, std::string_view taken_by) {
  const auto wanted = std::count(options.scripts.begin(), options.scripts.end(), kStandardInput);
  if (wanted > 0 && !taken_by.empty()) {
    const auto& option = options.named_with;
    throw UsageError(fmt::format("{} and {} both read standard input",
                                 option.empty() ? "'-'" : fmt::format("{} -", option), taken_by),
                     "pass a file for one of them");
  }
  if (wanted > 1) throw UsageError("'-' is given twice, but standard input is read once");
}

// ---- Sections of the configuration ----

using Setting = limiter::ScriptSection::Setting;

/// A value whose files are relative to this folder: the lines of a setup, or the file of a script.
/// `check` is called with the name of each file.
template <typename Check>
std::string in_folder(const ScriptWord& row, const std::filesystem::path& folder,
                      const std::string& text, Check check) {
  const auto moved = [&](const std::string& file) {
    check(file);
    return (folder / file).string();
  };
  if (row.names_file) {
    auto words = shell_words(text);
    if (!words.empty()) words.front() = moved(words.front());
    return joined_words(words);
  }
  if (row.name != kSetup) return text;
  std::string lines;
  for_each_command(text, [&](std::string_view line, const std::vector<std::string>& words) {
    if (!lines.empty()) lines += '\n';
    lines += is_setup_file(words) ? joined_words({moved(words.front())}) : std::string(line);
  });
  return lines;
}

/// Says what a setting of the configuration says, which stands in this folder. The errors about the
/// setting begin with its place.
void apply(const Setting& setting, const std::filesystem::path& folder, std::string place,
           ScriptOptions& options) {
  const auto* row = find_by_name(std::span(kWords), setting.name);
  if (row == nullptr) return;
  std::string text;
  if (row->name == kSetup) {
    text = fmt::format("{}", fmt::join(setting.values, "\n"));
  } else {
    text = setting.is_list ? joined_words(setting.values) : setting.values.front();
  }
  options.say(row->name, {.text = in_folder(*row, folder, text, [](const auto&) {}),
                          .source = WordSource::kConfiguration,
                          .origin = {.place = std::move(place), .is_file = true}});
}

/// Throws UsageError for a file of a head that is not beside its script, in this folder: a link may
/// lead elsewhere.
void require_beside(const std::filesystem::path& folder, const std::string& file) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  const auto home = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, ignored),
             real = std::filesystem::weakly_canonical(home / path, ignored);
  const bool is_inside = std::ranges::mismatch(home, real).in1 == home.end();
  if (path.is_relative() && std::ranges::find(path, "..") == path.end() && is_inside) return;
  throw UsageError(quoted_and_masked(file) + " is not beside the script",
                   "a head names files in the folder of its script, without '..'");
}

void require_file(std::string_view key, const std::string& name, const std::string& path) {
  if (name.empty()) throw UsageError(std::string(key) + ": the name of the file is empty");
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (!is_folder && ::access(path.c_str(), R_OK) == 0) return;
  throw UsageError(fmt::format("{}: cannot read {}: {}", key, quoted_and_masked(path),
                               errno_text(is_folder ? EISDIR : errno)));
}

[[noreturn]] void refuse_key(const std::string& key) {
  auto keys = word_names();
  keys.insert(keys.begin(), {ScriptSection::kFile, ScriptSection::kExec});
  throw UsageError(
      fmt::format("unknown key '{}'{}", escape(key, kMaxShown), did_you_mean_or_all(key, keys)));
}

/// Throws UsageError, which begins with the key.
void require_correct(const Setting& setting, const limiter::ScriptSection& section,
                     const limiter::Configuration& configuration) {
  ScriptOptions options;
  const bool is_file = setting.name == ScriptSection::kFile,
             is_exec = setting.name == ScriptSection::kExec;
  if (!is_file && !is_exec && find_by_name(std::span(kWords), setting.name) == nullptr) {
    refuse_key(setting.name);
  }
  if (setting.is_list && !ScriptSection::takes_list(setting.name)) {
    throw UsageError(setting.name + " must be a string, not a list");
  }
  if (is_file) {
    return require_file(setting.name, setting.values.front(),
                        script_of(section, configuration).path);
  }
  if (is_exec) {
    return parsed(ScriptSection::kExec,
                  [&] { static_cast<void>(parse_program(setting.values.front())); });
  }
  if (setting.name == kKeys && setting.values.empty()) throw UsageError("keys is an empty list");
  apply(setting, std::filesystem::path(configuration.file).parent_path(), setting.name, options);
  static_cast<void>(parse(options));
  if (!row_of(setting.name).names_file) return;
  const auto path = shell_words(*options.find(setting.name)).front();
  require_file(setting.name, path, path);
}

/// "script 'NAME': MESSAGE"
std::string script_part(const limiter::ScriptSection& section, std::string_view message) {
  return fmt::format("script '{}': {}", escape(section.name, kMaxShown), message);
}

/// The mistakes of a section.
std::vector<limiter::ConfigurationMistake> mistakes_in(
    const limiter::ScriptSection& section, const limiter::Configuration& configuration) {
  std::vector<limiter::ConfigurationMistake> mistakes;
  const auto add = [&](std::size_t line, const std::string& message) {
    mistakes.push_back(limiter::mistake_at(configuration.file, line, script_part(section, message),
                                           "script." + section.name));
  };
  const auto* exec = section.find(ScriptSection::kExec);
  if (traffic::find_pattern(section.name) != nullptr || section.name == kAllAlgorithms) {
    add(section.line, "burst takes this name for something else; choose another");
  }
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

const std::string* ScriptOptions::find(std::string_view word) const {
  const auto found = words.find(word);
  return found == words.end() ? nullptr : &found->second.text;
}

ValueOrigin ScriptOptions::origin_of(std::string_view word) const {
  const auto found = words.find(word);
  return found == words.end() ? ValueOrigin{.place = std::string(word)} : found->second.origin;
}

std::optional<std::string> ScriptOptions::text(std::string_view word) const {
  const auto* found = find(word);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void ScriptOptions::say(std::string_view word, const WordValue& value) {
  const auto& row = row_of(word);
  const auto [known, is_new] = words.try_emplace(row.name, value);
  if (is_new || known->second.source < value.source) return;
  const auto before = std::exchange(known->second, value);
  if (!row.has_lines || before.source != value.source) return;
  known->second.text.insert(0, before.text + '\n');
  if (before.origin.place == value.origin.place) return;
  known->second.origin.place.insert(0, before.origin.place + " or ");
}

constinit const JsonObject<ScriptOptions> kScriptWordsJson(kWordFields);

std::span<const ScriptWord> script_words() {
  return kWords;
}

bool gives_call(const ScriptOptions& options) {
  return std::ranges::any_of(
      options.words, [](const auto& word) { return row_of(word.first).about != About::kTraffic; });
}

bool has_reading(const ScriptOptions& options) {
  return std::ranges::any_of(
      options.words, [](const auto& word) { return row_of(word.first).about == About::kReply; });
}

bool reading_tells_limit(const ScriptOptions& options) {
  return script::uses_limit(parse(options).reading);
}

void add_key(ScriptOptions& options, const std::string& key) {
  options.say(kKeys, {.text = joined_words({key}), .origin = {"--keys"}});
}

std::vector<std::string> script_keys(const ScriptOptions& options) {
  const auto* keys = options.find(kKeys);
  return keys == nullptr ? std::vector{std::string(kDefaultKey)} : shell_words(*keys);
}

void set_default_key(ScriptOptions& options) {
  if (options.find(kKeys) != nullptr) return;
  options.say(kKeys, {.text = std::string(kDefaultKey),
                      .source = WordSource::kScript,
                      .origin = {std::string(kKeys)}});
}

void add_script_options(Options& options, ScriptOptions& target) {
  for (const auto& row : kWords) {
    if (row.option.empty()) continue;
    const Take take = [&target, &row](const std::string& text) {
      target.say(row.name, {.text = text, .origin = {std::string(row.option)}});
    };
    if (row.has_lines) {
      options.list(row.option, row.value_name, take, row.help);
    } else {
      options.value(row.option, row.value_name, take, row.help);
    }
  }
  options.list(
      kHeadOption, "'WORD VALUE'",
      [&target](const std::string& text) { say_head_option(target, text); },
      "say what a line of the script's head says, in its place: 'retry_after r[3] ms'");
}

void refuse_words_without_script(const ScriptOptions& options) {
  if (options.words.empty()) return;
  const auto& [word, said] = *options.words.begin();
  const auto text = word == kKeys ? script_keys(options).front() : said.text;
  throw UsageError(
      fmt::format("{} {}: no script is named", said.origin.place, quoted_and_masked(text)),
      "name it: ./limiter.lua, or a section [script.NAME] of the configuration");
}

std::string script_help() {
  std::vector<HelpRow> words;
  for (const auto& row : kWords) {
    words.push_back({std::string(row.name), row.option.empty() ? std::string(row.help)
                                                               : fmt::format("as {}", row.option)});
  }
  std::vector<HelpRow> rows;
  for (const auto& row : script::placeholders()) {
    rows.push_back({fmt::format("{{{}}}", row.name), std::string(row.summary)});
  }
  return help_section("In the head of a script ('-- rlctl: WORD VALUE') and in --head", words) +
         help_section("In --keys and --args of a script", rows);
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
  for (const auto& [word, value] : options.words) {
    if (row_of(word).about != About::kTraffic) refuse(value.origin.place);
  }
}

void require_lua(const NamedScript& script) {
  if (!script.program) return;
  throw UsageError(
      quoted_and_masked(script.name) + " is a program, but only a script in Lua will do",
      "rlctl burst and lint ask programs");
}

std::string script_operand(const std::string& script) {
  return script.starts_with('-') && script != kStandardInput ? "./" + script : script;
}

NamedScript find_script(std::string_view option, const std::string& value,
                        const ScriptOptions& given, ConfigurationSource& configuration) {
  require_not_empty(value, with_option(option, "the name"));
  if (is_script_file(value)) return script_in_file(value, given);
  if (const auto* section = configuration.script(value)) {
    auto script = script_of(*section, configuration.scripts());
    auto options = given;
    for (const auto& [word, said] : script.options.words) options.say(word, said);
    script.options = std::move(options);
    return script;
  }
  if (::access(value.c_str(), F_OK) == 0) return script_in_file(value, given);
  throw_no_script(option, value, configuration);
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

void add_head(NamedScript& script, const std::string& source) {
  const auto file =
      script.path.empty() || script.path == kStandardInput ? script.name : script.path;
  const auto folder = std::filesystem::path(file).parent_path();
  for (const auto& line : script::read_head(source, file, word_names(), kSetup)) {
    const auto& row = row_of(line.word);
    WordValue value{
        .source = WordSource::kScript,
        .origin = {.place = fmt::format("{}:{}: {}", file, line.line, line.word), .is_file = true}};
    parsed(value.origin, [&] {
      script::ForeignLimiter unused;
      value.text = in_folder(row, folder, line.value,
                             [&](const std::string& named) { require_beside(folder, named); });
      row.parse(value.text, unused);
    });
    script.options.say(row.name, value);
  }
}

void refuse_setup_of_head(const ScriptOptions& options) {
  const auto found = options.words.find(kSetup);
  if (found == options.words.end() || found->second.source != WordSource::kScript) return;
  throw InputError(found->second.origin.place + " would write to the server that an option names",
                   "repeat it on the command line: --setup COMMAND");
}

script::ForeignLimiter make_limiter(const NamedScript& script, std::string source) {
  auto limiter = parse(script.options);
  limiter.name = script.name;
  limiter.source = std::move(source);
  return limiter;
}

NamedLimiters read_scripts(const ScriptOptions& options, ConfigurationSource& configuration,
                           std::string_view input_reader) {
  require_one_input(options, input_reader);
  std::vector<std::string> typed;
  std::vector<NamedScript> scripts;
  NamedLimiters named;
  for (const auto& value : options.scripts) {
    if (std::find(typed.begin(), typed.end(), value) != typed.end()) continue;
    typed.push_back(value);
    auto& script =
        scripts.emplace_back(find_script(options.named_with, value, options, configuration));
    named.uses_configuration |= script.is_configured;
  }
  make_names_differ(scripts, typed);
  for (auto& script : scripts) {
    if (script.program) {
      require_no_call(options, script.name);
      named.limiters.push_back({.candidate = {.program = script.program}});
      continue;
    }
    // Reading standard input may wait: find mistakes in the options first.
    static_cast<void>(make_limiter(script, {}));
    auto source = read_source(options.named_with, script);
    add_head(script, source);
    set_default_key(script.options);
    auto limiter = make_limiter(script, std::move(source));
    choose_function(limiter);
    named.limiters.push_back(
        {.candidate = {.foreign =
                           std::make_shared<const script::ForeignLimiter>(std::move(limiter))},
         .options = std::move(script.options)});
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
    script.program = std::make_shared<const script::ProgramLimiter>(
        script::ProgramLimiter{.name = section.name,
                               .words = parse_program(exec->values.front()).words,
                               .folder = folder});
  }
  for (const auto& setting : section.settings) {
    const auto place = limiter::mistake_at(configuration.file, setting.line,
                                           script_part(section, setting.name), {});
    apply(setting, folder, place.message, script.options);
  }
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

std::string reading_text(const script::ForeignLimiter& limiter) {
  const auto& [named, expression] = limiter.reading.allowed_when;
  if (named == nullptr) return "allowed when " + escape(expression->source());
  if (named->is_always()) {
    return limiter.reading.delay ? "allowed always, after a delay" : "allowed always";
  }
  return fmt::format("allowed when its reply is {}", named->name);
}

}  // namespace rlctl::cli
