#include "ldb/trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "ldb/call_log.h"
#include "ldb/error_text.h"
#include "ldb/local_watch.h"
#include "ldb/source_lines.h"

namespace rlctl::ldb {
namespace {

using OnLine = std::function<void(const TracedLine&)>;

/// One run of a script, with probes in it or without.
class Run {
 public:
  Run(const Debuggee& debuggee, ProbedScript script, Mode mode, redis::Connection connection,
      const TraceOptions& options, const OnLine& on_line)
      : debuggee_(debuggee),
        script_(std::move(script)),
        options_(options),
        on_line_(on_line),
        session_(std::move(connection), mode),
        has_functions_(debuggee.source.find("function") != std::string::npos) {}

  TraceResult trace();

 private:
  [[nodiscard]] bool has_probes() const noexcept { return !script_.probes.empty(); }
  bool prepare();
  void read(const Message& message);
  void read_debug(std::string_view item);
  void print_locals();
  std::size_t depth();
  void add_changes(std::vector<LocalChange> changes);
  [[nodiscard]] bool is_repeated(int line) const;
  bool begin_line(int line);
  void finish_line();
  void cut_off();
  [[nodiscard]] TraceResult result();

  const Debuggee& debuggee_;
  const ProbedScript script_;
  const std::vector<std::string_view> source_ = source_lines(debuggee_.source);
  const TraceOptions& options_;
  const OnLine& on_line_;
  Session session_;
  ProbeReader reader_{script_};
  CallLog calls_;
  LocalWatch watch_{script_};
  PrintedLocals printed_;
  bool has_functions_;
  bool is_deep_ = false;
  std::optional<TracedLine> line_;  ///< what is being executed
  int last_line_ = 0;
  TraceResult result_;
};

/// What is wanted of the debugger before the first line. False where the session ends over it.
bool Run::prepare() {
  (void)session_.ask({"maxlen", "0"});
  if (session_.ended()) return false;
  // Since Redis 7.0 there are <error> items for all errors of calls, and this number.
  const auto version = session_.ask({"eval", "return type(redis.REDIS_VERSION_NUM)"});
  const auto& items = version.items;
  calls_ = CallLog(std::any_of(items.begin(), items.end(), [](const auto& item) {
    return item.find("number") != std::string::npos;
  }));
  return !session_.ended();
}

void Run::add_changes(std::vector<LocalChange> changes) {
  if (!line_) return;
  if (!has_probes() && !changes.empty()) result_.exact = false;
  line_->changed.insert(line_->changed.end(), std::make_move_iterator(changes.begin()),
                        std::make_move_iterator(changes.end()));
}

/// "<debug> line 12: ..."
void Run::read_debug(std::string_view item) {
  constexpr std::string_view kColon = ": ";
  const auto colon = item.find(kColon);
  if (colon == item.npos) return;
  item.remove_prefix(colon + kColon.size());
  auto told = reader_.read(item);
  switch (told.kind) {
    case ProbeReader::Line::Kind::kProbe:
      add_changes(watch_.changes(told.reading));
      break;
    case ProbeReader::Line::Kind::kCall:
      calls_.add_words(std::move(told.words), told.answer);
      break;
    case ProbeReader::Line::Kind::kScripts:
      if (line_) line_->messages.emplace_back(item);
      break;
  }
}

void Run::read(const Message& message) {
  for (const auto& item : message.items) {
    if (item.starts_with("<debug> line ")) {
      read_debug(item);
    } else {
      calls_.add_item(item);
    }
  }
  auto calls = calls_.take();
  if (!line_) return;
  line_->calls.insert(line_->calls.end(), std::make_move_iterator(calls.begin()),
                      std::make_move_iterator(calls.end()));
}

/// How many functions have been entered; 1 where there are so many that it would take long to ask.
std::size_t Run::depth() {
  constexpr std::size_t kDeep = 100;
  if (!has_functions_ || is_deep_) return 1;
  const auto frames = session_.ask({"trace"}).items;
  const auto count = std::count_if(frames.begin(), frames.end(), [](const auto& item) {
    return item.starts_with("In ") || item.starts_with("From ");
  });
  is_deep_ = static_cast<std::size_t>(count) > kDeep;
  return is_deep_ ? 1 : static_cast<std::size_t>(count);
}

void Run::print_locals() {
  const auto frames = depth();
  if (session_.ended()) return;
  const auto locals = session_.ask({"print"});
  if (session_.ended()) return;
  add_changes(printed_.changes(locals.items, frames, last_line_));
}

void Run::finish_line() {
  if (!line_) return;
  result_.calls += static_cast<std::int64_t>(line_->calls.size());
  on_line_(*line_);
  line_.reset();
}

/// Whether a stop where the last one was is none of the script's: the debugger makes one after each
/// 100,000 of Lua's instructions. Only a loop comes back to its line without another one between,
/// or a function to its own; others have a probe there.
bool Run::is_repeated(int line) const {
  constexpr std::array<std::string_view, 5> kMayRepeat{"for", "while", "repeat", "until",
                                                       "function"};
  const auto index = static_cast<std::size_t>(line) - 1;
  if (!has_probes() || index >= source_.size()) return false;
  return std::none_of(kMayRepeat.begin(), kMayRepeat.end(), [&](auto word) {
    return source_[index].find(word) != std::string_view::npos;
  });
}

/// False where it is one too many.
bool Run::begin_line(int line) {
  finish_line();
  if (result_.lines >= options_.max_steps) return false;
  ++result_.lines;
  ++result_.hits[line];
  line_.emplace();
  line_->number = result_.lines;
  line_->line = last_line_ = line;
  return true;
}

void Run::cut_off() {
  auto why = "it had executed " + std::to_string(result_.lines) + " lines";
  if (options_.lets_go) {
    session_.let_go(std::move(why));
  } else {
    session_.cut_off(std::move(why));
  }
}

TraceResult Run::trace() {
  auto message = session_.start(debuggee_, script_.text);
  if (message.stop && !prepare()) return result();
  for (int before = 0; message.stop;) {
    read(message);
    const int line = script_.line_of(message.stop->line);
    const bool stays = std::exchange(before, message.stop->line) == message.stop->line;
    if (line > 0 && !(stays && is_repeated(line))) {
      if (!has_probes()) print_locals();
      if (session_.ended()) break;
      if (!begin_line(line)) {
        cut_off();
        break;
      }
    }
    message = session_.step();
  }
  if (message.ended) read(message);
  return result();
}

TraceResult Run::result() {
  finish_line();
  result_.ending = session_.ending();
  if (session_.reply()) result_.reply = session_.take_reply();
  switch (result_.ending) {
    case Ending::kCompileError:
    case Ending::kRunTimeError:
    case Ending::kAborted: {
      auto error =
          explain_error(*result_.reply, {.line_of = [&](int line) { return script_.line_of(line); },
                                         .last_line = last_line_,
                                         .source = debuggee_.source});
      result_.message = std::move(error.message);
      result_.error_line = error.line;
      break;
    }
    case Ending::kCutOff:
      result_.error_line = last_line_;
      [[fallthrough]];
    case Ending::kRefused:
    case Ending::kLost:
      result_.message = session_.why();
      break;
    case Ending::kReturned:
      break;
  }
  return std::move(result_);
}

/// The source as it is, but for the clock.
ProbedScript plain(const Debuggee& debuggee, const TraceOptions& options) {
  auto script = add_probes(debuggee.source, {.probes = false, .now = options.now});
  if (!script) script.emplace(ProbedScript{.text = debuggee.source});
  // All of its lines, as Lua counts them.
  const auto count = source_lines(debuggee.source).size();
  script->lines.clear();
  for (std::size_t i = 0; i <= count; ++i) script->lines.push_back(static_cast<int>(i));
  return *std::move(script);
}

TraceResult too_long(std::string_view text) {
  TraceResult result;
  result.ending = Ending::kRefused;
  result.message = "a script of " + std::to_string(text.size()) +
                   " bytes is too long for a forked session: the server would lose parts of it";
  return result;
}

}  // namespace

TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                  const TraceOptions& options, const OnLine& on_line) {
  const auto fits = [&](const ProbedScript& script) {
    return mode == Mode::kSync || fits_forked(debuggee, script.text);
  };
  for (const bool wrapped : {false, true}) {
    auto script = add_probes(debuggee.source, {.wrapped = wrapped, .now = options.now});
    if (!script || script->probes.empty() || !fits(*script)) continue;
    Run run(debuggee, *std::move(script), mode, connect(), options, on_line);
    auto result = run.trace();
    if (result.ending != Ending::kCompileError) return result;
  }
  auto script = plain(debuggee, options);
  if (!fits(script)) return too_long(script.text);
  Run run(debuggee, std::move(script), mode, connect(), options, on_line);
  return run.trace();
}

}  // namespace rlctl::ldb
