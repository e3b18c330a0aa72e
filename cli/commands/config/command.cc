#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/options/completions.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "cli/terminal/table.h"
#include "limiter/configuration.h"
#include "redis/url.h"

namespace rlctl::cli::config {
namespace {

/// The name of the file. Throws ProblemError if there is none: not a mistake, but it leaves nothing
/// to show.
std::string path_of(const Invocation& invocation) {
  require_at_most(0, invocation.operands, "name the file with --config FILE");
  if (auto path = invocation.configuration.path()) return *std::move(path);
  throw ProblemError({.status = ExitStatus::kDenied,
                      .code = "not_found",
                      .message = "there is no configuration file",
                      .hint = looked_for(invocation.configuration)});
}

using namespace json_type;

constexpr JsonField<std::string> kPathFields[] = {
    {"file", kText, "The configuration file.", [](const auto& path) { return path; }},
};
constexpr JsonObject<std::string> kPath("path", "path", kPathFields);

// --- check ---------------------------------------------------------------------------------------

/// Writes each mistake as a separate error.
void write_mistakes(const limiter::ConfigurationError& error, bool json) {
  Problem problem = describe(error);
  std::string out;
  for (const auto& mistake : error.mistakes()) {
    problem.message = mistake.message;
    problem.hint = mistake.hint;
    out += render(problem, {}, json);
  }
  write_stderr(out);
}

/// No mistakes, since policies may be meant for different servers.
void warn_of_clashes(const limiter::Configuration& configuration, std::string_view command) {
  for (const auto& [first, second] : limiter::policy_clashes(configuration)) {
    warn(fmt::format("warning: {}:{}: policies {} and {} have the same keys, but the algorithms {} "
                     "and {}: on one server, each cannot use what the other stores",
                     configuration.file, second->line, quoted_and_masked(first->name),
                     quoted_and_masked(second->name), first->algorithm->name,
                     second->algorithm->name),
         command);
  }
}

struct Correct {
  const std::string& path;
  const limiter::Configuration& configuration;
};
constexpr JsonField<Correct> kCorrectFields[] = {
    {kPath, [](const auto& of) { return of.path; }},
    {"policies", kCount, "The number of policies.",
     [](const auto& of) { return of.configuration.policies.size(); }},
    {"scripts", kCount, "The number of scripts and programs.",
     [](const auto& of) { return of.configuration.scripts.size(); }},
    {"libraries", kCount, "The number of tables [library.NAME].",
     [](const auto& of) { return of.configuration.libraries.size(); }},
};
constexpr JsonObject<Correct> kCorrect("check", "check: a file without errors", kCorrectFields);

ExitStatus check(Invocation& invocation) {
  const auto path = path_of(invocation);
  auto& out = invocation.out.buffer();
  try {
    const auto& configuration = invocation.configuration.get_correct();
    warn_of_clashes(configuration, invocation.command);
    if (invocation.json) {
      kCorrect.append_line(out, {path, configuration});
      return ExitStatus::kDone;
    }
    const auto policies = std::ssize(configuration.policies);
    const auto scripts = std::ssize(configuration.scripts);
    const auto libraries = std::ssize(configuration.libraries);
    out += escaped_message(path);
    out += fmt::format(": {} {}", policies, policies == 1 ? "policy" : "policies");
    if (scripts > 0) out += ", " + counted(scripts, "script");
    if (libraries > 0) {
      out += fmt::format(", {} {}", libraries, libraries == 1 ? "library" : "libraries");
    }
    out += ", no errors\n";
    return ExitStatus::kDone;
  } catch (const limiter::ConfigurationError& error) {
    write_mistakes(error, invocation.json);
    return ExitStatus::kUsage;
  }
}

// --- show ----------------------------------------------------------------------------------------

/// The policies and scripts to show.
struct Chosen {
  std::vector<const limiter::Policy*> policies;
  std::vector<NamedScript> scripts;
};

/// Those with these names, which a policy and a script may share; all if `names` is empty.
Chosen chosen(std::span<const std::string> names, ConfigurationSource& source) {
  const auto& configuration = source.get_correct();
  Chosen chosen;
  const auto add_script = [&](const limiter::ScriptSection& section) {
    chosen.scripts.push_back(script_of(section, configuration));
  };
  for (const auto& name : names) {
    const auto* script = limiter::find_script(configuration, name);
    if (script != nullptr) add_script(*script);
    if (script == nullptr || limiter::find_policy(configuration, name) != nullptr) {
      chosen.policies.push_back(&source.policy(name));
    }
  }
  if (!names.empty()) return chosen;
  for (const auto& policy : configuration.policies) chosen.policies.push_back(&policy);
  for (const auto& script : configuration.scripts) add_script(script);
  return chosen;
}

/// By Origin.
constexpr std::array<std::string_view, 4> kOrigins{"option", "environment", "file", "default"};
std::string_view name_of(Origin origin) {
  return kOrigins[static_cast<std::size_t>(origin)];
}

/// The burst that all limits share, or the burst of each limit.
std::string bursts_of(const limiter::Policy& policy) {
  std::string out;
  for (const auto& limit : policy.limits) {
    const auto burst = limiter::effective_burst(*policy.algorithm, limit);
    if (!burst) return "-";
    if (!out.empty() && limit.burst) continue;  // the policy's burst, which all limits share
    out.append(out.empty() ? "" : ",").append(std::to_string(*burst));
  }
  return out;
}

/// The settings for TLS, of which those that are empty are not set.
const redis::Tls& tls_of(const ConnectionSettings& settings) {
  static const redis::Tls kNone;
  return settings.url.tls ? *settings.url.tls : kNone;
}

/// Empty if there is none.
std::string_view password_file_of(const ConnectionSettings& settings) {
  return settings.password_file ? std::string_view(settings.password_file->path) : "";
}

void append_policies(std::string& out, std::span<const limiter::Policy* const> policies) {
  if (policies.empty()) return;
  std::vector<Cells> rows{{"policy", "key", "algorithm", "limit", "burst", "ipv6_prefix"}};
  for (const auto* policy : policies) {
    rows.push_back({escaped_text(policy->name), escaped_text(policy->key),
                    std::string(policy->algorithm->name), limiter::format_limits(policy->limits),
                    bursts_of(*policy),
                    policy->ipv6_prefix ? std::to_string(*policy->ipv6_prefix) : "-"});
  }
  out += '\n';
  append_rows(out, rows);
}

/// A text that may have several words, as one: '{now_ms} {limit}'.
std::string words_text(const std::string& text) {
  return text.find(' ') == text.npos ? escaped_text(text) : shell_quoted(text);
}

/// None for a program.
std::optional<std::string> file_of(const NamedScript& script) {
  if (script.program) return std::nullopt;
  return script.path;
}

/// The words of a program; none for a script in Lua.
std::optional<std::string> command_of(const NamedScript& script) {
  if (!script.program) return std::nullopt;
  return joined_words(script.program->words);
}

/// The templates of its keys; none for a program.
std::optional<std::vector<std::string>> keys_of(const NamedScript& script) {
  if (script.program) return std::nullopt;
  return script_keys(script.options);
}

/// A row for each script; only the columns that one of them has.
void append_scripts(std::string& out, std::span<const NamedScript> scripts) {
  if (scripts.empty()) return;
  std::vector<Cells> rows{{"script"}};
  for (const auto& script : scripts) rows.push_back({escaped_text(script.name)});
  const auto add_column = [&](const std::string& title, const auto& value_of, auto format) {
    const auto has = [&](const auto& script) { return value_of(script).has_value(); };
    if (std::none_of(scripts.begin(), scripts.end(), has)) return;
    rows.front().push_back(title);
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      const auto value = value_of(scripts[i]);
      rows[i + 1].push_back(value ? format(*value) : "-");
    }
  };
  add_column("file", file_of, [](const auto& file) { return escaped_text(file); });
  add_column("exec", command_of, words_text);
  add_column("keys", keys_of, [](const auto& keys) { return words_text(joined_words(keys)); });
  for (const auto& word : script_words()) {
    if (word.name == "keys") continue;
    add_column(
        std::string(word.name), [&](const auto& script) { return script.options.text(word.name); },
        words_text);
  }
  out += '\n';
  append_rows(out, rows);
}

void show_text(const ConnectionSettings& settings, const Chosen& chosen, Invocation& invocation) {
  const auto origin = [](Origin from) {
    return std::string("(").append(name_of(from)).append(")");
  };
  const auto& file = invocation.configuration.get_correct().file;
  auto& out = invocation.out.buffer();
  std::vector<Cells> lines{
      {"file", file.empty() ? "none" : escaped_text(file)},
      {"url", escaped_text(redis::display(settings.url)), origin(settings.url_from)},
      {"timeout", format_duration(settings.timeout), origin(settings.timeout_from)}};
  const auto& tls = tls_of(settings);
  const auto add_known = [&](const char* name, std::string_view value) {
    if (!value.empty()) lines.push_back({name, escaped_text(value)});
  };
  add_known("cacert", tls.cacert);
  add_known("cert", tls.cert);
  add_known("key", tls.key);
  add_known("sni", tls.sni);
  add_known("password_file", password_file_of(settings));
  if (tls.insecure) lines.push_back({"insecure", "true"});
  append_rows(out, lines);
  append_policies(out, chosen.policies);
  append_scripts(out, chosen.scripts);
}

constexpr std::string_view kAboutLine = "The number of the line in the file where it begins.";

constexpr JsonField<limiter::Policy> kPolicyFields[] = {
    {"name", kText, "The name of the policy.", [](const auto& policy) { return policy.name; }},
    {"key", kText, "The template of the key.", [](const auto& policy) { return policy.key; }},
    {"algorithm", kAlgorithm, {}, [](const auto& policy) { return policy.algorithm->name; }},
    {"limits", array_of(kLimitJson, 1), "The limits of the policy.",
     [](const auto& policy, const auto& add) {
       for (const auto& limit : policy.limits) add({*policy.algorithm, limit});
     }},
    {"ipv6_prefix", JsonType{R"("type": ["integer", "null"], "minimum": 1, "maximum": 128)"},
     "The bits of an IPv6 address that identify a client, or null.",
     [](const auto& policy) { return policy.ipv6_prefix; }},
    {"line", kNumberFromOne, kAboutLine, [](const auto& policy) { return policy.line; }},
};
constexpr JsonObject<limiter::Policy> kPolicy("policy", "A policy", kPolicyFields);

constexpr JsonField<NamedScript> kScriptFields[] = {
    {"name", kText, "The name of the script or program.",
     [](const auto& script) { return script.name; }},
    {"file", kTextOrNull, "The file with the script, or null for a program.",
     [](const auto& script) { return file_of(script); }},
    {"exec", kTextOrNull,
     "The program with its arguments, in one text that is split as a shell does, or null.",
     [](const auto& script) { return command_of(script); }},
    {"keys", kStrings, "The templates of its keys; empty for a program.",
     [](const auto& script) { return keys_of(script).value_or(std::vector<std::string>()); }},
    {kScriptWordsJson,
     [](const NamedScript& script) -> const ScriptOptions& { return script.options; }},
    {"line", kNumberFromOne, kAboutLine, [](const auto& script) { return script.line; }},
};
constexpr JsonObject<NamedScript> kScript("script", "A script or a program of one's own",
                                          kScriptFields);

struct Shown {
  const std::string& file;
  const ConnectionSettings& settings;
  const Chosen& chosen;
};
constexpr JsonType kOrigin{.names = [] { return std::vector(kOrigins.begin(), kOrigins.end()); }};
constexpr JsonField<Shown> kShownFields[] = {
    {"file", kTextOrNull, "The configuration file, or null if there is none.",
     [](const auto& of) { return known_text(of.file); }},
    {"url", kText, "The server's URL without its password.",
     [](const auto& of) { return redis::display(of.settings.url); }},
    {"url_from", kOrigin,
     "The origin of the URL. It is option too if an option changed a part of it.",
     [](const auto& of) { return name_of(of.settings.url_from); }},
    {"timeout_us", kDuration, "The time limit for connecting and for each reply, in microseconds.",
     [](const auto& of) { return of.settings.timeout; }},
    {"timeout_from", kOrigin, "The origin of the time limit.",
     [](const auto& of) { return name_of(of.settings.timeout_from); }},
    {"cacert", kTextOrNull,
     "The file with the authorities to trust; null if there is none, or without TLS.",
     [](const auto& of) { return known_text(tls_of(of.settings).cacert); }},
    {"cert", kTextOrNull,
     "The file with the client's certificate; null if there is none, or without TLS.",
     [](const auto& of) { return known_text(tls_of(of.settings).cert); }},
    {"key", kTextOrNull,
     "The file with the client's private key; null if there is none, or without TLS.",
     [](const auto& of) { return known_text(tls_of(of.settings).key); }},
    {"sni", kTextOrNull, "The name to ask the server for; null if there is none, or without TLS.",
     [](const auto& of) { return known_text(tls_of(of.settings).sni); }},
    {"password_file", kTextOrNull, "The file with the password, or null.",
     [](const auto& of) { return known_text(password_file_of(of.settings)); }},
    {"insecure", kBoolean, "Whether any certificate is accepted.",
     [](const auto& of) { return tls_of(of.settings).insecure; }},
    {"policies", array_of(kPolicy), "The policies, in the order of the file.",
     [](const auto& of, const auto& add) {
       for (const auto* policy : of.chosen.policies) add(*policy);
     }},
    {"scripts", array_of(kScript), "The scripts and programs, in the order of the file.",
     [](const auto& of) { return std::span(of.chosen.scripts); }},
};
constexpr JsonObject<Shown> kShown("show", "show", kShownFields);

ExitStatus show(Invocation& invocation) {
  const auto shown = chosen(invocation.operands, invocation.configuration);
  const auto settings = resolve_connection(invocation.connection, invocation.configuration);
  if (invocation.json) {
    kShown.append_line(invocation.out.buffer(),
                       {invocation.configuration.get_correct().file, settings, shown});
  } else {
    show_text(settings, shown, invocation);
  }
  return ExitStatus::kDone;
}

// --- path ----------------------------------------------------------------------------------------

ExitStatus print_path(Invocation& invocation) {
  const auto path = path_of(invocation);
  if (invocation.json) {
    kPath.append_line(invocation.out.buffer(), path);
  } else {
    // A shell takes the path from a pipe as it is: $(rlctl config path).
    auto& output = invocation.out;
    is_terminal(output.fd()) ? output.write(path) : output.write_raw(path);
    output.write("\n");
  }
  return ExitStatus::kDone;
}

// -------------------------------------------------------------------------------------------------

constexpr const JsonObjectInfo* kObjects[] = {&kCorrect, &kPath, &kShown};
constexpr JsonOutput kJson{"One object. check writes an error for each mistake in the file.",
                           kObjects};

constexpr std::string_view kErrors =
    "the configuration has an error or cannot be read, or wrong usage";
constexpr std::string_view kNoFile = "there is no configuration file";

constexpr std::array kCommands{
    Subcommand{{.name = "check",
                .summary = "list every error in the file",
                .synopsis = "[--config FILE] config check",
                .about = "Lists every error in the configuration file. No server is contacted.",
                .statuses = {"no errors", kNoFile, kErrors},
                .epilogue = R"(
Example:
  rlctl --config new.toml config check && mv new.toml /etc/rlctl/config.toml
)"},
               [](Options&) -> Action { return check; }},
    Subcommand{
        {.name = "show",
         .summary = "print the settings in effect and where they come from",
         .synopsis = "[--config FILE] config show [NAME...]",
         .about = "Prints the settings in effect and where they come from; with NAMEs, these\n"
                  "policies and scripts only. No server is contacted.",
         .statuses = {"done", {}, kErrors},
         .epilogue = R"(
Example:
  rlctl config show login --json
)",
         .complete_operand =
             [](const CompletionContext& typed) {
               return joined(complete_policy(typed), complete_script_name(typed));
             }},
        [](Options&) -> Action { return show; }},
    Subcommand{{.name = "path",
                .summary = "print the name of the file",
                .synopsis = "[--config FILE] config path",
                .about = "Prints the name of the configuration file.",
                .statuses = {"done", kNoFile, kErrors},
                .epilogue = "\nExample:\n  less $(rlctl config path)\n"},
               [](Options&) -> Action { return print_path; }}};

Action add(Options& options) {
  return add_subcommands(options, kCommands, "rlctl config check");
}

}  // namespace
const Command kCommand{
    .text = {.name = "config",
             .summary = "check or show the configuration file",
             .synopsis = "[--config FILE] config check\n"
                         "[--config FILE] config show [NAME...]\n"
                         "[--config FILE] config path",
             .about =
                 "check lists every error in the configuration file, show prints the settings in\n"
                 "effect and where they come from, path prints the name of the file. No server is\n"
                 "contacted. rlctl-config(5) describes the file.",
             .statuses =
                 {
                     "done, no errors",
                     "there is no configuration file",
                     "it has an error or cannot be read, or wrong usage",
                 },
             .epilogue = R"(
Examples:
  rlctl --config new.toml config check && mv new.toml /etc/rlctl/config.toml
  rlctl config show login --json
)"},
    .add = add,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::config
