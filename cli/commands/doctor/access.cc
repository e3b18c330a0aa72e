#include "cli/commands/doctor/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands/doctor/permissions.h"
#include "limiter/algorithm.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

/// The commands of a use with this permission.
std::vector<std::string> commands_with(const Use& use, const Permissions& permissions,
                                       Permission wanted) {
  std::vector<std::string> commands;
  for (const auto& command : use.commands) {
    const auto found = permissions.find(command);
    if (found != permissions.end() && found->second == wanted) commands.push_back(command);
  }
  return commands;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

/// "+time +script|load"
std::string rules_of(const std::vector<std::string>& commands) {
  std::vector<std::string> rules;
  for (const auto& command : commands) rules.push_back(rule_for(command));
  return joined(rules, " ");
}

// ---- scripts ----

/// What a script of ours fails with, other than for want of a right.
std::optional<CheckResult> script_failure(const redis::Reply& reply) {
  if (!reply.is_error()) return std::nullopt;
  const auto error = redis::to_error(reply);
  if (error.failure() == redis::Failure::kNotNow) {
    return CheckResult{Health::kWarning, fmt::format("not known: {}", error.what()),
                       describe(error).hint};
  }
  if (error.failure() == redis::Failure::kRefused) {
    return CheckResult{Health::kFailure, fmt::format("{}: {}", error.command(), error.what()),
                       describe(error).hint};
  }
  return CheckResult{
      Health::kFailure,
      fmt::format("the server runs no Lua scripts: {}: {}", error.command(), error.what()),
      "use a server with Lua whose EVALSHA and SCRIPT LOAD are not renamed or disabled"};
}

/// Commands that the server does not have, so that scripts which call them fail.
std::optional<CheckResult> missing_commands(const Permissions& permissions) {
  std::vector<std::string> commands, algorithms;
  for (const auto& use : uses_of_check()) {
    const auto missing = commands_with(use, permissions, Permission::kMissing);
    if (missing.empty()) continue;
    algorithms.emplace_back(use.name);
    for (const auto& command : missing) {
      if (std::ranges::find(commands, command) == commands.end()) commands.push_back(command);
    }
  }
  if (commands.empty()) return std::nullopt;
  const bool has_default =
      std::ranges::find(algorithms, limiter::kDefaultAlgorithm) == algorithms.end();
  return CheckResult{
      has_default ? Health::kWarning : Health::kFailure,
      fmt::format("the server has no {}, which {} call{}", joined(commands, ", "),
                  joined(algorithms, ", "), algorithms.size() == 1 ? "s" : ""),
      "remove rename-command from the server's configuration, or use another algorithm"};
}

// ---- acl ----

/// Whether a script could be asked, or was refused to this user; else `scripts` says why not.
bool asks_scripts(const ServerFacts& server) {
  const auto& answers = server.permissions;
  const auto runs = [](const redis::Reply& reply) {
    return !reply.is_error() || redis::to_error(reply).failure() == redis::Failure::kRefused;
  };
  return runs(answers.load) && (!answers.call || runs(*answers.call));
}

std::string grant(const std::string& user, const std::string& rules) {
  return fmt::format("grant {}: ACL SETUSER {} {}", rules.find(' ') == rules.npos ? "it" : "them",
                     user, rules);
}

/// "; lacks +watch +multi +exec for inspect"
std::string other_rules(const Permissions& permissions) {
  std::string out;
  for (const auto& use : other_uses()) {
    const auto denied = commands_with(use, permissions, Permission::kDenied);
    if (!denied.empty()) out += fmt::format("; lacks {} for {}", rules_of(denied), use.name);
  }
  return out;
}

/// A server that cannot say what a user may do shows the first rule that is missing, and no other.
std::string perhaps_more(const Permissions& permissions) {
  return permissions.size() < 2 ? "; others may be missing too" : "";
}

/// The algorithm for which the fewest rules are missing; of several, the default one if possible.
const Use& nearest(const std::vector<Use>& uses, const Permissions& permissions) {
  return *std::ranges::min_element(uses, {}, [&](const Use& use) {
    const auto denied = commands_with(use, permissions, Permission::kDenied);
    return 2 * denied.size() + (use.name == limiter::kDefaultAlgorithm ? 0 : 1);
  });
}

}  // namespace

std::optional<CheckResult> check_scripts(const ServerFacts& server) {
  if (server.is_sentinel() || server.is_busy()) return std::nullopt;
  const auto& answers = server.permissions;
  if (auto failed = script_failure(answers.load)) return failed;
  if (auto failed = script_failure(*answers.call)) return failed;
  if (auto missing = missing_commands(permissions_in(answers))) return missing;
  return CheckResult{.detail = "Lua scripts run; rlctl loaded one to find out"};
}

std::optional<CheckResult> check_acl(const ServerFacts& server,
                                     std::span<const std::string_view> algorithms) {
  if (server.is_sentinel() || server.is_busy() || !asks_scripts(server)) return std::nullopt;
  const auto permissions = permissions_in(server.permissions);
  const auto uses = uses_of_check();
  std::vector<std::string> allowed, lacking, denied;
  const auto add_lacking = [&](const Use& use) {
    lacking.emplace_back(use.name);
    for (const auto& command : commands_with(use, permissions, Permission::kDenied)) {
      if (std::ranges::find(denied, command) == denied.end()) denied.push_back(command);
    }
  };
  for (const auto& use : uses) {
    if (commands_with(use, permissions, Permission::kDenied).empty()) {
      allowed.emplace_back(use.name);
    } else if (std::ranges::find(algorithms, use.name) != algorithms.end()) {
      add_lacking(use);
    }
  }
  if (allowed.empty() && algorithms.empty()) add_lacking(nearest(uses, permissions));
  const auto user = "user " + in_quotes(server.permissions.user);
  if (!lacking.empty()) {
    const auto rules = rules_of(denied);
    return CheckResult{
        Health::kFailure,
        fmt::format("{} lacks {} for check with {}{}{}", user, rules, joined(lacking, ", "),
                    other_rules(permissions), perhaps_more(permissions)),
        grant(server.permissions.user, rules)};
  }
  if (permissions.size() < 2) {
    return CheckResult{Health::kWarning,
                       fmt::format("{}; the server cannot report what it may call", user),
                       "compare its rules with ACCESS RULES in rlctl(1)"};
  }
  const auto with =
      allowed.size() == uses.size() ? std::string("every algorithm") : joined(allowed, ", ");
  return CheckResult{.detail = fmt::format("{} may call what check needs, with {}{}", user, with,
                                           other_rules(permissions))};
}

}  // namespace rlctl::cli
