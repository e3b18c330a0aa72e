#include "cli/commands/doctor/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
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

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// ---- scripts ----

/// The result if SCRIPT LOAD or EVALSHA failed.
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

// ---- uses and their commands ----

/// Some uses, and some of the commands that they call, each once.
struct Affected {
  std::vector<std::string> uses, commands;

  [[nodiscard]] bool any() const noexcept { return !uses.empty(); }
  /// "+time +script|load"
  [[nodiscard]] std::string rules() const {
    std::vector<std::string> rules;
    for (const auto& command : commands) rules.push_back(rule_for(command));
    return joined(rules, " ");
  }
};

/// The uses that call a command for which `is_meant` is true, and these commands.
template <typename IsMeant>
Affected affected(const std::vector<Use>& uses, const IsMeant& is_meant) {
  Affected result;
  for (const auto& use : uses) {
    bool any = false;
    for (const auto& command : use.commands) {
      if (!is_meant(command)) continue;
      any = true;
      if (!contains(result.commands, command)) result.commands.push_back(command);
    }
    if (any) result.uses.emplace_back(use.name);
  }
  return result;
}

Affected with_permission(Permission wanted, const std::vector<Use>& uses,
                         const PermissionAnswers& answers) {
  return affected(
      uses, [&](const std::string& command) { return permission(answers, command) == wanted; });
}

/// Commands that the server does not have, so that scripts which call them fail.
std::optional<Finding> check_commands(const PermissionAnswers& answers) {
  const auto missing = affected(
      uses_of_check(), [&](const std::string& command) { return is_missing(answers, command); });
  if (!missing.any()) return std::nullopt;
  const bool has_default = !contains(missing.uses, limiter::kDefaultAlgorithm);
  return Finding{
      has_default ? Severity::kWarning : Severity::kFailure,
      fmt::format("the server has no {}, which {} call{}", joined(missing.commands, ", "),
                  joined(missing.uses, ", "), missing.uses.size() == 1 ? "s" : ""),
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

/// "; lacks +watch +multi +exec for inspect"
std::string other_rules(const PermissionAnswers& answers) {
  std::string out;
  for (const auto& use : other_uses()) {
    const auto denied = with_permission(Permission::kDenied, {use}, answers);
    if (denied.any()) out += fmt::format("; lacks {} for {}", denied.rules(), use.name);
  }
  return out;
}

/// The uses of `check` that the policies need; without policies, the one that lacks the least.
std::vector<Use> needed_uses(std::span<const std::string_view> algorithms,
                             const PermissionAnswers& answers) {
  auto uses = uses_of_check();
  if (algorithms.empty()) {
    return {*std::ranges::min_element(uses, {}, [&](const Use& use) {
      return std::tuple(with_permission(Permission::kDenied, {use}, answers).commands.size(),
                        with_permission(Permission::kUnknown, {use}, answers).any(),
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
  const auto needed = needed_uses(algorithms, answers);
  const auto denied = with_permission(Permission::kDenied, needed, answers);
  const auto unknown = with_permission(Permission::kUnknown, needed, answers);
  const auto user = "user " + in_quotes(answers.user);
  const auto all_rules =
      "# needed: " + affected(needed, [](const std::string&) { return true; }).rules();
  if (denied.any()) {
    return Finding{Severity::kFailure,
                   fmt::format("{} lacks {} for check with {}{}", user, denied.rules(),
                               joined(denied.uses, ", "), other_rules(answers)),
                   unknown.any() ? all_rules : grant(answers.user, denied.rules())};
  }
  if (unknown.any()) {
    return Finding{Severity::kWarning,
                   fmt::format("not known whether {} may call what check needs, with {}: {}", user,
                               joined(unknown.uses, ", "), doubt(answers.rules)),
                   all_rules};
  }
  std::vector<std::string_view> granted;
  const auto uses = uses_of_check();
  for (const auto& use : uses) {
    const auto its_granted = with_permission(Permission::kGranted, {use}, answers);
    if (its_granted.commands.size() == use.commands.size()) granted.push_back(use.name);
  }
  const auto with = granted.size() == uses.size() ? "every algorithm"
                                                  : fmt::format("{}", fmt::join(granted, ", "));
  return Finding{.detail = fmt::format("{} may call what check needs, with {}{}", user, with,
                                       other_rules(answers))};
}

}  // namespace rlctl::cli::doctor
