#include "ldb/call_log.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "ldb/session.h"
#include "ldb/value.h"

namespace rlctl::ldb {
namespace {

/// Removes the unreliable count of "... (2 more)".
std::string_view without_count(std::string_view words) {
  constexpr std::string_view kMore = " more)", kDots = " ... (";
  if (!words.ends_with(kMore)) return words;
  const auto at = words.rfind(kDots);
  if (at == words.npos) return words;
  const auto digits =
      words.substr(at + kDots.size(), words.size() - at - kDots.size() - kMore.size());
  return is_digits(digits) ? words.substr(0, at + kDots.size() - 2) : words;
}

/// "-ERR value is not an integer" in the form of redis::to_error(): without an uninformative code.
std::string plain_error(std::string_view text) {
  constexpr std::string_view kBare = "ERR ";
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with(kBare)) text.remove_prefix(kBare.size());
  return std::string(text);
}

/// Whether a reply has the form of an error: "-CODE ...", in quotes.
bool looks_like_error(std::string_view reply) {
  constexpr std::string_view kStart = "\"-";
  constexpr std::size_t kShortestCode = 3;
  if (!reply.starts_with(kStart)) return false;
  reply.remove_prefix(kStart.size());
  const auto code = reply.substr(0, reply.find(' '));
  return code.size() >= kShortestCode && code.size() < reply.size() &&
         std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// Texts in the debugger's notation of an array.
std::string array_text(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const auto& word : words) {
    if (text.size() > 1) text += ',';
    text.append("\"").append(word).append("\"");
  }
  return text + "]";
}

/// Appends a reply as the debugger prints it: 5, "abc", NULL, ["a",1], "+OK".
void append_reply(std::string& out, redis::ReplyView reply) {
  Value text{.kind = Value::Kind::kString};
  switch (reply.type()) {
    case redis::ReplyType::kInteger:
      out += std::to_string(reply.integer());
      return;
    case redis::ReplyType::kNil:
      out += "NULL";
      return;
    case redis::ReplyType::kArray:
      for (std::size_t i = 0; i < reply.size(); ++i) {
        out += i == 0 ? '[' : ',';
        append_reply(out, reply[i]);
      }
      out += reply.size() == 0 ? "[]" : "]";
      return;
    case redis::ReplyType::kString:
      text.text = reply.text();
      break;
    case redis::ReplyType::kStatus:
      text.text = "+" + std::string(reply.text());
      break;
    case redis::ReplyType::kError:
      text.text = "-" + std::string(reply.text());
      break;
  }
  append_text(out, text);
}

}  // namespace

Call call_of(const std::vector<std::string>& words, redis::ReplyView reply) {
  Call call{.words = words};
  append_reply(call.reply.emplace(), reply);
  if (reply.is_error()) call.error = plain_error(reply.text());
  return call;
}

void CallLog::refuse_pending() {
  if (!pending_) return;
  calls_.push_back({.words = *std::exchange(pending_, std::nullopt), .is_silent = is_silent_});
  is_open_ = false;
}

void CallLog::begin(Call call) {
  calls_.push_back(std::move(call));
  is_open_ = true;
  has_error_item_ = false;
}

void CallLog::add_words(CallWords words, const std::optional<std::vector<std::string>>& answer) {
  refuse_pending();
  is_open_ = false;
  if (answer) {
    calls_.push_back({.words = std::move(words), .reply = array_text(*answer)});
  } else {
    pending_ = std::move(words);
  }
}

void CallLog::add_item(std::string_view item) {
  if (item.starts_with(kCallItem)) {
    item.remove_prefix(kCallItem.size());
    if (pending_) {
      begin({.words = *std::exchange(pending_, std::nullopt)});
    } else {
      begin({.words = {std::string(without_count(item))}, .raw = true});
    }
  } else if (item.starts_with(kReplyItem)) {
    add_reply(item.substr(kReplyItem.size()));
  } else if (item.starts_with(kErrorItem)) {
    add_error(item.substr(kErrorItem.size()));
  }
}

void CallLog::add_reply(std::string_view reply) {
  if (!is_open_ || calls_.back().reply) return;
  auto& call = calls_.back();
  call.reply = reply;
  if (!tells_errors_ && looks_like_error(reply)) {
    call.error = plain_error(without_quotes(reply));
  }
}

// Not every <error> belongs to a call: redis.error_reply() writes one, and so do invalid arguments.
void CallLog::add_error(std::string_view error) {
  if (pending_) begin({.words = *std::exchange(pending_, std::nullopt)});
  if (!is_open_ || has_error_item_) return;
  auto& call = calls_.back();
  if (call.reply && !call.reply->starts_with("\"-")) return;
  call.error = plain_error(error);
  has_error_item_ = true;
}

void CallLog::close() {
  refuse_pending();
  is_open_ = false;
}

void CallLog::set_silent(bool silent) {
  close();
  is_silent_ = silent;
}

std::vector<Call> CallLog::take() {
  close();
  return std::exchange(calls_, {});
}

}  // namespace rlctl::ldb
