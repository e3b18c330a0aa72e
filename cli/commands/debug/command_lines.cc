#include "cli/commands/debug/command_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::debug {
namespace {

constexpr std::string_view kPrompt = "debug> ";
constexpr std::string_view kBetweenWords = " \t";

}  // namespace

std::string_view stripped(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBetweenWords), text.size()));
  return text.substr(0, text.find_last_not_of(kBetweenWords) + 1);
}

std::string_view take_word(std::string_view& rest) {
  rest = stripped(rest);
  const auto word = rest.substr(0, rest.find_first_of(kBetweenWords));
  rest = stripped(rest.substr(word.size()));
  return word;
}

CommandLines::CommandLines(const Plan& plan, Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      is_typed_(plan.reads_commands_from_input() && is_terminal(STDIN_FILENO)) {}

void CommandLines::open(Complete complete) {
  if (is_typed_) key_.emplace();
  const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
  if (is_seen && may_draw(STDOUT_FILENO)) {
    lines_ = typed_lines(std::string(kPrompt), state_file("history"), std::move(complete), *key_,
                         invocation_.interrupt);
  } else {
    lines_ = lines_of(plan_.commands, is_seen ? std::string(kPrompt) : "", invocation_.interrupt);
  }
}

void CommandLines::answer_all(const std::function<Answer(const std::string& line)>& answer) {
  while (const auto line = lines_->next()) {
    ++number_;
    if (!answer_one(*line, answer)) return;
  }
}

/// Returns whether to read the next line.
bool CommandLines::answer_one(const std::string& line,
                              const std::function<Answer(const std::string&)>& answer) {
  if (!key_) key_.emplace();
  auto& out = invocation_.out.buffer();
  const auto size_before = out.size();
  const auto [was_wrong, goes_on] = answer(line);
  // The terminal has shown ^C.
  if (is_typed_ && key_->pressed()) out.insert(size_before, "\n");
  // The command that Ctrl-C was meant to stop has ended.
  is_typed_ ? key_->clear() : key_.reset();
  invocation_.out.flush();
  if (was_wrong && wrong_count_++ == 0) {
    first_wrong_ = number_;
    wrong_line_ = line;
  }
  return goes_on;
}

ExitStatus CommandLines::report_wrong() const {
  if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
  const auto file = plan_.reads_commands_from_input() ? "" : " of " + plan_.commands;
  warn(fmt::format("{} of the commands failed; the first is line {}{}: {}", wrong_count_,
                   first_wrong_, file, quoted_and_masked(wrong_line_)),
       invocation_.command);
  return ExitStatus::kUsage;
}

}  // namespace rlctl::cli::debug
