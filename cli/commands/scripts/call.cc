#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/commands/scripts/call.h"
#include "cli/options/values.h"
#include "cli/server/request_failure.h"
#include "limiter/check.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/error.h"

namespace rlctl::cli::scripts {
namespace {

// ---- The command line of redis-cli ----

std::string redis_cli_line(const redis::Url& url, const limiter::ScriptCall& call) {
  auto words = redis_cli_words(url, "--print");
  const auto count = std::to_string(call.keys.size());
  std::vector<std::string_view> command{"EVALSHA", call.sha1, count};
  command.insert(command.end(), call.keys.begin(), call.keys.end());
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  append_redis_command(words, command);
  return command_line(words) + "\n";
}

// ---- The call ----

void append_reply(std::string& out, const limiter::Decision& decision, bool json) {
  struct Field {
    std::string_view name;  ///< as rlctl-scripts(7) names it
    std::int64_t value;
    bool is_time = false;
  };
  const std::array<Field, 6> fields{{{"allowed", decision.allowed ? 1 : 0},
                                     {"remaining", decision.remaining},
                                     {"retry_after", decision.retry_after.count(), true},
                                     {"reset_after", decision.reset_after.count(), true},
                                     {"delay", decision.delay.count(), true},
                                     {"denied_by", decision.denied_by}}};
  if (json) {
    JsonWriter writer(out);
    writer.begin_object();
    for (const auto& [name, value, is_time] : fields) {
      writer.field(std::string(name) + (is_time ? "_us" : ""), value);
    }
    writer.end_object();
  } else {
    for (const auto& field : fields) {
      out.append(out.empty() ? "" : " ").append(field.name).append("=");
      append_number(out, field.value);
    }
  }
  out += '\n';
}

limiter::Decision decide(const limiter::Algorithm& algorithm, const limiter::ScriptCall& call,
                         Invocation& invocation) {
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  auto connection = connector.open();
  try {
    return limiter::Checker::parse(limiter::call_script(connection, algorithm, call), &algorithm);
  } catch (const redis::Error& error) {
    throw ProblemError(may_have_been_counted(describe(error)));
  }
}

constexpr std::string_view kExample = "rlctl scripts call gcra KEY --limit 5/60s";

/// The limits for the script with this name.
Limiter limiter_for(const std::string& name, const CallOptions& options, std::int64_t cost,
                    ConfigurationSource& configuration) {
  auto limit = options.limit;
  if (!limit.policy) limit.algorithm = name;
  auto limiter = resolve_limiter(limit, cost, configuration);
  if (limiter.algorithm->name != name) {
    throw UsageError(fmt::format("policy '{}' names {}, not {}", escape(*limit.policy),
                                 limiter.algorithm->name, name));
  }
  return limiter;
}

}  // namespace

ExitStatus call_script_once(const CallOptions& options, Invocation& invocation) {
  auto operands = invocation.operands;
  if (operands.empty()) throw UsageError("no NAME given", std::string(kExample));
  const auto& script = script_named(operands.front());
  const auto name = script.name;
  const auto* algorithm = limiter::find_algorithm(name);
  if (algorithm == nullptr || !limiter::counts_requests(*algorithm)) {
    throw UsageError(fmt::format("call: '{}' does not count requests", name),
                     fmt::format("name one of {}",
                                 fmt::join(limiter::list_names(limiter::counts_requests), ", ")));
  }
  operands.erase(operands.begin());
  const auto limiter =
      limiter_for(std::string(name), options, options.cost, invocation.configuration);
  operands = decode_operands(std::move(operands), options.key_base64);
  const auto key =
      only_key(limiter, operands, std::string(kExample), "several limits need only one KEY");
  const limiter::Request request{.keys = limiter::redis_keys(key, limiter.limits),
                                 .limits = limiter.limits,
                                 .cost = options.cost,
                                 .now = options.now};
  limiter::CheckCommand command(*limiter.algorithm);
  const auto call = command.of(request);
  auto& out = invocation.out.buffer();
  if (options.print) {
    const auto settings = resolve_connection(invocation.connection, invocation.configuration);
    const auto line = redis_cli_line(settings.url, call);
    if (!settings.url.password.empty() || settings.password_file || invocation.connection.askpass) {
      warn("note: give redis-cli the password in REDISCLI_AUTH", invocation.command);
    }
    out += line;
    return ExitStatus::kDone;
  }
  invocation.out.require_open();
  const auto decision = decide(*limiter.algorithm, call, invocation);
  append_reply(out, decision, invocation.json);
  flush_answers(invocation.out, [&] {
    return std::string(decision.allowed ? what_was_counted(options.cost) : "");
  });
  return decision.allowed ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace rlctl::cli::scripts
