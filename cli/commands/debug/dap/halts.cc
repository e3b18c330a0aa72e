#include "cli/commands/debug/dap/halts.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "base/text.h"
#include "cli/commands/debug/view.h"

namespace rlctl::cli::debug::dap {
namespace {

std::string call_line(const debugger::Call& call) {
  return "redis> " + command_text(call) + "      " +
         (call.error ? "! " + *call.error : escaped_message(call.reply));
}

}  // namespace

Json stopped_body(const debugger::Halt& halt) {
  // In the order of debugger::Halt::Why, before kEnded.
  static constexpr std::array kReasons{"entry",           "step",  "breakpoint", "breakpoint",
                                       "data breakpoint", "pause", "exception"};
  Json body{{"reason", kReasons.at(static_cast<std::size_t>(halt.why))},
            {"threadId", kThread},
            {"allThreadsStopped", true}};
  if (halt.why == debugger::Halt::Why::kCalledFor) body["description"] = "redis.breakpoint()";
  if (halt.why == debugger::Halt::Why::kError) {
    body["description"] = "an error that nothing catches";
    body["text"] = escaped_message(halt.error);
  }
  if (!halt.condition_error.empty()) {
    body["text"] = "the condition: " + escaped_message(halt.condition_error);
  }
  return body;
}

std::string done_text(const debugger::Halt& halt) {
  std::string text;
  if (halt.calls_before > 0) text += fmt::format("{} calls before these\n", halt.calls_before);
  for (const auto& call : halt.calls) text += call_line(call) + '\n';
  if (halt.messages_before > 0) {
    text += fmt::format("{} messages before these\n", halt.messages_before);
  }
  for (const auto& message : halt.messages) {
    text += (message.level.empty() ? "debug> " : "log> " + message.level + ": ") +
            escaped_message(message.text) + '\n';
  }
  return text;
}

}  // namespace rlctl::cli::debug::dap
