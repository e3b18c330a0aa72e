#include "cli/problem.h"

#include <cstring>

#include "cli/escape.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

struct FailureRow {
  redis::Failure failure;
  ExitStatus status;
  std::string_view code;  ///< where no server gave one
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
    // Ends as the signal does; the status only stands in for it where that is ignored.
    {redis::Failure::kInterrupted, ExitStatus::kUnreachable, "interrupted", false},
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

}  // namespace

Problem describe(const std::exception& error) {
  if (const auto* e = dynamic_cast<const ProblemError*>(&error)) return e->problem();
  if (const auto* e = dynamic_cast<const redis::Error*>(&error)) return describe_redis(*e);
  Problem problem{.code = "usage", .message = error.what(), .usage_advice = true};
  if (dynamic_cast<const limiter::UsageError*>(&error) != nullptr) {
    if (const auto* e = dynamic_cast<const UsageError*>(&error)) problem.hint = e->hint();
    return problem;
  }
  problem.code = "internal";
  problem.usage_advice = false;
  return problem;
}

std::string render(const Problem& problem, std::string_view command, bool json) {
  Problem shown = problem;
  shown.message = masked(shown.message);
  std::string out;
  if (json) {
    out = "{\"error\":";
    append_problem_json(out, shown);
    out += "}\n";
    return out;
  }
  out = "rlctl: ";
  if (shown.of_command && !command.empty()) out.append(command).append(": ");
  escape_message(out, shown.message);
  out += '\n';
  if (!shown.hint.empty()) {
    out += "  hint: ";
    escape_message(out, shown.hint);
    out += '\n';
  }
  if (shown.usage_advice) {
    out += "Try 'rlctl ";
    if (!command.empty()) out.append(command).append(" ");
    out += "--help'.\n";
  }
  return out;
}

void append_problem_json(std::string& out, const Problem& problem) {
  out += "{\"code\":";
  append_json_string(out, problem.code);
  out += ",\"message\":";
  append_json_string(out, problem.message);
  out += ",\"hint\":";
  if (problem.hint.empty()) {
    out += "null";
  } else {
    append_json_string(out, problem.hint);
  }
  out += '}';
}

bool mask_passwords(char* text, std::size_t size) {
  const std::string_view view(text, size);
  bool any = false;
  for (std::size_t at = view.find("://"); at != view.npos; at = view.find("://", at + 1)) {
    // Generous: a password may hold what does not belong into a URL, and an '@' too many.
    auto end = view.find_first_of(" \t\n'", at);
    if (end == view.npos) end = size;
    const auto last_at = view.substr(0, end).rfind('@');
    auto begin = at + 3;
    if (last_at == view.npos || last_at < begin) continue;
    const auto colon = view.find(':', begin);
    if (colon < last_at) begin = colon + 1;
    std::memset(text + begin, '*', last_at - begin);
    any = true;
  }
  return any;
}

std::string masked(std::string text) {
  mask_passwords(text.data(), text.size());
  return text;
}

}  // namespace rlctl::cli
