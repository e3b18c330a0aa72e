#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/doctor/facts.h"
#include "cli/errors/failure.h"
#include "cli/server/needs.h"
#include "limiter/algorithm.h"
#include "redis/error.h"

namespace rlctl::cli::doctor {
namespace {

using Words = std::vector<std::string>;

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// ---- What rlctl is used for, and the commands that this takes ----

/// A use of rlctl, `check` with an algorithm being one.
struct Use : cli::Use {
  Words denied = {}, unknown = {};  ///< commands that this user may not call, or perhaps not
};
using Uses = std::vector<Use>;

/// The commands that only look at limiters, and what they need for all that they do.
constexpr std::string_view kReading[] = {"inspect", "list", "audit", "quota", kSearch};
constexpr std::string_view kResetting[] = {"reset"};

Uses uses_named(std::span<const std::string_view> names) {
  Uses uses;
  for (const auto name : names) uses.push_back({use_named(name)});
  return uses;
}

/// `check` with each algorithm, in their order.
Uses uses_of_check() {
  return uses_named(limiter::list_names(limiter::counts_requests));
}

/// The commands in one list of each use, each once.
Words commands_in(const Uses& uses, Words Use::*list) {
  Words commands;
  for (const auto& use : uses) {
    for (const auto& command : use.*list) {
      if (!contains(commands, command)) commands.push_back(command);
    }
  }
  return commands;
}

/// The uses that have commands in this list: "gcra, token-bucket".
std::string names_of(const Uses& uses, Words Use::*list) {
  std::vector<std::string_view> names;
  for (const auto& use : uses) {
    if (!(use.*list).empty()) names.push_back(use.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "+time", "+script|load"
Words rules_of(const Words& commands) {
  Words rules;
  for (const auto& command : commands) rules.push_back(rule_for(command));
  return rules;
}

/// "+time +script|load"
std::string text_of_rules(const Words& commands) {
  return fmt::format("{}", fmt::join(rules_of(commands), " "));
}

// ---- What the answers say about a command ----

/// Whether the server has shown that the user may call the command, or that it may not. Says
/// nothing about access to keys.
enum class Permission { kUnknown, kGranted, kDenied };

/// Why SCRIPT LOAD or EVALSHA failed; none if it did not.
std::optional<redis::Error> error_of(const redis::Reply& reply) {
  if (!reply.is_error() || redis::is_unknown_script(reply)) return std::nullopt;
  return redis::to_error(reply);
}

/// What calling the command itself has shown.
Permission permission_shown_by(const redis::Reply& reply) {
  const auto error = error_of(reply);
  if (!error) return Permission::kGranted;
  const bool is_denied =
      error->failure() == redis::Failure::kRefused && !refuses_key(error->what());
  return is_denied ? Permission::kDenied : Permission::kUnknown;
}

/// A field of the reply to ACL GETUSER; nothing if the server does not have it.
std::optional<redis::ReplyView> field(redis::ReplyView user, std::string_view name) {
  for (std::size_t i = 0; i + 1 < user.size(); i += 2) {
    if (user[i].text() == name) return user[i + 1];
  }
  return std::nullopt;
}

/// Applies rules such as "-@all +get +config|get", as ACL GETUSER lists them, from left to right. A
/// category other than @all may or may not contain the command.
Permission apply_rules(std::string_view rules, std::string_view command) {
  const auto rule = rule_for(command).substr(1);
  auto result = Permission::kDenied;
  while (!rules.empty()) {
    const auto word = rules.substr(0, rules.find(' '));
    rules.remove_prefix(std::min(word.size() + 1, rules.size()));
    const auto to = word.starts_with('+') ? Permission::kGranted : Permission::kDenied;
    const auto target = word.substr(std::min<std::size_t>(1, word.size()));
    if (target == "@all" || target == rule || target == rule.substr(0, rule.find('|'))) {
      result = to;
    } else if (target.starts_with('@') && result != to) {
      result = Permission::kUnknown;
    }
  }
  return result;
}

Permission permission(const PermissionAnswers& answers, std::string_view command) {
  if (command == "SCRIPT LOAD") return permission_shown_by(answers.load);
  if (command == "EVALSHA" && answers.run) return permission_shown_by(*answers.run);
  if (answers.rules.is_error()) return Permission::kUnknown;
  const auto rules = field(answers.rules, "commands");
  if (!rules) return Permission::kUnknown;
  const auto result = apply_rules(rules->text(), command);
  // A selector may grant what the other rules deny.
  const auto selectors = field(answers.rules, "selectors");
  const bool has_selectors = selectors && selectors->size() > 0;
  return has_selectors && result == Permission::kDenied ? Permission::kUnknown : result;
}

/// The uses with the commands that this user may not call.
Uses examined(Uses uses, const PermissionAnswers& answers) {
  for (auto& use : uses) {
    for (const auto& command : use.commands) {
      const auto found = permission(answers, command);
      if (found == Permission::kDenied) use.denied.push_back(command);
      if (found == Permission::kUnknown) use.unknown.push_back(command);
    }
  }
  return uses;
}

/// The commands of `check` that COMMAND INFO is asked for, whose reply is in the same order. Before
/// Redis 7.0, it knows no subcommands.
Words commands_to_look_up() {
  auto commands = commands_in(uses_of_check(), &Use::commands);
  std::erase(commands, "SCRIPT LOAD");
  return commands;
}

// ---- scripts ----

/// The result if SCRIPT LOAD or EVALSHA failed.
std::optional<Finding> script_failure(const redis::Reply& reply) {
  const auto error = error_of(reply);
  if (!error) return std::nullopt;
  if (error->failure() == redis::Failure::kNotNow) {
    return Finding{Severity::kWarning, fmt::format("not known: {}", error->what()),
                   describe(*error).hint};
  }
  const auto text = fmt::format("{}: {}", error->command(), error->what());
  if (error->failure() == redis::Failure::kRefused) {
    return Finding{Severity::kFailure, text, describe(*error).hint};
  }
  return Finding{Severity::kFailure, "the server runs no Lua scripts: " + text,
                 "use a server with Lua whose EVALSHA and SCRIPT LOAD are not renamed or disabled"};
}

/// Commands that the server does not have, so that scripts which call them fail.
std::optional<Finding> check_commands(const redis::Reply& known) {
  const auto commands = commands_to_look_up();
  if (known.size() != commands.size()) return std::nullopt;
  Words missing, users;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (known[i].size() == 0) missing.push_back(commands[i]);
  }
  for (const auto& use : uses_of_check()) {
    const auto is_missing = [&](const auto& command) { return contains(missing, command); };
    if (std::ranges::any_of(use.commands, is_missing)) users.emplace_back(use.name);
  }
  if (missing.empty()) return std::nullopt;
  const bool has_default = !contains(users, limiter::kDefaultAlgorithm);
  return Finding{has_default ? Severity::kWarning : Severity::kFailure,
                 fmt::format("the server has no {}, which {} call{}", fmt::join(missing, ", "),
                             fmt::join(users, ", "), users.size() == 1 ? "s" : ""),
                 "remove rename-command from the server's configuration, or use another algorithm"};
}

// ---- acl ----

/// Whether scripts run, or only this user may not run them; else `scripts` says why not.
bool runs_scripts(const PermissionAnswers& answers) {
  for (const auto* reply : {&answers.load, answers.run ? &*answers.run : nullptr}) {
    const auto error = reply == nullptr ? std::nullopt : error_of(*reply);
    if (error && error->failure() != redis::Failure::kRefused) return false;
  }
  return true;
}

/// "; lacks +type +hlen for inspect, list; lacks +watch +multi +exec for inspect": each rule once.
std::string other_rules(const PermissionAnswers& answers) {
  auto uses = examined(uses_named(kReading), answers);
  std::ranges::move(examined(uses_named(kResetting), answers), std::back_inserter(uses));
  std::vector<std::pair<std::string, Words>> lacking;  // by the names of the uses
  for (const auto& command : commands_in(uses, &Use::denied)) {
    auto users = uses;
    std::erase_if(users, [&](const Use& use) { return !contains(use.denied, command); });
    const auto names = names_of(users, &Use::denied);
    auto found = std::ranges::find(lacking, names, &std::pair<std::string, Words>::first);
    if (found == lacking.end()) found = lacking.insert(found, {names, {}});
    found->second.push_back(command);
  }
  std::string out;
  for (const auto& [names, commands] : lacking) {
    out += fmt::format("; lacks {} for {}", text_of_rules(commands), names);
  }
  return out;
}

/// "for inspect, list, audit and quota: ACL SETUSER limiter +type": what may be granted besides.
/// Empty if nothing is missing.
std::string reading_rules(const PermissionAnswers& answers) {
  const auto uses = examined(uses_named(kReading), answers);
  const bool is_known = commands_in(uses, &Use::unknown).empty();
  const auto commands = commands_in(uses, is_known ? &Use::denied : &Use::commands);
  if (commands.empty()) return {};
  return "for inspect, list, audit and quota: " + acl_command(answers.user, rules_of(commands));
}

/// The uses of `check` that the policies need; without policies, the one that lacks the least.
Uses needed_uses(Uses uses, std::span<const std::string_view> algorithms) {
  if (algorithms.empty()) {
    return {*std::ranges::min_element(uses, {}, [](const Use& use) {
      return std::tuple(use.denied.size(), !use.unknown.empty(),
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

PermissionAnswers ask_permissions(redis::Connection& connection, const std::string& user) {
  const auto name = user.empty() ? "default" : user;
  const auto commands = commands_to_look_up();
  std::vector<std::string_view> command_info{"COMMAND", "INFO"};
  command_info.insert(command_info.end(), commands.begin(), commands.end());
  PermissionAnswers answers{.user = name,
                            .load = connection.call({"SCRIPT", "LOAD", "return 1"}),
                            .rules = connection.call({"ACL", "GETUSER", name}),
                            .known = connection.call(redis::Arguments(command_info))};
  if (!answers.load.is_error()) {
    answers.run = connection.call({"EVALSHA", answers.load.text(), "0"});
    if (!answers.run->is_error()) redis::require_type(*answers.run, redis::ReplyType::kInteger);
  }
  return answers;
}

std::optional<Finding> check_scripts(const ServerFacts& server) {
  if (server.is_sentinel() || server.is_busy()) return std::nullopt;
  const auto& answers = server.permissions;
  if (auto failed = script_failure(answers.load)) return failed;
  if (auto failed = script_failure(*answers.run)) return failed;
  if (auto missing = check_commands(answers.known)) return missing;
  return Finding{.detail = "Lua scripts run; rlctl loaded one to find out"};
}

std::optional<Finding> check_acl(const ServerFacts& server,
                                 std::span<const std::string_view> algorithms) {
  const auto& answers = server.permissions;
  if (server.is_sentinel() || server.is_busy() || !runs_scripts(answers)) return std::nullopt;
  const auto uses = examined(uses_of_check(), answers);
  const auto needed = needed_uses(uses, algorithms);
  const auto denied = commands_in(needed, &Use::denied);
  const auto unknown = names_of(needed, &Use::unknown);
  const auto user = "user " + quoted_and_masked(answers.user);
  const auto all_rules =
      "# needed: " + acl_command(answers.user, rules_of(commands_in(needed, &Use::commands)));
  const auto reading = reading_rules(answers);
  const auto besides = reading.empty() ? "" : "; " + reading;
  if (!denied.empty()) {
    const auto* what = denied.size() == 1 ? "it" : "them";
    return Finding{Severity::kFailure,
                   fmt::format("{} lacks {} for check with {}{}", user, text_of_rules(denied),
                               names_of(needed, &Use::denied), other_rules(answers)),
                   (unknown.empty() ? fmt::format("grant {}: {}", what,
                                                  acl_command(answers.user, rules_of(denied)))
                                    : all_rules) +
                       besides};
  }
  if (!unknown.empty()) {
    return Finding{Severity::kWarning,
                   fmt::format("not known whether {} may call what check needs, with {}: {}", user,
                               unknown, doubt(answers.rules)),
                   all_rules + besides};
  }
  std::vector<std::string_view> granted;
  for (const auto& use : uses) {
    if (use.denied.empty() && use.unknown.empty()) granted.push_back(use.name);
  }
  const auto with = granted.size() == uses.size() ? "every algorithm"
                                                  : fmt::format("{}", fmt::join(granted, ", "));
  return Finding{.detail = fmt::format("{} may call what check needs, with {}{}", user, with,
                                       other_rules(answers)),
                 .fix = reading.empty() ? "" : "# " + reading};
}

}  // namespace rlctl::cli::doctor
