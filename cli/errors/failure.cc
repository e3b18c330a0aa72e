#include "cli/errors/failure.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "exec/program.h"
#include "limiter/configuration.h"
#include "redis/cluster.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "redis/url.h"

namespace rlctl::cli {
namespace {

using namespace json_type;

constexpr JsonType kCode{R"("anyOf": [
  { "type": "string", "pattern": "^[A-Z][A-Z0-9_]*$" },
  { "enum": ["usage", "configuration", "unsupported", "input", "output", "unreachable", "tls",
             "timeout", "protocol", "refused", "rejected", "memory", "interrupted", "internal"] },
  { "const": "not_now",
    "description": "the server is not ready, for example because it has too many clients" },
  { "const": "not_sent",
    "description": "the node of a Cluster, or the master that Sentinels name, cannot be reached" },
  { "const": "conflict", "description": "check, settle" },
  { "const": "unknown", "description": "quota" },
  { "const": "unknown_limit", "description": "quota" },
  { "const": "not_found", "description": "config, quota; run: status 127" },
  { "const": "cannot_execute", "description": "run: status 126" },
  { "const": "lease_lost", "description": "run: a warning about a lost lease" },
  { "const": "left", "description": "reset" },
  { "const": "assertion", "description": "burst, adversary" },
  { "const": "engine_differs", "description": "burst, adversary: a fault of rlctl" },
  { "const": "program", "description": "burst, adversary, lint" },
  { "const": "script", "description": "debug" },
  { "const": "cut_off", "description": "debug" }])"};

constexpr JsonField<Problem> kErrorFields[] = {
    {"code", kCode,
     "The first word of the server's error (WRONGTYPE, NOAUTH, READONLY, ...), or a word of rlctl "
     "in lower case. If the server refuses a command inside a script, the code is NOPERM, although "
     "the first word of the error is then ERR.",
     [](const Problem& problem) { return problem.code; }},
    {"message", kText, "The error in words, for people.",
     [](const Problem& problem) { return problem.message; }},
    {"hint", kTextOrNull, "What to do about it, or null.",
     [](const Problem& problem) { return known_text(problem.hint); }},
    {"units?", kCount,
     "The units that stand, with which a reservation was made or settled. Present only with the "
     "code conflict.",
     [](const Problem& problem) { return problem.units; }},
};
constexpr JsonField<Problem> kFailureFields[] = {
    {"error", kErrorJson, {}, [](const Problem& problem) -> const Problem& { return problem; }},
};

struct FailureRow {
  redis::Failure failure;
  ExitStatus status;
  std::string_view code;  ///< if the server sent none
  bool usage_advice;
};

constexpr FailureRow kFailures[] = {
    {redis::Failure::kUsage, ExitStatus::kUsage, "usage", true},
    {redis::Failure::kUnsupported, ExitStatus::kUsage, "unsupported", false},
    {redis::Failure::kUnreachable, ExitStatus::kUnreachable, "unreachable", false},
    {redis::Failure::kTimeout, ExitStatus::kUnreachable, "timeout", false},
    {redis::Failure::kNotNow, ExitStatus::kUnreachable, "not_now", false},
    {redis::Failure::kNotSent, ExitStatus::kUnreachable, "not_sent", false},
    {redis::Failure::kRefused, ExitStatus::kRefused, "refused", false},
    {redis::Failure::kRejected, ExitStatus::kRejected, "rejected", false},
    {redis::Failure::kProtocol, ExitStatus::kUnreachable, "protocol", false},
};

// ---- What to do about an error of the server ----

std::string user_of(const redis::Error& error) {
  const auto& user = error.server()->url.user;
  return "user '" + (user.empty() ? std::string("default") : user) + "'";
}

std::string password_hint(const redis::Error& error) {
  if (!error.server()->url.password.empty()) {
    return user_of(error) + " is unknown or disabled, or has another password";
  }
  return "no password was given for " + user_of(error) +
         "; use --askpass, --password-file or the variable REDISCLI_AUTH";
}

std::string unwanted_password_hint(const redis::Error& error) {
  return user_of(error) +
         " has no password on this server; name another with --user, or give no password";
}

/// The rule for the command that was refused; empty if that is not known. The server's sentence
/// names the command only in some versions, and for a script's commands; what was sent is known.
std::string refused_rule(const redis::Error& error) {
  const std::string_view sentence = error.what();
  if (error.code() == "NOPERM" && !error.command().empty()) return rule_for(error.command());
  const auto begin = sentence.find('\'') + 1;
  const auto end = begin == 0 ? sentence.npos : sentence.find('\'', begin);
  const bool is_named = end != sentence.npos && sentence.find("run the '") != sentence.npos;
  return is_named ? rule_for(sentence.substr(begin, end - begin)) : "";
}

/// The rule without which no node of a Cluster can be found.
constexpr std::string_view kClusterRule = "+cluster|slots";

/// Names all rules that are needed at once: granted one at a time, some would let a script write
/// and then fail.
std::string permission_hint(const redis::Error& error) {
  const auto& server = *error.server();
  const auto& user = server.url.user;
  const std::string grant = "grant it: ";
  if (refuses_key(error.what())) {
    return grant + acl_command(user, {"~PATTERN"}) + ", with a pattern that matches the key";
  }
  const auto refused = refused_rule(error);
  const auto needs = server.needs ? server.needs() : redis::Needs{};
  std::vector<std::string> rules;
  // Sentinels have users of their own.
  if (!refused.starts_with("+sentinel")) {
    for (const auto& command : needs.commands) rules.push_back(rule_for(command));
  }
  const auto add = [&](const std::string& rule) {
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
  };
  if (!refused.empty()) add(refused);
  if (refused == kClusterRule) add("+asking");
  if (rules.empty()) {
    return user_of(error) + " may not call one of the script's commands; rlctl-acl(7) lists them";
  }
  if (rules.size() > 1 && !needs.of.empty()) {
    const bool is_cluster = std::ranges::find(rules, kClusterRule) != rules.end();
    return "grant what " + needs.of + " needs" +
           (needs.keys.empty() ? "" : ", besides access to " + needs.keys) +
           (is_cluster ? ", on each node: " : ": ") + acl_command(user, rules);
  }
  const bool needs_others = needs.commands.empty() && refuses_in_script(error.what());
  return grant + acl_command(user, rules) +
         (needs_others ? "; rlctl-acl(7) lists all that the script needs" : "");
}

std::string replica_hint(const redis::Error& error) {
  const auto& master = redis::find_master(*error.server());
  return master
             ? "the server is a replica; name its master instead: --url " + redis::display(*master)
             : "the server is a replica; name its master with --url";
}

std::string other_node_hint(const redis::Error& error) {
  const auto& url = error.server()->url;
  const std::string hint = "the key belongs to another node of the cluster";
  const auto referral = redis::parse_referral(error.what(), {.host = url.host, .port = url.port});
  if (!referral || may_be_metadata_service(referral->server.host)) return hint;
  // The server's sentence is escaped, and no name of a host has anything to escape.
  if (referral->server.host.find('\\') != std::string::npos) return hint;
  const redis::Url node{
      .host = referral->server.host, .port = referral->server.port, .tls = url.tls};
  return hint + "; name it instead: --url " + redis::display(node);
}

struct AdviceRow {
  std::string_view code;
  std::string_view hint;
  std::string (*make_hint)(const redis::Error& error) = nullptr;  ///< instead of `hint`
};

// Stand-ins for codes that the server does not send.
constexpr std::string_view kTooManyClients = "too many clients";
constexpr std::string_view kUnwantedPassword = "unwanted password";
constexpr std::string_view kNoAuth = "no AUTH";
constexpr std::string_view kNoDatabase = "no database";
constexpr std::string_view kUnknownCommand = "unknown command";

constexpr AdviceRow kAdvice[] = {
    {"LOADING", "the server is still loading its data; try again in a moment"},
    {"BUSY",
     "a script has been running for too long; try again, or stop it with SCRIPT KILL on that "
     "server "
     "(FUNCTION KILL if it is a function), unless it has written"},
    {"MASTERDOWN", "the replica has lost its master; try again, or name the master with --url"},
    {"CLUSTERDOWN", "part of the cluster is down; try again, or see redis-cli CLUSTER INFO"},
    {"TRYAGAIN", "the cluster is moving the keys to another node; try again"},
    {kTooManyClients, "try again, or raise the server's maxclients"},
    {"NOAUTH", {}, password_hint},
    {"WRONGPASS", {}, password_hint},
    {kUnwantedPassword, {}, unwanted_password_hint},
    {kNoAuth, "the server has no AUTH, with which rlctl logs in; its rename-command may hide it"},
    {"NOPERM", {}, permission_hint},
    {"DENIED", "without a password, the server accepts only clients on its own machine"},
    {kNoDatabase, "see redis-cli CONFIG GET databases; most clusters have only database 0"},
    {kUnknownCommand, "if it is a Sentinel, write --url redis+sentinel://HOST:PORT/MASTER"},
    {"READONLY", {}, replica_hint},
    {"OOM", "the server has reached its maxmemory; raise it, or remove keys"},
    {"MISCONF", "the server cannot save its data and accepts no writes; its log gives the reason"},
    {"NOREPLICAS", "too few replicas are connected; see the server's min-replicas-to-write"},
    {"MOVED", {}, other_node_hint},
    {"ASK", "the cluster is moving the key to another node; try again"},
    {"CROSSSLOT",
     "in a cluster, the keys of one request must share a slot; give them a common {tag}"},
};

/// The server's error code; empty if there is none, or only the generic ERR.
std::string_view specific_error_code(const redis::Error& error) {
  if (!error.code().empty() && error.code() != "ERR") return error.code();
  // Inside a script, servers refuse a command with ERR.
  const bool is_refused = error.failure() == redis::Failure::kRefused;
  return is_refused && error.command() != "AUTH" ? "NOPERM" : "";
}

/// The code of the error's row.
std::string_view advice_code(const redis::Error& error) {
  if (const auto code = specific_error_code(error); !code.empty()) return code;
  if (error.failure() == redis::Failure::kNotNow) return kTooManyClients;
  if (std::string_view(error.what()).starts_with(kUnknownCommand)) return kUnknownCommand;
  if (error.command() == "AUTH") {
    return std::string_view(error.what()).find(kUnknownCommand) == std::string_view::npos
               ? kUnwantedPassword
               : kNoAuth;
  }
  return error.command() == "SELECT" ? kNoDatabase : "";
}

std::string advice(const redis::Error& error) {
  const auto code = advice_code(error);
  for (const AdviceRow& row : kAdvice) {
    if (row.code != code) continue;
    return row.make_hint != nullptr ? row.make_hint(error) : std::string(row.hint);
  }
  return {};
}

// ---- Exceptions ----

/// A server's sentence may end in a full stop, after which no semicolon can follow.
std::string without_full_stop(std::string message) {
  if (message.ends_with('.') && !message.ends_with("..")) message.pop_back();
  return message;
}

Problem describe_redis(const redis::Error& error) {
  Problem problem{.message = without_full_stop(error.what()), .hint = error.hint()};
  const auto code = specific_error_code(error);
  for (const FailureRow& row : kFailures) {
    if (row.failure != error.failure()) continue;
    problem.status = row.status;
    // ERR says as much as "rejected", but less than the other classes.
    const bool is_err = error.code() == "ERR" && row.failure == redis::Failure::kRejected;
    problem.code = !code.empty() ? code : is_err ? "ERR" : row.code;
    problem.usage_advice = row.usage_advice;
  }
  if (!error.server()) return problem;
  problem.server = redis::display(error.server()->url);
  if (problem.message.find(problem.server) == problem.message.npos) {
    problem.message = problem.server + ": " + problem.message;
  }
  if (problem.hint.empty()) problem.hint = advice(error);
  return problem;
}

Problem describe_unmasked(const std::exception& error) {
  if (const auto* e = dynamic_cast<const ProblemError*>(&error)) return e->problem();
  if (const auto* e = dynamic_cast<const redis::Error*>(&error)) return describe_redis(*e);
  if (const auto* e = dynamic_cast<const exec::ProgramError*>(&error)) {
    return {.status = e->timed_out() ? ExitStatus::kUnreachable : ExitStatus::kRejected,
            .code = e->timed_out() ? "timeout" : "program",
            .message = e->what(),
            .hint = e->hint()};
  }
  if (const auto* e = dynamic_cast<const limiter::ConfigurationError*>(&error)) {
    return {.code = "configuration", .message = e->what(), .hint = e->hint(), .of_command = false};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {.code = "memory", .message = "out of memory"};
  }
  Problem problem{.code = "internal", .message = error.what()};
  if (const auto* e = dynamic_cast<const UsageError*>(&error)) {
    const bool is_input = dynamic_cast<const InputError*>(&error) != nullptr;
    problem.hint = e->hint();
    problem.code = is_input ? "input" : "usage";
    problem.usage_advice = !is_input;
  } else if (dynamic_cast<const OutputError*>(&error) != nullptr) {
    problem.code = "output";
  } else if (dynamic_cast<const Interrupted*>(&error) != nullptr) {
    // Usually the signal ends the process; this status is for a signal that was ignored at start.
    problem.status = ExitStatus::kUnreachable;
    problem.code = "interrupted";
  }
  return problem;
}

/// Masks all that might be a password, and so everything from a URL to the last @ after it. The
/// server's name would begin that, and has no password.
std::string masked_message(const Problem& problem) {
  const auto& message = problem.message;
  const auto at = problem.server.empty() ? message.npos : message.find(problem.server);
  if (at == message.npos) return masked(message);
  return masked(message.substr(0, at)) + problem.server +
         masked(message.substr(at + problem.server.size()));
}

}  // namespace

Problem describe(const std::exception& error) {
  Problem problem = describe_unmasked(error);
  problem.message = masked_message(problem);
  return problem;
}

std::string acl_command(const std::string& user, const std::vector<std::string>& rules) {
  std::vector<std::string> words{"ACL", "SETUSER", user.empty() ? "default" : user};
  words.insert(words.end(), rules.begin(), rules.end());
  return command_line(words);
}

std::string rule_for(std::string_view command) {
  std::string rule = "+" + lower_case(command);
  std::replace(rule.begin(), rule.end(), ' ', '|');
  return rule;
}

bool refuses_in_script(std::string_view message) {
  return message.find("executing the script") != message.npos ||
         message.find("failure in script") != message.npos;
}

bool refuses_key(std::string_view message) {
  const auto at = message.find(" access ");
  return at != message.npos && message.find("key", at) != message.npos;
}

Problem drop_in_doubt_note(Problem problem) {
  const std::string_view doubt = redis::kMayHaveRun;
  if (!problem.hint.ends_with(doubt)) return problem;
  problem.hint.resize(problem.hint.size() - doubt.size());
  if (problem.hint.ends_with("; ")) problem.hint.resize(problem.hint.size() - 2);
  return problem;
}

std::string render(const Problem& problem, std::string_view command, bool json) {
  Problem shown = problem;
  shown.message = masked_message(problem);
  if (json) {
    std::string out;
    kFailureJson.append_line(out, shown);
    return out;
  }
  std::string out = "rlctl: ";
  if (shown.of_command && !command.empty()) out.append(command).append(": ");
  out += escaped_message(shown.message);
  out += '\n';
  if (!shown.hint.empty()) {
    out += "  hint: ";
    out += escaped_message(shown.hint);
    out += '\n';
  }
  // An error has at most two lines.
  if (shown.usage_advice && shown.hint.empty()) {
    const auto help_of = shown.help_of.empty() ? command : shown.help_of;
    out += "Try 'rlctl ";
    if (!help_of.empty()) out.append(help_of).append(" ");
    out += "--help'.\n";
  }
  return without_micro_sign(std::move(out), locale_is_utf8());
}

constinit const JsonObject<Problem> kErrorJson(
    "error", {}, kErrorFields,
    "What went wrong. In a batch of check it takes the place of the result.");
constinit const JsonObject<Problem> kFailureJson("failure", "An error", kFailureFields,
                                                 "Why the command failed, on standard error.");

void warn(const std::string& message, std::string_view command) {
  write_stderr(render({.message = message}, command, false));
}

std::string inspect_hint(std::string_view key) {
  std::string command = key.starts_with('-') ? "rlctl inspect -- " : "rlctl inspect ";
  const bool is_shown = every_shell_reads(key) && key.find('\'') == key.npos;
  command += is_shown ? shell_quoted(std::string(key)) : "KEY";
  return command + " shows what it holds";
}

}  // namespace rlctl::cli
