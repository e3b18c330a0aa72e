#include "cli/commands/check/lines.h"

#include <cstdint>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::check {

void Spellings::require_same(std::string_view key, const std::string& redis_key,
                             const limiter::Limit& limit) {
  const auto both = limiter::base_keys(redis_key, limit);
  if (both.size() < 2) return;
  if (has_braces_.size() >= kMaxKeys || bytes_ > kMaxBytes) {
    has_braces_.clear();
    bytes_ = 0;
  }
  const bool braces = key == both.back();
  const auto [earlier, is_new] = has_braces_.try_emplace(redis_key, braces);
  if (is_new) bytes_ += redis_key.size();
  if (earlier->second == braces) return;
  throw UsageError("key " + in_quotes(key) + " uses the same Redis key " + in_quotes(redis_key) +
                   " as " + in_quotes(braces ? both.front() : both.back()) + " on an earlier line");
}

namespace {

/// The message without digits and what is in quotes.
std::string without_values(std::string_view message) {
  std::string pattern;
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && !is_digit(c)) pattern += c;
  }
  return pattern;
}

}  // namespace

bool FailureRun::is_alike(const Problem& problem) const {
  return empty() || problem.message == message_ || without_values(problem.message) == pattern_;
}

bool FailureRun::add(std::size_t line, const Problem& problem, std::size_t most_reported) {
  const bool is_repeated = problem.status != ExitStatus::kUsage && problem.message == message_;
  if (reported_ < most_reported && !is_repeated) {
    ++reported_;
    pattern_ = without_values(problem.message);
    message_ = problem.message;
    status_ = problem.status;
    return true;
  }
  if (others_++ == 0) first_ = line;
  last_ = line;
  return false;
}

std::string FailureRun::others() const {
  if (others_ == 0) return {};
  std::string text =
      "the same error on " + counted(static_cast<std::int64_t>(others_), "more line") + " (";
  text += std::to_string(first_);
  return (others_ == 1 ? text : text + " to " + std::to_string(last_)) + ")";
}

}  // namespace rlctl::cli::check
