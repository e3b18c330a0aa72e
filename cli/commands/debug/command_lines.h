#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/app/command.h"
#include "cli/commands/debug/plan.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli::debug {

/// Returns a text without the blanks around it.
std::string_view stripped(std::string_view text);
/// Takes the first word off `rest`, with the blanks around it and at the end.
std::string_view take_word(std::string_view& rest);

/// The lines of commands to a debugger: typed at a terminal after a prompt, or from the plan's file
/// or standard input. They are answered one after the other.
class CommandLines {
 public:
  struct Answer {
    bool was_wrong = false;  ///< invalid, impossible then, or it ended in an error
    bool goes_on = true;     ///< read the next command
  };

  /// The plan and the invocation must outlive this.
  CommandLines(const Plan& plan, Invocation& invocation);

  /// Opens the file, or prepares the terminal, where `complete` returns the completions of a line.
  void open(Complete complete);
  /// Reads lines until one of them, or the end of the input, ends the session. Throws what
  /// LineSource::next() and `answer` throw.
  void answer_all(const std::function<Answer(const std::string& line)>& answer);
  /// Whether Ctrl-C was pressed while the current command ran: it shall stop.
  bool wants_stop() const noexcept { return key_ && key_->pressed(); }
  /// Reports commands that failed on stderr, unless they were typed: the user may not have seen
  /// their messages. Returns kUsage if there are any, else kDone.
  ExitStatus report_wrong() const;

 private:
  bool answer_one(const std::string& line, const std::function<Answer(const std::string&)>& answer);

  const Plan& plan_;
  Invocation& invocation_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  std::unique_ptr<LineSource> lines_;
  std::int64_t number_ = 0;       ///< the number of the current line
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first command that failed
  std::string wrong_line_;
};

}  // namespace rlctl::cli::debug
