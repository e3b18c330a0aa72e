#include "ldb/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ldb/evaluation.h"
#include "ldb/value.h"
#include "lua/lexer.h"

namespace rlctl::ldb {

Walk::Walk(const Debuggee& debuggee, ProbedScript script, Session session, OnReading on_reading)
    : debuggee_(debuggee),
      script_(std::move(script)),
      session_(std::move(session)),
      on_reading_(std::move(on_reading)) {}

/// Prepares the debugger before the first line. Returns false if that ends the session.
bool Walk::prepare() {
  session_.ask({"maxlen", "0"});
  if (session_.ended()) return false;
  // Since Redis 7.0, which introduced this number, all errors of calls have <error> items.
  const auto version = session_.ask({"eval", "return type(redis.REDIS_VERSION_NUM)"});
  const auto& items = version.items;
  writes_errors_ = std::any_of(items.begin(), items.end(), [](const auto& item) {
    return item.find("number") != std::string::npos;
  });
  calls_ = CallLog(writes_errors_);
  return !session_.ended();
}

bool Walk::start() {
  auto message = session_.start(debuggee_, script_.text);
  if (message.stop && !prepare()) return false;
  return wait_until_stopped(std::move(message));
}

bool Walk::step() {
  reason_ = Stop::Reason::kStep;
  hit_line_ = 0;
  line_halt_.reset();
  return wait_until_stopped(session_.step());
}

/// Whether the server, or a probe in its place, stopped a script that runs long.
bool Walk::is_pause(const Message& message) {
  if (!message.stop) return false;
  return message.stop->reason == Stop::Reason::kTimeout ||
         std::any_of(message.items.begin(), message.items.end(), [](std::string_view item) {
           return item.starts_with("<debug> ") &&
                  (item.ends_with(": \"~rl:T\"") || item.ends_with(": ~rl:T"));
         });
}

bool Walk::run(const std::function<bool()>& is_enough) {
  reason_ = Stop::Reason::kStep;
  hit_line_ = 0;
  const bool is_at_error = line_halt_ && line_halt_->call.empty();
  line_halt_.reset();
  calls_.set_silent(true);
  auto message = session_.run();
  while (is_pause(message) && !is_enough()) {
    read(message);
    message = session_.run();
  }
  if (message.stop && std::exchange(are_probes_off_, false)) control("true");
  if (session_.ended()) message.stop.reset();
  ended_freely_ = !message.stop && !is_at_error;
  if (!is_pause(message)) return wait_until_stopped(std::move(message));
  // Stopped within a line: what it does shows at the next, and the variables at the next probe.
  read(message);
  calls_.set_silent(false);
  constexpr int kTries = 4;
  has_reading_ = false;
  bool goes_on = step();
  for (int i = 1; i < kTries && goes_on && has_probes() && !has_reading_; ++i) goes_on = step();
  reason_ = Stop::Reason::kTimeout;
  return goes_on;
}

/// Calls the function that probe.lua leaves in the metatable of KEYS; returns what it returns, as
/// the server shows it, without quotes.
std::string Walk::control(const std::string& arguments) {
  const auto message = session_.ask({"eval", "getmetatable(KEYS)[1](" + arguments + ")"});
  for (const std::string_view item : message.items) {
    if (item.starts_with(kValueItem))
      return std::string(without_quotes(item.substr(kValueItem.size())));
  }
  return {};
}

bool Walk::passes_probes() const {
  for (std::size_t line = 1; line <= source_.size(); ++line) {
    if (may_repeat(static_cast<int>(line))) return false;
  }
  return true;
}

/// Lua, as a literal, for the values of expressions; it gets the probe's arguments.
std::string Walk::function_of_probe(const Probe& probe, const std::string& expressions) const {
  std::string names = "_,_";
  for (std::size_t i = 0; i < probe.functions.size(); ++i) names += ",_";
  for (const auto local : probe.locals) names += ',' + script_.locals[local].name;
  // Redis at the time that the script sees.
  const auto* redis =
      names_in(expressions).contains("redis") ? "local redis=getmetatable(KEYS)[3] or redis " : "";
  return string_literal(redis + ("local " + names) + "=... return " + expressions);
}

bool Walk::stop_by_probes(const ProbeStops& stops) {
  if (!has_probes()) return false;
  const auto last = stops.last == 0 ? "nil" : std::to_string(stops.last);
  const auto off = fmt::format("false,{},{},{}", stops.pauses, stops.keeps, last);
  if (control(off) != "true") return false;
  are_probes_off_ = true;
  for (const auto& stop : stops.lines) {
    const auto& probe = *script_.probe_at(stop.line);
    const auto arguments = fmt::format(
        "{},{},{},{},{}", probe.part,
        stop.condition.empty() ? "nil" : function_of_probe(probe, stop.condition),
        stop.accepts.empty() ? "nil" : string_literal("local n=... return " + stop.accepts),
        stop.hits, stop.message ? function_of_probe(probe, *stop.message) : "nil");
    try {
      are_probes_off_ = !session_.ended() && control(arguments) == "true";
    } catch (const UsageError&) {
      are_probes_off_ = false;  // more than the debugger takes
    }
    if (are_probes_off_) continue;
    if (!session_.ended()) control("true");
    return false;
  }
  return true;
}

bool Walk::set_call_stops(const std::set<std::string>& calls) {
  const auto text = calls.empty() ? "nil" : fmt::format("' {} '", fmt::join(calls, " "));
  return has_probes() && control("'stops'," + text) == "true";
}

bool Walk::set_stops_at_errors(bool stops) {
  return has_probes() && control(fmt::format("'errors',{}", stops)) == "true";
}

std::string Walk::source_lines(int first, int last) const {
  std::string text;
  for (auto line = first; line <= last; ++line) {
    const auto index = static_cast<std::size_t>(line) - 1;
    if (index < source_.size()) text.append(source_[index]).append("\n");
  }
  return text;
}

std::int64_t Walk::hits(int line) {
  const auto* probe = script_.probe_at(line);
  if (probe == nullptr || ended()) return 0;
  return to_number<std::int64_t>(control(fmt::format("'hits',{}", probe->part))).value_or(0);
}

bool Walk::can_stop_by_probe(int line) {
  auto [known, is_new] = can_stop_.try_emplace(line, false);
  if (is_new) known->second = begins_with_probe(line);
  return known->second;
}

bool Walk::begins_with_probe(int line) const {
  const auto* probe = script_.probe_at(line);
  const auto source = lua::lex(debuggee_.source);
  if (probe == nullptr || !probe->is_one_part() || !source) return false;
  // An `end` is reached by jumps, too, and a loop or a function can begin its line again.
  constexpr std::array<std::string_view, 3> kReached{"end", "else", "elseif"};
  constexpr std::array<std::string_view, 5> kRepeated{"for", "while", "repeat", "until",
                                                      "function"};
  const auto is_any_of = [](const lua::Token& token, const auto& words) {
    return std::any_of(words.begin(), words.end(), [&](auto word) { return token.is(word); });
  };
  bool is_first = true;
  for (const auto& token : source->tokens) {
    if (token.line != line) continue;
    if (is_any_of(token, kRepeated)) return false;
    if (std::exchange(is_first, false) && is_any_of(token, kReached)) return false;
  }
  return !is_first;
}

/// Whether a line can begin twice in a row, without another line or probe between: if it contains a
/// whole loop or function, or a loop with an empty body.
bool Walk::may_repeat(int line) const {
  const auto index = static_cast<std::size_t>(line) - 1;
  if (!has_probes() || index >= source_.size()) return true;
  const auto has = [&](std::size_t at, std::string_view word) {
    return source_[at].find(word) != std::string_view::npos;
  };
  if (has(index, "until")) return true;
  const bool is_for = has(index, "for");
  if (!is_for && !has(index, "while") && !has(index, "function")) return false;
  if (has(index, "end")) return true;
  if (!is_for) return false;
  const auto next = std::find_if(script_.probes.begin(), script_.probes.end(),
                                 [line](const auto& probe) { return probe.line > line; });
  const auto body_end =
      next == script_.probes.end() ? source_.size() : static_cast<std::size_t>(next->line) - 1;
  for (auto at = index + 1; at < body_end; ++at) {
    if (has(at, "end")) return true;
  }
  return false;
}

/// Whether this is the function that probe.lua halts in, on the first line that was added.
bool Walk::is_at_halt(const Stop& stop) const {
  const int first_added = script_.line_of(1) == 0 ? 1 : 2;  // after "#!..."
  return has_probes() && stop.line == first_added;
}

/// Reads a message, and those after it while the script stops at added lines or outside its source;
/// returns false if the script has ended.
bool Walk::wait_until_stopped(Message message) {
  read(message);
  calls_.set_silent(false);
  while (message.stop) {
    const bool is_halted = is_at_halt(*message.stop);
    if (is_halted && line_halt_ && message.stop->reason == Stop::Reason::kCalledFor) {
      return enter_halt();
    }
    if (!is_halted && message.stop->reason != Stop::Reason::kStep) reason_ = message.stop->reason;
    const int line = script_.line_of(message.stop->line);
    const bool is_same = std::exchange(text_line_, message.stop->line) == message.stop->line;
    // The debugger adds a stop after every 100,000 Lua instructions.
    const bool is_extra =
        is_same && reason_ == Stop::Reason::kStep && line > 0 && !may_repeat(line);
    if (line > 0 && !is_extra) {
      line_ = line;
      return true;
    }
    message = session_.step();
    read(message);
  }
  return false;
}

/// Takes the line of the function that is halted. Returns false if asking ends the session.
bool Walk::enter_halt() {
  text_line_ = 0;
  for (const auto& frame : frames()) {
    if (frame.line == 0) continue;
    line_ = frame.line;
    break;
  }
  return !session_.ended();
}

/// Reads an item of redis.debug(): "<debug> line 12: ...".
void Walk::read_debug(std::string_view item) {
  constexpr std::string_view kColon = ": ";
  const auto colon = item.find(kColon);
  if (colon == item.npos) return;
  item.remove_prefix(colon + kColon.size());
  using Kind = ProbeReader::Line::Kind;
  auto line = reader_.read(item);
  if (line.kind == Kind::kProbe) {
    has_reading_ = true;
    on_reading_(script_, line.reading);
  } else if (line.kind == Kind::kCall) {
    calls_.add_words(std::move(line.words), line.answer);
  } else if (line.kind == Kind::kReturned) {
    returned_ = std::move(line.returned);
  } else if (line.kind == Kind::kHit || line.kind == Kind::kLogged) {
    if (line.part == 0 || line.part > script_.parts.size()) return;
    const int at = script_.probes[script_.parts[line.part - 1].probe].line;
    if (line.kind == Kind::kHit) {
      hit_line_ = line.done ? at : 0;
      return;
    }
    auto& logged = logged_.emplace_back();
    logged.line = at;
    if (!line.done) logged.error = line.values.empty() ? "" : line.values.front().text;
    if (line.done) logged.values = std::move(line.values);
    if (!line.done && logged.error.empty()) logged.error = "an error that is not a text";
  } else if (line.kind == Kind::kHalt) {
    line_halt_ = std::move(line.halt);
  } else if (line.kind == Kind::kEnded) {
    probe_count_ = line.probe_count;
  } else if (line.kind == Kind::kMessage) {
    messages_.push_back(std::move(line.message));
  }
}

void Walk::read(const Message& message) {
  for (const auto& sent : message.items) {
    const auto item = with_source_lines(sent, script_.lines);
    if (item.starts_with("<debug> line ")) {
      read_debug(item);
    } else {
      calls_.add_item(item);
    }
  }
  calls_.close();
}

std::vector<Call> Walk::take_calls() {
  return calls_.take();
}

std::vector<ScriptMessage> Walk::take_messages() {
  return std::exchange(messages_, {});
}

Call Walk::call(const std::vector<std::string>& words) {
  std::vector<std::string> command{"redis"};
  command.insert(command.end(), words.begin(), words.end());
  const auto message = session_.ask(command);
  CallLog log(writes_errors_);
  log.add_words(words, {});
  for (const auto& item : message.items) log.add_item(item);
  return log.take().front();
}

void Walk::read_again(const Probe& probe) {
  std::string places;
  const auto count = probe.functions.size() + probe.locals.size();
  for (std::size_t first = 0; first < count; first += ProbePart::kMaxValues) {
    places += (first > 0 ? "," : "") + ProbePart::place_text(probe.function, first);
  }
  read(session_.ask({"eval", "getmetatable(KEYS)[5](" + places + ")"}));
}

std::vector<Frame> Walk::frames() {
  constexpr std::string_view kIn = "In ", kFrom = "From ";
  constexpr std::size_t kMark = 3;  // "->#"
  std::vector<Frame> frames;
  // Each function has two items: "In top level:" and "->#3 return 1".
  for (std::string_view item : session_.ask({"trace"}).items) {
    const auto prefix = item.starts_with(kIn) ? kIn : item.starts_with(kFrom) ? kFrom : "";
    if (!prefix.empty() && item.ends_with(':')) {
      item.remove_prefix(prefix.size());
      frames.push_back({.name = std::string(item.substr(0, item.size() - 1))});
    } else if (!frames.empty()) {
      int line = 0;
      item.remove_prefix(std::min(kMark, item.size()));
      std::from_chars(item.data(), item.data() + item.size(), line);
      frames.back().line = script_.line_of(line);
    }
  }
  return frames;
}

TraceResult Walk::result() {
  TraceResult result{.ending = session_.ending(),
                     .reply = session_.take_reply(),
                     .returned = std::move(returned_),
                     .text_lines = script_.lines,
                     .probe_count = probe_count_};
  switch (result.ending) {
    case Ending::kCompileError:
    case Ending::kRunTimeError:
    case Ending::kAborted: {
      auto error = explain_error(*result.reply, debuggee_.source, script_.lines,
                                 ended_freely_ ? std::nullopt : std::optional(line_));
      result.message = std::move(error.message);
      result.error_line = error.line;
      break;
    }
    case Ending::kCutOff:
      result.error_line = line_;
      [[fallthrough]];
    case Ending::kRefused:
    case Ending::kLost:
      result.message = session_.why();
      break;
    case Ending::kReturned:
      break;
  }
  return result;
}

namespace {

/// The unmodified source, except for the clock.
ProbedScript plain(const Debuggee& debuggee, const WalkOptions& options) {
  auto script =
      add_probes(debuggee.source,
                 {.probes = false, .arguments = debuggee.arguments.size(), .now = options.now})
          .value_or(ProbedScript{.text = debuggee.source});
  const auto count = lua::source_lines(debuggee.source).size();
  script.lines.resize(count + 1);
  std::iota(script.lines.begin(), script.lines.end(), 0);
  // If something is missing at the end, Lua names the line after it; up to Redis 6, one further.
  script.lines.insert(script.lines.end(), 2, static_cast<int>(count));
  return script;
}

}  // namespace

std::unique_ptr<Walk> begin_walk(const Debuggee& debuggee, Mode mode, const Connect& connect,
                                 const WalkOptions& options, const Walk::OnReading& on_reading) {
  const auto begin = [&](ProbedScript script) {
    auto walk = std::make_unique<Walk>(debuggee, std::move(script),
                                       Session(connect(), mode, options.limits), on_reading);
    walk->start();
    return walk;
  };
  std::vector<ProbeOptions> variants{{.now = options.now}, {.wrapped = true, .now = options.now}};
  if (options.stops_at_errors) {
    variants.insert(variants.begin(), {.stops_at_errors = true, .now = options.now});
  }
  for (auto& variant : variants) {
    variant.settable = options.settable;
    variant.arguments = debuggee.arguments.size();
    auto script = add_probes(debuggee.source, variant);
    if (!script || script->probes.empty()) continue;
    auto walk = begin(*std::move(script));
    if (!walk->ended() || walk->session().ending() != Ending::kCompileError) return walk;
  }
  return begin(plain(debuggee, options));
}

}  // namespace rlctl::ldb
