#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "cli/subcommand.h"
#include "cli/term/table.h"
#include "limiter/policies.h"
#include "redis/url.h"

namespace rlctl::cli {
namespace {

/// A missing file is not a mistake, but leaves nothing to show.
[[noreturn]] void throw_no_file(const ConfigurationSource& source) {
  throw ProblemError({.status = ExitStatus::kDenied,
                      .code = "not_found",
                      .message = "there is no configuration file",
                      .hint = looked_for(source)});
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

ExitStatus run_config_check(std::span<const std::string>, Invocation& invocation) {
  auto& out = invocation.out.buffer();
  const auto path = invocation.configuration.path();
  if (!path) throw_no_file(invocation.configuration);
  std::size_t policies = 0;
  try {
    policies = invocation.configuration.get_correct().policies.size();
  } catch (const limiter::ConfigurationError& error) {
    write_mistakes(error, invocation.json);
    return ExitStatus::kUsage;
  }
  if (invocation.json) {
    JsonWriter(out).begin_object().field("file", *path).field("policies", policies).end_object();
    out += '\n';
    return ExitStatus::kDone;
  }
  escape_message(out, *path);
  out += ": " + std::to_string(policies) + (policies == 1 ? " policy" : " policies") +
         ", no mistakes\n";
  return ExitStatus::kDone;
}

// --- show ----------------------------------------------------------------------------------------

/// The policies with these names; all policies if `names` is empty.
std::vector<const limiter::Policy*> chosen(std::span<const std::string> names,
                                           ConfigurationSource& source) {
  std::vector<const limiter::Policy*> policies;
  for (const auto& name : names) policies.push_back(&source.policy(name));
  if (!names.empty()) return policies;
  for (const auto& policy : source.get_correct().policies) policies.push_back(&policy);
  return policies;
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

std::string limits_of(const limiter::Policy& policy) {
  std::string out;
  for (const auto& limit : policy.limits) {
    out.append(out.empty() ? "" : ",").append(limiter::format_limit(limit));
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

void show_text(const ConnectionSettings& settings, std::span<const limiter::Policy* const> policies,
               Invocation& invocation) {
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
  if (policies.empty()) return;
  std::vector<Cells> rows{{"policy", "key", "algorithm", "limit", "burst", "ipv6_prefix"}};
  for (const auto* policy : policies) {
    rows.push_back({escaped_text(policy->name), escaped_text(policy->key),
                    std::string(policy->algorithm->name), limits_of(*policy), bursts_of(*policy),
                    policy->ipv6_prefix ? std::to_string(*policy->ipv6_prefix) : "-"});
  }
  out += '\n';
  append_rows(out, rows);
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

void show_json(const ConnectionSettings& settings, std::span<const limiter::Policy* const> policies,
               Invocation& invocation) {
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
  for (const auto* policy : policies) append_policy_json(json, *policy);
  json.end_array().end_object();
  out += '\n';
}

ExitStatus run_config_show(std::span<const std::string> names, Invocation& invocation) {
  (void)invocation.configuration.get_correct();
  const auto policies = chosen(names, invocation.configuration);
  const auto settings = resolve_connection(invocation.connection, invocation.configuration);
  if (invocation.json) {
    show_json(settings, policies, invocation);
  } else {
    show_text(settings, policies, invocation);
  }
  return ExitStatus::kDone;
}

// --- path ----------------------------------------------------------------------------------------

ExitStatus run_config_path(std::span<const std::string>, Invocation& invocation) {
  auto& out = invocation.out.buffer();
  const auto path = invocation.configuration.path();
  if (!path) throw_no_file(invocation.configuration);
  if (invocation.json) {
    JsonWriter(out).begin_object().field("file", *path).end_object();
    out += '\n';
  } else {
    out += *path + "\n";  // not escaped, for $(rlctl config path)
  }
  return ExitStatus::kDone;
}

// -------------------------------------------------------------------------------------------------

struct Subcommand {
  std::string_view name;
  bool takes_names = false;
  ExitStatus (*run)(std::span<const std::string> names, Invocation& invocation) = nullptr;
};

constexpr std::array kSubcommands{Subcommand{"check", false, run_config_check},
                                  Subcommand{"show", true, run_config_show},
                                  Subcommand{"path", false, run_config_path}};

ExitStatus run_config(Invocation& invocation) {
  const std::span<const std::string> operands = invocation.operands;
  const auto& subcommand =
      find_subcommand<Subcommand>(kSubcommands, operands, "rlctl config check");
  const auto names = operands.subspan(1);
  if (!subcommand.takes_names && !names.empty()) {
    throw UsageError("unexpected argument " + in_quotes(names[0]),
                     "name the file with --config FILE");
  }
  return subcommand.run(names, invocation);
}

Action add_config(Options&) {
  return run_config;
}

}  // namespace

const Command config_command{
    .name = "config",
    .summary = "check or show the configuration file",
    .synopsis =
        "[--config FILE] config check\n"
        "[--config FILE] config show [POLICY...]\n"
        "[--config FILE] config path",
    .about =
        "check lists every mistake in the configuration file, show prints the settings in\n"
        "effect and where they come from, path prints the name of the file. No server is\n"
        "contacted. rlctl-config(5) describes the file.",
    .epilogue = R"(
Exit status:
  0  done, no mistakes
  1  there is no configuration file
  2  there is a mistake in it, it cannot be read, or wrong usage

Examples:
  rlctl --config new.toml config check && mv new.toml /etc/rlctl/config.toml
  rlctl config show login --json
)",
    .add = add_config};

}  // namespace rlctl::cli
