#include "ldb/walk.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ldb/error_text.h"
#include "ldb/source_lines.h"

namespace rlctl::ldb {

Walk::Walk(const Debuggee& debuggee, ProbedScript script, Session session, OnReading on_reading)
    : debuggee_(debuggee),
      script_(std::move(script)),
      session_(std::move(session)),
      on_reading_(std::move(on_reading)) {}

Walk::Walk(const Debuggee& debuggee, std::string refusal)
    : debuggee_(debuggee), refusal_(std::move(refusal)) {}

/// What is wanted of the debugger before the first line. False where the session ends over it.
bool Walk::prepare() {
  (void)session_->ask({"maxlen", "0"});
  if (session_->ended()) return false;
  // Since Redis 7.0 there are <error> items for all errors of calls, and this number.
  const auto version = session_->ask({"eval", "return type(redis.REDIS_VERSION_NUM)"});
  const auto& items = version.items;
  calls_ = CallLog(std::any_of(items.begin(), items.end(), [](const auto& item) {
    return item.find("number") != std::string::npos;
  }));
  return !session_->ended();
}

bool Walk::start() {
  if (!session_) return false;
  auto message = session_->start(debuggee_, script_.text);
  if (message.stop && !prepare()) return false;
  return settle(std::move(message));
}

bool Walk::step() {
  reason_ = Stop::Reason::kStep;
  return settle(session_->step());
}

bool Walk::run(const std::function<bool()>& is_enough) {
  reason_ = Stop::Reason::kStep;
  calls_.set_silent(true);
  auto message = session_->run();
  while (message.stop && message.stop->reason == Stop::Reason::kTimeout && !is_enough()) {
    read(message);
    message = session_->run();
  }
  const bool stands = message.stop && message.stop->reason != Stop::Reason::kTimeout;
  if (stands || message.ended) return settle(std::move(message));
  // In the midst of a line: what it does is seen at the next.
  read(message);
  calls_.set_silent(false);
  const bool goes_on = step();
  reason_ = Stop::Reason::kTimeout;
  return goes_on;
}

/// Whether a line can be begun twice in turn, with no other one and no probe between: by a loop or
/// a function that stands on it as a whole, or a loop in which there is nothing.
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

/// Steps on where the stop is at a line of ours, or none of the script's.
bool Walk::settle(Message message) {
  read(message);
  calls_.set_silent(false);
  while (message.stop) {
    if (message.stop->reason != Stop::Reason::kStep) reason_ = message.stop->reason;
    const int line = script_.line_of(message.stop->line);
    const bool stays = std::exchange(text_line_, message.stop->line) == message.stop->line;
    // The debugger makes a stop of its own after each 100,000 of Lua's instructions.
    const bool is_extra = stays && reason_ == Stop::Reason::kStep && line > 0 && !may_repeat(line);
    if (line > 0 && !is_extra) {
      line_ = line;
      return true;
    }
    message = session_->step();
    read(message);
  }
  return false;
}

/// "<debug> line 12: ..."
void Walk::read_debug(std::string_view item) {
  constexpr std::string_view kColon = ": ";
  const auto colon = item.find(kColon);
  if (colon == item.npos) return;
  item.remove_prefix(colon + kColon.size());
  auto told = reader_.read(item);
  switch (told.kind) {
    case ProbeReader::Line::Kind::kProbe:
      on_reading_(script_, told.reading);
      break;
    case ProbeReader::Line::Kind::kCall:
      calls_.add_words(std::move(told.words), told.answer);
      break;
    case ProbeReader::Line::Kind::kScripts:
      messages_.emplace_back(item);
      break;
  }
}

void Walk::read(const Message& message) {
  for (const auto& told : message.items) {
    const auto item = with_source_lines(told, script_.lines);
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

std::vector<std::string> Walk::take_messages() {
  return std::exchange(messages_, {});
}

Call Walk::call(const std::vector<std::string>& words) {
  std::vector<std::string> command{"redis"};
  command.insert(command.end(), words.begin(), words.end());
  const auto message = session_->ask(command);
  auto log = calls_.like();
  log.add_words(words, {});
  for (const auto& item : message.items) log.add_item(item);
  return log.take().front();
}

std::size_t Walk::depth(std::size_t most) {
  const auto frames = session_->ask({"trace"}).items;
  const auto count = std::count_if(frames.begin(), frames.end(), [](const auto& item) {
    return item.starts_with("In ") || item.starts_with("From ");
  });
  return std::min(static_cast<std::size_t>(count), most);
}

TraceResult Walk::result() {
  TraceResult result;
  if (!session_) {
    result.ending = Ending::kRefused;
    result.message = refusal_;
    return result;
  }
  result.ending = session_->ending();
  result.text_lines = script_.lines;
  if (session_->reply()) result.reply = session_->take_reply();
  switch (result.ending) {
    case Ending::kCompileError:
    case Ending::kRunTimeError:
    case Ending::kAborted: {
      auto error =
          explain_error(*result.reply, {.line_of = [&](int line) { return script_.line_of(line); },
                                        .last_line = line_,
                                        .source = debuggee_.source});
      result.message = std::move(error.message);
      result.error_line = error.line;
      break;
    }
    case Ending::kCutOff:
      result.error_line = line_;
      [[fallthrough]];
    case Ending::kRefused:
    case Ending::kLost:
      result.message = session_->why();
      break;
    case Ending::kReturned:
      break;
  }
  return result;
}

namespace {

/// The source as it is, but for the clock.
ProbedScript plain(const Debuggee& debuggee, const WalkOptions& options) {
  auto script = add_probes(debuggee.source, {.probes = false, .now = options.now});
  if (!script) script.emplace(ProbedScript{.text = debuggee.source});
  // All of its lines, as Lua counts them.
  const auto count = source_lines(debuggee.source).size();
  script->lines.clear();
  for (std::size_t i = 0; i <= count; ++i) script->lines.push_back(static_cast<int>(i));
  // Where something is missing at the end, Lua names the line behind it, to Redis 6 one further on.
  script->lines.insert(script->lines.end(), 2, static_cast<int>(count));
  return *std::move(script);
}

std::string too_long(std::string_view text) {
  return "a script of " + std::to_string(text.size()) +
         " bytes is too long for a forked session: the server would lose parts of it";
}

}  // namespace

std::unique_ptr<Walk> begin_walk(const Debuggee& debuggee, Mode mode, const Connect& connect,
                                 const WalkOptions& options, const Walk::OnReading& on_reading) {
  const auto fits = [&](const ProbedScript& script) {
    return mode == Mode::kSync || fits_forked(debuggee, script.text);
  };
  const auto begin = [&](ProbedScript script) {
    auto walk = std::make_unique<Walk>(debuggee, std::move(script),
                                       Session(connect(), mode, options.limits), on_reading);
    (void)walk->start();
    return walk;
  };
  for (const bool wrapped : {false, true}) {
    auto script = add_probes(debuggee.source, {.wrapped = wrapped, .now = options.now});
    if (!script || script->probes.empty() || !fits(*script)) continue;
    auto walk = begin(*std::move(script));
    if (!walk->ended() || walk->session().ending() != Ending::kCompileError) return walk;
  }
  auto script = plain(debuggee, options);
  if (!fits(script)) return std::make_unique<Walk>(debuggee, too_long(script.text));
  return begin(std::move(script));
}

}  // namespace rlctl::ldb
