#include "cli/commands/doctor/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "cli/commands/doctor/permissions.h"
#include "limiter/algorithm.h"
#include "redis/error.h"

namespace rlctl::cli::doctor {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

/// "+time +script|load"
std::string rules_for(const std::vector<std::string>& commands) {
  std::vector<std::string> rules;
  for (const auto& command : commands) rules.push_back(rule_for(command));
  return joined(rules, " ");
}

void add_new(std::vector<std::string>& words, const std::vector<std::string>& others) {
  for (const auto& word : others) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
}

// ---- scripts ----

/// What a script of ours fails with, other than for want of a right.
std::optional<Finding> script_failure(const redis::Reply& reply) {
  if (!reply.is_error() || redis::is_unknown_script(reply)) return std::nullopt;
  const auto error = redis::to_error(reply);
  if (error.failure() == redis::Failure::kNotNow) {
    return Finding{Severity::kWarning, fmt::format("not known: {}", error.what()),
                   describe(error).hint};
  }
  if (error.failure() == redis::Failure::kRefused) {
    return Finding{Severity::kFailure, fmt::format("{}: {}", error.command(), error.what()),
                   describe(error).hint};
  }
  return Finding{
      Severity::kFailure,
      fmt::format("the server runs no Lua scripts: {}: {}", error.command(), error.what()),
      "use a server with Lua whose EVALSHA and SCRIPT LOAD are not renamed or disabled"};
}

/// Commands that the server does not have, so that scripts which call them fail.
std::optional<Finding> check_commands(const PermissionAnswers& answers) {
  std::vector<std::string> commands, algorithms;
  for (const auto& use : uses_of_check()) {
    const auto missing = missing_commands(answers, use);
    if (!missing.empty()) algorithms.emplace_back(use.name);
    add_new(commands, missing);
  }
  if (commands.empty()) return std::nullopt;
  const bool has_default =
      std::ranges::find(algorithms, limiter::kDefaultAlgorithm) == algorithms.end();
  return Finding{has_default ? Severity::kWarning : Severity::kFailure,
                 fmt::format("the server has no {}, which {} call{}", joined(commands, ", "),
                             joined(algorithms, ", "), algorithms.size() == 1 ? "s" : ""),
                 "remove rename-command from the server's configuration, or use another algorithm"};
}

// ---- acl ----

std::string grant(const std::string& user, const std::string& rules) {
  return fmt::format("grant {}: ACL SETUSER {} {}", rules.find(' ') == rules.npos ? "it" : "them",
                     user, rules);
}

/// Whether scripts run, or only this user may not run them; else `scripts` says why not.
bool runs_scripts(const PermissionAnswers& answers) {
  const auto runs = [](const redis::Reply& reply) {
    return !reply.is_error() || redis::is_unknown_script(reply) ||
           redis::to_error(reply).failure() == redis::Failure::kRefused;
  };
  return runs(answers.load) && (!answers.run || runs(*answers.run));
}

std::vector<std::string> commands_with(Permission wanted, const Use& use,
                                       const PermissionAnswers& answers) {
  std::vector<std::string> commands;
  std::ranges::copy_if(use.commands, std::back_inserter(commands),
                       [&](const auto& command) { return permission(answers, command) == wanted; });
  return commands;
}

/// "; lacks +watch +multi +exec for inspect"
std::string other_rules(const PermissionAnswers& answers) {
  std::string out;
  for (const auto& use : other_uses()) {
    const auto denied = commands_with(Permission::kDenied, use, answers);
    if (!denied.empty()) out += fmt::format("; lacks {} for {}", rules_for(denied), use.name);
  }
  return out;
}

/// The uses of `check` that the policies need; without policies, the one that lacks the least.
std::vector<Use> wanted_uses(std::span<const std::string_view> algorithms,
                             const PermissionAnswers& answers) {
  auto uses = uses_of_check();
  if (algorithms.empty()) {
    return {*std::ranges::min_element(uses, {}, [&](const Use& use) {
      return std::tuple(commands_with(Permission::kDenied, use, answers).size(),
                        !commands_with(Permission::kUnknown, use, answers).empty(),
                        use.name != limiter::kDefaultAlgorithm);
    })};
  }
  std::erase_if(uses, [&](const Use& use) {
    return std::ranges::find(algorithms, use.name) == algorithms.end();
  });
  return uses;
}

/// Why it is not known what the user may call.
std::string doubt(const redis::Reply& rules) {
  if (!rules.is_error()) return "its rules name categories or selectors";
  const auto error = redis::to_error(rules);
  if (error.failure() == redis::Failure::kRefused) return "it may not call ACL GETUSER";
  return fmt::format("ACL GETUSER: {}", error.what());
}

}  // namespace

std::optional<Finding> check_scripts(const ServerFacts& server) {
  if (server.is_sentinel() || server.is_busy()) return std::nullopt;
  const auto& answers = server.permissions;
  if (auto failed = script_failure(answers.load)) return failed;
  if (auto failed = script_failure(*answers.run)) return failed;
  if (auto missing = check_commands(answers)) return missing;
  return Finding{.detail = "Lua scripts run; rlctl loaded one to find out"};
}

std::optional<Finding> check_acl(const ServerFacts& server,
                                 std::span<const std::string_view> algorithms) {
  const auto& answers = server.permissions;
  if (server.is_sentinel() || server.is_busy() || !runs_scripts(answers)) return std::nullopt;
  std::vector<std::string> denied, lacking, unknown, doubtful, needed;
  for (const auto& use : wanted_uses(algorithms, answers)) {
    add_new(needed, use.commands);
    const auto its_denied = commands_with(Permission::kDenied, use, answers);
    if (!its_denied.empty()) lacking.emplace_back(use.name);
    add_new(denied, its_denied);
    const auto its_unknown = commands_with(Permission::kUnknown, use, answers);
    if (!its_unknown.empty()) doubtful.emplace_back(use.name);
    add_new(unknown, its_unknown);
  }
  const auto user = "user " + in_quotes(answers.user);
  const auto all_needed = "# needed: " + rules_for(needed);
  if (!denied.empty()) {
    const auto rules = rules_for(denied);
    return Finding{Severity::kFailure,
                   fmt::format("{} lacks {} for check with {}{}", user, rules,
                               joined(lacking, ", "), other_rules(answers)),
                   unknown.empty() ? grant(answers.user, rules) : all_needed};
  }
  if (!unknown.empty()) {
    return Finding{Severity::kWarning,
                   fmt::format("not known whether {} may call what check needs, with {}: {}", user,
                               joined(doubtful, ", "), doubt(answers.rules)),
                   all_needed};
  }
  std::vector<std::string> allowed;
  const auto uses = uses_of_check();
  for (const auto& use : uses) {
    const auto granted = commands_with(Permission::kGranted, use, answers);
    if (granted.size() == use.commands.size()) allowed.emplace_back(use.name);
  }
  const auto with =
      allowed.size() == uses.size() ? std::string("every algorithm") : joined(allowed, ", ");
  return Finding{.detail = fmt::format("{} may call what check needs, with {}{}", user, with,
                                       other_rules(answers))};
}

}  // namespace rlctl::cli::doctor
