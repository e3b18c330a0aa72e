#include "ldb/debugger.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "ldb/coverable_lines.h"
#include "ldb/locals.h"
#include "lua/scopes.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

using Outcome = Evaluation::Outcome;
using Why = Halt::Why;

/// The limit of a server's debugger.
constexpr std::size_t kMaxBreakpoints = 64;
constexpr const char* kNoLocals = "variables are not known: the script has no room for probes";
/// The calls and messages kept since the last stop.
constexpr std::size_t kMaxKept = 20;

template <typename Item>
std::int64_t add_last(std::vector<Item>& kept, std::vector<Item> more) {
  kept.insert(kept.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  if (kept.size() <= kMaxKept) return 0;
  const auto extra = kept.size() - kMaxKept;
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(extra));
  return static_cast<std::int64_t>(extra);
}

/// The message of what a script raised. Since Redis 7.0, errors of commands are tables.
std::string message_of_error(const Value& error) {
  const auto field = field_of(error, {.kind = Value::Kind::kString, .text = "err"});
  const auto& told = field ? *field : error;
  return told.kind == Value::Kind::kString ? without_script_place(told.text) : text_of(told);
}

Evaluation failed(std::string message) {
  return {.outcome = Outcome::kError, .message = std::move(message)};
}

bool is_true(const Evaluation& evaluation) {
  if (evaluation.values.empty()) return false;
  const auto& value = evaluation.values.front();
  return value.kind != Value::Kind::kNil && (value.kind != Value::Kind::kBoolean || value.boolean);
}

}  // namespace

Debugger::Debugger(const Debuggee& debuggee, Mode mode, Connect connect, Options options)
    : debuggee_(debuggee),
      mode_(mode),
      connect_(std::move(connect)),
      options_(std::move(options)) {}

// ---- From the beginning ----

/// Finds the stop lines of the text that will be sent, for which the server must compile it.
void Debugger::find_stop_lines() {
  if (!stop_lines_.empty()) return;
  auto connection = connect_();
  try {
    const auto lines = coverable_lines_as_run(connection, debuggee_.source);
    stop_lines_.insert(lines.begin(), lines.end());
  } catch (const redis::Error& error) {
    // The error is reported when the script is run.
    if (error.failure() != redis::Failure::kRejected) throw;
  }
}

void Debugger::forget_run() {
  walk_.reset();
  sent_breakpoints_.clear();
  text_lines_.clear();
  locals_ = {};
  next_halt_ = {};
  has_result_ = false;
  result_ = {};
}

Halt Debugger::start() {
  forget_run();
  for (auto& [line, breakpoint] : breakpoints_) breakpoint.hits = 0;
  find_stop_lines();
  walk_ = begin_walk(debuggee_, mode_, connect_,
                     {.stops_at_errors = options_.stops_at_errors,
                      .now = options_.now,
                      .limits = options_.limits,
                      .settable = stop_lines_},
                     [this](const ProbedScript& script, const ProbeReading& reading) {
                       is_same_reading_ ? locals_.on_same_reading(script, reading)
                                        : locals_.on_reading(script, reading);
                     });
  if (!moved(!walk_->ended())) return halt_at_end();
  const auto& lines = walk_->script().lines;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i] > 0) text_lines_.emplace(lines[i], static_cast<int>(i));
  }
  stops_by_itself_ = !walk_->session().is_valkey_9();
  if (!call_stops_.empty() || !stops_at_errors_) send_halts(true);
  for (auto& watch : watches_) {
    watch.last = evaluate_watch(watch.expression);
    if (!running()) {
      remove_fatal(watch);
      return halt_at_end();
    }
  }
  return halt(Why::kStarted);
}

void Debugger::forget_source() {
  forget_run();
  stop_lines_.clear();
  is_global_.clear();
}

std::vector<int> Debugger::drop_lost_breakpoints() {
  std::vector<int> lost;
  if (stop_lines_.empty()) return lost;
  std::erase_if(breakpoints_, [&](const auto& one) {
    if (stop_lines_.contains(one.first)) return false;
    lost.push_back(one.first);
    return true;
  });
  return lost;
}

// ---- Variables ----

int Debugger::declared_at(std::string_view name) const noexcept {
  if (!walk_) return 0;
  for (const auto& local : walk_->script().locals) {
    if (local.name == name) return local.declared_at;
  }
  return 0;
}

// ---- Stops ----

void Debugger::collect_events() {
  next_halt_.calls_before += add_last(next_halt_.calls, walk_->take_calls());
  add_last(next_halt_.messages, walk_->take_messages());
  for (const auto& logged : walk_->take_logged()) {
    const auto found = breakpoints_.find(logged.line);
    if (found == breakpoints_.end() || !found->second.message) continue;
    log(found->second, logged.error.empty() ? found->second.message->text(logged.values)
                                            : "the message: " + logged.error);
  }
}

void Debugger::log(const Breakpoint& breakpoint, const std::string& text) const {
  if (options_.on_message) options_.on_message(breakpoint.line, text);
}

/// Takes over what a move has shown. Returns false if the script has ended.
bool Debugger::moved(bool is_stopped) {
  collect_events();
  frame_ = 0;
  if (is_stopped) locals_.refresh(*walk_, walk_->reason() == Stop::Reason::kTimeout);
  return running();
}

Halt Debugger::halt(Halt::Why why) {
  auto result = std::exchange(next_halt_, {});
  result.why = why;
  result.line = walk_->line();
  if (running()) result.changed = locals_.changes();
  if (why != Why::kEnded && !running()) {  // the evaluation lost the connection
    keep_result();
    result.why = Why::kEnded;
  }
  return result;
}

void Debugger::keep_result() {
  if (has_result_ || !walk_ || !walk_->ended()) return;
  result_ = walk_->result();
  has_result_ = true;
}

Halt Debugger::halt_at_end() {
  keep_result();
  locals_.clear();
  return halt(Why::kEnded);
}

void Debugger::require_running() const {
  if (!running()) throw std::logic_error("no script is being debugged");
}

// ---- Reasons to stop ----

/// Evaluates the watches. A watch with variables that are not visible counts as unchanged.
void Debugger::check_watches() {
  for (auto& watch : watches_) {
    const bool is_hidden = names_hidden_local(watch.expression);
    if (!running()) return remove_fatal(watch);
    if (is_hidden) continue;
    auto now = evaluate_watch(watch.expression);
    if (!running()) return remove_fatal(watch);
    if (now == watch.last) continue;
    auto before = std::exchange(watch.last, std::move(now));
    next_halt_.watches.push_back({.watch = watch, .before = std::move(before)});
  }
}

/// Removes a watch that ended the session, since it would do so again.
void Debugger::remove_fatal(const Watch& watch) {
  add_cause(fmt::format("watch {}", watch.number));
  remove_watch(watch.number);
}

/// Adds to the result what ended the session: a watch or a condition, which is removed.
void Debugger::add_cause(const std::string& what) {
  result_.message += fmt::format(" to {}, which is removed", what);
}

/// Removes a breakpoint whose expression ended the session, since it would do so again.
void Debugger::remove_fatal(const Breakpoint& breakpoint, const char* expression) {
  add_cause(fmt::format("the {} of the breakpoint at {}", expression, breakpoint.line));
  remove_breakpoint(breakpoint.line);
}

/// Whether a breakpoint on this line stops the script. If it has a message, logs that instead.
bool Debugger::breaks_here() {
  const auto found = breakpoints_.find(walk_->line());
  if (found == breakpoints_.end()) return false;
  if (walk_->is_at_hit()) return true;
  auto& breakpoint = found->second;
  if (!breakpoint.condition.empty()) {
    const auto condition = evaluate(breakpoint.condition);
    if (!running()) {
      remove_fatal(breakpoint, "condition");
      return false;
    }
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
  Evaluation values;
  if (!breakpoint.message->expressions().empty()) values = evaluate(breakpoint.message->lua());
  if (!running()) {
    remove_fatal(breakpoint, "message");
    return false;
  }
  log(breakpoint, values.outcome == Outcome::kValues ? breakpoint.message->text(values.values)
                                                     : "the message: " + values.message);
  return false;
}

std::optional<Halt> Debugger::reason_to_halt() {
  const auto reason = walk_->reason();
  if (const auto& within = walk_->line_halt()) {
    next_halt_.call = within->call;
    next_halt_.error = message_of_error(within->error);
    return halt(within->call.empty() ? Why::kError : Why::kCall);
  }
  check_watches();
  if (!running()) return halt_at_end();
  if (!next_halt_.watches.empty()) return halt(Why::kWatch);
  const bool breaks = breaks_here();
  if (!running()) return halt_at_end();
  if (breaks) return halt(Why::kBreakpoint);
  // A probe stops the script by calling redis.breakpoint(), too.
  if (reason == Stop::Reason::kCalledFor) return halt(Why::kCalledFor);
  if (wants_stop()) return halt(Why::kStopped);
  return std::nullopt;
}

// ---- Moving ----

Halt Debugger::step() {
  require_running();
  if (!moved(walk_->step())) return halt_at_end();
  auto reason = reason_to_halt();
  return reason ? *std::move(reason) : halt(Why::kStepped);
}

/// The active functions, outermost first. Without probes only their number is reliable.
std::vector<std::size_t> Debugger::functions_entered() {
  std::vector<std::size_t> functions;
  for (const auto& frame : backtrace()) {
    functions.push_back(walk_->script().function_around(frame.line));
  }
  if (!functions.empty()) functions.front() = locals_.function();
  std::reverse(functions.begin(), functions.end());
  return functions;
}

/// Whether the innermost of `functions`, or one of its callers, is executing again. A coroutine has
/// its own stack, without the main function at its bottom.
bool Debugger::is_back_in(const std::vector<std::size_t>& functions) {
  const auto now = functions_entered();
  if (now.empty() || functions.empty()) return functions.empty();
  if (!walk_->has_probes()) return now.size() <= functions.size();
  const bool was_main = functions.front() == 0, is_main = now.front() == 0;
  if (was_main != is_main) return is_main;
  return now.size() <= functions.size() && now.back() == functions[now.size() - 1];
}

Halt Debugger::next() {
  require_running();
  if (!walk_->script().may_have_functions()) return step();
  return step_back_to(functions_entered());
}

Halt Debugger::finish() {
  require_running();
  auto functions = functions_entered();
  if (!running()) return halt_at_end();
  const bool is_main = functions.empty() || (functions.size() == 1 && functions.front() == 0);
  if (is_main) return go_on();
  functions.pop_back();
  // The function of a coroutine returns to the main function, or to what that calls.
  if (functions.empty()) functions.push_back(0);
  return step_back_to(functions);
}

Halt Debugger::step_back_to(const std::vector<std::size_t>& functions) {
  while (running()) {
    if (!moved(walk_->step())) break;
    const bool is_back = is_back_in(functions);
    if (!running()) break;
    auto reason = reason_to_halt();
    if (reason) return *std::move(reason);
    if (is_back) return halt(Why::kStepped);
  }
  return halt_at_end();
}

/// If false, the script must run in steps, checking watches and breakpoints at each.
bool Debugger::can_run_freely() const {
  return watches_.empty() && (stops_by_itself_ || walk_->passes_probes());
}

/// Sets the breakpoints in the server, or removes them all.
void Debugger::send_breakpoints(bool are_set) {
  std::set<int> wanted;
  for (const auto& [line, breakpoint] : breakpoints_) {
    const auto found = text_lines_.find(line);
    if (are_set && found != text_lines_.end()) wanted.insert(found->second);
  }
  // First remove breakpoints: the server has room for kMaxBreakpoints.
  for (const int line : sent_breakpoints_) {
    if (running() && !wanted.contains(line)) {
      walk_->session().ask({"break", std::to_string(-line)});
    }
  }
  for (const int line : wanted) {
    if (running() && !sent_breakpoints_.contains(line)) {
      walk_->session().ask({"break", std::to_string(line)});
    }
  }
  sent_breakpoints_ = std::move(wanted);
}

/// Lets the probes stop the script if they can do so at all breakpoints, which is fast; else the
/// server stops it, and the probes report all variables at each line. Returns false if the server
/// cannot.
bool Debugger::prepare_to_run() {
  Walk::ProbeStops stops{.pauses = !stops_by_itself_,
                         .keeps = counts_probes_ || !call_stops_.empty() ||
                                  (options_.stops_at_errors && stops_at_errors_)};
  const bool by_probes =
      std::all_of(breakpoints_.begin(), breakpoints_.end(), [&](const auto& one) {
        const auto& breakpoint = one.second;
        Walk::ProbeStop stop{
            .line = breakpoint.line, .condition = breakpoint.condition, .hits = breakpoint.hits};
        if (breakpoint.hit_condition) stop.accepts = breakpoint.hit_condition->lua();
        if (breakpoint.message) stop.message = breakpoint.message->lua();
        const bool may_hang =
            may_be_endless(stop.condition) || may_be_endless(stop.message.value_or(""));
        stops.lines.push_back(std::move(stop));
        return !may_hang && walk_->can_stop_by_probe(breakpoint.line);
      });
  const bool probes_stop = by_probes && walk_->stop_by_probes(stops);
  const bool server_stops = stops_by_itself_ && breakpoints_.size() <= kMaxBreakpoints;
  if (!running() || (!probes_stop && !server_stops)) return false;
  if (probes_stop) locals_.mark_stale();
  send_breakpoints(!probes_stop);
  return true;
}

Halt Debugger::go_on() {
  require_running();
  bool freely = can_run_freely() && prepare_to_run();
  const bool is_by_probes = walk_->stops_by_probes();
  while (running()) {
    // A stop has turned all probes on.
    if (is_by_probes && !walk_->stops_by_probes()) freely = prepare_to_run();
    const auto is_enough = [this] {
      collect_events();
      return wants_stop();
    };
    const bool goes_on = moved(freely ? walk_->run(is_enough) : walk_->step());
    if (is_by_probes) count_hits();
    if (!goes_on || !running()) break;
    if (walk_->reason() == Stop::Reason::kTimeout) return halt(Why::kStopped);
    auto reason = reason_to_halt();
    if (reason) return *std::move(reason);
  }
  return halt_at_end();
}

/// Takes over the hits that the probes have counted.
void Debugger::count_hits() {
  for (auto& [line, breakpoint] : breakpoints_) {
    if (breakpoint.hit_condition && running()) breakpoint.hits = walk_->hits(line);
  }
}

/// Sets at what the script halts within a line, or removes that.
void Debugger::send_halts(bool are_set) {
  walk_->set_call_stops(are_set ? call_stops_ : std::set<std::string>());
  if (running()) walk_->set_stops_at_errors(are_set && stops_at_errors_);
}

void Debugger::set_call_stops(std::set<std::string> calls) {
  call_stops_ = std::move(calls);
  if (running()) send_halts(true);
}

void Debugger::set_stops_at_errors(bool stops) {
  stops_at_errors_ = stops;
  if (running()) send_halts(true);
}

Halt Debugger::go_on_to_probe(std::int64_t count) {
  require_running();
  send_halts(false);
  send_breakpoints(false);
  if (running() &&
      !walk_->stop_by_probes({.pauses = !stops_by_itself_, .keeps = true, .last = count})) {
    throw UsageError(kNoLocals);
  }
  locals_.mark_stale();
  const auto is_enough = [this] {
    collect_events();
    return wants_stop();
  };
  if (!running() || !moved(walk_->run(is_enough))) return halt_at_end();
  send_halts(true);
  if (!running()) return halt_at_end();
  return halt(walk_->reason() == Stop::Reason::kTimeout ? Why::kStopped : Why::kStepped);
}

Halt Debugger::abort_script() {
  require_running();
  walk_->session().abort_script();
  collect_events();
  return halt_at_end();
}

// ---- Code ----

/// A possible cause of an error, to append to its message.
std::string Debugger::why_not_seen(std::string_view code) const {
  auto why = locals_.why_not_copied(code);
  for (const auto& name : names_in(code)) {
    const int line = declared_at(name);
    if (!why.empty() || line == 0 || locals_.find(name) != nullptr) continue;
    why =
        knows_locals() ? fmt::format("'{}' of line {} is not visible here", name, line) : kNoLocals;
  }
  return why.empty() ? why : " (" + why + ")";
}

/// Runs code, with copies of the variables that the expression in it names.
Evaluation Debugger::run(std::string_view prelude, std::string_view code,
                         std::string_view expression) {
  if (!options_.may_hang && may_be_endless(expression)) {
    return failed(
        "on a server that is not private, loops, functions and rep() are refused: "
        "nothing could stop them");
  }
  auto result = ldb::evaluate(walk_->session(), prelude, code, options_.evaluation, options_.now);
  keep_result();
  if (result.outcome == Outcome::kError) result.message += why_not_seen(expression);
  return result;
}

Evaluation Debugger::evaluate(std::string_view code, bool absent_is_nil) {
  require_running();
  const auto copies = locals_.copies_for(
      code, [&](std::string_view name) { return absent_is_nil && declared_at(name) > 0; });
  return run(copies, code, code);
}

// ---- Setting variables ----

/// Lua for the keys of a path, each after a comma; std::nullopt if one is not known.
std::optional<std::string> Debugger::keys_of(const VariablePath& path) const {
  std::string keys;
  for (const auto& step : path.steps) {
    const auto* variable = step.variable.empty() ? nullptr : locals_.find(step.variable);
    if (!step.variable.empty() && variable == nullptr) return std::nullopt;
    const auto literal = literal_of(variable == nullptr ? step.key : variable->value);
    if (!literal) return std::nullopt;
    keys += ',' + *literal;
  }
  return keys;
}

/// Reads the variables of a probe as they are now, and shows those of the selected function.
void Debugger::read_again(const Probe& probe) {
  is_same_reading_ = true;
  walk_->read_again(probe);
  is_same_reading_ = false;
  keep_result();
}

/// Calls a function: what to set, the value of the expression, and the keys behind it.
Evaluation Debugger::run_setter(std::string_view function, std::string_view what,
                                const std::string& expression, std::string_view keys) {
  std::string name = "set";
  while (expression.find(name) != expression.npos) name += '_';
  const auto copies = locals_.copies_for(expression, [](std::string_view) { return false; });
  return run(fmt::format("local {}={} {}", name, function, copies),
             fmt::format("{}({},({}\n){})", name, what, expression, keys), expression);
}

Evaluation Debugger::set_local(const VariablePath& path, const std::string& expression) {
  const auto& script = walk_->script();
  const auto* probe = locals_.probe(script);
  const auto slot = locals_.slot_of(script, path.root);
  const auto keys = keys_of(path);
  if (frame_ > 0) return failed("only the innermost function's variables can be set");
  if (!slot || probe == nullptr || !keys) return failed("its value is not known here");
  if (path.steps.empty() && (!probe->can_set || !locals_.is_at_probe())) {
    return failed(fmt::format(
        "a variable can be set where a statement begins a line, not here at line {}", line()));
  }
  auto result = run_setter(
      "getmetatable(KEYS)[4]",
      fmt::format("{},{}", ProbePart::place_text(slot->function, slot->first), slot->index),
      expression, *keys);
  if (result.outcome != Outcome::kValues) return result;
  read_again(*probe);
  if (!running()) return result;
  locals_.show_innermost(script);
  static_cast<void>(locals_.changes());  // the script has not changed it
  return result;
}

Evaluation Debugger::set_global(const VariablePath& path, const std::string& expression) {
  const auto keys = keys_of(path);
  if (!keys) return failed("its key is not known here");
  constexpr std::string_view kSet =
      "function(t,v,...)local n=select('#',...)for i=1,n-1 do t=rawget(t,(select(i,...)))end "
      "local k=select(n,...)rawset(t,k,v)return rawget(t,k)end";
  return run_setter(kSet, path.root, expression, *keys);
}

Evaluation Debugger::set(std::string_view variable, std::string_view expression) {
  require_running();
  const auto path = parse_path(variable);
  if (!path) {
    throw UsageError(fmt::format("'{}' is not a variable or a field of one", variable));
  }
  const std::string code(expression);
  if (!lua::find_scopes("return (" + code + "\n)")) {
    throw UsageError(fmt::format("'{}' is not an expression", code));
  }
  if (locals_.find(path->root) != nullptr) return set_local(*path, code);
  const int declared = declared_at(path->root);
  if (declared > 0 && knows_locals()) {
    return failed(fmt::format("'{}' of line {} is not visible here", path->root, declared));
  }
  if (declared > 0 || (path->root != "KEYS" && path->root != "ARGV")) {
    return failed(knows_locals()
                      ? "only local variables, and the elements of KEYS and ARGV, can be set"
                      : kNoLocals);
  }
  if (path->steps.empty()) return failed("only the elements of " + path->root + " can be set");
  return set_global(*path, code);
}

// ---- Frames ----

std::string Debugger::select_frame(std::size_t index) {
  require_running();
  const auto& script = walk_->script();
  frame_ = 0;
  locals_.show_innermost(script);
  if (index == 0) return knows_locals() ? "" : kNoLocals;
  std::vector<ActiveFunction> frames;
  for (const auto& frame : backtrace()) {
    frames.push_back({script.function_around(frame.line), frame.line});
  }
  if (!running() || index >= frames.size()) throw UsageError("there is no such frame");
  frames.front().function = locals_.function();
  frame_ = index;
  if (!knows_locals()) return kNoLocals;
  // Its tables may have changed since.
  if (locals_.show_frame(script, frames, index).empty()) {
    read_again(*locals_.probe(script));
    if (!running()) throw UsageError("the script has ended");
  }
  return locals_.show_frame(script, frames, index);
}

Evaluation Debugger::print(std::string_view expression) {
  require_running();
  if (const auto path = parse_path(expression)) {
    auto found = locals_.find(*path);
    if (found.value) return {.values = {*std::move(found.value)}};
    if (!found.why_not.empty()) {
      return failed("not known: " + found.why_not);
    }
  }
  return evaluate(expression);
}

/// Evaluates a plain variable without asking the server.
Evaluation Debugger::evaluate_watch(const std::string& expression) {
  const auto path = parse_path(expression);
  if (path && locals_.find(path->root) != nullptr) return print(expression);
  if (path && declared_at(path->root) > 0) return {.values = {Value{}}};
  return evaluate(expression, true);
}

/// Whether the expression names a local that is not visible and no global of that name exists.
bool Debugger::names_hidden_local(const std::string& expression) {
  for (const auto& name : names_in(expression)) {
    if (locals_.find(name) != nullptr || declared_at(name) == 0) continue;
    auto [known, is_new] = is_global_.try_emplace(name, false);
    if (is_new) known->second = is_true(evaluate("rawget(_G,'" + name + "')~=nil"));
    if (!known->second) return true;
  }
  return false;
}

std::vector<std::string> Debugger::fields_of(std::string_view path) const {
  std::vector<std::string> names;
  const auto parsed = parse_path(path);
  const auto found = parsed ? locals_.find(*parsed) : VisibleLocals::Found();
  if (!found.value) return names;
  for (const auto& [key, value] : found.value->fields) {
    if (key.kind == Value::Kind::kString && names_in(key.text).contains(key.text)) {
      names.push_back(key.text);
    }
  }
  return names;
}

/// The reply of TIME, if the script's time is set.
std::optional<Call> Debugger::reply_to_time(const std::vector<std::string>& words) const {
  if (!options_.now || words.size() != 1 || words[0].size() != 4 ||
      !contains_in_any_case(words[0], "time")) {
    return std::nullopt;
  }
  return Call{.words = words, .reply = "[" + time_strings(*options_.now) + "]"};
}

Call Debugger::call(const std::vector<std::string>& words) {
  require_running();
  if (auto told = reply_to_time(words)) return *std::move(told);
  auto call = walk_->call(words);
  keep_result();
  return call;
}

std::vector<Frame> Debugger::backtrace() {
  require_running();
  auto frames = walk_->frames();
  std::erase_if(frames, [](const Frame& frame) { return frame.line == 0; });
  // Within a coroutine, Valkey 9 shows the main stack only.
  if (running() && (frames.empty() || frames.front().line != line())) {
    frames.insert(frames.begin(),
                  {.name = frames.empty() ? "top level" : "coroutine", .line = line()});
  }
  keep_result();
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
  const bool one = nearest.find(' ') == nearest.npos;
  throw UsageError(fmt::format("nothing stops at line {}: the nearest that {} {}", line,
                               one ? "does is" : "do are", nearest));
}

/// Throws UsageError for what is not an expression, as the server sees it if a script is running.
/// `is_one`: a list of them is refused, too.
void Debugger::require_compiles(const std::string& expression, bool is_one) {
  const auto code = is_one ? "(" + expression + "\n)" : expression;
  if (!running()) {
    if (lua::find_scopes("return " + code + "\n")) return;
    throw UsageError("'" + expression + "' is not an expression");
  }
  // A function that is not called does not run.
  const auto evaluation = ldb::evaluate(walk_->session(), "", "function() return " + code + "\nend",
                                        options_.evaluation);
  keep_result();
  if (evaluation.outcome == Outcome::kCompileError) {
    throw UsageError("'" + expression + "' is not an expression: " + evaluation.message);
  }
}

void Debugger::add_breakpoint(Breakpoint breakpoint) {
  require_stop_line(breakpoint.line);
  if (!breakpoint.condition.empty()) require_compiles(breakpoint.condition);
  if (breakpoint.message) {
    for (const auto& expression : breakpoint.message->expressions()) {
      require_compiles(expression, true);
    }
  }
  const int line = breakpoint.line;
  breakpoints_[line] = std::move(breakpoint);
}

bool Debugger::remove_breakpoint(int line) {
  return breakpoints_.erase(line) > 0;
}

const Watch* Debugger::add_watch(std::string expression) {
  require_compiles(expression);
  const auto names = names_in(expression);
  const bool is_unknown =
      running() && !knows_locals() &&
      std::any_of(names.begin(), names.end(), [this](const auto& n) { return declared_at(n) > 0; });
  if (is_unknown) throw UsageError(kNoLocals);
  Watch watch{.number = ++watch_count_, .expression = std::move(expression)};
  const bool was_running = running();
  if (was_running) watch.last = evaluate_watch(watch.expression);
  if (was_running && !running()) {
    remove_fatal(watch);
    return nullptr;
  }
  watches_.push_back(std::move(watch));
  return &watches_.back();
}

bool Debugger::remove_watch(std::int64_t number) {
  return std::erase_if(watches_, [number](const Watch& watch) { return watch.number == number; }) >
         0;
}

}  // namespace rlctl::ldb
