#include "debugger/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "base/worker.h"
#include "lua/lexer.h"
#include "lua/runner.h"

namespace rlctl::debugger {
namespace {

using lua::Value;

/// A reply as Redis's debugger writes it, with strings of any bytes.
std::string reply_as_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case redis::ReplyType::kInteger:
      return std::to_string(reply.integer());
    case redis::ReplyType::kNil:
      return "NULL";
    case redis::ReplyType::kString:
      return lua::string_literal(reply.text());
    case redis::ReplyType::kStatus:
      return lua::string_literal("+" + std::string(reply.text()));
    case redis::ReplyType::kError:
      return lua::string_literal("-" + std::string(reply.text()));
    case redis::ReplyType::kArray:
      break;
  }
  std::string text = "[";
  for (std::size_t i = 0; i < reply.size(); ++i) {
    text += (i > 0 ? "," : "") + reply_as_text(reply[i]);
  }
  return text + "]";
}

constexpr std::string_view kBareCode = "ERR ";

/// Takes "user_script:7: " off the beginning of an error, and returns the line; 0 if there is none.
int take_place(std::string_view& error) {
  constexpr std::string_view kChunk = "user_script:", kBehind = ": ";
  if (!error.starts_with(kChunk)) return 0;
  auto rest = error.substr(kChunk.size());
  const auto digits = take_digits(rest);
  if (!rest.starts_with(kBehind)) return 0;
  error = rest.substr(kBehind.size());
  return to_number<int>(digits).value_or(0);
}

/// The message of what a script raised, without its place. Errors of commands are tables.
std::string message_of(const Value& error) {
  const auto* told = &error;
  for (const auto& [key, field] : error.fields) {
    if (key.kind == Value::Kind::kString && key.text == "err") told = &field;
  }
  if (told->kind != Value::Kind::kString) return lua::text_of(*told);
  std::string_view text = told->text;
  if (text.starts_with(kBareCode)) text.remove_prefix(kBareCode.size());
  take_place(text);
  return std::string(text);
}

CompileError explain(const lua::InvalidScript& error) {
  std::string_view message = error.what();
  constexpr std::string_view kCompiling = "Error compiling script (new function): ";
  if (message.starts_with(kBareCode)) message.remove_prefix(kBareCode.size());
  if (message.starts_with(kCompiling)) message.remove_prefix(kCompiling.size());
  const int line = take_place(message);
  return {.message = std::string(message), .line = line};
}

constexpr lua::Bounds kBounds{.instructions = std::numeric_limits<std::int64_t>::max() / 2};

}  // namespace

redis::Reply written_reply(std::string_view bytes) {
  constexpr std::size_t kFed = 4096;  // as ReplyReader::feed() asks for
  redis::ReplyReader reader;
  while (true) {
    if (auto reply = reader.next()) return *std::move(reply);
    if (bytes.empty()) throw std::logic_error("the engine wrote a reply that is not complete");
    reader.feed(bytes.substr(0, kFed));
    bytes.remove_prefix(std::min(kFed, bytes.size()));
  }
}

Call call_of(const std::vector<std::string>& words, redis::ReplyView reply) {
  Call call{.words = words, .reply = reply_as_text(reply)};
  if (reply.is_error()) {
    auto text = reply.text();
    if (text.starts_with(kBareCode)) text.remove_prefix(kBareCode.size());
    call.error = text;
  }
  return call;
}

std::optional<CompileError> find_compile_error(const Debuggee& debuggee) {
  try {
    const lua::Runner runner(debuggee.source);
    return std::nullopt;
  } catch (const lua::InvalidScript& error) {
    return explain(error);
  }
}

// ---- A run ----

redis::Reply Recorder::run_script(const Debuggee& debuggee, keyspace::Keyspace& keys,
                                  const Interrupt* interrupt) {
  auto bounds = kBounds;
  bounds.interrupt = interrupt;
  lua::Runner runner(debuggee.source, bounds);
  runner.observe(*this);
  const std::vector<std::string_view> names(debuggee.keys.begin(), debuggee.keys.end());
  const std::vector<std::string_view> words(debuggee.arguments.begin(), debuggee.arguments.end());
  std::string bytes;
  worker::begin_request(debuggee.name, 1, names, words);
  const auto forget_stack = [this](lua::Runner*) { stack_ = nullptr; };
  const std::unique_ptr<lua::Runner, decltype(forget_stack)> at_end(&runner, forget_stack);
  try {
    runner.run("", names, words, keys, bytes);
    return written_reply(bytes);
  } catch (const lua::NotImplementedHere&) {
    result_.error_line = runner.stopped_line();
    throw;
  } catch (const redis::ReplyTooLarge& error) {
    result_.error_line = line_;
    throw lua::NotImplementedHere(
        fmt::format("rlctl does not read its reply, which {}", error.what()));
  }
}

RunResult Recorder::run(const Debuggee& debuggee, keyspace::Keyspace& keys,
                        const Interrupt* interrupt) {
  result_ = {};
  line_ = 0;
  last_line_ = static_cast<int>(lua::source_lines(debuggee.shown_source()).size());
  own_keys_ = {debuggee.keys.begin(), debuggee.keys.end()};
  calls_.clear();
  messages_.clear();
  const auto end = [this](Ending ending, std::string message) {
    result_.ending = ending;
    result_.message = std::move(message);
  };
  try {
    result_.reply = run_script(debuggee, keys, interrupt);
    // An error for which there is no memory left is not told.
    if (!result_.returned && result_.ending == Ending::kReturned) {
      end(Ending::kRunTimeError, std::string(result_.reply->text()));
    }
  } catch (const lua::InvalidScript& error) {
    auto problem = explain(error);
    result_.error_line = problem.line;
    end(Ending::kCompileError, std::move(problem.message));
  } catch (const EndOfRun& ended) {
    result_.error_line = line_;
    end(ended.ending, ended.what());
  } catch (const lua::NotImplementedHere& error) {
    end(Ending::kNotImplemented, error.what());
  } catch (const lua::RanTooLong& error) {
    result_.error_line = line_;
    end(Ending::kCutOff, fmt::format("it {}", error.what()));
  }
  return std::move(result_);
}

void Recorder::at_line(lua::Stack& stack) {
  stack_ = &stack;
  worker::begin_step();
  if (stack.line() > last_line_) return on_added_line();
  on_line(stack);
}

void Recorder::count(const lua::Stack& stack) {
  line_ = stack.line();
  ++result_.lines;
  ++result_.hits[stack.line()];
}

void Recorder::at_error(lua::Stack& stack, const Value& error) {
  result_.ending = Ending::kRunTimeError;
  result_.message = message_of(error);
  const auto frames = stack.frames();
  result_.error_line = frames.empty() ? 0 : frames.front().line;
}

void Recorder::after_call(const std::vector<std::string>& words, std::string_view reply) {
  if (stack_ != nullptr && stack_->is_evaluating()) return;
  ++result_.calls;
  note_other_keys(words);
  calls_.push_back(call_of(words, written_reply(reply)));
}

void Recorder::note_other_keys(const std::vector<std::string>& words) {
  constexpr std::size_t kMostKeys = 1000;
  const std::vector<std::string_view> command(words.begin(), words.end());
  for (const auto key : keyspace::keys_of(command)) {
    if (result_.other_keys.size() >= kMostKeys) return;
    if (!own_keys_.contains(key)) result_.other_keys.emplace(key);
  }
}

void Recorder::on_debug(const std::vector<Value>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + lua::text_of(value);
  messages_.push_back({.text = std::move(text)});
}

void Recorder::on_log(std::string_view level, std::string text) {
  messages_.push_back({.text = std::move(text), .level = std::string(level)});
}

// ---- Changes of variables ----

std::vector<lua::Variable> Changes::take(const lua::Stack& stack) {
  const auto [seen, is_new] = seen_.try_emplace(stack.call());
  auto& values = seen->second;
  std::vector<lua::Variable> changed;
  Values now;
  for (auto& variable : stack.variables(0)) {
    const Place place{variable.name, variable.place};
    const auto before = values.find(place);
    const bool was_there = before != values.end();
    const bool is_same = was_there && before->second == variable.value;
    if (!is_same && (was_there || !variable.is_upvalue())) changed.push_back(variable);
    if (was_there && !is_same && variable.is_upvalue()) {
      change_elsewhere(variable.name, before->second, variable.value);
    }
    keep_shadowed(values, place, now);
    now.emplace(place, std::move(variable.value));
  }
  values = std::move(now);
  if (is_new) keep_active(stack);
  return changed;
}

/// A local variable that another one of its name hides is seen again when that one's block ends.
void Changes::keep_shadowed(const Values& before, const Place& by, Values& now) {
  const auto& [name, place] = by;
  for (auto at = before.lower_bound({name, 1}); at != before.end() && at->first < by; ++at) {
    now.insert(*at);
  }
}

/// Another function may have the same variable, whose change is told once.
void Changes::change_elsewhere(const std::string& name, const Value& before, const Value& now) {
  for (auto& [call, values] : seen_) {
    for (auto at = values.lower_bound({name, 0}); at != values.end() && at->first.first == name;
         ++at) {
      if (at->second == before) at->second = now;
    }
  }
}

/// Forgets the calls that have ended.
void Changes::keep_active(const lua::Stack& stack) {
  if (seen_.size() < most_seen_) return;
  std::set<std::int64_t> active;
  for (const auto& frame : stack.frames()) active.insert(frame.call);
  std::erase_if(seen_, [&](const auto& call) { return !active.contains(call.first); });
  // So seldom that deep recursion costs little.
  most_seen_ = std::max(most_seen_, 2 * seen_.size());
}

// ---- A trace ----

namespace {

class Counter : public Recorder {
 public:
  explicit Counter(std::int64_t most_lines) : most_lines_(most_lines) {}

 protected:
  void on_line(lua::Stack& stack) override {
    if (result_.lines >= most_lines_) {
      throw EndOfRun(Ending::kCutOff, fmt::format("it had executed {} lines", most_lines_));
    }
    count(stack);
    calls_.clear();
    messages_.clear();
  }

 private:
  std::int64_t most_lines_;
};

class Tracer final : public Recorder {
 public:
  Tracer(std::int64_t most_lines, const std::function<void(const TracedLine&)>& on_line)
      : most_lines_(most_lines), on_line_(on_line) {}

  /// Tells the last line, after run().
  void end_line() {
    if (line_.number == 0) return;
    line_.calls = std::exchange(calls_, {});
    line_.messages = std::exchange(messages_, {});
    on_line_(line_);
  }

 private:
  void on_line(lua::Stack& stack) override {
    line_.changed = changes_.take(stack);
    end_line();
    if (line_.number >= most_lines_) {
      line_ = {};
      throw EndOfRun(Ending::kCutOff, fmt::format("it had executed {} lines", most_lines_));
    }
    count(stack);
    line_ = {.number = line_.number + 1, .line = stack.line()};
  }

  std::int64_t most_lines_;
  const std::function<void(const TracedLine&)>& on_line_;
  Changes changes_;
  TracedLine line_;  ///< that is being run
};

}  // namespace

RunResult trace(const Debuggee& debuggee, keyspace::Keyspace& keys, const Interrupt* interrupt,
                std::int64_t most_lines, const std::function<void(const TracedLine&)>& on_line) {
  Tracer tracer(most_lines, on_line);
  auto result = tracer.run(debuggee, keys, interrupt);
  tracer.end_line();
  return result;
}

RunResult count_lines(const Debuggee& debuggee, keyspace::Keyspace& keys,
                      const Interrupt* interrupt, std::int64_t most_lines) {
  return Counter(most_lines).run(debuggee, keys, interrupt);
}

}  // namespace rlctl::debugger
