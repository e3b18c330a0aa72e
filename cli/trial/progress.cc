#include "cli/trial/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/terminal/table.h"
#include "cli/trial/report.h"

namespace rlctl::cli::trial {
namespace {

/// The parts of the line, each with its rank.
using Parts = std::vector<std::pair<int, std::string>>;

/// Drops the parts with the lowest ranks until the line fits.
std::string fitting(Parts parts, std::size_t columns) {
  for (;;) {
    std::string line;
    for (const auto& [rank, text] : parts) line.append(line.empty() ? "" : "  ").append(text);
    if (parts.size() <= 1 || display_width(line) <= columns) return line;
    parts.erase(std::min_element(parts.begin(), parts.end()));
  }
}

/// The duration of the whole run: as planned, or estimated from the share of requests sent.
double seconds_in_all(const RunInProgress& run, const traffic::RealProgress& progress) {
  if (run.seconds) return std::max(*run.seconds, progress.seconds);
  if (progress.sent == 0) return progress.seconds;
  const auto share = static_cast<double>(progress.sent) / static_cast<double>(run.requests);
  return progress.seconds / std::min(share, 1.0);
}

/// "eta 42s", "eta 12d"
std::string left_text(double seconds) {
  constexpr double kDay = 86'400, kMostDays = 9999;
  if (seconds < kDay) return fmt::format("eta {:.0f}s", std::ceil(seconds));
  if (seconds < kMostDays * kDay) return fmt::format("eta {:.0f}d", std::ceil(seconds / kDay));
  return fmt::format("eta >{:.0f}d", kMostDays);
}

Parts parts_of(const RunInProgress& run, const traffic::RealProgress& progress) {
  Parts parts;
  if (run.of > 1) parts.push_back({9, fmt::format("{}/{}", run.number + 1, run.of)});
  parts.push_back({1, escaped_message(run.name)});
  if (progress.until_first.count() > 0) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(progress.until_first);
    parts.push_back({10, fmt::format("waiting {} s for the edge of a window", left.count())});
    parts.push_back({0, "Ctrl-C stops"});
    return parts;
  }
  const auto all = seconds_in_all(run, progress);
  parts.push_back({10, fmt::format("{:.1f}/{:.1f}s", progress.seconds, all)});
  parts.push_back({6, fmt::format("{} allowed", progress.allowed)});
  parts.push_back({5, fmt::format("{} denied", progress.denied)});
  const auto runs_left = static_cast<double>(run.of - run.number - 1);
  parts.push_back({8, left_text(all * (1 + runs_left) - progress.seconds)});
  parts.push_back({0, "Ctrl-C stops"});
  return parts;
}

Parts parts_of(const SearchInProgress& search) {
  Parts parts;
  if (search.of > 1) parts.push_back({9, fmt::format("{}/{}", search.number + 1, search.of)});
  parts.push_back({3, escaped_message(search.name)});
  if (search.share < 1) parts.push_back({7, fmt::format("{:.0f}%", 100 * search.share)});
  parts.push_back({10, search.tried});
  const auto rate = static_cast<double>(search.count) / std::max(search.seconds, 1e-6);
  if (search.share < 1) parts.push_back({5, rate_text(rate)});
  parts.push_back({4, fmt::format("{} {}", search.worst_is, search.worst)});
  const auto runs_left = static_cast<double>(search.of - search.number - 1);
  if (search.share >= 1) {
    parts.push_back({8, "making findings small"});
  } else if (search.share > 0) {
    const auto all = search.seconds / search.share;
    parts.push_back({8, left_text(all * (1 + runs_left) - search.seconds)});
  }
  parts.push_back({0, "Ctrl-C stops"});
  return parts;
}

}  // namespace

std::string search_progress_text(const SearchInProgress& search, std::size_t columns) {
  return fitting(parts_of(search), columns);
}

std::string real_progress_text(const RunInProgress& run, const traffic::RealProgress& progress,
                               std::size_t columns) {
  return fitting(parts_of(run, progress), columns);
}

}  // namespace rlctl::cli::trial
