#include "cli/commands/debug/repl.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/commands/debug/keys.h"
#include "cli/options/options.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Halt;

/// A row of the table of commands.
struct Row {
  std::string_view name, letter, arguments, summary;
  std::string_view example;  ///< for `help COMMAND`; empty: the name alone
  void (*run)(Commands& on, std::string_view rest);
  bool needs_script = false;   ///< requires a script that has not ended
  bool repeats = true;         ///< an empty line repeats it: it shows or moves, and changes nothing
  std::string_view lack = {};  ///< why Redis's debugger does not have it: see debugger::Lack

  /// "break, b [LINE... | -LINE | 0]"
  std::string synopsis() const {
    return fmt::format("{}{}{}{}{}", name, letter.empty() ? "" : ", ", letter,
                       arguments.empty() ? "" : " ", arguments);
  }
};

std::span<const Row> rows();
const Row* find(std::string_view word);

// ---- Words ----

/// Returns a text without the blanks around it.
std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// Takes the first word off `rest`, with the blanks around it and at the end.
std::string_view take_word(std::string_view& rest) {
  rest = stripped(rest);
  const auto word = rest.substr(0, rest.find_first_of(" \t"));
  rest = stripped(rest.substr(word.size()));
  return word;
}

std::vector<std::string> split_words(std::string_view rest) {
  std::vector<std::string> words;
  while (!rest.empty()) words.emplace_back(take_word(rest));
  return words;
}

int line_number(std::string_view text) {
  const auto number = to_number<int>(text);
  if (number && *number >= 0) return *number;
  throw UsageError(quoted_and_masked(text) + " is not a line number");
}

/// Returns the table before a final dot: "t.a" for "print 1 + t.a."; empty if there is no such dot.
std::string_view path_before_dot(std::string_view line) {
  if (!line.ends_with('.')) return {};
  line.remove_suffix(1);
  const auto is_part = [](char c) {
    return c == '.' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  auto begin = line.size();
  while (begin > 0 && is_part(line[begin - 1])) --begin;
  return line.substr(begin);
}

/// Returns what to use here instead of a command that other debuggers have; empty if it is unknown.
std::string_view hint_for(std::string_view word) {
  using Words = std::array<std::string_view, 3>;
  static constexpr std::pair<Words, std::string_view> kHints[] = {
      {{"run", "start"}, "'restart' starts over, 'continue' resumes"},
      {{"out", "return"}, "'finish' runs until this function has returned"},
      {{"call"}, "'again' calls the script on the state that it left"},
      {{"until", "advance", "tbreak"}, "'break LINE', then 'continue'"},
      {{"up", "down", "frame"},
       "'trace' shows the active functions, 'print' the variables of this one"},
      {{"delete", "clear"}, "'break -LINE' and 'watch -NUMBER' remove one, 0 all"},
      {{"backtrace", "bt", "where"}, "'trace' shows the active functions"},
      {{"display"}, "'watch EXPRESSION' stops when its value changes"},
      {{"jump"}, "lines run in order; 'restart' starts over"}};
  for (const auto& [words, hint] : kHints) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return hint;
  }
  return {};
}

/// Sorts words, and numbers by their value before them.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    const auto first = to_number<int>(a), second = to_number<int>(b);
    if (first && second) return *first < *second;
    return first.has_value() == second.has_value() ? a < b : first.has_value();
  }
};

/// Why a command that sets or shows watches is refused with --ldb.
constexpr std::string_view kWatchesNothing = "watches no values";

constexpr std::string_view kHasEnded =
    "the script has ended; 'again' calls it on the state that it left, 'restart' starts over";

/// The topics of `info`.
constexpr std::string_view kTopics[] = {"breakpoints", "keys", "locals", "watches"};

/// A line of `help` in the debugger: how some of its commands differ with --ldb.
constexpr const char* kWithLdb =
    "With --ldb, next is step, print shows only variables, eval sees only globals.";

/// "Redis's debugger shows no upvalues; leave out --ldb"
std::string text_of_lack(std::string_view lack) {
  return fmt::format("Redis's debugger {}; leave out --ldb", lack);
}

// ---- Moving ----

void show(Commands& on, const Halt& halt) {
  on.view.halt(halt, on.debugger.breakpoints());
}

/// Moves TIMES times, or until something else stops the script.
void move_times(Commands& on, std::string_view times, Halt (debugger::Debugger::*by)()) {
  int left = times.empty() ? 1 : to_number<int>(times).value_or(0);
  if (left < 1) throw UsageError("TIMES must be at least 1, not " + quoted_and_masked(times));
  for (bool goes_on = true; goes_on && left > 0; --left) {
    const auto halt = (on.debugger.*by)();
    show(on, halt);
    goes_on = halt.why == Halt::Why::kStepped && !on.debugger.wants_stop();
  }
}

void abort_script(Commands& on, std::string_view /*rest*/) {
  show(on, on.debugger.abort_script());
}

// ---- Looking ----

void show_source(Commands& on, int first, int last) {
  on.view.source(first, last, on.debugger.running() ? on.debugger.line() : 0,
                 on.debugger.breakpoints());
}

void list_source(Commands& on, std::string_view rest) {
  constexpr int kAround = 5;
  const auto words = split_words(rest);
  if (words.size() > 2) throw UsageError("expected at most LINE and AROUND");
  int line = words.empty() ? 0 : line_number(words[0]);
  const int around = words.size() < 2 ? kAround : std::min(line_number(words[1]), 1'000'000);
  if (line > on.view.line_count()) {
    throw UsageError("the script has " + counted(on.view.line_count(), "line"));
  }
  if (line == 0) line = std::max(on.debugger.line(), 1);
  show_source(on, line - around, line + around);
}

void show(Commands& on, const lua::Evaluation& evaluation) {
  if (!on.debugger.running()) return;  // Redis's debugger gave no answer
  if (on.engine != nullptr) {
    for (const auto& message : on.engine->told()) on.view.message(message);
  }
  on.view.evaluation(evaluation);
  on.was_wrong = evaluation.outcome != lua::Evaluation::Outcome::kValues;
}

void show_locals(Commands& on) {
  const auto variables = on.debugger.variables();
  if (!on.debugger.running()) return;
  if (variables.empty()) on.view.say("no variables here");
  for (const auto& variable : variables) on.view.variable(variable);
}

void print(Commands& on, std::string_view code) {
  code.empty() ? show_locals(on) : show(on, on.debugger.look_up(code));
}

void evaluate(Commands& on, std::string_view code) {
  if (code.empty()) throw UsageError("CODE is missing: 'eval #KEYS'");
  show(on, on.debugger.evaluate(code));
}

void set_variable(Commands& on, std::string_view rest) {
  const auto assignment = debugger::parse_assignment(rest);
  if (!assignment || assignment->expression.empty()) {
    throw UsageError("expected a variable and an expression: 'set t.a[2] count + 1'");
  }
  show(on, on.engine->set(assignment->variable, assignment->expression));
}

void call_redis(Commands& on, std::string_view rest) {
  const auto words = shell_words(rest);
  if (words.empty()) throw UsageError("COMMAND is missing: 'redis GET key'");
  const auto call = on.debugger.call(words);
  on.view.call(call);
  on.was_wrong = call.error.has_value();
}

/// Parses the bytes of a value to show: at least 60, as in Redis's own debugger, or 0 for all.
std::size_t parse_maxlen(const std::string& text) {
  constexpr int kMin = 60;
  const auto bytes = parse_between(text, "BYTES", 0, INT32_MAX);
  if (bytes == 0 || bytes >= kMin) return static_cast<std::size_t>(bytes);
  throw UsageError(fmt::format("BYTES must be at least {}, not {}; 0 shows all", kMin, bytes));
}

void set_maxlen(Commands& on, std::string_view rest) {
  if (!rest.empty()) on.view.set_maxlen(parse_maxlen(std::string(rest)));
  on.view.say(on.view.maxlen() == 0
                  ? "values are shown in full"
                  : fmt::format("{} bytes of a value are shown", on.view.maxlen()));
}

// ---- Breakpoints and watches ----

void show_breakpoints(Commands& on) {
  if (on.debugger.breakpoints().empty()) on.view.say("no breakpoints; 'break LINE' makes one");
  for (const auto& [line, breakpoint] : on.debugger.breakpoints()) on.view.breakpoint(breakpoint);
}

void break_at(Commands& on, const std::string& word) {
  const auto number = to_number<int>(word);
  if (!number || *number == std::numeric_limits<int>::min() || word == "-0") {
    throw UsageError(quoted_and_masked(word) + " is not a line number");
  }
  if (*number == 0) {
    on.debugger.clear_breakpoints();
    on.view.say("all breakpoints removed");
  } else if (*number < 0) {
    if (!on.debugger.remove_breakpoint(-*number)) {
      throw UsageError(fmt::format("there is no breakpoint at {}", -*number));
    }
    on.view.say(fmt::format("breakpoint at {} removed", -*number));
  } else {
    on.debugger.add_breakpoint({.line = *number});
    on.view.breakpoint(on.debugger.breakpoints().at(*number));
  }
}

void set_breakpoints(Commands& on, std::string_view rest) {
  const auto words = split_words(rest);
  if (words.empty()) show_breakpoints(on);
  if (words.size() > 1 && words[1] == "if") {
    take_word(rest);
    take_word(rest);
    if (rest.empty()) throw UsageError("EXPRESSION is missing: 'break 12 if count > 3'");
    const int line = line_number(words[0]);
    on.debugger.add_breakpoint({.line = line, .condition = std::string(rest)});
    on.view.breakpoint(on.debugger.breakpoints().at(line));
    return;
  }
  for (const auto& word : words) break_at(on, word);
}

void show_watches(Commands& on) {
  if (on.engine->watches().empty()) on.view.say("no watches; 'watch EXPRESSION' makes one");
  for (const auto& one : on.engine->watches()) on.view.watch(one, on.engine->running());
}

void watch(Commands& on, std::string_view rest) {
  if (rest.empty()) {
    show_watches(on);
  } else if (rest == "0") {
    on.engine->clear_watches();
    on.view.say("all watches removed");
  } else if (const auto number = to_number<std::int64_t>(rest);
             number && *number < 0 && *number > std::numeric_limits<std::int64_t>::min()) {
    if (!on.engine->remove_watch(-*number)) {
      throw UsageError(fmt::format("there is no watch {}", -*number));
    }
    on.view.say(fmt::format("watch {} removed", -*number));
  } else {
    on.view.watch(on.engine->add_watch(std::string(rest)), on.engine->running());
  }
}

// ---- info ----

void show_key(Commands& on, const std::string& key) {
  auto text = read_key([&](const auto& words) { return on.debugger.call(words); }, key);
  if (text.type == "none") return on.view.say(quoted_and_masked(key) + ": no such key");
  text.content = on.view.shortened(std::move(text.content));
  on.view.say(quoted_and_masked(key) + ": " + text_of(text));
}

void show_keys(Commands& on) {
  if (on.keys.empty()) on.view.say("the script has no KEYS");
  for (const auto& key : on.keys) show_key(on, key);
}

void info(Commands& on, std::string_view rest) {
  std::string_view topic;
  for (const auto known : kTopics) {
    if (!rest.empty() && known.starts_with(rest)) topic = known;
  }
  if (topic.empty()) {
    throw UsageError((rest.empty() ? "expected " : quoted_and_masked(rest) + " is not ") +
                     std::string("one of ") + one_of(kTopics));
  }
  if (topic == "breakpoints") show_breakpoints(on);
  if (topic == "watches") {
    if (on.engine == nullptr) throw debugger::Lack(std::string(kWatchesNothing));
    show_watches(on);
  }
  if (topic == "keys") show_keys(on);
  if (topic == "locals") on.debugger.running() ? show_locals(on) : on.wrong(kHasEnded);
}

// ---- Help ----

std::string unknown(std::string_view word) {
  if (const auto hint = hint_for(word); !hint.empty()) {
    return fmt::format("unknown command {}: {}", quoted_and_masked(word), hint);
  }
  const auto near = did_you_mean(word, names_of(rows()));
  return "unknown command " + quoted_and_masked(word) +
         (near.empty() ? "; 'help' lists them" : near);
}

void explain(Commands& on, const Row& row) {
  constexpr std::size_t kWidth = 76;
  const auto synopsis = row.synopsis();
  if (synopsis.size() + row.summary.size() > kWidth) {
    on.view.say(synopsis + ":");
    on.view.say(row.summary);
  } else {
    on.view.say(fmt::format("{}: {}", synopsis, row.summary));
  }
  on.view.say(fmt::format("For example: {}", row.example.empty() ? row.name : row.example));
  if (on.engine == nullptr) on.view.say(row.lack.empty() ? kWithLdb : text_of_lack(row.lack));
}

void help(Commands& on, std::string_view rest) {
  if (const auto* row = find(rest)) return explain(on, *row);
  if (!rest.empty()) throw UsageError(unknown(rest));
  constexpr std::size_t kColumn = 28;  // leaves 52 of 80 columns to the longest summary
  for (const auto& row : rows()) {
    if (on.engine == nullptr && !row.lack.empty()) continue;
    auto left = row.synopsis();
    if (left.size() + 2 > kColumn) on.view.say(std::exchange(left, ""));
    on.view.say(fmt::format("{:{}}{}", left, kColumn, row.summary));
  }
  on.view.say("An empty line repeats the last command if it moved or showed something.");
  if (on.engine == nullptr) on.view.say(kWithLdb);
}

// ---- The table ----

std::span<const Row> rows() {
  using Rest = std::string_view;
  static constexpr Row kRows[] = {
      {"step", "s", "[TIMES]", "run this line", "step 3",
       [](Commands& on, Rest times) { move_times(on, times, &debugger::Debugger::step); }, true},
      {"next", "n", "[TIMES]", "run this line, and the functions that it calls", "",
       [](Commands& on, Rest times) { move_times(on, times, &debugger::Debugger::next); }, true},
      {"finish", "f", "", "run until this function has returned", "",
       [](Commands& on, Rest) { show(on, on.engine->finish()); }, true, true,
       "does not know when a function returns"},
      {"continue", "c", "", "run to a breakpoint, watch change or the end",
       "break 12, then continue", [](Commands& on, Rest) { show(on, on.debugger.go_on()); }, true},
      {"list", "l", "[LINE [AROUND]]", "the source around this line, or another",
       "list 40 3   line 40 and the three lines on either side", list_source},
      {"whole", "w", "", "all of the source", "",
       [](Commands& on, Rest) { show_source(on, 1, on.view.line_count()); }},
      {"print", "p", "[EXPRESSION]", "all variables, or the value of t.a[2], count + 1",
       "print now - oldest", print, true},
      {"break", "b", "[LINE... | LINE if EXPRESSION | -LINE | 0]",
       "set, remove (0: all) or list breakpoints", "break 12 if count > 3; break -12 removes it",
       set_breakpoints, false, false},
      {"watch", "", "[EXPRESSION | -NUMBER | 0]", "set, remove (0: all) or list watches",
       "watch redis.call('ZCARD', KEYS[1]); watch -1 removes it", watch, false, false,
       kWatchesNothing},
      {"info", "i", "breakpoints|keys|locals|watches", "list these", "info k", info},
      {"trace", "t", "", "the active functions, innermost first", "",
       [](Commands& on, Rest) {
         for (const auto& frame : on.debugger.backtrace()) on.view.frame(frame);
       },
       true},
      {"eval", "e", "CODE", "run Lua code in this function, as if it stood here",
       "eval redis.call('GET', KEYS[1]), count + 1", evaluate, true, false},
      {"set", "", "VARIABLE EXPRESSION", "change a variable, t.a[2] or KEYS[1]",
       "set count count + 1", set_variable, true, false, "changes no variables"},
      {"redis", "r", "COMMAND [WORD...]", "call Redis", "redis ZRANGE login:ann 0 -1", call_redis,
       false, false},
      {"maxlen", "m", "[BYTES]", "set how much of a value to show; 0: all",
       "maxlen 0    show values in full", set_maxlen},
      {"abort", "a", "", "end the script with an error at this line", "", abort_script, true,
       false},
      {"restart", "", "", "reload the script, start over on the original state", "",
       [](Commands& on, Rest) { on.after = AfterCommand::kRestart; }, false, false},
      {"again", "", "", "after its end: call it on the state that it left", "continue, then again",
       [](Commands& on, Rest) {
         if (on.debugger.running()) {
           throw UsageError("the script has not ended; 'continue' resumes, 'restart' starts over");
         }
         on.after = AfterCommand::kAgain;
       },
       false, false},
      {"help", "h", "[COMMAND]", "list the commands, or explain one", "help break", help},
      {"quit", "q", "", "leave", "", [](Commands& on, Rest) { on.after = AfterCommand::kQuit; },
       false, false},
  };
  return kRows;
}

const Row* find(std::string_view word) {
  if (word == "exit") word = "quit";
  if (word == "?") word = "help";
  for (const auto& row : rows()) {
    if (word == row.name || (!row.letter.empty() && word == row.letter)) return &row;
  }
  return nullptr;
}

/// Runs a command that may be wrong.
void run_row(Commands& on, const Row& row, std::string_view arguments) {
  try {
    if (row.arguments.empty() && !arguments.empty()) {
      throw UsageError("unexpected argument " + quoted_and_masked(arguments));
    }
    row.run(on, arguments);
  } catch (const debugger::Lack& lack) {
    on.wrong(fmt::format("{}: {}", row.name, text_of_lack(lack.what())));
  } catch (const UsageError& error) {
    on.wrong(fmt::format("{}: {}", row.name, error.what()));
  }
}

}  // namespace

AfterCommand Commands::run(std::string_view line) {
  was_wrong = false;
  after = AfterCommand::kGoOn;
  auto rest = stripped(line);
  if (rest.starts_with('#')) return after;
  const std::string repeated = last;
  if (rest.empty()) rest = repeated;
  if (rest.empty()) return after;
  std::string_view arguments = rest;
  const auto word = take_word(arguments);
  const auto* row = find(word);
  last = row != nullptr && row->repeats ? std::string(rest) : "";
  const bool was_running = debugger.running();
  if (row == nullptr) {
    wrong(unknown(word));
  } else if (engine == nullptr && !row->lack.empty()) {
    wrong(fmt::format("{}: {}", row->name, text_of_lack(row->lack)));
  } else if (row->needs_script && !was_running) {
    wrong(kHasEnded);
  } else {
    run_row(*this, *row, arguments);
  }
  for (const auto& lack : debugger.take_lacks()) view.say('(' + text_of_lack(lack) + ')');
  if (was_running && !debugger.running()) after = AfterCommand::kEnded;
  return after;
}

void Commands::wrong(std::string_view message) {
  was_wrong = true;
  view.error(message);
}

std::vector<std::string> Commands::complete(std::string_view line) const {
  const auto begin = line.find_last_of(" \t(){}[]+-*/%^#<>=~,;.") + 1;
  const auto prefix = line.substr(begin);
  auto before = line.substr(0, begin);
  std::set<std::string, ByNumber> found;
  const auto offer = [&](std::string_view word) {
    if (word.starts_with(prefix)) found.emplace(word);
  };
  const auto command = take_word(before);
  const auto* row = find(command);
  const auto name = row == nullptr ? std::string_view() : row->name;
  if (command.empty() || name == "help") {
    for (const auto& known : rows()) {
      if (engine != nullptr || known.lack.empty()) offer(known.name);
    }
  } else if (name == "info") {
    for (const auto topic : kTopics) offer(topic);
  } else if (name == "list" || (name == "break" && before.empty())) {
    for (const int stop : debugger.stop_lines()) offer(std::to_string(stop));
  } else if (name == "print" || name == "eval" || name == "set" || name == "watch" ||
             name == "break") {
    if (debugger.running()) {
      for (const auto& variable : debugger.variables()) offer(variable.name);
    }
    for (const auto* global : {"KEYS", "ARGV", "redis"}) offer(global);
    if (const auto path = path_before_dot(line.substr(0, begin)); !path.empty()) {
      found.clear();
      if (engine != nullptr && engine->running()) {
        for (const auto& field : engine->fields_of(path)) offer(field);
      }
    }
    if (name == "break" && before.find("if") == before.npos) found = {"if"};
  } else if (name == "redis") {
    for (const auto& key : keys) offer(key);
  }
  return {found.begin(), found.end()};
}

}  // namespace rlctl::cli::debug
