#include "debugger/engine_debugger.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "debugger/alternation.h"
#include "lua/lexer.h"

namespace rlctl::debugger {
namespace {

using Outcome = lua::Evaluation::Outcome;
using Tokens = std::span<const lua::Token>;
using Why = Halt::Why;

bool is_true(const lua::Evaluation& evaluation) {
  using Kind = lua::Value::Kind;
  if (evaluation.values.empty()) return false;
  const auto& value = evaluation.values.front();
  return value.kind != Kind::kNil && (value.kind != Kind::kBoolean || value.boolean);
}

/// Whether the error says that the code names a variable that is neither visible nor a global.
bool lacks_variable(const lua::Evaluation& evaluation) {
  return evaluation.outcome == Outcome::kError &&
         evaluation.message.find("nonexistent global variable") != std::string::npos;
}

/// Takes ".a" or "[1]" off `rest`.
bool take_field(Tokens& rest) {
  if (rest[0].is(".") && rest.size() > 1 && rest[1].kind == lua::Token::Kind::kName) {
    rest = rest.subspan(2);
    return true;
  }
  if (!rest[0].is("[")) return false;
  const auto end = std::ranges::find_if(rest, [](const auto& token) { return token.is("]"); });
  const auto size = static_cast<std::size_t>(end - rest.begin());
  const bool is_plain = size == 2 || (size == 3 && rest[1].is("-"));
  const bool calls = is_plain && (rest[size - 1].is("...") || rest[size - 1].is("{"));
  if (end == rest.end() || !is_plain || calls) return false;
  rest = rest.subspan(size + 1);
  return true;
}

/// Throws UsageError for what is not an expression.
void require_compiles(std::string_view expression) {
  const auto why_not = lua::why_not_expression(expression);
  if (why_not.empty()) return;
  throw UsageError(fmt::format("'{}' is not an expression: {}", expression, why_not));
}

/// The calls and messages kept since the last stop.
constexpr std::size_t kMostKept = 20;

template <typename Item>
std::int64_t keep_last(std::vector<Item>& kept) {
  if (kept.size() <= kMostKept) return 0;
  const auto extra = kept.size() - kMostKept;
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(extra));
  return static_cast<std::int64_t>(extra);
}

}  // namespace

bool is_path(std::string_view expression) {
  const auto assignment = parse_assignment(expression);
  return assignment && !assignment->has_sign && assignment->expression.empty();
}

std::optional<Assignment> parse_assignment(std::string_view code) {
  const auto tokens = lua::lex(code);
  if (!tokens || tokens->tokens.front().kind != lua::Token::Kind::kName) return std::nullopt;
  auto rest = Tokens(tokens->tokens).subspan(1);
  for (auto behind = rest; behind.front().kind != lua::Token::Kind::kEnd && take_field(behind);) {
    rest = behind;
  }
  const auto end = rest.front().offset;
  const bool has_sign = rest.front().is("=");
  return Assignment{.variable = std::string(code.substr(0, end)),
                    .expression = std::string(code.substr(has_sign ? end + 1 : end)),
                    .has_sign = has_sign};
}

// ---- A run, in its thread ----

class EngineDebugger::Run final : public Recorder {
 public:
  explicit Run(EngineDebugger& debugger)
      : debugger_(debugger), turns_([this] {
          debugger_.result_ =
              run(debugger_.debuggee_, debugger_.keys_, debugger_.options_.interrupt);
        }) {}
  ~Run() override {
    leaves_ = true;
    try {
      if (!turns_.has_ended()) turns_.resume();
    } catch (const std::exception&) {
      // The run is left, whatever it would tell.
    }
  }

  /// Moves the script. Returns why it halted; kEnded if it has ended.
  Why move(Goal goal) {
    goal_ = std::move(goal);
    why_ = Why::kEnded;
    turns_.resume();
    return why_;
  }

  lua::Stack& stack() const { return *its_stack_; }
  Changes& changes() { return changes_; }
  /// Whether the script has called redis.breakpoint() before this line.
  bool is_called_for() const { return is_called_for_; }

  /// Moves what was recorded since the last halt into this one.
  void tell(Halt& halt) {
    halt.calls_before = calls_before_ + keep_last(calls_);
    messages_before_ += keep_last(messages_);
    calls_before_ = 0;
    halt.messages_before = std::exchange(messages_before_, 0);
    halt.calls = std::exchange(calls_, {});
    halt.messages = std::exchange(messages_, {});
  }
  /// Runs this, and returns the messages that it caused, which are not the script's.
  template <typename Body>
  std::vector<ScriptMessage> messages_of(Body body) {
    auto own = std::exchange(messages_, {});
    body();
    return std::exchange(messages_, std::move(own));
  }

 private:
  using Kind = Goal::Kind;

  void on_added_line() override {
    // A step does not pass over the function for which the library was loaded.
    if (goal_.kind == Kind::kCalls) goal_ = {.kind = Kind::kLine};
  }

  void on_line(lua::Stack& stack) override {
    count(stack);
    its_stack_ = &stack;
    debugger_.line_ = stack.line();
    is_called_for_ = std::exchange(calls_for_halt_, false);
    calls_before_ += keep_last(calls_);
    messages_before_ += keep_last(messages_);
    if (goal_.kind == Kind::kStart) return halt(Why::kStarted);
    if (auto reason = debugger_.reason_to_halt()) {
      debugger_.next_halt_ = *std::move(reason);
      return halt(debugger_.next_halt_.why);
    }
    const bool is_there = goal_.kind == Kind::kLine ||
                          std::ranges::find(goal_.calls, stack.call()) != goal_.calls.end();
    if (is_there) halt(Why::kStepped);
  }

  void at_error(lua::Stack& stack, const lua::Value& error) override {
    Recorder::at_error(stack, error);
    if (!debugger_.options_.stops_at_errors) return;
    its_stack_ = &stack;
    debugger_.line_ = result_.error_line;
    debugger_.next_halt_.error = result_.message;
    halt(Why::kError);
  }

  void at_work() override {
    const bool evaluates = its_stack_ != nullptr && its_stack_->is_evaluating();
    if (evaluates && debugger_.wants_stop()) throw std::runtime_error("it was stopped");
  }
  bool on_breakpoint() override {
    if (its_stack_ != nullptr && its_stack_->is_evaluating()) return false;
    return calls_for_halt_ = true;
  }

  void halt(Why why) {
    why_ = why;
    if (!leaves_) turns_.hand_over();
    if (leaves_ || goal_.kind == Kind::kAbort) throw EndOfRun(Ending::kAborted, "aborted");
  }

  EngineDebugger& debugger_;
  lua::Stack* its_stack_ = nullptr;
  Goal goal_;
  Why why_ = Why::kEnded;
  bool leaves_ = false;
  bool calls_for_halt_ = false, is_called_for_ = false;
  std::int64_t calls_before_ = 0, messages_before_ = 0;
  Changes changes_;
  Alternation turns_;
};

EngineDebugger::EngineDebugger(const Debuggee& debuggee, keyspace::Keyspace& keys, Options options)
    : Debugger(debuggee), keys_(keys), options_(std::move(options)) {}

// The run, which ends here, writes to members.
EngineDebugger::~EngineDebugger() {
  leave();
}

// ---- From the beginning ----

Halt EngineDebugger::start() {
  run_.reset();
  result_ = {};
  next_halt_ = {};
  for (auto& [line, breakpoint] : breakpoints_) breakpoint.hits = 0;
  line_ = 0;
  run_ = std::make_unique<Run>(*this);
  auto halt = move({});
  if (!running()) return halt;
  for (auto& watch : watches_) watch.last = evaluate_watch(watch.expression);
  return halt;
}

void EngineDebugger::leave() noexcept {
  run_.reset();
}

// ---- Moving ----

EngineDebugger::Run& EngineDebugger::current() const {
  if (!running()) throw std::logic_error("no script is being debugged");
  return *run_;
}

Halt EngineDebugger::halt(Why why) {
  auto halt = std::exchange(next_halt_, {});
  halt.why = why;
  halt.line = line_;
  run_->tell(halt);
  if (why != Why::kEnded) {
    halt.changed = run_->changes().take(run_->stack());
  } else {
    run_.reset();
  }
  return halt;
}

Halt EngineDebugger::move(Goal goal) {
  auto& run = current();
  frame_ = 0;
  next_halt_ = {};
  auto why = Why::kEnded;
  try {
    why = run.move(std::move(goal));
  } catch (...) {
    run_.reset();
    throw;
  }
  return halt(why);
}

Halt EngineDebugger::step() {
  return move({.kind = Goal::Kind::kLine});
}

/// Runs to the next line of one of the active functions, from this one on.
Halt EngineDebugger::step_back_to(std::size_t first_frame) {
  Goal goal{.kind = Goal::Kind::kCalls};
  const auto frames = backtrace();
  for (auto i = first_frame; i < frames.size(); ++i) goal.calls.push_back(frames[i].call);
  return move(std::move(goal));
}

Halt EngineDebugger::next() {
  return step_back_to(0);
}

Halt EngineDebugger::finish() {
  return step_back_to(1);
}

Halt EngineDebugger::go_on() {
  return move({.kind = Goal::Kind::kNothing});
}

Halt EngineDebugger::abort_script() {
  return move({.kind = Goal::Kind::kAbort});
}

// ---- Reasons to halt ----

/// A watch without a value, such as one whose variables are not visible, counts as unchanged.
void EngineDebugger::check_watches() {
  for (auto& watch : watches_) {
    auto now = value_of(watch.expression);
    if (now.outcome != Outcome::kValues || now == watch.last) continue;
    auto before = std::exchange(watch.last, std::move(now));
    next_halt_.watches.push_back({.watch = watch, .before = std::move(before)});
  }
}

void EngineDebugger::log(const Breakpoint& breakpoint, const std::string& text) const {
  if (options_.on_message) options_.on_message(breakpoint.line, text);
}

/// Whether a breakpoint on this line halts the script. If it has a message, logs that instead.
bool EngineDebugger::breaks_here() {
  const auto found = breakpoints_.find(line_);
  if (found == breakpoints_.end()) return false;
  auto& breakpoint = found->second;
  if (!breakpoint.condition.empty()) {
    const auto condition = value_of(breakpoint.condition);
    if (condition.outcome != Outcome::kValues) {
      if (!breakpoint.message) next_halt_.condition_error = condition.message;
      if (breakpoint.message) log(breakpoint, "the condition: " + condition.message);
      return !breakpoint.message;
    }
    if (!is_true(condition)) return false;
  }
  ++breakpoint.hits;
  const auto& accepted = breakpoint.hit_condition;
  if (accepted && !accepted->accepts(breakpoint.hits)) return false;
  if (!breakpoint.message) return true;
  std::vector<lua::Value> values;
  for (const auto& expression : breakpoint.message->expressions()) {
    const auto found_value = value_of(expression);
    if (found_value.outcome != Outcome::kValues) {
      log(breakpoint, "the message: " + found_value.message);
      return false;
    }
    values.push_back(found_value.values.empty() ? lua::Value{} : found_value.values.front());
  }
  log(breakpoint, breakpoint.message->text(values));
  return false;
}

std::optional<Halt> EngineDebugger::reason_to_halt() {
  check_watches();
  std::optional<Why> why;
  if (!next_halt_.watches.empty()) {
    why = Why::kWatch;
  } else if (breaks_here()) {
    why = Why::kBreakpoint;
  } else if (current().is_called_for()) {
    why = Why::kCalledFor;
  } else if (wants_stop()) {
    why = Why::kStopped;
  }
  if (!why) return std::nullopt;
  auto halt = std::exchange(next_halt_, {});
  halt.why = *why;
  halt.line = line_;
  return halt;
}

// ---- Looking ----

std::vector<lua::Frame> EngineDebugger::backtrace() {
  return current().stack().frames();
}

void EngineDebugger::select_frame(std::size_t index) {
  if (index >= backtrace().size()) throw UsageError("there is no such frame");
  frame_ = index;
}

std::vector<lua::Variable> EngineDebugger::variables() {
  return current().stack().variables(frame_);
}

std::vector<std::string> EngineDebugger::fields_of(std::string_view path) {
  std::vector<std::string> names;
  if (!is_path(path)) return names;
  const auto found = raw_value_of(path);
  if (found.values.size() != 1) return names;
  for (const auto& [key, field] : found.values.front().fields) {
    if (key.kind == lua::Value::Kind::kString && lua::is_name(key.text)) names.push_back(key.text);
  }
  return names;
}

lua::Evaluation EngineDebugger::value_of(std::string_view code) {
  lua::Evaluation result;
  told_ = current().messages_of([&] { result = current().stack().evaluate(frame_, code); });
  return result;
}

lua::Evaluation EngineDebugger::raw_value_of(std::string_view path) {
  const auto tokens = lua::lex(path);
  if (!is_path(path) || !tokens) throw UsageError("this is not a variable or a field of one");
  // a.b[2] as rawget(rawget(a, 'b'), 2)
  std::string code(tokens->tokens.front().text);
  auto rest = Tokens(tokens->tokens).subspan(1);
  while (rest.front().kind != lua::Token::Kind::kEnd) {
    const auto field = rest;
    take_field(rest);
    const auto sign = field[1].is("-") ? field[2].text : "";
    code = field[0].is(".") ? fmt::format("rawget({}, '{}')", code, field[1].text)
                            : fmt::format("rawget({}, {}{})", code, field[1].text, sign);
  }
  return value_of(code);
}

lua::Evaluation EngineDebugger::evaluate_watch(const std::string& expression) {
  auto value = value_of(expression);
  return lacks_variable(value) ? lua::Evaluation{.values = {lua::Value{}}} : value;
}

lua::Evaluation EngineDebugger::look_up(std::string_view expressions) {
  const auto why_not = lua::why_not_expression(fmt::format("type({}\n)", expressions));
  if (why_not.empty()) return evaluate(expressions);
  throw UsageError(fmt::format("'{}' is not an expression: {}", expressions, why_not));
}

lua::Evaluation EngineDebugger::evaluate(std::string_view code) {
  auto result = value_of(code);
  // What it has changed is not what the script has changed.
  static_cast<void>(current().changes().take(current().stack()));
  return result;
}

lua::Evaluation EngineDebugger::set(std::string_view variable, std::string_view expression) {
  if (!is_path(variable)) {
    throw UsageError(fmt::format("'{}' is not a variable or a field of one", variable));
  }
  require_compiles(expression);
  told_.clear();
  const auto all = variables();
  const auto name = variable.substr(0, variable.find_last_not_of(' ') + 1);
  const bool is_name = lua::is_name(name);
  if (is_name && std::ranges::find(all, name, &lua::Variable::name) == all.end()) {
    return {.outcome = Outcome::kError,
            .message = name == "KEYS" || name == "ARGV"
                           ? fmt::format("only elements of {0} can be set: set {0}[1] 'a'", name)
                           : fmt::format("no variable '{}' is visible here", name)};
  }
  auto result = evaluate(fmt::format("{} = ({}\n)", variable, expression));
  if (result.outcome != Outcome::kValues) return result;
  // The messages of the expression are shown, not those of reading the variable afterwards.
  const auto told = told_;
  result = evaluate(variable);
  told_ = told;
  return result;
}

Call EngineDebugger::call(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string bytes;
  try {
    keys_.call(views, false, bytes);
  } catch (const lua::NotImplementedHere& error) {
    throw UsageError(error.what());
  }
  return call_of(words, written_reply(bytes));
}

// ---- Breakpoints and watches ----

void EngineDebugger::add_breakpoint(Breakpoint breakpoint) {
  if (!breakpoint.condition.empty()) require_compiles(breakpoint.condition);
  if (breakpoint.message) {
    std::ranges::for_each(breakpoint.message->expressions(), require_compiles);
  }
  Debugger::add_breakpoint(std::move(breakpoint));
}

const Watch& EngineDebugger::add_watch(std::string expression) {
  require_compiles(expression);
  Watch watch{.number = ++watch_count_, .expression = std::move(expression)};
  if (running()) watch.last = evaluate_watch(watch.expression);
  return watches_.emplace_back(std::move(watch));
}

bool EngineDebugger::remove_watch(std::int64_t number) {
  return std::erase_if(watches_, [number](const Watch& watch) { return watch.number == number; }) >
         0;
}

}  // namespace rlctl::debugger
