#include "cli/debug/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/debug/keys.h"
#include "cli/debug/view.h"
#include "cli/failure.h"
#include "cli/term/line_editor.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"
#include "ldb/debugger.h"
#include "ldb/walk.h"
#include "limiter/limit.h"
#include "redis/error.h"

namespace rlctl::cli {
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

std::vector<std::string> words_of(std::string_view rest) {
  std::vector<std::string> words;
  while (!stripped(rest).empty()) words.emplace_back(take_word(rest));
  return words;
}

template <typename Number = int>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int line_number(std::string_view text) {
  const auto number = parse_number(text);
  if (number && *number >= 0) return *number;
  throw UsageError(in_quotes(text) + " is not a line number");
}

void require_nothing(std::string_view rest) {
  if (rest.empty()) return;
  throw UsageError("unexpected argument " + in_quotes(rest));
}

/// "t.a" for "print 1 + t.a."; empty if the line does not end in a dot.
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

/// The equivalent here of another debugger's command.
std::string_view hint_for(std::string_view word) {
  struct Hint {
    std::string_view word, hint;
  };
  constexpr std::string_view kRestart = "'restart' begins again, 'continue' goes on",
                             kNoFrames =
                                 "'trace' shows the active functions, 'print' "
                                 "the variables of this one",
                             kUntil = "'break LINE', then 'continue'",
                             kNoSet = "variables cannot be changed, 'eval' sees copies";
  constexpr Hint kHints[] = {{"run", kRestart},
                             {"start", kRestart},
                             {"finish", kUntil},
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
                             {"jump", "lines run in order; 'restart' begins again"}};
  for (const auto& [known, hint] : kHints) {
    if (word == known) return hint;
  }
  return {};
}

constexpr std::string_view kEnded = "the script has ended; 'restart' begins again";

/// The topics of `info`.
constexpr std::string_view kTopics[] = {"breakpoints", "keys", "locals", "watches"};

}  // namespace

// ---- The table ----

struct DebugCommands::Row {
  std::string_view name, letter, arguments, summary;
  void (DebugCommands::*run)(std::string_view rest);
  bool needs_script = false;  ///< requires a script that has not ended
  bool repeats = true;        ///< an empty line repeats it: it shows or moves, and changes nothing
};

std::span<const DebugCommands::Row> DebugCommands::rows() {
  using Self = DebugCommands;
  static constexpr Row kRows[] = {
      {"step", "s", "[TIMES]", "run this line", &Self::step, true},
      {"next", "n", "[TIMES]", "run this line, and the functions that it calls", &Self::next, true},
      {"continue", "c", "", "run to a breakpoint, watch change or the end", &Self::go_on, true},
      {"list", "l", "[LINE [AROUND]]", "the source around this line, or another", &Self::list},
      {"whole", "w", "", "all of the source", &Self::whole},
      {"print", "p", "[EXPRESSION]", "all variables, or the value of t.a[2], count + 1",
       &Self::print, true},
      {"break", "b", "[LINE... | LINE if EXPRESSION | -LINE | 0]",
       "set, remove (0: all) or list breakpoints", &Self::set_breakpoints, false, false},
      {"watch", "", "[EXPRESSION | -NUMBER | 0]", "set, remove (0: all) or list watches",
       &Self::watch, false, false},
      {"info", "i", "breakpoints|keys|locals|watches", "list these", &Self::info},
      {"trace", "t", "", "the active functions, innermost first", &Self::trace, true},
      {"eval", "e", "CODE", "run Lua code with copies of the variables", &Self::eval, true, false},
      {"redis", "r", "COMMAND [WORD...]", "call Redis", &Self::redis, false, false},
      {"maxlen", "m", "[BYTES]", "set the bytes of a value to show; 0: all", &Self::maxlen},
      {"abort", "a", "", "end the script with an error at this line", &Self::abort_script, true,
       false},
      {"restart", "", "", "start again from the same state", &Self::restart, false, false},
      {"help", "h", "[COMMAND]", "list the commands, or explain one", &Self::help},
      {"quit", "q", "", "leave", &Self::quit, false, false},
  };
  return kRows;
}

const DebugCommands::Row* DebugCommands::find(std::string_view word) {
  struct Other {
    std::string_view word, name;
  };
  constexpr Other kOthers[] = {
      {"exit", "quit"}, {"backtrace", "trace"}, {"bt", "trace"}, {"where", "trace"}, {"?", "help"}};
  for (const auto& other : kOthers) {
    if (word == other.word) word = other.name;
  }
  for (const auto& row : rows()) {
    if (word == row.name || (!row.letter.empty() && word == row.letter)) return &row;
  }
  return nullptr;
}

AfterCommand DebugCommands::run(std::string_view line) {
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
  std::vector<std::string_view> names;
  for (const auto& known : rows()) names.push_back(known.name);
  const auto hint = hint_for(word);
  const auto near = did_you_mean(word, names);
  wrong("unknown command " + in_quotes(word) +
        (!hint.empty()  ? ": " + std::string(hint)
         : near.empty() ? "; 'help' lists them"
                        : near));
  return AfterCommand::kGoOn;
}

void DebugCommands::wrong(std::string_view message) {
  was_wrong_ = true;
  view_.error(message);
}

void DebugCommands::run_row(const Row& row, std::string_view rest) {
  if (row.needs_script && !debugger_.running()) return wrong(kEnded);
  const bool was_running = debugger_.running();
  try {
    (this->*row.run)(rest);
  } catch (const UsageError& error) {
    wrong(fmt::format("{}: {}", row.name, error.what()));
  }
  if (was_running && !debugger_.running()) after_ = AfterCommand::kEnded;
}

// ---- Moving ----

void DebugCommands::show(const Halt& halt) {
  view_.halt(halt, debugger_.breakpoints());
}

/// Moves N times, or until something else stops the script.
void DebugCommands::move(std::string_view times, Halt (ldb::Debugger::*by)()) {
  int left = times.empty() ? 1 : parse_number(times).value_or(0);
  if (left < 1) throw UsageError("TIMES must be at least 1, not " + in_quotes(times));
  for (bool goes_on = true; goes_on && left > 0; --left) {
    const auto halt = (debugger_.*by)();
    show(halt);
    goes_on = halt.why == Halt::Why::kStepped && !debugger_.wants_stop();
  }
}

void DebugCommands::step(std::string_view rest) {
  move(rest, &ldb::Debugger::step);
}

void DebugCommands::next(std::string_view rest) {
  move(rest, &ldb::Debugger::next);
}

void DebugCommands::go_on(std::string_view rest) {
  require_nothing(rest);
  show(debugger_.go_on());
}

void DebugCommands::abort_script(std::string_view rest) {
  require_nothing(rest);
  const auto halt = debugger_.abort_script();
  if (debugger_.result().ending != ldb::Ending::kAborted) {
    view_.error("the script caught the error meant to end it, and went on");
  }
  show(halt);
}

void DebugCommands::restart(std::string_view rest) {
  require_nothing(rest);
  after_ = AfterCommand::kRestart;
}

void DebugCommands::quit(std::string_view rest) {
  require_nothing(rest);
  after_ = AfterCommand::kQuit;
}

// ---- Looking ----

void DebugCommands::list(std::string_view rest) {
  constexpr int kAround = 5;
  const auto words = words_of(rest);
  if (words.size() > 2) throw UsageError("expected LINE and AROUND, at most");
  int line = words.empty() ? 0 : line_number(words[0]);
  const int around = words.size() < 2 ? kAround : std::min(line_number(words[1]), 1'000'000);
  if (line > view_.line_count()) {
    throw UsageError(fmt::format("there are {} lines", view_.line_count()));
  }
  if (line == 0) line = std::max(debugger_.line(), 1);
  view_.source(line - around, line + around, debugger_.running() ? debugger_.line() : 0,
               debugger_.breakpoints());
}

void DebugCommands::whole(std::string_view rest) {
  require_nothing(rest);
  view_.source(1, view_.line_count(), debugger_.running() ? debugger_.line() : 0,
               debugger_.breakpoints());
}

void DebugCommands::print(std::string_view rest) {
  if (rest.empty()) return show_locals();
  answer(rest, debugger_.print(rest));
}

void DebugCommands::eval(std::string_view rest) {
  if (rest.empty()) throw UsageError("CODE is missing: 'eval count + 1'");
  answer(rest, debugger_.evaluate(rest));
}

/// Also reports if the code assigned to one of the script's variables.
void DebugCommands::answer(std::string_view code, const ldb::Evaluation& evaluation) {
  view_.evaluation(evaluation);
  was_wrong_ = evaluation.outcome != ldb::Evaluation::Outcome::kValues;
  const auto name = ldb::assigned_in(code);
  if (!was_wrong_ && !name.empty() && debugger_.declared_at(name) > 0) {
    view_.say(fmt::format("only a copy was changed, not the script's '{}'", name));
  }
}

void DebugCommands::redis(std::string_view rest) {
  const auto words = shell_words(rest);
  if (words.empty()) throw UsageError("COMMAND is missing: 'redis GET key'");
  const auto made = call(words);
  if (!made) return;
  view_.call(*made);
  was_wrong_ = made->failed();
}

void DebugCommands::trace(std::string_view rest) {
  require_nothing(rest);
  for (const auto& frame : debugger_.backtrace()) view_.frame(frame);
}

void DebugCommands::maxlen(std::string_view rest) {
  if (!rest.empty()) {
    const auto size = parse_number(rest);
    if (!size || *size < 0) {
      throw UsageError(in_quotes(rest) + " is not a number of bytes; 0 shows all");
    }
    const auto bytes = static_cast<std::size_t>(*size);
    view_.set_maxlen(bytes == 0 ? 0 : std::max(bytes, DebugView::kShortest));
  }
  view_.say(view_.maxlen() == 0 ? "values are shown in full"
                                : fmt::format("{} bytes of a value are shown", view_.maxlen()));
}

// ---- Breakpoints and watches ----

void DebugCommands::break_at(const std::string& word) {
  const auto number = parse_number(word);
  if (!number) throw UsageError(in_quotes(word) + " is not a line number");
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

void DebugCommands::set_breakpoints(std::string_view rest) {
  const auto words = words_of(rest);
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

void DebugCommands::watch(std::string_view rest) {
  if (rest.empty()) {
    show_watches();
  } else if (rest == "0") {
    debugger_.clear_watches();
    view_.say("all watches removed");
  } else if (const auto number = parse_number(rest); number && *number < 0) {
    if (!debugger_.remove_watch(-*number)) {
      throw UsageError(fmt::format("there is no watch {}", -*number));
    }
    view_.say(fmt::format("watch {} removed", -*number));
  } else {
    const auto* watch = debugger_.add_watch(std::string(rest));
    if (watch != nullptr) view_.watch(*watch, debugger_.running());
  }
}

void DebugCommands::show_breakpoints() {
  if (debugger_.breakpoints().empty()) view_.say("no breakpoints; 'break LINE' makes one");
  for (const auto& [line, breakpoint] : debugger_.breakpoints()) view_.breakpoint(breakpoint);
}

void DebugCommands::show_watches() {
  if (debugger_.watches().empty()) view_.say("no watches; 'watch EXPRESSION' makes one");
  for (const auto& one : debugger_.watches()) view_.watch(one, debugger_.running());
}

// ---- info ----

void DebugCommands::info(std::string_view rest) {
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

void DebugCommands::show_locals() {
  if (debugger_.locals().empty()) view_.say("no variables here");
  for (const auto& local : debugger_.locals()) view_.local(local);
  if (debugger_.is_approximate() && !debugger_.locals().empty()) {
    view_.say("~ numbers have six digits, and upvalues are not shown");
  }
}

void DebugCommands::show_keys() {
  if (keys_.empty()) view_.say("the script has no KEYS");
  for (const auto& key : keys_) {
    show_key(key);
    if (was_wrong_) return;
  }
}

/// Uses the debugger's own command while a script runs: the server may not answer other clients.
std::optional<ldb::Call> DebugCommands::call(const std::vector<std::string>& words) {
  if (debugger_.running()) {
    auto made = debugger_.call(words);
    if (debugger_.running()) return made;
    return std::nullopt;
  }
  auto made = call_afterwards_ ? call_afterwards_(words) : std::nullopt;
  if (!made) wrong(kEnded);
  return made;
}

void DebugCommands::show_key(const std::string& key) {
  constexpr int kLast = 99;  // the last index of a list or sorted set to show
  const auto asked = call({"TYPE", key});
  if (!asked) return;
  const auto reply = asked->reply.value_or("");
  const auto is_type = [&](std::string_view type) { return reply.find(type) != reply.npos; };
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
  const auto told = call({"PTTL", key});
  if (!told) return;
  const auto ttl = parse_number<std::int64_t>(told->reply.value_or("")).value_or(-1);
  view_.say(fmt::format("{}: {}{}, {}", in_quotes(key),
                        look == readings.end() ? "" : std::string(look->type) + ", ",
                        view_.shortened(std::move(content)),
                        ttl < 0 ? "no ttl" : "ttl " + ttl_text(std::chrono::milliseconds(ttl))));
}

// ---- Help and completion ----

std::string DebugCommands::help() {
  constexpr std::size_t kColumn = 36;
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

void DebugCommands::help(std::string_view rest) {
  std::string_view text;
  std::string all;
  if (rest.empty()) {
    all = help();
    text = all;
    while (!text.empty()) {
      const auto line = text.substr(0, text.find('\n'));
      view_.say(line);
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return;
  }
  const auto* row = find(rest);
  if (row == nullptr) throw UsageError("there is no command " + in_quotes(rest));
  view_.say(fmt::format("{}{}{}{}{}: {}", row->name, row->letter.empty() ? "" : ", ", row->letter,
                        row->arguments.empty() ? "" : " ", row->arguments, row->summary));
}

std::vector<std::string> DebugCommands::complete(std::string_view line) const {
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
  return {found.begin(), found.end()};
}

namespace {

using ldb::Ending;

constexpr std::string_view kPrompt = "debug> ";

bool reads_terminal(const DebugPlan& plan) {
  const bool is_input = plan.commands.empty() || plan.commands == "-";
  return is_input && is_terminal(STDIN_FILENO);
}

/// The script's time. If none is given and the server is private, it is the current time, so that a
/// restarted run has the same result.
std::optional<std::chrono::microseconds> clock_of(
    const DebugPlace& place, const std::optional<std::chrono::microseconds>& now) {
  return now || !place.is_private() ? now : system_time();
}

/// No practical deadline if the server's is unknown: Ctrl-C ends the wait.
ldb::Session::Limits limits_at(const DebugPlace& place) {
  ldb::Session::Limits limits;
  if (!place.is_private()) limits.run = std::chrono::hours(24);
  return limits;
}

// ---- A run ----

// ---- Commands ----

class Repl {
 public:
  Repl(const DebugPlan& plan, Invocation& invocation, DebugPlace& place,
       const ldb::Debuggee& debuggee, std::optional<std::chrono::microseconds> now)
      : plan_(plan),
        invocation_(invocation),
        place_(place),
        debuggee_(debuggee),
        stops_clock_(freezes_time(plan) || !now),
        now_(clock_of(place, now)),
        is_typed_(reads_terminal(plan)),
        debugger_(
            debuggee, place.mode(), [this] { return place_.connect(); }, debugger_options()),
        view_(invocation.out.buffer(), look_of(invocation.out.fd()), debuggee),
        commands_(debugger_, view_, debuggee.keys,
                  [this](const auto& words) { return call_afterwards(words); }) {}

  [[nodiscard]] ExitStatus run() {
    if (is_typed_) key_.emplace();
    const auto lines = open_lines();
    if (place_.is_private()) first_state_ = place_.keep();
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) return status();
    try {
      for (std::int64_t number = 1; auto line = lines->next(); ++number) {
        const bool goes_on = answer(*line);
        if (commands_.was_wrong() && wrong_count_++ == 0) {
          first_wrong_ = number;
          wrong_line_ = *line;
        }
        if (!goes_on) break;
      }
    } catch (const redis::Error&) {
      show_leaving();
      throw;
    } catch (const Interrupted&) {
      show_leaving();
      throw;
    }
    show_leaving();
    const auto of_commands = status_of_commands();
    const auto of_script = status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  [[nodiscard]] ldb::Debugger::Options debugger_options() {
    ldb::Debugger::Options options;
    if (stops_clock_) options.now = now_;
    options.may_hang = place_.is_private();
    options.wants_stop = [this] { return key_ && key_->pressed(); };
    options.limits = limits_at(place_);
    return options;
  }

  [[nodiscard]] std::unique_ptr<LineSource> open_lines() {
    const auto file = plan_.commands.empty() ? "-" : plan_.commands;
    const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
    if (is_seen && may_draw(STDOUT_FILENO)) {
      return typed_lines(
          std::string(kPrompt), state_file("history"),
          [this](std::string_view line) { return commands_.complete(line); }, *key_,
          invocation_.interrupt);
    }
    return lines_of(file, is_seen ? std::string(kPrompt) : "", invocation_.interrupt);
  }

  void begin() {
    if (place_.is_private()) {
      auto connection = place_.connect();
      key_watch_.emplace(connection, plan_, debuggee_.keys, now_);
    }
    view_.halt(debugger_.start(), debugger_.breakpoints());
    if (debugger_.running()) return;
    if (const auto problem = problem_of(debugger_.result())) throw ProblemError(*problem);
    show_end();
  }

  /// Restarts the script, from the initial state if the server is private.
  void begin_again() {
    show_leaving();
    debugger_.leave();
    key_watch_.reset();
    place_.replace(first_state_);
    begin();
  }

  /// Returns false if no more commands follow.
  [[nodiscard]] bool answer(const std::string& line) {
    if (!key_) key_.emplace();
    auto& out = invocation_.out.buffer();
    const auto begin = out.size();
    const auto after = commands_.run(line);
    // The terminal has shown ^C.
    if (is_typed_ && key_->pressed()) out.insert(begin, "\n");
    if (after == AfterCommand::kEnded) show_end();
    if (after == AfterCommand::kRestart) begin_again();
    // Whatever Ctrl-C was meant to stop has ended.
    if (is_typed_) {
      key_->clear();
    } else {
      key_.reset();
    }
    invocation_.out.flush();
    return after != AfterCommand::kQuit;
  }

  void show_end() {
    const auto& result = debugger_.result();
    view_.result(result);
    if (result.ending == Ending::kCutOff || result.ending == Ending::kLost) {
      // A private server may never answer again.
      if (place_.is_private()) place_.discard();
      view_.say("the session is over; 'restart' begins again");
      return;
    }
    if (result.ending != Ending::kCompileError) show_keys();
  }

  /// Shows which keys changed, if that can be known.
  void show_keys() {
    if (!place_.is_private()) {
      view_.say(kept_text(place_.mode(), debugger_.result().ending));
      return;
    }
    auto connection = place_.connect();
    bool changed = false;
    const bool utf8 = look_of(invocation_.out.fd()).utf8;
    for (const auto& change : key_watch_->changes(connection)) {
      if (change.changed) view_.say("  " + text_of(change, utf8));
      changed = changed || change.changed;
    }
    if (!changed) view_.say("no key was changed");
  }

  /// Calls Redis if the keys are still as the script left them.
  [[nodiscard]] std::optional<ldb::Call> call_afterwards(const std::vector<std::string>& words) {
    if (!place_.is_private() || !place_.is_there()) return std::nullopt;
    auto connection = place_.connect();
    connection.set_timeout(std::chrono::seconds(2));
    const std::vector<std::string_view> views(words.begin(), words.end());
    try {
      return ldb::call_of(words, connection.call(views));
    } catch (const redis::Error& error) {
      return ldb::Call{.words = words, .error = error.what()};
    }
  }

  /// Reports what happens to a script that is left before its end.
  void show_leaving() {
    if (place_.is_private() || place_.mode() != ldb::Mode::kSync || !debugger_.running()) return;
    warn("the script runs on to its end in the server, and what it writes is kept",
         invocation_.command);
  }

  /// Reports commands of a file or a pipe that failed: the user may not have seen their messages.
  [[nodiscard]] ExitStatus status_of_commands() const {
    if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
    const auto file =
        plan_.commands.empty() || plan_.commands == "-" ? "" : " of " + plan_.commands;
    warn(fmt::format("{} of the commands failed; the first is line {}{}: {}", wrong_count_,
                     first_wrong_, file, in_quotes(wrong_line_)),
         invocation_.command);
    return ExitStatus::kUsage;
  }

  [[nodiscard]] ExitStatus status() const {
    if (debugger_.running()) return ExitStatus::kDone;
    const auto& result = debugger_.result();
    return result.ending == Ending::kAborted ? ExitStatus::kDone : status_of(result);
  }

  const DebugPlan& plan_;
  Invocation& invocation_;
  DebugPlace& place_;
  const ldb::Debuggee& debuggee_;
  bool stops_clock_;  ///< TIME replies `now_`, not only the script's arguments
  std::optional<std::chrono::microseconds> now_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  ldb::Debugger debugger_;
  DebugView view_;
  DebugCommands commands_;
  std::vector<redis::DumpedKey> first_state_;  ///< of a private server
  std::optional<KeyWatch> key_watch_;
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first of them
  std::string wrong_line_;
};

}  // namespace

ExitStatus run_by_hand(const DebugPlan& plan, Invocation& invocation, DebugPlace& place,
                       const ldb::Debuggee& debuggee,
                       std::optional<std::chrono::microseconds> now) {
  return Repl(plan, invocation, place, debuggee, now).run();
}

}  // namespace rlctl::cli
