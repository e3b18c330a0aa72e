#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
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

ExitStatus check(Invocation& invocation) {
  const auto path = path_of(invocation);
  auto& out = invocation.out.buffer();
  try {
    const auto& configuration = invocation.configuration.get_correct();
    warn_of_clashes(configuration, invocation.command);
    const auto policies = std::ssize(configuration.policies);
    const auto scripts = std::ssize(configuration.scripts);
    const auto libraries = std::ssize(configuration.libraries);
    if (invocation.json) {
      JsonWriter(out)
          .begin_object()
          .field("file", path)
          .field("policies", policies)
          .field("scripts", scripts)
          .field("libraries", libraries)
          .end_object();
    } else {
      out += escaped_message(path);
      out += fmt::format(": {} {}", policies, policies == 1 ? "policy" : "policies");
      if (scripts > 0) out += ", " + counted(scripts, "script");
      if (libraries > 0) {
        out += fmt::format(", {} {}", libraries, libraries == 1 ? "library" : "libraries");
      }
      out += ", no errors";
    }
    out += '\n';
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

/// The settings for TLS and the password's file, of which those that are empty are not set.
std::vector<std::pair<std::string_view, std::string>> files_of(const ConnectionSettings& settings) {
  const auto tls = settings.url.tls.value_or(redis::Tls{});
  return {{"cacert", tls.cacert},
          {"cert", tls.cert},
          {"key", tls.key},
          {"sni", tls.sni},
          {"password_file", settings.password_file ? settings.password_file->path : ""}};
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
    return std::string("(").append(origin_name(from)).append(")");
  };
  const auto& file = invocation.configuration.get_correct().file;
  auto& out = invocation.out.buffer();
  std::vector<Cells> lines{
      {"file", file.empty() ? "none" : escaped_text(file)},
      {"url", escaped_text(redis::display(settings.url)), origin(settings.url_from)},
      {"timeout", format_duration(settings.timeout), origin(settings.timeout_from)}};
  for (const auto& [name, value] : files_of(settings)) {
    if (!value.empty()) lines.push_back({std::string(name), escaped_text(value)});
  }
  if (settings.url.tls && settings.url.tls->insecure) lines.push_back({"insecure", "true"});
  append_rows(out, lines);
  append_policies(out, chosen.policies);
  append_scripts(out, chosen.scripts);
}

void append_policy_json(JsonWriter& json, const limiter::Policy& policy) {
  json.begin_object()
      .field("name", policy.name)
      .field("key", policy.key)
      .field("algorithm", policy.algorithm->name)
      .name("limits")
      .begin_array();
  for (const auto& limit : policy.limits) {
    json.begin_object();
    append_limit_fields(json, *policy.algorithm, limit);
    json.end_object();
  }
  json.end_array().field("ipv6_prefix", policy.ipv6_prefix).field("line", policy.line).end_object();
}

void append_script_json(JsonWriter& json, const NamedScript& script) {
  json.begin_object()
      .field("name", script.name)
      .field("file", file_of(script))
      .field("exec", command_of(script))
      .name("keys")
      .begin_array();
  for (const auto& key : keys_of(script).value_or(std::vector<std::string>{})) json.value(key);
  json.end_array();
  for (const auto& word : script_words()) {
    if (word.name != "keys") json.field(word.name, script.options.text(word.name));
  }
  json.field("line", script.line).end_object();
}

void show_json(const ConnectionSettings& settings, const Chosen& chosen, Invocation& invocation) {
  const auto& file = invocation.configuration.get_correct().file;
  auto& out = invocation.out.buffer();
  JsonWriter json(out);
  json.begin_object()
      .known_field("file", file)
      .field("url", redis::display(settings.url))
      .field("url_from", origin_name(settings.url_from))
      .field("timeout_us", settings.timeout)
      .field("timeout_from", origin_name(settings.timeout_from));
  for (const auto& [name, value] : files_of(settings)) {
    json.known_field(name, value);
  }
  json.field("insecure", settings.url.tls && settings.url.tls->insecure)
      .name("policies")
      .begin_array();
  for (const auto* policy : chosen.policies) append_policy_json(json, *policy);
  json.end_array().name("scripts").begin_array();
  for (const auto& script : chosen.scripts) append_script_json(json, script);
  json.end_array().end_object();
  out += '\n';
}

ExitStatus show(Invocation& invocation) {
  const auto shown = chosen(invocation.operands, invocation.configuration);
  const auto settings = resolve_connection(invocation.connection, invocation.configuration);
  if (invocation.json) {
    show_json(settings, shown, invocation);
  } else {
    show_text(settings, shown, invocation);
  }
  return ExitStatus::kDone;
}

// --- path ----------------------------------------------------------------------------------------

ExitStatus print_path(Invocation& invocation) {
  const auto path = path_of(invocation);
  auto& out = invocation.out.buffer();
  if (invocation.json) {
    JsonWriter(out).begin_object().field("file", path).end_object();
    out += '\n';
  } else {
    // A shell takes the path from a pipe as it is: $(rlctl config path).
    auto& output = invocation.out;
    is_terminal(output.fd()) ? output.write(path) : output.write_raw(path);
    output.write("\n");
  }
  return ExitStatus::kDone;
}

// -------------------------------------------------------------------------------------------------

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
    .decides_dash = true};

}  // namespace rlctl::cli::config
