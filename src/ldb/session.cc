#include "ldb/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "ldb/error_text.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

using redis::Error;
using redis::Failure;
using redis::ReplyType;

/// What a server's debugger takes in one command: LDB's own limits, the same in all versions.
constexpr std::size_t kLongestWord = 1024;
constexpr std::size_t kMostWords = 1024;
constexpr std::size_t kMostBytes = std::size_t{1024} * 1024;
/// What Valkey 9 reads at a time; a command of which it does not have all then is the server's end.
constexpr std::size_t kAlwaysTaken = 1024;

constexpr std::string_view kEnd = "<endsession>";
constexpr std::string_view kStopped = "* Stopped at ";
constexpr std::string_view kReason = ", stop reason = ";

/// What the families of servers call the same item.
constexpr std::array<std::string_view, 2> kOtherCalls{"<redict> ", "<command> "};

/// An item as Redis has it.
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

/// Appends a word of an eval in as many as it takes; the server joins them by a blank each.
void append_cut(std::vector<std::string>& out, std::string_view word) {
  while (word.size() > kLongestWord) {
    const auto blank = word.rfind(' ', kLongestWord);
    if (blank == word.npos || blank == 0 || blank + 1 == word.size()) break;
    out.emplace_back(word.substr(0, blank));
    word.remove_prefix(blank + 1);
  }
  out.emplace_back(word);
}

std::vector<std::string> cut(const std::vector<std::string>& words) {
  const bool is_code = !words.empty() && (words[0] == "eval" || words[0] == "e");
  if (!is_code) return words;
  std::vector<std::string> result;
  for (const auto& word : words) append_cut(result, word);
  return result;
}

/// Bytes of a command on its way: "*N\r\n", and "$N\r\n...\r\n" for each word.
std::size_t wire_size(const std::vector<std::string>& words) {
  const auto header_size = [](std::size_t n) { return std::to_string(n).size() + 3; };
  std::size_t size = header_size(words.size());
  for (const auto& word : words) size += header_size(word.size()) + word.size() + 2;
  return size;
}

void require_speakable(const std::vector<std::string>& words) {
  if (words.empty()) fail_usage("command without a word");
  if (words.size() > kMostWords) fail_usage("command of more than 1024 words");
  for (const auto& word : words) {
    if (word.empty()) fail_usage("empty word");
    if (word.size() > kLongestWord) fail_usage("word of more than 1024 bytes");
  }
  if (wire_size(words) > kMostBytes) fail_usage("command of more than 1 MiB");
}

/// Valkey 9 breaks down over a script in which there is nothing at all; a comment does nothing,
/// too.
std::string with_something(std::string_view text) {
  return std::string(text.find_first_not_of(" \t\r\n\v\f") == text.npos ? "--" : "").append(text);
}

/// EVAL and its words. Views of what is given, and of `key_count`.
std::vector<std::string_view> eval_words(const Debuggee& debuggee, std::string_view text,
                                         const std::string& key_count) {
  std::vector<std::string_view> words{"EVAL", text, key_count};
  words.insert(words.end(), debuggee.keys.begin(), debuggee.keys.end());
  words.insert(words.end(), debuggee.arguments.begin(), debuggee.arguments.end());
  return words;
}

}  // namespace

void Session::require(State state) const {
  if (state_ != state) throw std::logic_error("a debugging session is not where it should be");
}

void Session::end(Ending ending, std::string why) {
  ending_ = ending;
  why_ = std::move(why);
  state_ = State::kEnded;
  connection_.reset();
}

void Session::refuse(redis::Reply reply) {
  std::string why = reply.is_error() ? redis::to_error(reply).what()
                                     : "the server ran the script without its debugger";
  reply_ = std::move(reply);
  end(Ending::kRefused, std::move(why));
}

/// Talks with the server; where that breaks, the session has ended.
template <typename Talk>
Message Session::guarded(Talk talk) {
  try {
    return talk();
  } catch (const Error& error) {
    const auto failure = error.failure();
    const bool in_script = stopped_once_ && failure == Failure::kTimeout;
    if (!in_script)
      end(Ending::kLost, error.what());
    else
      let_go((moves_ ? "no stop within " : "no answer within ") + format_duration(limit_));
    if (failure != Failure::kTimeout && failure != Failure::kUnreachable &&
        failure != Failure::kProtocol) {
      throw;
    }
  }
  return {.ended = true};
}

/// False where the server does not.
bool Session::enable() {
  // AUTH and SELECT travel with the first command, and SCRIPT DEBUG must be answered alone.
  if (connection_->has_unsent()) (void)connection_->call({"PING"});
  auto reply = connection_->call({"SCRIPT", "DEBUG", mode_ == Mode::kSync ? "SYNC" : "YES"});
  if (!reply.is_error()) return true;
  refuse(std::move(reply));
  return false;
}

/// The first message.
Message Session::begin() {
  auto reply = connection_->read();
  if (reply.type() == ReplyType::kArray) return take(reply, true);
  refuse(std::move(reply));
  return {.ended = true};
}

Message Session::start(const Debuggee& debuggee, std::string_view text) {
  require(State::kIdle);
  state_ = State::kStopped;
  connection_->set_timeout(limits_.step);
  return guarded([&]() -> Message {
    if (!enable()) return {.ended = true};
    const auto key_count = std::to_string(debuggee.keys.size());
    const auto sent_text = with_something(text);
    connection_->append(eval_words(debuggee, sent_text, key_count));
    return begin();
  });
}

/// Takes a message apart, by the place of its items alone: what they hold is the script's.
Message Session::take(const redis::Reply& reply, bool may_stop) {
  const auto junk = [] { return Error(Failure::kProtocol, "this is not the debugger's answer"); };
  if (reply.type() != ReplyType::kArray) throw junk();
  Message message;
  auto count = reply.size();
  if (count > 0 && reply[count - 1].text() == kEnd) {
    --count;
    message.ended = true;
  } else if (may_stop) {
    if (count >= 2) message.stop = parse_stop(reply[count - 2].text());
    if (!message.stop) throw junk();
    count -= 2;
    stopped_once_ = true;
  }
  for (std::size_t i = 0; i < count; ++i) message.items.push_back(unified(reply[i].text()));
  if (message.ended) take_result();
  return message;
}

/// The script's own reply, behind the last message.
void Session::take_result() {
  auto reply = connection_->read();
  auto ending = Ending::kReturned;
  if (reply.is_error()) {
    ending = ending_of(reply.text(), stopped_once_, aborting_);
    if (ending == Ending::kRefused) return refuse(std::move(reply));
  }
  reply_ = std::move(reply);
  end(ending);
}

Message Session::say(redis::Arguments words, std::chrono::microseconds limit, bool may_stop) {
  require(State::kStopped);
  limit_ = limit;
  moves_ = may_stop;
  connection_->set_timeout(limit);
  return guarded([&] { return take(connection_->call(words), may_stop); });
}

Message Session::move(std::string_view command, std::chrono::microseconds limit) {
  return say(redis::Arguments(&command, 1), limit, true);
}

Message Session::step() {
  return move("step", limits_.step);
}

Message Session::run() {
  return move("continue", limits_.run);
}

bool Session::takes_long_commands() {
  constexpr std::string_view kVersion =
      "return rawget(_G, 'server') ~= nil and server.VALKEY_VERSION_NUM or 0";
  constexpr int kValkey9 = 0x090000;
  constexpr std::string_view kAnswer = "<retval> ";
  if (!takes_long_commands_) {
    const std::string_view command[] = {"eval", kVersion};
    const auto message = say(command, limits_.step, false);
    int version = 0;
    for (std::string_view item : message.items) {
      if (!item.starts_with(kAnswer)) continue;
      item.remove_prefix(kAnswer.size());
      std::from_chars(item.data(), item.data() + item.size(), version);
    }
    takes_long_commands_ = !ended() && version < kValkey9;
  }
  return *takes_long_commands_;
}

Message Session::ask(const std::vector<std::string>& words,
                     std::optional<std::chrono::microseconds> limit) {
  require(State::kStopped);
  const auto cut_words = cut(words);
  require_speakable(cut_words);
  if (wire_size(cut_words) > kAlwaysTaken && !takes_long_commands()) {
    if (ended()) return {.ended = true};
    fail_usage("command of more than 1 KiB on this server");
  }
  const std::vector<std::string_view> views(cut_words.begin(), cut_words.end());
  return say(views, limit.value_or(limits_.step), false);
}

void Session::abort_script() {
  aborting_ = true;
  const auto message = move("abort", limits_.run);
  if (message.stop) cut_off("the script caught its abort and went on");
}

void Session::send_abort() noexcept {
  try {
    connection_->append({"abort"});
    connection_->send_some();
  } catch (const std::exception&) {
    // Where nothing can be sent any more, closing is what there is.
  }
}

void Session::cut_off(std::string why) {
  if (ended()) return;
  if (state_ == State::kStopped) send_abort();
  let_go(std::move(why));
}

void Session::let_go(std::string why) {
  if (!ended()) end(Ending::kCutOff, std::move(why));
}

Session::~Session() {
  if (connection_ && state_ == State::kStopped && mode_ == Mode::kForked) send_abort();
}

bool fits_forked(const Debuggee& debuggee, std::string_view text) {
  constexpr std::size_t kSmallestPage = 4096;
  const auto key_count = std::to_string(debuggee.keys.size());
  const auto words = eval_words(debuggee, text, key_count);
  std::size_t bytes = 0;
  for (const auto word : words) bytes += word.size();
  return bytes / words.size() < kSmallestPage;
}

}  // namespace rlctl::ldb
