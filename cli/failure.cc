#include "cli/failure.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/term/output.h"
#include "limiter/policies.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

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
    {redis::Failure::kRefused, ExitStatus::kRefused, "refused", false},
    {redis::Failure::kRejected, ExitStatus::kRejected, "rejected", false},
    {redis::Failure::kProtocol, ExitStatus::kUnreachable, "protocol", false},
};

Problem describe_redis(const redis::Error& error) {
  Problem problem{.message = error.what(), .hint = error.hint()};
  for (const FailureRow& row : kFailures) {
    if (row.failure != error.failure()) continue;
    problem.status = row.status;
    problem.code = error.code().empty() ? row.code : error.code();
    problem.usage_advice = row.usage_advice;
  }
  return problem;
}

Problem describe_unmasked(const std::exception& error) {
  if (const auto* e = dynamic_cast<const ProblemError*>(&error)) return e->problem();
  if (const auto* e = dynamic_cast<const redis::Error*>(&error)) return describe_redis(*e);
  if (const auto* e = dynamic_cast<const limiter::ConfigurationError*>(&error)) {
    return {.code = "configuration", .message = e->what(), .hint = e->hint(), .of_command = false};
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

}  // namespace

Problem describe(const std::exception& error) {
  Problem problem = describe_unmasked(error);
  problem.message = masked(std::move(problem.message));
  return problem;
}

Problem without_doubt(Problem problem) {
  if (problem.hint == redis::kMayHaveRun || problem.hint == redis::kMayHaveRunElsewhere) {
    problem.hint.clear();
  }
  return problem;
}

std::string render(const Problem& problem, std::string_view command, bool json) {
  Problem shown = problem;
  shown.message = masked(shown.message);
  if (json) {
    std::string out = "{\"error\":";
    append_problem_json(out, shown);
    return out + "}\n";
  }
  std::string out = "rlctl: ";
  if (shown.of_command && !command.empty()) out.append(command).append(": ");
  escape_message(out, shown.message);
  out += '\n';
  if (!shown.hint.empty()) {
    out += "  hint: ";
    escape_message(out, shown.hint);
    out += '\n';
  }
  // An error has at most two lines.
  if (shown.usage_advice && shown.hint.empty()) {
    out += "Try 'rlctl ";
    if (!command.empty()) out.append(command).append(" ");
    out += "--help'.\n";
  }
  return out;
}

void append_problem_json(std::string& out, const Problem& problem) {
  JsonWriter(out)
      .begin_object()
      .field("code", problem.code)
      .field("message", problem.message)
      .field("hint", problem.hint.empty() ? std::nullopt : std::optional(problem.hint))
      .end_object();
}

void warn(const std::string& message, std::string_view command) {
  write_stderr(render({.message = message}, command, false));
}

std::string inspect_hint(std::string_view key) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_./@%+=,-";
  const auto needs_more = [](char byte) { return byte < ' ' || byte == '\'' || byte == '\x7f'; };
  std::string command = key.starts_with('-') ? "rlctl inspect -- " : "rlctl inspect ";
  if (key.find_first_not_of(kPlain) == key.npos) {
    command += key;
  } else if (std::none_of(key.begin(), key.end(), needs_more)) {
    command.append("'").append(key).append("'");
  } else {
    command += "KEY";
  }
  return command + " shows what it holds";
}

}  // namespace rlctl::cli
