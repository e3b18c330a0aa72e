#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/debug/view.h"
#include "ldb/call_log.h"
#include "ldb/debugger.h"

namespace rlctl::cli::debug {

/// What happens to the session after a command.
enum class AfterCommand {
  kGoOn,     ///< read the next command
  kEnded,    ///< the command ended the script
  kRestart,  ///< run the script again, as its file is now, from the original state
  kAgain,    ///< run the script again, on the state that it left
  kQuit,
};

/// The commands of `rlctl debug`: those of Redis' own debugger, with their letters, and more. Use
/// one object per session.
class Commands {
 public:
  /// Calls Redis while no script runs; returns none if there is no server to ask.
  using CallAfterwards = std::function<std::optional<ldb::Call>(const std::vector<std::string>&)>;

  /// `debugger` and `view` must outlive this. `keys` are those of the script.
  Commands(ldb::Debugger& debugger, View& view, std::vector<std::string> keys,
           CallAfterwards call_afterwards = {})
      : debugger_(debugger),
        view_(view),
        keys_(std::move(keys)),
        call_afterwards_(std::move(call_afterwards)) {}

  /// Runs a line as typed and answers through the view; an empty line repeats the last one. Errors
  /// in the line are reported through the view, too. Throws redis::Error, as Debugger does.
  [[nodiscard]] AfterCommand run(std::string_view line);

  /// Reports an error of the last line.
  void wrong(std::string_view message);
  /// Whether the last line was invalid, impossible at that point, or ended in an error.
  [[nodiscard]] bool was_wrong() const noexcept { return was_wrong_; }

  /// Returns the completions of a line's last word (commands, variables, lines, topics), sorted,
  /// numbers by their value.
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) const;

  /// Returns the list of all commands.
  [[nodiscard]] static std::string help();

 private:
  struct Row;
  [[nodiscard]] static std::span<const Row> rows();
  [[nodiscard]] static const Row* find(std::string_view word);

  void run_row(const Row& row, std::string_view rest);
  void show(const ldb::Halt& halt);
  void move(std::string_view times, ldb::Halt (ldb::Debugger::*by)());

  void step(std::string_view rest);
  void next(std::string_view rest);
  void finish(std::string_view rest);
  void go_on(std::string_view rest);
  void list(std::string_view rest);
  void whole(std::string_view rest);
  void print(std::string_view rest);
  void set_breakpoints(std::string_view rest);
  void watch(std::string_view rest);
  void info(std::string_view rest);
  void trace(std::string_view rest);
  void eval(std::string_view rest);
  void redis(std::string_view rest);
  void maxlen(std::string_view rest);
  void abort_script(std::string_view rest);
  void restart(std::string_view rest);
  void again(std::string_view rest);
  void help(std::string_view rest);
  void quit(std::string_view rest);

  [[nodiscard]] static std::string unknown(std::string_view word);
  static void explain(const Row& row, std::string& out);
  [[nodiscard]] std::set<std::string> candidates(std::string_view line) const;
  void answer(std::string_view code, const ldb::Evaluation& evaluation);
  void break_at(const std::string& word);
  void show_breakpoints();
  void show_watches();
  void show_locals();
  void show_keys();
  void show_key(const std::string& key);
  [[nodiscard]] std::optional<ldb::Call> call(const std::vector<std::string>& words);

  ldb::Debugger& debugger_;
  View& view_;
  std::vector<std::string> keys_;
  CallAfterwards call_afterwards_;
  bool was_wrong_ = false;
  AfterCommand after_ = AfterCommand::kGoOn;  ///< what the current line asks for
  std::string last_;
};

}  // namespace rlctl::cli::debug
