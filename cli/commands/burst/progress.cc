#include "cli/commands/burst/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/measures.h"
#include "cli/commands/burst/report.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::burst {
namespace {

using traffic::RealProgress;

/// A part of the line; parts with lower ranks are dropped first.
struct Part {
  int rank;
  std::string text;
};

std::string joined(const std::vector<Part>& parts) {
  std::string line;
  for (const auto& part : parts) line.append(line.empty() ? "" : "  ").append(part.text);
  return line;
}

std::string fitting(std::vector<Part> parts, std::size_t columns) {
  const auto by_rank = [](const Part& one, const Part& other) { return one.rank < other.rank; };
  while (parts.size() > 1 && display_width(joined(parts)) > columns) {
    parts.erase(std::min_element(parts.begin(), parts.end(), by_rank));
  }
  return joined(parts);
}

/// The duration of the whole run: as planned, or estimated from the share of requests sent.
double seconds_in_all(const RunInProgress& run, const RealProgress& progress) {
  if (run.seconds) return std::max(*run.seconds, progress.seconds);
  if (progress.sent == 0) return progress.seconds;
  const auto share = static_cast<double>(progress.sent) / static_cast<double>(run.requests);
  return progress.seconds / std::min(share, 1.0);
}

std::vector<Part> parts_of(const RunInProgress& run, const RealProgress& progress) {
  std::vector<Part> parts;
  if (run.of > 1) parts.push_back({9, fmt::format("{}/{}", run.number + 1, run.of)});
  parts.push_back({1, escaped_message(run.name)});
  if (progress.until_first.count() > 0) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(progress.until_first);
    parts.push_back({10, fmt::format("waiting {} s for the edge of a window", left.count())});
    parts.push_back({0, "Ctrl-C stops"});
    return parts;
  }
  const auto all = seconds_in_all(run, progress);
  const auto& timing = *progress.timing;
  parts.push_back({10, fmt::format("{:.1f}/{:.1f}s", progress.seconds, all)});
  parts.push_back({4, run.is_closed_loop ? rate_text(timing.achieved_per_second)
                                         : rate_text(timing.offered_per_second) + " offered"});
  parts.push_back({6, fmt::format("{} allowed", progress.allowed)});
  parts.push_back({5, fmt::format("{} denied", progress.denied)});
  if (const auto p99 = waited_for(timing).percentile(kP99)) {
    parts.push_back({3, "p99 " + latency_text(*p99)});
  }
  const auto runs_left = static_cast<double>(run.of - run.number - 1);
  parts.push_back(
      {8, fmt::format("eta {:.0f}s", std::ceil(all * (1 + runs_left) - progress.seconds))});
  parts.push_back({0, "Ctrl-C stops"});
  return parts;
}

/// How long a run will take, if the plan limits its time and not its number of requests.
std::optional<double> planned_seconds(const Plan& plan, const replay::Recording* recording) {
  using Seconds = std::chrono::duration<double>;
  const bool is_closed_loop = plan.real->is_closed_loop();
  const auto& request = plan.request;
  if (recording != nullptr && !is_closed_loop) {
    return Seconds(recording->last() - recording->first()).count();
  }
  const auto& duration = is_closed_loop ? plan.real->duration : request.duration;
  const bool limits_requests = request.requests && !plan.real->duration;
  if (plan.pattern && (limits_requests || plan.pattern->rate.empty())) return std::nullopt;
  if (duration) return Seconds(*duration).count();
  if (is_closed_loop) return std::nullopt;
  return Seconds(traffic::kPatternWindows * request.limit.window).count();
}

}  // namespace

std::string real_progress_text(const RunInProgress& run, const RealProgress& progress,
                               std::size_t columns) {
  return fitting(parts_of(run, progress), columns);
}

bool shows_progress(const Plan& plan) {
  return !plan.quiet && is_terminal(STDERR_FILENO);
}

void RunsProgress::update(std::size_t number, double share, std::string_view what) {
  const auto runs = static_cast<double>(plan_.candidates.size());
  progress_.update((static_cast<double>(number) + std::min(share, 1.0)) / runs, what);
}

void RunsProgress::update(std::size_t number, std::string_view name, std::int64_t size,
                          const RealProgress& progress) {
  if (!progress_.enabled()) return;
  const RunInProgress run{.name = name,
                          .number = number,
                          .of = plan_.candidates.size(),
                          .seconds = planned_seconds(plan_, recording_),
                          .requests = std::max<std::int64_t>(size, 1),
                          .is_closed_loop = plan_.real->is_closed_loop()};
  // Leave the last column free; see Progress.
  progress_.update(real_progress_text(run, progress, terminal_width(STDERR_FILENO) - 1));
}

void RunsProgress::suggest(std::size_t number, std::string_view name, double share,
                           std::int64_t limit) {
  if (!progress_.enabled()) return;
  const auto all = static_cast<double>(plan_.candidates.size());
  progress_.update(fmt::format("{:3.0f}%  of the suggestions; {}: trying {}; Ctrl-C stops",
                               100 * (static_cast<double>(number) + share) / all,
                               escaped_message(name), limit));
}

void RunsProgress::shrink(std::int64_t asked, std::int64_t most) {
  if (!progress_.enabled()) return;
  progress_.update(fmt::format("shrinking the difference: {} of at most {} requests; Ctrl-C stops",
                               grouped(asked), grouped(most)));
}

}  // namespace rlctl::cli::burst
