#include "cli/commands/doctor/permissions.h"

#include <algorithm>
#include <cstddef>

#include "cli/errors/failure.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

// For each command in ARGV: 1 if the user may call it, 0 if not, -1 if the server does not have it.
// Replies nil before Redis 7.0. Commands must be complete: acl_check_cmd crashes Redis 7.0 and
// Valkey 9 if arguments are missing. It also refuses a user who has no access to the key, so the
// refused command is called: its error tells which of the two is missing.
constexpr std::string_view kPermissionScript = R"(
if not redis.acl_check_cmd then return false end
local result = {}
for i, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word end
  local is_known, is_granted = pcall(redis.acl_check_cmd, unpack(words))
  if is_known and not is_granted then
    local refusal = redis.pcall(unpack(words))
    is_granted = string.find(refusal.err or '', ' access ', 1, true)
  end
  result[i] = not is_known and -1 or is_granted and 1 or 0
end
return result
)";

/// A key that nobody has.
constexpr std::string_view kKey = "rlctl-doctor";

struct CallRow {
  std::string_view command;
  /// Complete, with kKey as the key. Does nothing to a key that does not exist, if there is a way.
  std::string_view call;
};
constexpr CallRow kCalls[] = {
    {"DEL", "DEL rlctl-doctor"},
    {"EVALSHA", "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0"},
    {"EXEC", "EXEC"},
    {"GET", "GET rlctl-doctor"},
    {"GETRANGE", "GETRANGE rlctl-doctor 0 0"},
    {"HLEN", "HLEN rlctl-doctor"},
    {"HMGET", "HMGET rlctl-doctor 0"},
    {"LINDEX", "LINDEX rlctl-doctor 0"},
    {"LLEN", "LLEN rlctl-doctor"},
    {"LRANGE", "LRANGE rlctl-doctor 0 0"},
    {"LTRIM", "LTRIM rlctl-doctor 0 0"},
    {"MULTI", "MULTI"},
    {"PEXPIRE", "PEXPIRE rlctl-doctor 1"},
    {"PTTL", "PTTL rlctl-doctor"},
    {"RPUSH", "RPUSH rlctl-doctor 0"},
    {"SCAN", "SCAN 0 COUNT 1"},
    {"SCRIPT LOAD", "SCRIPT LOAD return"},
    {"SET", "SET rlctl-doctor 0 XX"},
    {"SETRANGE", "SETRANGE rlctl-doctor 0 0"},
    {"TIME", "TIME"},
    {"TYPE", "TYPE rlctl-doctor"},
    {"UNLINK", "UNLINK rlctl-doctor"},
    {"ZADD", "ZADD rlctl-doctor XX 0 0"},
    {"ZCARD", "ZCARD rlctl-doctor"},
    {"ZCOUNT", "ZCOUNT rlctl-doctor 0 0"},
    {"ZRANGE", "ZRANGE rlctl-doctor 0 0"},
    {"ZREMRANGEBYRANK", "ZREMRANGEBYRANK rlctl-doctor 0 0"},
};

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

redis::Reply call_permission_script(redis::Connection& connection, std::string_view sha1) {
  std::vector<std::string_view> calls;
  for (const auto& row : kCalls) calls.push_back(row.call);
  connection.append_evalsha(sha1, {}, calls);
  return connection.read();
}

/// What the refusal of a command itself shows.
void note_refusal(Permissions& permissions, const redis::Reply& reply, std::string_view command) {
  if (!reply.is_error()) return;
  const auto error = redis::to_error(reply);
  if (error.failure() == redis::Failure::kRefused && !refuses_key(error.what())) {
    permissions.insert_or_assign(std::string(command), Permission::kDenied);
  } else if (std::string_view(error.what()).starts_with("unknown command")) {
    permissions.insert_or_assign(std::string(command), Permission::kMissing);
  }
}

/// Whether ACL GETUSER says that the user may call every command, as its flags did until Redis 7.0.
bool may_call_all(redis::ReplyView rules) {
  for (std::size_t i = 0; i + 1 < rules.size(); i += 2) {
    if (rules[i].text() != "flags") continue;
    for (std::size_t flag = 0; flag < rules[i + 1].size(); ++flag) {
      if (rules[i + 1][flag].text() == "allcommands") return true;
    }
  }
  return false;
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
  const auto load = [&] { return connection.call({"SCRIPT", "LOAD", kPermissionScript}); };
  PermissionAnswers answers{.user = user.empty() ? "default" : user, .load = load()};
  for (int loads = 1;; ++loads) {
    if (answers.load.is_error()) return answers;
    answers.call = call_permission_script(connection, answers.load.text());
    if (loads == limiter::kMostLoads || !redis::is_unknown_script(*answers.call)) break;
    answers.load = load();
  }
  if (answers.call->is_nil()) answers.rules = connection.call({"ACL", "GETUSER", answers.user});
  answers.watch = connection.call({"WATCH", kKey});
  return answers;
}

Permissions permissions_in(const PermissionAnswers& answers) {
  Permissions permissions;
  const bool all = answers.rules && may_call_all(*answers.rules);
  for (std::size_t i = 0; i < std::size(kCalls); ++i) {
    const std::string command(kCalls[i].command);
    if (all) permissions[command] = Permission::kGranted;
    if (!answers.call || answers.call->size() != std::size(kCalls)) continue;
    const auto number = (*answers.call)[i].integer();
    permissions[command] = number == 1   ? Permission::kGranted
                           : number == 0 ? Permission::kDenied
                                         : Permission::kMissing;
  }
  note_refusal(permissions, answers.load, "SCRIPT LOAD");
  if (answers.call) note_refusal(permissions, *answers.call, "EVALSHA");
  if (answers.watch) note_refusal(permissions, *answers.watch, "WATCH");
  return permissions;
}

}  // namespace rlctl::cli
