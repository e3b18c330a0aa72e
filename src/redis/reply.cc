#include "redis/reply.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

#include "base/text.h"

namespace rlctl::redis {

namespace {

constexpr std::array<std::string_view, 5> kNotNowCodes{"LOADING", "BUSY", "MASTERDOWN",
                                                       "CLUSTERDOWN", "TRYAGAIN"};
// DENIED: protected mode, a server without a password that is called from another machine.
constexpr std::array<std::string_view, 4> kRefusedCodes{"NOAUTH", "WRONGPASS", "NOPERM", "DENIED"};
// Refusals without a code of their own, by the start of their message.
constexpr std::array<std::string_view, 5> kRefusedSentences{
    "The user executing the script can't",          // in a script, up to Redis 7.0
    "ACL failure in script",                        // in a script, since Redis 7.2
    "AUTH <password> called without any password",  // since Redis 6
    "Client sent AUTH, but no password is set",     // up to Redis 5
    "invalid password"};                            // up to Redis 5

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct ErrorParts {
  std::string_view code;
  std::string_view sentence;
};

bool is_code(std::string_view word) {
  constexpr std::size_t kShortest = 3;  // OOM; "A" and "I" begin sentences
  return word.size() >= kShortest && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

// Removes "@user_script:12: " or "@user_script: 12: ", which Redis 6 puts before a script's errors.
bool remove_script_position(std::string_view& text) {
  if (!text.starts_with('@')) return false;
  auto at = text.find(':');
  if (at == std::string_view::npos || text.substr(0, at).find(' ') != std::string_view::npos) {
    return false;
  }
  ++at;
  if (at < text.size() && text[at] == ' ') ++at;
  const auto digits_end = std::min(text.find_first_not_of("0123456789", at), text.size());
  if (digits_end == at || !text.substr(digits_end).starts_with(": ")) return false;
  text.remove_prefix(digits_end + 2);
  return true;
}

// Unwraps Redis 6's "ERR Error running script (call to f_SHA1): @user_script:1: -OOM ..."; returns
// true if the error was wrapped.
bool unwrap_script_error(std::string_view& text) {
  bool positioned = false;
  const bool wrapped = text.starts_with("ERR Error running script (call to f_");
  if (wrapped) {
    constexpr std::string_view kEnd = "): ";
    const auto end = text.find(kEnd);
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + kEnd.size());
  }
  while (remove_script_position(text)) positioned = true;
  if (positioned && text.starts_with('-')) text.remove_prefix(1);
  return wrapped;
}

// Since Redis 7 a script's errors end in " script: SHA1, on @user_script:1."; Valkey 9 omits the
// SHA1.
std::string_view without_script_suffix(std::string_view text) {
  constexpr std::string_view kSuffix = " script: ";
  const auto at = text.rfind(kSuffix);
  if (at == std::string_view::npos) return text;
  auto tail = text.substr(at + kSuffix.size());
  const auto sha1_end = std::min(tail.find_first_not_of("0123456789abcdef"), tail.size());
  if (sha1_end == 40 && tail.substr(sha1_end).starts_with(", ")) tail.remove_prefix(42);
  return tail.starts_with("on @") ? text.substr(0, at) : text;
}

// Leaves the reason for which EXEC was refused; if a queued command was refused, that is "previous
// errors".
void unwrap_transaction_error(std::string_view& text) {
  constexpr std::string_view kStart = "EXECABORT Transaction discarded because of: ";
  if (text.starts_with(kStart)) text.remove_prefix(kStart.size());
}

ErrorParts split_error(std::string_view text) {
  unwrap_transaction_error(text);
  const bool wrapped = unwrap_script_error(text);
  const auto space = std::min(text.find(' '), text.size());
  if (is_code(text.substr(0, space))) {
    return {text.substr(0, space), text.substr(std::min(space + 1, text.size()))};
  }
  return {wrapped ? "ERR" : "", text};
}

Failure classify(const ErrorParts& parts) {
  if (contains(kNotNowCodes, parts.code)) return Failure::kNotNow;
  if (contains(kRefusedCodes, parts.code)) return Failure::kRefused;
  const bool refused = (parts.code.empty() || parts.code == "ERR") &&
                       std::any_of(kRefusedSentences.begin(), kRefusedSentences.end(),
                                   [&](auto start) { return parts.sentence.starts_with(start); });
  return refused ? Failure::kRefused : Failure::kRejected;
}

}  // namespace

ReplyType ReplyView::type() const {
  switch (reply_->type) {
    case REDIS_REPLY_STRING:
      return ReplyType::kString;
    case REDIS_REPLY_STATUS:
      return ReplyType::kStatus;
    case REDIS_REPLY_INTEGER:
      return ReplyType::kInteger;
    case REDIS_REPLY_NIL:
      return ReplyType::kNil;
    case REDIS_REPLY_ERROR:
      return ReplyType::kError;
    case REDIS_REPLY_ARRAY:
      return ReplyType::kArray;
    default:
      throw Error(Failure::kProtocol, "the answer has a type that RESP2 does not know");
  }
}

std::string_view ReplyView::text() const {
  switch (type()) {
    case ReplyType::kString:
    case ReplyType::kStatus:
    case ReplyType::kError:
      return {reply_->str, static_cast<std::size_t>(reply_->len)};
    default:
      return {};
  }
}

std::int64_t ReplyView::integer() const {
  return type() == ReplyType::kInteger ? std::int64_t{reply_->integer} : 0;
}

std::size_t ReplyView::size() const {
  return type() == ReplyType::kArray ? reply_->elements : 0;
}

ReplyView ReplyView::operator[](std::size_t index) const {
  if (index >= size())
    throw Error(Failure::kProtocol, "the answer has fewer elements than expected");
  return ReplyView(reply_->element[index]);
}

void Reply::Free::operator()(redisReply* reply) const noexcept {
  freeReplyObject(reply);
}

std::string_view error_code(std::string_view error_text) {
  return split_error(error_text).code;
}

std::optional<int> script_line(std::string_view error_text) {
  constexpr std::string_view kScript = "user_script:", kPosition = "@user_script:";
  // The error's own text, which may contain anything, precedes the position or follows all of it.
  auto at = error_text.rfind(kPosition);
  at = at == error_text.npos ? error_text.find(kScript) : at + 1;
  if (at == error_text.npos) return std::nullopt;
  auto digits = error_text.substr(at + kScript.size());
  if (digits.starts_with(' ')) digits.remove_prefix(1);
  int line = 0;
  const auto* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, line).ec != std::errc{}) return std::nullopt;
  return line;
}

Failure classify_error(std::string_view error_text) {
  return classify(split_error(error_text));
}

Error to_error(ReplyView error_reply) {
  const auto parts = split_error(error_reply.text());
  const auto sentence = escape(without_script_suffix(parts.sentence));
  const bool bare = parts.code.empty() || parts.code == "ERR";
  std::string message = bare ? sentence : std::string(parts.code);
  if (!bare && !sentence.empty()) message += " " + sentence;
  return {classify(parts), message, std::string(parts.code)};
}

}  // namespace rlctl::redis
