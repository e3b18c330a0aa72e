#include "cli/commands/check/tally.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::check {
namespace {

/// The number of counters for each key shown, and their minimum: enough for nearly exact counts.
constexpr std::size_t kCountersPerKey = 10, kMinCounters = 1000;

/// By how much a count of these keys may be too high.
std::int64_t largest_error(const std::vector<TopKeys::Entry>& entries) {
  std::int64_t largest = 0;
  for (const auto& entry : entries) largest = std::max(largest, entry.error);
  return largest;
}

}  // namespace

Tally::Tally(const Plan& plan, std::string_view command) : plan_(plan), command_(command) {
  if (plan.top_denied > 0) {
    top_.emplace(
        std::max(kCountersPerKey * static_cast<std::size_t>(plan.top_denied), kMinCounters));
  }
  if (!plan.textfile) return;
  write();
  next_write_ = Clock::now() + kInterval;
}

void Tally::add(const Result& result) {
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

/// The file and the policy, which keep apart the metrics of several batches; then `last`.
std::vector<PrometheusLabel> Tally::labels(PrometheusLabel last) const {
  const auto* policy = plan_.limiter.policy;
  return {textfile_label(*plan_.textfile),
          {"policy", policy == nullptr ? std::string() : policy->name},
          std::move(last)};
}

std::string Tally::metrics() const {
  std::string out;
  PrometheusWriter metrics(out);
  const auto sample = [&](PrometheusLabel label, std::int64_t value) {
    metrics.sample(labels(std::move(label)), static_cast<double>(value));
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
