#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/debug/view.h"
#include "ldb/debugger.h"

namespace rlctl::cli {

/// What happens to the session after a command.
enum class AfterCommand {
  kGoOn,
  kEnded,    ///< the command ended the script
  kRestart,  ///< the script is to be run again
  kQuit,
};

/// The commands of `rlctl debug`: the words and letters of Redis' own debugger, and more. One
/// object for each session.
class DebugCommands {
 public:
  /// Calls Redis while no script runs; none if there is no server to ask.
  using CallAfterwards = std::function<std::optional<ldb::Call>(const std::vector<std::string>&)>;

  /// Both must outlive it. `keys` are those of the script.
  DebugCommands(ldb::Debugger& debugger, DebugView& view, std::vector<std::string> keys,
                CallAfterwards call_afterwards = {})
      : debugger_(debugger),
        view_(view),
        keys_(std::move(keys)),
        call_afterwards_(std::move(call_afterwards)) {}

  /// Runs a line as it was typed and answers through the view; an empty line repeats the last one.
  /// Errors in the line are answers too. Throws redis::Error, as Debugger does.
  [[nodiscard]] AfterCommand run(std::string_view line);

  /// Whether the last line was wrong, or impossible at that point.
  [[nodiscard]] bool was_wrong() const noexcept { return was_wrong_; }

  /// What the last word of a line may become: commands, variables, lines, topics.
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) const;

  /// Of all commands, or of one; as text.
  [[nodiscard]] static std::string help();

 private:
  struct Row;
  using Words = std::vector<std::string>;
  [[nodiscard]] static std::span<const Row> rows();
  [[nodiscard]] static const Row* find(std::string_view word);

  [[nodiscard]] AfterCommand run_row(const Row& row, std::string_view rest);
  [[nodiscard]] AfterCommand shown(const ldb::Halt& halt);
  AfterCommand move(std::string_view times, ldb::Halt (ldb::Debugger::*by)());
  void wrong(std::string_view message);

  AfterCommand step(std::string_view rest);
  AfterCommand next(std::string_view rest);
  AfterCommand go_on(std::string_view rest);
  AfterCommand list(std::string_view rest);
  AfterCommand whole(std::string_view rest);
  AfterCommand print(std::string_view rest);
  AfterCommand set_breakpoints(std::string_view rest);
  AfterCommand watch(std::string_view rest);
  AfterCommand info(std::string_view rest);
  AfterCommand trace(std::string_view rest);
  AfterCommand eval(std::string_view rest);
  AfterCommand redis(std::string_view rest);
  AfterCommand maxlen(std::string_view rest);
  AfterCommand abort_script(std::string_view rest);
  AfterCommand restart(std::string_view rest);
  AfterCommand help(std::string_view rest);
  AfterCommand quit(std::string_view rest);

  AfterCommand answer(std::string_view code, const ldb::Evaluation& evaluation);
  void break_at(const std::string& word);
  void show_breakpoints();
  void show_watches();
  void show_locals();
  void show_keys();
  void show_key(const std::string& key);
  [[nodiscard]] std::optional<ldb::Call> call(const std::vector<std::string>& words);

  ldb::Debugger& debugger_;
  DebugView& view_;
  std::vector<std::string> keys_;
  CallAfterwards call_afterwards_;
  bool was_wrong_ = false;
  std::string last_;
};

}  // namespace rlctl::cli
