#include "cli/commands/debug/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/view.h"
#include "ldb/debugger.h"
#include "ldb/evaluation.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Halt;

constexpr std::string_view kBlanks = " \t";

std::string_view stripped(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// Takes the first word off `rest`.
std::string_view take_word(std::string_view& rest) {
  rest = stripped(rest);
  const auto word = rest.substr(0, rest.find_first_of(kBlanks));
  rest = stripped(rest.substr(word.size()));
  return word;
}

std::vector<std::string> split_words(std::string_view rest) {
  std::vector<std::string> words;
  while (!stripped(rest).empty()) words.emplace_back(take_word(rest));
  return words;
}

int line_number(std::string_view text) {
  const auto number = to_number<int>(text);
  if (number && *number >= 0) return *number;
  throw UsageError(in_quotes(text) + " is not a line number");
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
  struct Hint {
    std::string_view word, hint;
  };
  constexpr std::string_view kRestart = "'restart' starts over, 'continue' resumes",
                             kNoFrames =
                                 "'trace' shows the active functions, 'print' "
                                 "the variables of this one",
                             kUntil = "'break LINE', then 'continue'",
                             kNoSet = "variables cannot be changed, 'eval' sees copies";
  constexpr Hint kHints[] = {{"run", kRestart},
                             {"start", kRestart},
                             {"out", "'finish' runs until this function has returned"},
                             {"return", "'finish' runs until this function has returned"},
                             {"call", "'again' calls the script on the state that it left"},
                             {"until", kUntil},
                             {"advance", kUntil},
                             {"tbreak", kUntil},
                             {"up", kNoFrames},
                             {"down", kNoFrames},
                             {"frame", kNoFrames},
                             {"delete", "'break -LINE' and 'watch -NUMBER' remove one, 0 all"},
                             {"clear", "'break -LINE' and 'watch -NUMBER' remove one, 0 all"},
                             {"display", "'watch EXPRESSION' stops when its value changes"},
                             {"set", kNoSet},
                             {"jump", "lines run in order; 'restart' starts over"}};
  for (const auto& [known, hint] : kHints) {
    if (word == known) return hint;
  }
  return {};
}

constexpr std::string_view kEnded =
    "the script has ended; 'again' calls it on the state that it left, 'restart' starts over";

/// The topics of `info`.
constexpr std::string_view kTopics[] = {"breakpoints", "keys", "locals", "watches"};

}  // namespace

// ---- The table ----

struct Commands::Row {
  std::string_view name, letter, arguments, summary;
  std::string_view example;  ///< for `help COMMAND`; empty: the name alone
  void (Commands::*run)(std::string_view rest);
  bool needs_script = false;  ///< requires a script that has not ended
  bool repeats = true;        ///< an empty line repeats it: it shows or moves, and changes nothing
};

std::span<const Commands::Row> Commands::rows() {
  using Self = Commands;
  static constexpr Row kRows[] = {
      {"step", "s", "[TIMES]", "run this line", "step 3", &Self::step, true},
      {"next", "n", "[TIMES]", "run this line, and the functions that it calls", "", &Self::next,
       true},
      {"finish", "f", "", "run until this function has returned", "", &Self::finish, true},
      {"continue", "c", "", "run to a breakpoint, watch change or the end",
       "break 12, then continue", &Self::go_on, true},
      {"list", "l", "[LINE [AROUND]]", "the source around this line, or another",
       "list 40 3   line 40 and the three lines on either side", &Self::list},
      {"whole", "w", "", "all of the source", "", &Self::whole},
      {"print", "p", "[EXPRESSION]", "all variables, or the value of t.a[2], count + 1",
       "print now - oldest", &Self::print, true},
      {"break", "b", "[LINE... | LINE if EXPRESSION | -LINE | 0]",
       "set, remove (0: all) or list breakpoints", "break 12 if count > 3; break -12 removes it",
       &Self::set_breakpoints, false, false},
      {"watch", "", "[EXPRESSION | -NUMBER | 0]", "set, remove (0: all) or list watches",
       "watch redis.call('ZCARD', KEYS[1]); watch -1 removes it", &Self::watch, false, false},
      {"info", "i", "breakpoints|keys|locals|watches", "list these", "info k", &Self::info},
      {"trace", "t", "", "the active functions, innermost first", "", &Self::trace, true},
      {"eval", "e", "CODE", "run Lua code with copies of the variables",
       "eval redis.call('GET', KEYS[1]), count + 1", &Self::eval, true, false},
      {"redis", "r", "COMMAND [WORD...]", "call Redis", "redis ZRANGE login:ann 0 -1", &Self::redis,
       false, false},
      {"maxlen", "m", "[BYTES]", "set how much of a value to show; 0: all",
       "maxlen 0    show values in full", &Self::maxlen},
      {"abort", "a", "", "end the script with an error at this line", "", &Self::abort_script, true,
       false},
      {"restart", "", "", "reload the script, start over on the original state", "", &Self::restart,
       false, false},
      {"again", "", "", "after its end: call it on the state that it left", "continue, then again",
       &Self::again, false, false},
      {"help", "h", "[COMMAND]", "list the commands, or explain one", "help break", &Self::help},
      {"quit", "q", "", "leave", "", &Self::quit, false, false},
  };
  return kRows;
}

const Commands::Row* Commands::find(std::string_view word) {
  if (word == "exit") word = "quit";
  if (word == "?") word = "help";
  for (const auto& row : rows()) {
    if (word == row.name || (!row.letter.empty() && word == row.letter)) return &row;
  }
  return nullptr;
}

AfterCommand Commands::run(std::string_view line) {
  was_wrong_ = false;
  after_ = AfterCommand::kGoOn;
  auto rest = stripped(line);
  if (rest.starts_with('#')) return AfterCommand::kGoOn;
  const std::string repeated = last_;
  if (rest.empty()) rest = repeated;
  if (rest.empty()) return AfterCommand::kGoOn;
  std::string_view arguments = rest;
  const auto word = take_word(arguments);
  const auto* row = find(word);
  last_ = row != nullptr && row->repeats ? std::string(rest) : "";
  if (row != nullptr) {
    run_row(*row, arguments);
    return after_;
  }
  wrong(unknown(word));
  return AfterCommand::kGoOn;
}

std::string Commands::unknown(std::string_view word) {
  std::vector<std::string_view> names;
  for (const auto& known : rows()) names.push_back(known.name);
  const auto hint = hint_for(word);
  const auto near = did_you_mean(word, names);
  return "unknown command " + in_quotes(word) +
         (!hint.empty()  ? ": " + std::string(hint)
          : near.empty() ? "; 'help' lists them"
                         : near);
}

void Commands::wrong(std::string_view message) {
  was_wrong_ = true;
  view_.error(message);
}

void Commands::run_row(const Row& row, std::string_view rest) {
  if (row.needs_script && !debugger_.running()) return wrong(kEnded);
  const bool was_running = debugger_.running();
  try {
    if (row.arguments.empty() && !rest.empty()) {
      throw UsageError("unexpected argument " + in_quotes(rest));
    }
    (this->*row.run)(rest);
  } catch (const UsageError& error) {
    wrong(fmt::format("{}: {}", row.name, error.what()));
  }
  if (was_running && !debugger_.running()) after_ = AfterCommand::kEnded;
}

// ---- Moving ----

void Commands::show(const Halt& halt) {
  view_.halt(halt, debugger_.breakpoints());
}

/// Moves TIMES times, or until something else stops the script.
void Commands::move(std::string_view times, Halt (ldb::Debugger::*by)()) {
  int left = times.empty() ? 1 : to_number<int>(times).value_or(0);
  if (left < 1) throw UsageError("TIMES must be at least 1, not " + in_quotes(times));
  for (bool goes_on = true; goes_on && left > 0; --left) {
    const auto halt = (debugger_.*by)();
    show(halt);
    goes_on = halt.why == Halt::Why::kStepped && !debugger_.wants_stop();
  }
}

void Commands::step(std::string_view rest) {
  move(rest, &ldb::Debugger::step);
}

void Commands::next(std::string_view rest) {
  move(rest, &ldb::Debugger::next);
}

void Commands::finish(std::string_view /*rest*/) {
  show(debugger_.finish());
}

void Commands::go_on(std::string_view /*rest*/) {
  show(debugger_.go_on());
}

void Commands::abort_script(std::string_view /*rest*/) {
  const auto halt = debugger_.abort_script();
  if (debugger_.result().ending != ldb::Ending::kAborted) {
    view_.error("the script caught the error meant to end it, and continued");
  }
  show(halt);
}

void Commands::restart(std::string_view /*rest*/) {
  after_ = AfterCommand::kRestart;
}

void Commands::again(std::string_view /*rest*/) {
  if (debugger_.running()) {
    throw UsageError("the script has not ended; 'continue' resumes, 'restart' starts over");
  }
  after_ = AfterCommand::kAgain;
}

void Commands::quit(std::string_view /*rest*/) {
  after_ = AfterCommand::kQuit;
}

// ---- Looking ----

void Commands::list(std::string_view rest) {
  constexpr int kAround = 5;
  const auto words = split_words(rest);
  if (words.size() > 2) throw UsageError("expected at most LINE and AROUND");
  int line = words.empty() ? 0 : line_number(words[0]);
  const int around = words.size() < 2 ? kAround : std::min(line_number(words[1]), 1'000'000);
  if (line > view_.line_count()) {
    throw UsageError(fmt::format("there are {} lines", view_.line_count()));
  }
  if (line == 0) line = std::max(debugger_.line(), 1);
  view_.source(line - around, line + around, debugger_.running() ? debugger_.line() : 0,
               debugger_.breakpoints());
}

void Commands::whole(std::string_view /*rest*/) {
  view_.source(1, view_.line_count(), debugger_.running() ? debugger_.line() : 0,
               debugger_.breakpoints());
}

void Commands::print(std::string_view rest) {
  if (rest.empty()) return show_locals();
  answer(rest, debugger_.print(rest));
}

void Commands::eval(std::string_view rest) {
  if (rest.empty()) throw UsageError("CODE is missing: 'eval count + 1'");
  answer(rest, debugger_.evaluate(rest));
}

/// Shows the result of the code, and reports if it assigned to one of the script's variables.
void Commands::answer(std::string_view code, const ldb::Evaluation& evaluation) {
  view_.evaluation(evaluation);
  was_wrong_ = evaluation.outcome != ldb::Evaluation::Outcome::kValues;
  const auto name = ldb::assigned_in(code);
  if (!was_wrong_ && !name.empty() && debugger_.declared_at(name) > 0) {
    view_.say(fmt::format("only a copy was changed, not the script's '{}'", name));
  }
}

void Commands::redis(std::string_view rest) {
  const auto words = shell_words(rest);
  if (words.empty()) throw UsageError("COMMAND is missing: 'redis GET key'");
  const auto made = call(words);
  if (!made) return;
  view_.call(*made);
  was_wrong_ = made->failed();
}

void Commands::trace(std::string_view /*rest*/) {
  for (const auto& frame : debugger_.backtrace()) view_.frame(frame);
}

void Commands::maxlen(std::string_view rest) {
  if (!rest.empty()) {
    const auto size = to_number<int>(rest);
    if (!size || *size < 0) {
      throw UsageError(in_quotes(rest) + " is not a number of bytes; 0 shows all");
    }
    if (*size > 0 && *size < kMinMaxlen) {
      throw UsageError(
          fmt::format("BYTES must be at least {}, not {}; 0 shows all", kMinMaxlen, *size));
    }
    view_.set_maxlen(static_cast<std::size_t>(*size));
  }
  view_.say(view_.maxlen() == 0 ? "values are shown in full"
                                : fmt::format("{} bytes of a value are shown", view_.maxlen()));
}

// ---- Breakpoints and watches ----

void Commands::break_at(const std::string& word) {
  const auto number = to_number<int>(word);
  if (!number || *number == std::numeric_limits<int>::min()) {
    throw UsageError(in_quotes(word) + " is not a line number");
  }
  if (*number == 0) {
    debugger_.clear_breakpoints();
    view_.say("all breakpoints removed");
  } else if (*number < 0) {
    if (!debugger_.remove_breakpoint(-*number)) {
      throw UsageError(fmt::format("there is no breakpoint at {}", -*number));
    }
    view_.say(fmt::format("breakpoint at {} removed", -*number));
  } else {
    debugger_.add_breakpoint({.line = *number});
    view_.breakpoint(debugger_.breakpoints().at(*number));
  }
}

void Commands::set_breakpoints(std::string_view rest) {
  const auto words = split_words(rest);
  if (words.empty()) show_breakpoints();
  if (words.size() > 1 && words[1] == "if") {
    take_word(rest);
    take_word(rest);
    if (rest.empty()) throw UsageError("EXPRESSION is missing: 'break 12 if count > 3'");
    const int line = line_number(words[0]);
    debugger_.add_breakpoint({.line = line, .condition = std::string(rest)});
    view_.breakpoint(debugger_.breakpoints().at(line));
    return;
  }
  for (const auto& word : words) break_at(word);
}

void Commands::watch(std::string_view rest) {
  if (rest.empty()) {
    show_watches();
  } else if (rest == "0") {
    debugger_.clear_watches();
    view_.say("all watches removed");
  } else if (const auto number = to_number<std::int64_t>(rest);
             number && *number < 0 && *number > std::numeric_limits<std::int64_t>::min()) {
    if (!debugger_.remove_watch(-*number)) {
      throw UsageError(fmt::format("there is no watch {}", -*number));
    }
    view_.say(fmt::format("watch {} removed", -*number));
  } else {
    const auto* watch = debugger_.add_watch(std::string(rest));
    if (watch != nullptr) view_.watch(*watch, debugger_.running());
  }
}

void Commands::show_breakpoints() {
  if (debugger_.breakpoints().empty()) view_.say("no breakpoints; 'break LINE' makes one");
  for (const auto& [line, breakpoint] : debugger_.breakpoints()) view_.breakpoint(breakpoint);
}

void Commands::show_watches() {
  if (debugger_.watches().empty()) view_.say("no watches; 'watch EXPRESSION' makes one");
  for (const auto& one : debugger_.watches()) view_.watch(one, debugger_.running());
}

// ---- info ----

void Commands::info(std::string_view rest) {
  std::string_view topic;
  for (const auto known : kTopics) {
    if (!rest.empty() && known.starts_with(rest)) topic = known;
  }
  if (topic.empty()) {
    throw UsageError((rest.empty() ? "expected " : in_quotes(rest) + " is not ") +
                     std::string("one of ") + one_of(kTopics));
  }
  if (topic == "breakpoints") show_breakpoints();
  if (topic == "watches") show_watches();
  if (topic == "keys") show_keys();
  if (topic == "locals" && debugger_.running()) {
    show_locals();
  } else if (topic == "locals") {
    wrong(kEnded);
  }
}

void Commands::show_locals() {
  if (debugger_.locals().empty()) view_.say("no variables here");
  for (const auto& local : debugger_.locals()) view_.local(local);
  if (debugger_.is_approximate() && !debugger_.locals().empty()) {
    view_.say("~ numbers have six digits, and upvalues are not shown");
  }
}

void Commands::show_keys() {
  if (keys_.empty()) view_.say("the script has no KEYS");
  for (const auto& key : keys_) {
    show_key(key);
    if (was_wrong_) return;
  }
}

/// Calls Redis, through the debugger while a script runs: the server may not answer other clients.
std::optional<ldb::Call> Commands::call(const std::vector<std::string>& words) {
  if (debugger_.running()) {
    auto made = debugger_.call(words);
    if (debugger_.running()) return made;
    return std::nullopt;
  }
  auto made = call_afterwards_ ? call_afterwards_(words) : std::nullopt;
  if (!made) wrong(kEnded);
  return made;
}

void Commands::show_key(const std::string& key) {
  constexpr int kLast = 99;  // the last index of a list or sorted set to show
  const auto type = call({"TYPE", key});
  if (!type) return;
  const auto reply = type->reply.value_or("");
  const auto is_type = [&](std::string_view name) { return reply.find(name) != reply.npos; };
  const auto readings = key_readings();
  const auto look = std::find_if(readings.begin(), readings.end(), [&](const KeyReading& one) {
    return is_type(fmt::format("+{}\"", one.type));
  });
  if (is_type("+none")) return view_.say(in_quotes(key) + ": no such key");
  std::string content = "its type cannot be shown";
  if (look != readings.end()) {
    const auto made = call(look->command(key, kLast));
    if (!made) return;
    content = made->reply.value_or("");
  }
  const auto pttl = call({"PTTL", key});
  if (!pttl) return;
  const auto ttl = to_number<std::int64_t>(pttl->reply.value_or("")).value_or(-1);
  view_.say(fmt::format("{}: {}{}, {}", in_quotes(key),
                        look == readings.end() ? "" : std::string(look->type) + ", ",
                        view_.shortened(std::move(content)),
                        ttl < 0 ? "no ttl" : "ttl " + ttl_text(std::chrono::milliseconds(ttl))));
}

// ---- Help and completion ----

std::string Commands::help() {
  constexpr std::size_t kColumn = 28;  // leaves 52 of 80 columns to the longest summary
  std::string out;
  for (const auto& row : rows()) {
    std::string left(row.name);
    if (!row.letter.empty()) left.append(", ").append(row.letter);
    if (!row.arguments.empty()) left.append(" ").append(row.arguments);
    if (left.size() + 2 > kColumn) {
      out += fmt::format("{}\n{:{}}{}\n", left, "", kColumn, row.summary);
    } else {
      out += fmt::format("{:{}}{}\n", left, kColumn, row.summary);
    }
  }
  return out + "An empty line repeats the last command if it moved or showed something.\n";
}

void Commands::explain(const Row& row, std::string& out) {
  constexpr std::size_t kWidth = 76;
  out += row.name;
  if (!row.letter.empty()) out.append(", ").append(row.letter);
  if (!row.arguments.empty()) out.append(" ").append(row.arguments);
  const bool is_long = out.size() + row.summary.size() > kWidth;
  out.append(is_long ? ":\n" : ": ").append(row.summary).append("\n");
  out.append("For example: ").append(row.example.empty() ? row.name : row.example).append("\n");
}

void Commands::help(std::string_view rest) {
  std::string answer;
  if (rest.empty()) {
    answer = help();
  } else if (const auto* row = find(rest)) {
    explain(*row, answer);
  } else {
    throw UsageError(unknown(rest));
  }
  for (std::string_view text = answer; !text.empty();) {
    const auto line = text.substr(0, text.find('\n'));
    view_.say(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

std::vector<std::string> Commands::complete(std::string_view line) const {
  const auto found = candidates(line);
  std::vector<std::string> words(found.begin(), found.end());
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    const auto first = to_number<int>(a), second = to_number<int>(b);
    return first && second ? *first < *second : first.has_value() && !second;
  });
  return words;
}

std::set<std::string> Commands::candidates(std::string_view line) const {
  const auto begin = line.find_last_of(" \t(){}[]+-*/%^#<>=~,;.") + 1;
  const auto prefix = line.substr(begin);
  auto before = line.substr(0, begin);
  std::set<std::string> found;
  const auto offer = [&](std::string_view word) {
    if (word.starts_with(prefix)) found.emplace(word);
  };
  const auto command = take_word(before);
  const auto* row = find(command);
  if (command.empty() || (row != nullptr && row->name == "help")) {
    for (const auto& known : rows()) offer(known.name);
  } else if (row != nullptr && row->name == "info") {
    for (const auto topic : kTopics) offer(topic);
  } else if (row != nullptr && (row->name == "list" || (row->name == "break" && before.empty()))) {
    for (const int stop : debugger_.stop_lines()) offer(std::to_string(stop));
  } else if (row != nullptr && (row->name == "print" || row->name == "eval" ||
                                row->name == "watch" || row->name == "break")) {
    for (const auto& local : debugger_.locals()) offer(local.local.name);
    for (const auto* global : {"KEYS", "ARGV", "redis"}) offer(global);
    if (const auto path = path_before_dot(line.substr(0, begin)); !path.empty()) {
      found.clear();
      for (const auto& field : debugger_.fields_of(path)) offer(field);
    }
    if (row->name == "break" && before.find("if") == before.npos) found = {"if"};
  } else if (row != nullptr && row->name == "redis") {
    for (const auto& key : keys_) offer(key);
  }
  return found;
}

}  // namespace rlctl::cli::debug
