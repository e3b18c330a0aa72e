#include "cli/commands/doctor/permissions.h"

#include <algorithm>
#include <iterator>

#include "cli/errors/failure.h"
#include "limiter/algorithm.h"
#include "redis/error.h"

namespace rlctl::cli::doctor {
namespace {

/// The commands in "call('TIME')" and "pcall('GET', ...)", in the order of the script.
std::vector<std::string> commands_of(std::string_view script) {
  constexpr std::string_view kCall = "call('";
  std::vector<std::string> commands{"EVALSHA", "SCRIPT LOAD"};
  for (auto at = script.find(kCall); at != script.npos; at = script.find(kCall, at)) {
    at += kCall.size();
    std::string name(script.substr(at, script.find('\'', at) - at));
    if (std::ranges::find(commands, name) == commands.end()) commands.push_back(std::move(name));
  }
  return commands;
}

/// The commands of `check` that COMMAND INFO is asked for, whose reply is in the same order.
std::vector<std::string> commands_to_look_up() {
  std::vector<std::string> commands;
  for (const auto& use : uses_of_check()) {
    for (const auto& command : use.commands) {
      const bool is_new = std::ranges::find(commands, command) == commands.end();
      // Before Redis 7.0, COMMAND INFO knows no subcommands.
      if (is_new && command.find(' ') == command.npos) commands.push_back(command);
    }
  }
  return commands;
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

/// What calling the command itself has shown.
Permission permission_shown_by(const redis::Reply& reply) {
  if (!reply.is_error() || redis::is_unknown_script(reply)) return Permission::kGranted;
  const auto error = redis::to_error(reply);
  const bool is_denied = error.failure() == redis::Failure::kRefused && !refuses_key(error.what());
  return is_denied ? Permission::kDenied : Permission::kUnknown;
}

}  // namespace

std::vector<Use> uses_of_check() {
  std::vector<Use> uses;
  for (const auto& algorithm : limiter::algorithms()) {
    if (!limiter::counts_requests(algorithm)) continue;
    uses.push_back({.name = algorithm.name, .commands = commands_of(algorithm.script)});
  }
  return uses;
}

std::vector<Use> other_uses() {
  return {{.name = "inspect",
           .commands = {"TIME", "TYPE", "PTTL", "WATCH", "MULTI", "EXEC", "GETRANGE", "LLEN",
                        "LINDEX", "LRANGE", "ZCARD", "ZCOUNT", "ZRANGE", "HLEN", "HMGET"}},
          {.name = "reset",
           .commands = {"TYPE", "TIME", "PTTL", "GETRANGE", "LINDEX", "ZRANGE", "HLEN", "HMGET",
                        "EVALSHA", "SCRIPT LOAD", "UNLINK"}},
          {.name = "a search without --limit", .commands = {"SCAN"}}};
}

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
  }
  return answers;
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

bool is_missing(const PermissionAnswers& answers, std::string_view command) {
  const auto commands = commands_to_look_up();
  const auto index = std::ranges::find(commands, command) - commands.begin();
  return answers.known.size() == commands.size() && index < std::ssize(commands) &&
         answers.known[static_cast<std::size_t>(index)].size() == 0;
}

}  // namespace rlctl::cli::doctor
