#include "cli/commands/check/lines.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

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

/// The number of counters for each key shown, and their minimum: enough for nearly exact counts.
constexpr std::size_t kCountersPerKey = 10, kMinCounters = 1000;

/// By how much a count of these keys may be too high.
std::int64_t largest_error(const std::vector<TopKeys::Entry>& entries) {
  std::int64_t largest = 0;
  for (const auto& entry : entries) largest = std::max(largest, entry.error);
  return largest;
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

/// The counter of a key that has none yet: a new one, or that of the rarest key, whose count it
/// takes over, since the new key may have been added that often before.
TopKeys::Counters::iterator TopKeys::place_for(std::string_view key) {
  if (by_count_.size() < counters_) {
    return by_count_.emplace(0, Counter{.key = std::string(key)});
  }
  const auto rarest = by_count_.begin();
  by_key_.erase(rarest->second.key);
  rarest->second = {.key = std::string(key), .error = rarest->first};
  return rarest;
}

void TopKeys::add(std::string_view key) {
  key = key.substr(0, kMaxBytes);
  const auto found = by_key_.find(key);
  const auto counter = found == by_key_.end() ? place_for(key) : found->second;
  // Moving the node leaves the key, and the view of it, where they are.
  auto node = by_count_.extract(counter);
  ++node.key();
  const auto moved = by_count_.insert(std::move(node));
  by_key_.insert_or_assign(moved->second.key, moved);
}

std::vector<TopKeys::Entry> TopKeys::top(std::size_t most) const {
  std::vector<Entry> entries;
  for (auto next = by_count_.rbegin(); next != by_count_.rend() && entries.size() < most; ++next) {
    entries.push_back({.key = next->second.key, .count = next->first, .error = next->second.error});
  }
  return entries;
}

Tally::Tally(const Plan& plan, std::string_view command) : plan_(plan), command_(command) {
  if (plan.top_denied > 0) {
    top_.emplace(
        std::max(kCountersPerKey * static_cast<std::size_t>(plan.top_denied), kMinCounters));
  }
  if (!plan.textfile) return;
  write();
  next_write_ = Clock::now() + kInterval;
}

void Tally::add(const Answer& result) {
  ++(result.decision.allowed ? allowed_ : denied_);
  if (top_ && !result.decision.allowed) top_->add(result.key);
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
  if (top_ && !plan_.textfile) report_top();
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
  if (!top_) return out;
  const auto top = top_->top(static_cast<std::size_t>(plan_.top_denied));
  metrics.family("rlctl_check_top_denied_total", "counter",
                 "Denied requests of the keys that were denied most.");
  for (const auto& entry : top) sample({"key", entry.key}, entry.count);
  metrics.family("rlctl_check_top_denied_error", "gauge",
                 "How much too high a count of rlctl_check_top_denied_total may be, at most.");
  sample({"key", ""}, largest_error(top));
  return out;
}

void Tally::report_shadow() const {
  auto text = std::to_string(denied_) + " of " + counted(allowed_ + denied_, "request") +
              " would have been denied (--shadow)";
  if (errors_ > 0) text += "; no decision for " + counted(errors_, "line");
  warn(text, command_);
}

void Tally::report_top() const {
  const auto top = top_->top(static_cast<std::size_t>(plan_.top_denied));
  auto text = counted(denied_, "request") + (plan_.shadow ? " would have been denied" : " denied");
  if (!top.empty()) text += ", most often those of";
  if (const auto error = largest_error(top); error > 0) {
    text += " (counts may be too high by up to " + std::to_string(error) + ")";
  }
  warn(text + (top.empty() ? "" : ":"), command_);
  std::vector<Cells> rows;
  for (const auto& entry : top) {
    rows.push_back({"  " + escaped_text(entry.key), std::to_string(entry.count)});
  }
  std::string out;
  const Columns columns(rows, Numbers::kAfterFirst);
  for (const auto& row : rows) out += columns.line(row) + "\n";
  write_stderr(out);
}

}  // namespace rlctl::cli::check
