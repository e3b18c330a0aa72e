#include "cli/commands/debug/ldb/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/shell.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/commands/debug/command_lines.h"

namespace rlctl::cli::debug {
namespace {

using Pieces = ldb::RedisDebugger::Pieces;

/// A row of the table of commands.
struct LdbRow {
  std::string_view name, letter, arguments, summary;
  void (*run)(LdbCommands& on, std::string_view rest);
  bool needs_script = false;  ///< requires a script that has not ended
  bool repeats = false;       ///< an empty line repeats it: it shows or moves, and changes nothing

  /// "break, b [LINE... | -LINE | 0]"
  std::string synopsis() const {
    return fmt::format("{}{}{}{}{}", name, letter.empty() ? "" : ", ", letter,
                       arguments.empty() ? "" : " ", arguments);
  }
};

std::span<const LdbRow> rows();

/// Refuses what Redis's debugger cannot do, with the way out.
std::string needs_rlctl(std::string_view lack) {
  return fmt::format("Redis's debugger {}; leave out --ldb", lack);
}

/// A command of another debugger, or of rlctl's.
struct OtherCommand {
  std::string_view name;
  std::string_view lack = {};  ///< what Redis's debugger cannot do; empty: `instead` does it
  std::string_view instead = {};
};
constexpr OtherCommand kOthers[] = {
    {"again", "keeps no state for another call"},
    {"backtrace", "", "'trace' shows the active functions"},
    {"bt", "", "'trace' shows the active functions"},
    {"delete", "", "'break -LINE' removes a breakpoint, 0 all"},
    {"finish", "does not know when a function returns"},
    {"info", "", "'break' lists breakpoints, 'print' variables, and 'redis' reads keys"},
    {"run", "", "'restart' starts over, 'continue' resumes"},
    {"set", "changes no variables"},
    {"watch", "watches no values"},
    {"where", "", "'trace' shows the active functions"}};

// ---- Words ----

std::vector<std::string> words_in(std::string_view rest) {
  std::vector<std::string> words;
  while (!rest.empty()) words.emplace_back(take_word(rest));
  return words;
}

/// A number of a line of the source, or 0.
int line_in_source(const LdbCommands& on, std::string_view text) {
  const auto number = to_number<int>(text);
  if (!number || *number < 0) throw UsageError(quoted_and_masked(text) + " is not a line number");
  if (*number > on.text.line_count()) {
    throw UsageError(fmt::format("there are {} lines", on.text.line_count()));
  }
  return *number;
}

bool is_name(std::string_view text) {
  const auto is_part = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return std::all_of(text.begin(), text.end(), is_part);
}

// ---- Moving ----

void show_move(LdbCommands& on, const Pieces& pieces) {
  on.text.pieces(pieces);
  if (on.debugger.running()) on.text.stop(on.debugger, false);
}

void abort_script(LdbCommands& on) {
  on.debugger.abort_script();
  if (on.debugger.session().ending() == debugger::Ending::kAborted) return;
  on.text.error("the script caught the error meant to end it, and continued");
}

// ---- Looking ----

void list_source(LdbCommands& on, std::string_view rest) {
  constexpr int kAround = 5, kMaxAround = 1'000'000;
  const auto words = words_in(rest);
  if (words.size() > 2) throw UsageError("expected at most LINE and AROUND");
  int line = words.empty() ? 0 : line_in_source(on, words[0]);
  int around = kAround;
  if (words.size() == 2) {
    const auto number = to_number<int>(words[1]);
    if (!number || *number < 0) {
      throw UsageError(quoted_and_masked(words[1]) + " is not a number of lines");
    }
    around = std::min(*number, kMaxAround);
  }
  if (line == 0) line = std::max(on.debugger.stop().line, 1);
  on.text.source(on.debugger, line - around, line + around);
}

void print_all(LdbCommands& on) {
  const auto variables = on.debugger.variables();
  if (!on.debugger.running()) return;
  if (variables.empty()) on.text.say("no variables here");
  for (const auto& variable : variables) on.text.variable(variable);
}

void print_variable(LdbCommands& on, std::string_view name) {
  if (name.empty()) return print_all(on);
  if (!is_name(name)) {
    throw UsageError(needs_rlctl("prints variables, not expressions"));
  }
  const auto variables = on.debugger.variables();
  if (!on.debugger.running()) return;
  if (const auto* variable = find_by_name(variables, name)) return on.text.variable(*variable);
  const auto value = on.debugger.find_elsewhere(name);
  if (!on.debugger.running()) return;
  if (!value) {
    throw UsageError(
        fmt::format("no variable '{}' here: {}", name, needs_rlctl("shows no upvalues")));
  }
  const bool is_argument = name == "KEYS" || name == "ARGV";
  on.text.variable({std::string(name), *value},
                   is_argument ? "" : "the first of this name in a calling function");
}

void show_functions(LdbCommands& on) {
  for (const auto& function : on.debugger.functions()) on.text.function(function);
}

// ---- Code and calls ----

/// Shows the pieces of an answer; an error makes the command one that failed.
void answer(LdbCommands& on, const Pieces& pieces) {
  on.text.pieces(pieces);
  on.was_wrong = std::any_of(pieces.begin(), pieces.end(), [](const auto& piece) {
    return piece.kind == ldb::Printed::Kind::kError;
  });
}

void evaluate(LdbCommands& on, std::string_view code) {
  if (code.empty()) throw UsageError("CODE is missing: 'eval #KEYS'");
  if (!on.may_hang && ldb::may_be_endless(code)) {
    throw UsageError(
        "on a server that is not private, loops, functions and rep() are refused: nothing could "
        "stop them");
  }
  const auto pieces = on.debugger.evaluate(code);
  answer(on, pieces);
  const bool lacks_variable = std::any_of(pieces.begin(), pieces.end(), [](const auto& piece) {
    return piece.text.find("global variable") != std::string::npos;
  });
  if (lacks_variable) on.text.say('(' + needs_rlctl("evaluates globals only") + ')');
}

void call_redis(LdbCommands& on, std::string_view rest) {
  const auto words = shell_words(rest);
  if (words.empty()) throw UsageError("COMMAND is missing: 'redis GET key'");
  answer(on, on.debugger.call(words));
}

void set_maxlen(LdbCommands& on, std::string_view rest) {
  if (!rest.empty()) on.text.set_maxlen(parse_maxlen(std::string(rest)));
  on.text.say(on.text.maxlen() == 0
                  ? "values are shown in full"
                  : fmt::format("{} bytes of a value are shown", on.text.maxlen()));
}

// ---- Breakpoints ----

void add_breakpoint(LdbCommands& on, int line) {
  const auto& there = on.debugger.breakpoints();
  if (!there.contains(line) && there.size() >= ldb::RedisDebugger::kMaxBreakpoints) {
    throw UsageError(
        fmt::format("Redis's debugger keeps {} breakpoints", ldb::RedisDebugger::kMaxBreakpoints));
  }
  on.debugger.add_breakpoint(line);
  on.text.breakpoint(line);
}

void remove_breakpoint(LdbCommands& on, int line) {
  if (!on.debugger.breakpoints().contains(line)) {
    throw UsageError(fmt::format("there is no breakpoint at {}", line));
  }
  on.debugger.remove_breakpoint(line);
  on.text.say(fmt::format("breakpoint at {} removed", line));
}

void break_at(LdbCommands& on, std::string_view word) {
  const bool removes = word.starts_with('-');
  const int line = line_in_source(on, word.substr(removes ? 1 : 0));
  if (line == 0) {
    on.debugger.clear_breakpoints();
    on.text.say("all breakpoints removed");
  } else if (removes) {
    remove_breakpoint(on, line);
  } else {
    add_breakpoint(on, line);
  }
}

void set_breakpoints(LdbCommands& on, std::string_view rest) {
  const auto words = words_in(rest);
  if (words.size() > 1 && words[1] == "if") {
    throw UsageError(needs_rlctl("has no conditions"));
  }
  for (const auto& word : words) break_at(on, word);
  if (!words.empty()) return;
  if (on.debugger.breakpoints().empty()) on.text.say("no breakpoints; 'break LINE' makes one");
  for (const int line : on.debugger.breakpoints()) on.text.breakpoint(line);
}

// ---- Help ----

const LdbRow* find_row(std::string_view word) {
  if (word == "exit") word = "quit";
  if (word == "?") word = "help";
  const auto found = std::ranges::find_if(rows(), [&](const LdbRow& row) {
    return word == row.name || (!row.letter.empty() && word == row.letter);
  });
  return found == rows().end() ? nullptr : &*found;
}

std::string unknown_command(std::string_view word) {
  const auto text = "unknown command " + quoted_and_masked(word);
  if (const auto* other = find_by_name(kOthers, word)) {
    const auto advice =
        other->lack.empty() ? std::string(other->instead) : needs_rlctl(other->lack);
    return fmt::format("{}: {}", text, advice);
  }
  const auto near = did_you_mean(word, names_of(rows()));
  return text + (near.empty() ? "; 'help' lists them" : near);
}

void show_help(LdbCommands& on, std::string_view word) {
  const auto* only = find_row(word);
  if (!word.empty() && only == nullptr) throw UsageError(unknown_command(word));
  constexpr std::size_t kColumn = 32;  // leaves 48 of 80 columns to the longest summary
  for (const auto& row : rows()) {
    if (only != nullptr && &row != only) continue;
    on.text.say(fmt::format("{:{}}{}", row.synopsis(), kColumn, row.summary));
  }
  if (only != nullptr) return;
  on.text.say("An empty line repeats the last command if it moved or showed something.");
}

// ---- The table ----

std::span<const LdbRow> rows() {
  using On = LdbCommands;
  using Rest = std::string_view;
  static constexpr LdbRow kRows[] = {
      {"step", "s", "", "run to the next line, even inside a function",
       [](On& on, Rest) { show_move(on, on.debugger.step()); }, true, true},
      {"next", "n", "", "the same: Redis's debugger steps over nothing",
       [](On& on, Rest) { show_move(on, on.debugger.step()); }, true, true},
      {"continue", "c", "", "run to a breakpoint or the end",
       [](On& on, Rest) { show_move(on, on.debugger.resume()); }, true, true},
      {"list", "l", "[LINE [AROUND]]", "the source around this line, or another", list_source,
       false, true},
      {"whole", "w", "", "all of the source",
       [](On& on, Rest) { on.text.source(on.debugger, 1, on.text.line_count()); }, false, true},
      {"print", "p", "[VARIABLE]", "all variables of this function, or one", print_variable, true,
       true},
      {"break", "b", "[LINE... | -LINE | 0]", "set, remove (0: all) or list breakpoints",
       set_breakpoints},
      {"trace", "t", "", "the active functions, innermost first",
       [](On& on, Rest) { show_functions(on); }, true, true},
      {"eval", "e", "CODE", "run Lua code, which sees globals only", evaluate, true},
      {"redis", "r", "COMMAND [WORD...]", "call Redis", call_redis, true},
      {"maxlen", "m", "[BYTES]", "set how much of a value to show; 0: all", set_maxlen},
      {"abort", "a", "", "end the script with an error at this line",
       [](On& on, Rest) { abort_script(on); }, true},
      {"restart", "", "", "reload the script, and start over",
       [](On& on, Rest) { on.after = On::After::kRestart; }},
      {"help", "h", "[COMMAND]", "list the commands, or explain one", show_help},
      {"quit", "q", "", "leave", [](On& on, Rest) { on.after = On::After::kQuit; }},
  };
  return kRows;
}

/// Runs a command that may be wrong.
void run_row(LdbCommands& on, const LdbRow& row, std::string_view arguments) {
  if (row.needs_script && !on.debugger.running()) {
    return on.wrong("the script has ended; 'restart' starts over");
  }
  try {
    if (row.arguments.empty() && !arguments.empty()) {
      throw UsageError("unexpected argument " + quoted_and_masked(arguments));
    }
    row.run(on, arguments);
  } catch (const UsageError& error) {
    on.wrong(fmt::format("{}: {}", row.name, error.what()));
  }
}

}  // namespace

LdbCommands::After LdbCommands::run(std::string_view line) {
  was_wrong = false;
  after = After::kGoOn;
  auto arguments = line;
  auto word = take_word(arguments);
  if (word.starts_with('#')) return after;
  const auto repeated = std::exchange(last, "");
  if (word.empty()) {
    arguments = line = repeated;
    word = take_word(arguments);
  }
  if (word.empty()) return after;
  const auto* row = find_row(word);
  if (row == nullptr) {
    wrong(unknown_command(word));
    return after;
  }
  if (row->repeats) last = line;
  const bool was_running = debugger.running();
  run_row(*this, *row, arguments);
  if (was_running && !debugger.running()) after = After::kEnded;
  return after;
}

void LdbCommands::wrong(std::string_view message) {
  was_wrong = true;
  text.error(message);
}

std::vector<std::string> LdbCommands::complete(std::string_view line) const {
  const auto begin = line.find_last_of(" \t") + 1;
  auto before = line.substr(0, begin);
  const auto command = take_word(before);
  const auto* row = find_row(command);
  const auto name = row == nullptr ? std::string_view() : row->name;
  std::set<std::string> words;
  if (command.empty() || name == "help") {
    for (const auto& known : rows()) words.emplace(known.name);
  } else if (name == "redis") {
    words.insert(keys.begin(), keys.end());
  } else if (name == "print" && debugger.running()) {
    for (const auto& variable : debugger.variables()) words.insert(variable.name);
    words.insert({"ARGV", "KEYS"});
  }
  std::erase_if(words, [&](const auto& word) { return !word.starts_with(line.substr(begin)); });
  return {words.begin(), words.end()};
}

}  // namespace rlctl::cli::debug
