#include "ldb/debugger.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>

#include "ldb/coverable_lines.h"
#include "ldb/variable_path.h"
#include "limiter/limit.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

using Outcome = Evaluation::Outcome;
using Why = Halt::Why;

/// What a server's debugger takes.
constexpr std::size_t kMostBreakpoints = 64;
/// Of calls and messages since the last stop.
constexpr std::size_t kMostKept = 20;

template <typename Item>
std::int64_t add_last(std::vector<Item>& kept, std::vector<Item> more) {
  kept.insert(kept.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  if (kept.size() <= kMostKept) return 0;
  const auto extra = kept.size() - kMostKept;
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(extra));
  return static_cast<std::int64_t>(extra);
}

bool is_true(const Evaluation& evaluation) {
  if (evaluation.values.empty()) return false;
  const auto& value = evaluation.values.front();
  return value.kind != Value::Kind::kNil && (value.kind != Value::Kind::kBoolean || value.boolean);
}

std::string_view type_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNil:
      return "a nil value";
    case Value::Kind::kBoolean:
      return "a boolean value";
    case Value::Kind::kNumber:
      return "a number value";
    default:
      return "no table";
  }
}

}  // namespace

Debugger::Debugger(const Debuggee& debuggee, Mode mode, Connect connect, Options options)
    : debuggee_(debuggee),
      mode_(mode),
      connect_(std::move(connect)),
      options_(std::move(options)),
      has_functions_(debuggee.source.find("function") != std::string::npos) {}

// ---- From the beginning ----

/// As the text that will be sent has them; that is known only once the server has compiled it.
void Debugger::find_stop_lines() {
  if (!stop_lines_.empty()) return;
  auto connection = connect_();
  try {
    const auto lines = coverable_lines_as_run(connection, debuggee_.source);
    stop_lines_.insert(lines.begin(), lines.end());
  } catch (const redis::Error& error) {
    // What is wrong is said when it is run.
    if (error.failure() != redis::Failure::kRejected) throw;
  }
}

/// Valkey 9 does not look at the time while a script runs.
void Debugger::ask_about_server() {
  constexpr std::string_view kAnswer = "<retval> ";
  constexpr double kValkey9 = 0x090000;
  const auto message = walk_->session().ask(
      {"eval", "return rawget(_G, 'server') ~= nil and server.VALKEY_VERSION_NUM or 0"});
  double version = 0;
  for (std::string_view item : message.items) {
    if (!item.starts_with(kAnswer)) continue;
    item.remove_prefix(kAnswer.size());
    std::from_chars(item.data(), item.data() + item.size(), version);
  }
  stops_by_itself_ = version < kValkey9;
}

void Debugger::forget_run() {
  walk_.reset();
  sent_.clear();
  text_lines_.clear();
  readings_.clear();
  last_reading_.reset();
  local_watch_.reset();
  printed_ = {};
  printed_items_.clear();
  locals_.clear();
  since_ = {};
  has_result_ = false;
  result_ = {};
}

Halt Debugger::start() {
  forget_run();
  find_stop_lines();
  walk_ = begin_walk(debuggee_, mode_, connect_, {.now = options_.now, .limits = options_.limits},
                     [this](const ProbedScript& script, const ProbeReading& reading) {
                       readings_[script.probes[reading.probe].function] = reading;
                       last_reading_ = reading;
                     });
  if (!moved(!walk_->ended())) return finished();
  const auto& lines = walk_->script().lines;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i] > 0) text_lines_.emplace(lines[i], static_cast<int>(i));
  }
  ask_about_server();
  for (auto& watch : watches_) {
    if (running()) watch.last = evaluate_watch(watch.expression);
  }
  return running() ? halt(Why::kStarted) : finished();
}

// ---- Variables ----

/// What is known here: told just before this line, or of the function that it is in, by the nearest
/// probe before it.
const ProbeReading* Debugger::reading_here() const {
  const auto& probes = walk_->script().probes;
  const int line = walk_->line();
  if (last_reading_ && probes[last_reading_->probe].line == line) return &*last_reading_;
  const Probe* nearest = nullptr;
  for (const auto& probe : probes) {
    if (probe.line <= line && (nearest == nullptr || probe.line >= nearest->line)) nearest = &probe;
  }
  if (nearest == nullptr) return nullptr;
  const auto found = readings_.find(nearest->function);
  return found == readings_.end() ? nullptr : &found->second;
}

void Debugger::read_locals() {
  locals_.clear();
  if (!walk_->has_probes()) {
    printed_items_ = walk_->session().ask({"print"}).items;
    locals_ = PrintedLocals().changes(printed_items_, 1, walk_->line());
    return;
  }
  const auto* reading = reading_here();
  if (reading == nullptr) return;
  for (const auto& variable : reading->variables) {
    locals_.push_back({walk_->script().locals[variable.local], variable.value});
  }
}

std::vector<LocalChange> Debugger::changes_here() {
  if (!walk_->has_probes()) {
    constexpr std::size_t kDeepest = 1000;
    const auto depth = has_functions_ ? walk_->depth(kDeepest) : 1;
    return running() ? printed_.changes(printed_items_, depth, walk_->line())
                     : std::vector<LocalChange>();
  }
  const auto* reading = reading_here();
  if (reading == nullptr) return {};
  if (!local_watch_) local_watch_.emplace(walk_->script());
  return local_watch_->changes(*reading);
}

const VisibleLocal* Debugger::find_local(std::string_view name) const noexcept {
  for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
    if (it->local.name == name) return &*it;
  }
  return nullptr;
}

int Debugger::declared_at(std::string_view name) const noexcept {
  if (!walk_) return 0;
  for (const auto& local : walk_->script().locals) {
    if (local.name == name) return local.declared_at;
  }
  return 0;
}

// ---- Standing ----

void Debugger::gather() {
  since_.calls_before += add_last(since_.calls, walk_->take_calls());
  (void)add_last(since_.messages, walk_->take_messages());
}

/// What every move comes to.
bool Debugger::moved(bool stands) {
  gather();
  if (stands) read_locals();
  return running();
}

Halt Debugger::halt(Halt::Why why) {
  auto result = std::exchange(since_, {});
  result.why = why;
  result.line = walk_->line();
  if (running()) result.changed = changes_here();
  return result;
}

void Debugger::note_end() {
  if (has_result_ || !walk_ || !walk_->ended()) return;
  result_ = walk_->result();
  has_result_ = true;
}

Halt Debugger::finished() {
  note_end();
  locals_.clear();
  return halt(Why::kEnded);
}

void Debugger::require_running() const {
  if (!running()) throw std::logic_error("no script is being debugged");
}

// ---- Reasons to stand ----

void Debugger::look_at_watches() {
  for (auto& watch : watches_) {
    auto now = evaluate_watch(watch.expression);
    if (!running()) return;
    if (now == watch.last) continue;
    auto before = std::exchange(watch.last, std::move(now));
    since_.watches.push_back({.watch = watch, .before = std::move(before)});
  }
}

/// Whether there is a breakpoint that holds here.
bool Debugger::breaks_here() {
  const auto found = breakpoints_.find(walk_->line());
  if (found == breakpoints_.end()) return false;
  const auto& condition = found->second.condition;
  if (condition.empty()) return true;
  const auto evaluation = run_code(condition, true);
  if (evaluation.outcome == Outcome::kValues) return is_true(evaluation);
  since_.condition_error = evaluation.message;
  return true;
}

std::optional<Halt> Debugger::reason_to_halt() {
  const auto reason = walk_->reason();
  look_at_watches();
  if (!running()) return finished();
  if (!since_.watches.empty()) return halt(Why::kWatch);
  if (reason == Stop::Reason::kCalledFor) return halt(Why::kCalledFor);
  const bool breaks = breaks_here();
  if (!running()) return finished();
  if (breaks) return halt(Why::kBreakpoint);
  if (wants_stop()) return halt(Why::kStopped);
  return std::nullopt;
}

// ---- Moving ----

Halt Debugger::step() {
  require_running();
  if (!moved(walk_->step())) return finished();
  look_at_watches();
  if (!running()) return finished();
  return halt(since_.watches.empty() ? Why::kStepped : Why::kWatch);
}

Halt Debugger::next() {
  require_running();
  constexpr std::size_t kDeepest = 1000;
  if (!has_functions_) return step();
  const auto depth = walk_->depth(kDeepest);
  while (running()) {
    if (!moved(walk_->step())) break;
    const bool is_back = walk_->depth(kDeepest) <= depth;
    if (!running()) break;
    auto reason = reason_to_halt();
    if (reason) return *std::move(reason);
    if (is_back) return halt(Why::kStepped);
  }
  return finished();
}

/// Else by steps, with a look around at each.
bool Debugger::can_run_freely() const {
  return watches_.empty() && stops_by_itself_ && breakpoints_.size() <= kMostBreakpoints;
}

void Debugger::send_breakpoints() {
  std::set<int> wanted;
  for (const auto& [line, breakpoint] : breakpoints_) {
    const auto found = text_lines_.find(line);
    if (found != text_lines_.end()) wanted.insert(found->second);
  }
  // First those that go: there is room for so many.
  for (const int line : sent_) {
    if (running() && !wanted.contains(line)) {
      (void)walk_->session().ask({"break", std::to_string(-line)});
    }
  }
  for (const int line : wanted) {
    if (running() && !sent_.contains(line)) {
      (void)walk_->session().ask({"break", std::to_string(line)});
    }
  }
  sent_ = std::move(wanted);
}

Halt Debugger::go_on() {
  require_running();
  const bool freely = can_run_freely();
  if (freely) send_breakpoints();
  while (running()) {
    const bool stands = freely ? walk_->run([this] {
      gather();
      return wants_stop();
    })
                               : walk_->step();
    if (!moved(stands)) break;
    if (walk_->reason() == Stop::Reason::kTimeout) return halt(Why::kStopped);
    auto reason = reason_to_halt();
    if (reason) return *std::move(reason);
  }
  return finished();
}

Halt Debugger::abort_script() {
  require_running();
  walk_->session().abort_script();
  gather();
  return finished();
}

// ---- Code ----

/// "local a,b=1,2 " of the variables that code names. `with_absent`: those of the script's that are
/// not there, or not yet, are nil, unless there is something global of that name.
std::string Debugger::prelude_for(std::string_view code, bool with_absent) const {
  std::string names, values;
  const auto add = [&](std::string_view name, std::string_view value) {
    names.append(names.empty() ? "" : ",").append(name);
    values.append(values.empty() ? "" : ",").append(value);
  };
  for (const auto& name : names_in(code)) {
    std::string literal;
    const auto* local = find_local(name);
    if (local != nullptr && append_literal(literal, local->value)) {
      add(name, literal);
    } else if (local == nullptr && with_absent && declared_at(name) > 0) {
      add(name, "rawget(_G,'" + name + "')");
    }
  }
  return names.empty() ? "" : "local " + names + "=" + values + " ";
}

/// What an error may come from: variables of which there is no copy.
std::string Debugger::why_not_seen(std::string_view code) const {
  for (const auto& name : names_in(code)) {
    std::string literal;
    const auto* local = find_local(name);
    if (local != nullptr && !append_literal(literal, local->value)) {
      const bool is_cut = local->value.kind == Value::Kind::kTable;
      return " ('" + name + "' is " + (is_cut ? "a table" : "a " + text_of(local->value)) +
             " that cannot be copied here)";
    }
    const int line = declared_at(name);
    if (local == nullptr && line > 0) {
      return " ('" + name + "' of line " + std::to_string(line) + " cannot be seen here)";
    }
  }
  return {};
}

Evaluation Debugger::run_code(std::string_view code, bool with_absent) {
  require_running();
  if (!options_.may_hang && may_be_endless(code)) {
    return {.outcome = Outcome::kError,
            .message =
                "loops and functions are refused on a server that is not private: nothing "
                "could stop them"};
  }
  auto result =
      ldb::evaluate(walk_->session(), prelude_for(code, with_absent), code, options_.evaluation);
  note_end();
  if (result.outcome == Outcome::kError) result.message += why_not_seen(code);
  return result;
}

Evaluation Debugger::evaluate(std::string_view code) {
  return run_code(code, false);
}

Evaluation Debugger::print(std::string_view expression) {
  require_running();
  const auto path = parse_path(expression);
  const auto* root = path ? find_local(path->root) : nullptr;
  if (root == nullptr) return run_code(expression, false);
  auto value = root->value;
  std::string so_far = path->root;
  for (const auto& step : path->steps) {
    const auto* variable = step.variable.empty() ? nullptr : find_local(step.variable);
    if (!step.variable.empty() && variable == nullptr) return run_code(expression, false);
    const auto& key = variable == nullptr ? step.key : variable->value;
    auto field = field_of(value, key);
    if (!field && (value.kind == Value::Kind::kTable)) {
      return {.outcome = Outcome::kError,
              .message = "not told: " + so_far + " is too large to be told as a whole"};
    }
    if (!field && value.kind != Value::Kind::kString && value.kind != Value::Kind::kOpaque) {
      return {.outcome = Outcome::kError,
              .message = "attempt to index '" + so_far + "' (" + std::string(type_of(value)) + ")"};
    }
    if (!field) return run_code(expression, false);
    so_far += step.key.kind == Value::Kind::kString ? "." + step.key.text : "[...]";
    value = *std::move(field);
  }
  return {.values = {std::move(value)}};
}

/// Of a plain variable without a word to the server.
Evaluation Debugger::evaluate_watch(const std::string& expression) {
  const auto path = parse_path(expression);
  if (path && find_local(path->root) != nullptr) return print(expression);
  if (path && declared_at(path->root) > 0) return {.values = {Value{}}};
  return run_code(expression, true);
}

Call Debugger::call(const std::vector<std::string>& words) {
  require_running();
  auto call = walk_->call(words);
  note_end();
  return call;
}

std::vector<Frame> Debugger::backtrace() {
  require_running();
  constexpr std::string_view kIn = "In ", kFrom = "From ";
  constexpr std::size_t kMark = 3;  // "->#"
  std::vector<Frame> frames;
  std::string name;
  for (std::string_view item : walk_->session().ask({"trace"}).items) {
    const auto prefix = item.starts_with(kIn) ? kIn : item.starts_with(kFrom) ? kFrom : "";
    if (!prefix.empty() && item.ends_with(':')) {
      item.remove_prefix(prefix.size());
      name = item.substr(0, item.size() - 1);
      continue;
    }
    int line = 0;
    item.remove_prefix(std::min(kMark, item.size()));
    std::from_chars(item.data(), item.data() + item.size(), line);
    const int own = walk_->script().line_of(line);
    if (own > 0) frames.push_back({.name = name, .line = own});
  }
  note_end();
  return frames;
}

// ---- Breakpoints and watches ----

void Debugger::require_stop_line(int line) const {
  if (stop_lines_.empty() || stop_lines_.contains(line)) return;
  const auto after = stop_lines_.lower_bound(line);
  std::string nearest;
  if (after != stop_lines_.begin()) nearest = std::to_string(*std::prev(after));
  if (after != stop_lines_.end()) {
    nearest += (nearest.empty() ? "" : " and ") + std::to_string(*after);
  }
  throw limiter::UsageError("nothing stops at line " + std::to_string(line) +
                            ": the nearest that do are " + nearest);
}

void Debugger::require_compiles(const std::string& expression) {
  if (!running()) return;
  // What is not called does not run.
  const auto evaluation = ldb::evaluate(
      walk_->session(), "", "function() return " + expression + "\nend", options_.evaluation);
  note_end();
  if (evaluation.outcome == Outcome::kCompileError) {
    throw limiter::UsageError("'" + expression + "' is no expression: " + evaluation.message);
  }
}

void Debugger::add_breakpoint(Breakpoint breakpoint) {
  require_stop_line(breakpoint.line);
  if (!breakpoint.condition.empty()) require_compiles(breakpoint.condition);
  const int line = breakpoint.line;
  breakpoints_[line] = std::move(breakpoint);
}

bool Debugger::remove_breakpoint(int line) {
  return breakpoints_.erase(line) > 0;
}

const Watch& Debugger::add_watch(std::string expression) {
  require_compiles(expression);
  Watch watch{.number = ++watch_count_, .expression = std::move(expression)};
  if (running()) watch.last = evaluate_watch(watch.expression);
  watches_.push_back(std::move(watch));
  return watches_.back();
}

bool Debugger::remove_watch(std::int64_t number) {
  return std::erase_if(watches_, [number](const Watch& watch) { return watch.number == number; }) >
         0;
}

}  // namespace rlctl::ldb
