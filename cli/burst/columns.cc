#include "cli/burst/columns.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text.h"

namespace rlctl::cli {

BurstColumns::BurstColumns(const BurstReport& report, const Look& look, std::string_view title)
    : report_(report), look_(look) {
  add(title, shown_name);
}

void BurstColumns::add(std::string_view title,
                       const std::function<std::string(const BurstRun&)>& cell) {
  std::vector<std::string> cells;
  for (const auto& run : report_.runs) cells.push_back(cell(run));
  sheet_.add(title, std::move(cells));
}

std::string shown_name(const BurstRun& run) {
  std::string out;
  escape_message(out, run.name);
  return out;
}

std::string percent_text(double share) {
  constexpr double kLeast = 0.001;
  const double percent = 100 * share;
  return percent > 0 && percent < kLeast ? fmt::format("<{} %", kLeast)
                                         : fmt::format("{:.3f} %", percent);
}

}  // namespace rlctl::cli
