#include "cli/commands/check/lines.h"

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/terminal/output.h"

namespace rlctl::cli::check {
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
  throw UsageError("key " + quoted_and_masked(key) + " uses the same Redis key " +
                   quoted_and_masked(redis_key) + " as " +
                   quoted_and_masked(braces ? both.front() : both.back()) + " on an earlier line");
}

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

Tally::Tally(const Plan& plan, std::string_view command) : plan_(plan), command_(command) {
  if (!plan.textfile) return;
  write();
  next_write_ = Clock::now() + kInterval;
}

void Tally::add(const Answer& result) {
  ++(result.decision.allowed ? allowed_ : denied_);
}

std::string Tally::write_if_due() {
  if (!plan_.textfile || Clock::now() < next_write_) return {};
  next_write_ = Clock::now() + kInterval;
  try {
    write();
    has_warned_ = false;
  } catch (const OutputError& error) {
    if (!std::exchange(has_warned_, true)) return std::string("warning: ") + error.what();
  }
  return {};
}

void Tally::end() {
  if (plan_.shadow) report_shadow();
  if (plan_.textfile) write();
}

void Tally::write() const {
  OutputFile file("--textfile", *plan_.textfile);
  file.write(metrics());
  file.commit();
}

std::string Tally::metrics() const {
  std::string out;
  PrometheusWriter metrics(out);
  const auto* policy = plan_.limiter.policy;
  const auto sample = [&](PrometheusLabel label, std::int64_t value) {
    // The file and the policy keep apart the metrics of several batches.
    const std::vector<PrometheusLabel> labels{
        textfile_label(*plan_.textfile),
        {"policy", policy == nullptr ? std::string() : policy->name},
        std::move(label)};
    metrics.sample(labels, static_cast<double>(value));
  };
  metrics.family("rlctl_check_requests_total", "counter", "Requests of a batch, by answer.");
  sample({"result", "allowed"}, allowed_);
  sample({"result", "denied"}, plan_.shadow ? 0 : denied_);
  sample({"result", "error"}, errors_);
  if (plan_.shadow) sample({"result", "would_deny"}, denied_);
  return out;
}

void Tally::report_shadow() const {
  auto text = std::to_string(denied_) + " of " + counted(allowed_ + denied_, "request") +
              " would have been denied (--shadow)";
  if (errors_ > 0) text += "; no decision for " + counted(errors_, "line");
  warn(text, command_);
}

}  // namespace rlctl::cli::check
