#include "traffic/foreign_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::traffic {
namespace {

constexpr std::size_t kMostShown = 60;  // bytes of a key or an argument, in a message

bool any_tells_time(const std::vector<Template>& templates) {
  return std::any_of(templates.begin(), templates.end(),
                     [](const Template& text) { return text.tells_time(); });
}

/// EXPIRE, PEXPIREAT, SETEX, EX, PX and the like all have one of two syllables; RESTORE has none.
/// What only looks like it costs some µs.
bool may_set_ttl(std::string_view text) {
  return contains_in_any_case(text, "ex") || contains_in_any_case(text, "px") ||
         contains_in_any_case(text, "restore");
}

/// Without the script's name in Redis, which says nothing to its author.
std::string without_script_name(std::string message) {
  const auto at = message.find("user_script:");
  if (at == message.npos) return message;
  const auto end = message.find(": ", at);
  // "Error compiling script (new function): user_script:3: ..." says where twice.
  const bool is_start = at == 0 || std::string_view(message).substr(0, at).ends_with("): ");
  if (!is_start || end == message.npos) return message;
  return message.erase(at, end + 2 - at);
}

/// An error reply of the server's, with the file and the line that raised it.
redis::Error error_of(redis::ReplyView reply, std::string_view name) {
  const auto error = redis::to_error(reply);
  const auto line = redis::script_line(reply.text());
  return {error.failure(),
          line ? fmt::format("{}:{}: {}", name, *line, without_script_name(error.what()))
               : fmt::format("{}: {}", name, error.what()),
          error.code(), error.hint()};
}

std::string quoted_words(std::span<const std::string_view> words) {
  std::string out;
  for (const auto word : words) out += " '" + escape(word, kMostShown) + "'";
  return words.empty() ? " none" : out;
}

}  // namespace

void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit) {
  require_usable(limiter.reading);
  for (const auto& key : limiter.keys) key.require_usable(limit);
  for (const auto& argument : limiter.arguments) argument.require_usable(limit);
}

void require_virtual_clock(const ForeignLimiter& limiter) {
  if (any_tells_time(limiter.keys) || any_tells_time(limiter.arguments)) return;
  throw UsageError(limiter.name +
                   " is not told the time, neither by its keys nor by its arguments: it uses the "
                   "server's clock, "
                   "which virtual time does not move, or relies on the TTLs of its keys");
}

const Placeholder* coarsest_time(const ForeignLimiter& limiter) {
  const Placeholder* coarsest = nullptr;
  for (const auto* words : {&limiter.keys, &limiter.arguments}) {
    for (const auto& word : *words) {
      const auto* found = word.coarsest_time();
      if (found == nullptr) continue;
      if (coarsest == nullptr || found->tick > coarsest->tick) coarsest = found;
    }
  }
  return coarsest;
}

ForeignScript::ForeignScript(const ForeignLimiter& limiter, const limiter::Limit& limit,
                             const Traffic& traffic, std::string prefix)
    : limiter_(limiter), limit_(limit), traffic_(traffic), prefix_(std::move(prefix)) {
  require_usable(limiter, limit);
}

bool ForeignScript::may_call_time() const {
  return contains_in_any_case(limiter_.source, "time");
}

std::optional<std::string> ForeignScript::key_of_ttls() const {
  const auto& arguments = limiter_.arguments;
  const bool may = may_set_ttl(limiter_.source) ||
                   std::any_of(arguments.begin(), arguments.end(),
                               [](const Template& word) { return may_set_ttl(word.source()); });
  return may ? std::optional(prefix_ + "rlctl:ttls") : std::nullopt;
}

void ForeignScript::load(redis::Connection& connection) {
  const auto reply = connection.call({"SCRIPT", "LOAD", limiter_.source});
  if (reply.is_error()) throw error_of(reply, limiter_.name);
  sha1_ = reply.text();
}

limiter::ScriptCall ForeignScript::fill(Question& question, const Arrival& arrival,
                                        std::int64_t number) const {
  const TemplateValues values{.key = traffic_.key_name(arrival.key),
                              .limit = limit_,
                              .cost = arrival.cost,
                              .id = number,
                              .now = arrival.at};
  question.text.clear();
  question.ends.clear();
  for (const auto& key : limiter_.keys) {
    question.text += prefix_;
    key.append(question.text, values);
    question.ends.push_back(question.text.size());
  }
  for (const auto& argument : limiter_.arguments) {
    argument.append(question.text, values);
    question.ends.push_back(question.text.size());
  }
  // The text has stopped moving.
  question.words.clear();
  std::size_t begin = 0;
  for (const auto end : question.ends) {
    question.words.push_back(std::string_view(question.text).substr(begin, end - begin));
    begin = end;
  }
  const redis::Arguments words(question.words);
  return {.sha1 = sha1_,
          .keys = words.first(limiter_.keys.size()),
          .arguments = words.subspan(limiter_.keys.size())};
}

limiter::ScriptCall ForeignScript::call(const Arrival& arrival) {
  const auto call = fill(question_, arrival, ++asked_);
  for (const auto key : call.keys) {
    if (keys_.find(key) == keys_.end()) keys_.emplace(key);
  }
  return call;
}

limiter::Decision ForeignScript::read(redis::ReplyView reply) const {
  if (reply.is_error()) throw error_of(reply, limiter_.name);
  return read_reply(reply, limiter_.reading, limit_.limit, limiter_.name);
}

redis::Error ForeignScript::with_question(const redis::Error& error, const Arrival& arrival,
                                          std::int64_t number) const {
  Question question;
  const auto call = fill(question, arrival, number);
  return {error.failure(),
          fmt::format("{}; request {} had KEYS{} and ARGV{}", error.what(), number,
                      quoted_words(call.keys), quoted_words(call.arguments)),
          error.code(), error.hint()};
}

std::vector<std::string> ForeignScript::keys() const {
  std::vector<std::string> sorted(keys_.begin(), keys_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace rlctl::traffic
