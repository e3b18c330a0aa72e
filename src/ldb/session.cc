#include "ldb/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::ldb {

// ---- Errors and their places ----

namespace {

constexpr std::string_view kScript = "user_script";
constexpr std::string_view kCompiling = "Error compiling script (new function): ";
constexpr std::string_view kRunning = "ERR Error running script (call to f_";

/// "@user_script:12"
struct Place {
  std::string_view chunk = {};
  int line = 0;
  std::size_t size = 0;  ///< the bytes that it takes, including the "@"
};

/// Parses a chunk's name, a colon (in old versions followed by a blank), and a line.
std::optional<Place> parse_place(std::string_view text) {
  const std::size_t start = text.starts_with('@') ? 1 : 0;
  const auto colon = text.find(':');
  if (colon == text.npos || text.substr(0, colon).find(' ') != text.npos) return std::nullopt;
  auto digits = text.substr(colon + 1);
  if (digits.starts_with(' ')) digits.remove_prefix(1);
  Place place{.chunk = text.substr(start, colon - start)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), place.line);
  if (error != std::errc{}) return std::nullopt;
  place.size = static_cast<std::size_t>(end - text.data());
  return place;
}

/// The place at which, according to the server, an error was raised.
std::optional<Place> place_of(std::string_view text) {
  // Up to Redis 6: "ERR Error running script (call to f_SHA1): @user_script:12: ..."
  constexpr std::string_view kEnd = "): ", kSuffix = " script: ", kOn = "on @";
  const auto end = text.find(kEnd);
  if (text.starts_with(kRunning) && end != text.npos) {
    if (const auto place = parse_place(text.substr(end + kEnd.size()))) return place;
  }
  // Since Redis 7: "... script: SHA1, on @user_script:12."; Valkey 9 omits the SHA1.
  const auto at = text.rfind(kSuffix);
  if (at == text.npos || !text.ends_with('.')) return std::nullopt;
  const auto on = text.find(kOn, at + kSuffix.size());
  return on == text.npos ? std::nullopt : parse_place(text.substr(on + kOn.size() - 1));
}

/// Removes the place at the start of a message if it is the error's, or makes it that if the error
/// has none.
void take_place(ScriptError& error) {
  const auto place = parse_place(error.message);
  if (!place || place->chunk != kScript) return;
  if (!error.message.substr(place->size).starts_with(": ")) return;
  if (error.line == 0) error.line = place->line;
  if (error.line == place->line) error.message.erase(0, place->size + 2);
}

/// The ending that an error reply after a session means. `stopped`: the script stopped before;
/// `aborting`: it was asked to end.
Ending ending_of(std::string_view error_text, bool stopped, bool aborting) {
  if (!stopped) {
    // A session without a stop replies "ERR Error compiling script", or an error in a #! line,
    // which also has ERR; other codes (OOM, MISCONF...) are about the server.
    return error_text.starts_with("ERR ") ? Ending::kCompileError : Ending::kRefused;
  }
  if (!place_of(error_text)) return Ending::kReturned;
  constexpr std::string_view kAborted = "script aborted for user request";
  const bool aborted = aborting && error_text.find(kAborted) != error_text.npos;
  return aborted ? Ending::kAborted : Ending::kRunTimeError;
}

}  // namespace

ScriptError explain_error(redis::ReplyView error_reply, std::string_view source,
                          std::optional<int> last_line) {
  std::string message = redis::to_error(error_reply).what();
  const bool compiling = message.starts_with(kCompiling);
  if (compiling) message.erase(0, kCompiling.size());
  ScriptError error{.message = std::move(message)};
  if (const auto place = place_of(error_reply.text()); place && place->chunk == kScript) {
    error.line = place->line;
  }
  take_place(error);
  if (compiling) {
    // Up to Redis 6, the script is the body of a function whose `end` is two lines below.
    error.line = std::min(error.line, static_cast<int>(lua::source_lines(source).size()));
  } else if (error.line == 0) {
    error.line = last_line == 0 && source.starts_with("#!") ? 1 : last_line.value_or(0);
  }
  return error;
}

// ---- Sessions ----

namespace {

using redis::Error;
using redis::Failure;
using redis::ReplyType;

/// The limits of a debugger command, which are the same in all versions.
constexpr std::size_t kLongestWord = 1024;
constexpr std::size_t kMaxWords = 1024;
constexpr std::size_t kMaxBytes = std::size_t{1024} * 1024;
/// The bytes that Valkey 9 reads at once; an incomplete command crashes the server.
constexpr std::size_t kAlwaysAccepted = 1024;

constexpr std::string_view kEnd = "<endsession>";
constexpr std::string_view kStopped = "* Stopped at ";
constexpr std::string_view kReason = ", stop reason = ";

/// The prefixes that other server families write in place of kCallItem.
constexpr std::array<std::string_view, 2> kOtherCalls{"<redict> ", "<command> "};

/// An item with Redis' prefix.
std::string unified(std::string_view item) {
  for (const auto prefix : kOtherCalls) {
    if (item.starts_with(prefix)) {
      return std::string(kCallItem).append(item.substr(prefix.size()));
    }
  }
  return std::string(item);
}

Stop::Reason reason_of(std::string_view text) {
  if (text.find("breakpoint() called") != text.npos) return Stop::Reason::kCalledFor;
  if (text.starts_with("break")) return Stop::Reason::kBreakpoint;
  if (text.starts_with("timeout")) return Stop::Reason::kTimeout;
  return Stop::Reason::kStep;
}

/// "* Stopped at 12, stop reason = step over"
std::optional<Stop> parse_stop(std::string_view text) {
  if (!text.starts_with(kStopped)) return std::nullopt;
  text.remove_prefix(kStopped.size());
  Stop stop;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stop.line);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(kReason)) return std::nullopt;
  stop.reason = reason_of(text.substr(kReason.size()));
  return stop;
}

[[noreturn]] void fail_usage(const std::string& what) {
  throw UsageError("the debugger takes no " + what);
}

/// The size of a command on the wire: "*N\r\n", and "$N\r\n...\r\n" for each word.
std::size_t wire_size(const std::vector<std::string>& words) {
  const auto header_size = [](std::size_t n) { return std::to_string(n).size() + 3; };
  std::size_t size = header_size(words.size());
  for (const auto& word : words) size += header_size(word.size()) + word.size() + 2;
  return size;
}

void require_accepted(const std::vector<std::string>& words) {
  if (words.empty()) fail_usage("command without a word");
  if (words.size() > kMaxWords) fail_usage("command of more than 1024 words");
  for (const auto& word : words) {
    if (word.empty()) fail_usage("empty word");
    if (word.size() > kLongestWord) fail_usage("word of more than 1024 bytes");
  }
  if (wire_size(words) > kMaxBytes) fail_usage("command of more than 1 MiB");
}

/// The text with a comment in front if it is empty: Valkey 9 crashes on an empty script.
std::string not_empty(std::string_view text) {
  return std::string(text.find_first_not_of(" \t\r\n\v\f") == text.npos ? "--" : "").append(text);
}

/// The words of EVAL: views of the arguments.
std::vector<std::string_view> eval_words(const Debuggee& debuggee, std::string_view text,
                                         const std::string& key_count) {
  std::vector<std::string_view> words{"EVAL", text, key_count};
  words.insert(words.end(), debuggee.keys.begin(), debuggee.keys.end());
  words.insert(words.end(), debuggee.arguments.begin(), debuggee.arguments.end());
  return words;
}

/// Adds empty words, so that a fork keeps all: since 7.0, a server discards parts of a fork's words
/// (madvise in the child) if they are as long as a page, on average.
void pad_for_fork(std::vector<std::string_view>& words) {
  constexpr std::size_t kSmallestPage = 4096;
  std::size_t bytes = 0;
  for (const auto word : words) bytes += word.size();
  words.resize(std::max(words.size(), bytes / kSmallestPage + 1));
}

}  // namespace

bool is_padded_in_fork(const Debuggee& debuggee) {
  const auto key_count = std::to_string(debuggee.keys.size());
  auto words = eval_words(debuggee, debuggee.source, key_count);
  const auto count = words.size();
  pad_for_fork(words);
  return words.size() > count;
}

void Session::require(State state) const {
  if (state_ != state) throw std::logic_error("a debugging session is in the wrong state");
}

void Session::end(Ending ending, std::string why) {
  ending_ = ending;
  why_ = std::move(why);
  state_ = State::kEnded;
  connection_.reset();
}

void Session::end_refused(redis::Reply reply) {
  std::string why = reply.is_error() ? redis::to_error(reply).what()
                                     : "the server ran the script without its debugger";
  reply_ = std::move(reply);
  end(Ending::kRefused, std::move(why));
}

/// Calls `talk`, which waits for the server, for a stop if `may_stop`; if the connection breaks, or
/// no answer arrives in time, the session ends.
template <typename Talk>
Message Session::guarded(std::chrono::microseconds limit, bool may_stop, Talk talk) {
  connection_->set_timeout(limit);
  try {
    return talk();
  } catch (const Error& error) {
    const auto failure = error.failure();
    if (stopped_once_ && failure == Failure::kTimeout) {
      end(Ending::kCutOff,
          (may_stop ? "no stop within " : "no answer within ") + format_duration(limit));
    } else {
      end(Ending::kLost, error.what());
    }
    if (failure != Failure::kTimeout && failure != Failure::kUnreachable &&
        failure != Failure::kProtocol) {
      throw;
    }
  }
  return {};
}

Message Session::start(const Debuggee& debuggee) {
  require(State::kIdle);
  state_ = State::kStopped;
  return guarded(limits_.step, true, [&]() -> Message {
    connection_->pin_to_server();  // whatever the script replies
    auto reply = connection_->call({"SCRIPT", "DEBUG", mode_ == Mode::kSync ? "SYNC" : "YES"});
    if (!reply.is_error()) {
      const auto key_count = std::to_string(debuggee.keys.size());
      const auto sent_text = not_empty(debuggee.source);
      auto words = eval_words(debuggee, sent_text, key_count);
      if (mode_ == Mode::kForked) pad_for_fork(words);
      connection_->append(words);
      reply = connection_->read();
      if (reply.type() == ReplyType::kArray) return parse(reply, true);
    }
    end_refused(std::move(reply));
    return {};
  });
}

/// Parses a message, only by the position of its items: their content is the script's.
Message Session::parse(const redis::Reply& reply, bool may_stop) {
  const auto junk = [] { return Error(Failure::kProtocol, "this is not the debugger's answer"); };
  if (reply.type() != ReplyType::kArray) throw junk();
  Message message;
  auto count = reply.size();
  const bool is_last = count > 0 && reply[count - 1].text() == kEnd;
  if (is_last) {
    --count;
  } else if (may_stop) {
    if (count >= 2) message.stop = parse_stop(reply[count - 2].text());
    if (!message.stop) throw junk();
    count -= 2;
    stopped_once_ = true;
  }
  for (std::size_t i = 0; i < count; ++i) message.items.push_back(unified(reply[i].text()));
  if (is_last) read_result();
  return message;
}

/// Reads the script's own reply, after the last message.
void Session::read_result() {
  auto reply = connection_->read();
  auto ending = Ending::kReturned;
  if (reply.is_error()) {
    ending = ending_of(reply.text(), stopped_once_, aborting_);
    if (ending == Ending::kRefused) return end_refused(std::move(reply));
  }
  reply_ = std::move(reply);
  end(ending);
}

/// Sends one command and reads the server's answer, which is a stop if `may_stop`.
Message Session::send(redis::Arguments words, std::chrono::microseconds limit, bool may_stop) {
  require(State::kStopped);
  return guarded(limit, may_stop, [&] { return parse(connection_->call(words), may_stop); });
}

Message Session::move(std::string_view command, std::chrono::microseconds limit) {
  return send(redis::Arguments(&command, 1), limit, true);
}

Message Session::step() {
  return move("step", limits_.step);
}

Message Session::run() {
  return move("continue", limits_.run);
}

bool Session::is_valkey_9() {
  constexpr std::string_view kVersion =
      "return rawget(_G, 'server') ~= nil and server.VALKEY_VERSION_NUM or 0";
  constexpr int kValkey9 = 0x090000;
  if (!is_valkey_9_) {
    const std::string_view command[] = {"eval", kVersion};
    const auto message = send(command, limits_.step, false);
    int version = 0;
    for (std::string_view item : message.items) {
      if (!item.starts_with(kValueItem)) continue;
      item.remove_prefix(kValueItem.size());
      std::from_chars(item.data(), item.data() + item.size(), version);
    }
    is_valkey_9_ = ended() || version >= kValkey9;
  }
  return *is_valkey_9_;
}

Message Session::ask(const std::vector<std::string>& words,
                     std::optional<std::chrono::microseconds> limit) {
  require(State::kStopped);
  require_accepted(words);
  if (wire_size(words) > kAlwaysAccepted && is_valkey_9()) {
    if (ended()) return {};
    fail_usage("command of more than 1 KiB on this server");
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  return send(views, limit.value_or(limits_.step), false);
}

void Session::abort_script() {
  aborting_ = true;
  const auto message = move("abort", limits_.run);
  if (!message.stop) return;
  send_abort();
  end(Ending::kCutOff, "the script caught its abort and continued");
}

void Session::send_abort() noexcept {
  try {
    connection_->append({"abort"});
    connection_->send_some();
  } catch (const std::exception&) {
    // If nothing can be sent any more, closing is all that is left.
  }
}

Session::~Session() {
  if (connection_ && state_ == State::kStopped && mode_ == Mode::kForked) send_abort();
}

}  // namespace rlctl::ldb
