#include "cli/commands/list/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/wait.h"
#include "cli/commands/list/report.h"
#include "cli/errors/failure.h"
#include "cli/server/connection.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::list {
namespace {

/// The pause before the next scan of the database, in multiples of the time that the last one took:
/// a server is busy with scans for less than 4 % of the time.
constexpr int kPauseForScan = 25;
/// Lines of the screen that are not rows: the header, the summary, the titles, and the one where
/// the shell's prompt will be.
constexpr std::size_t kOtherLines = 4;
constexpr std::int64_t kRowsOffScreen = 20;

/// What a complete scan of the database found.
struct ScanResult {
  std::vector<Row> rows;                      ///< the first ones, to be shown
  std::int64_t full = 0, unknown = 0;         ///< keys that are full, and those of unknown limits
  std::unordered_set<std::size_t> keys = {};  ///< the hashes of all keys found
};

class Watching {
 public:
  Watching(const Plan& plan, const Watch& how, Invocation& invocation)
      : plan_(with_top(plan)),
        how_(how),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt),
        listing_(plan_, invocation.configuration) {}

  [[nodiscard]] std::string read() {
    try {
      if (!connection_) connection_.emplace(connector_.open());
      if (Clock::now() >= next_scan_) {
        scan();
      } else {
        refresh();
      }
    } catch (const redis::Error& error) {
      connection_.reset();
      throw ProblemError(drop_in_doubt_note(describe(error)));
    } catch (...) {
      connection_.reset();
      throw;
    }
    return text();
  }

 private:
  static Plan with_top(Plan plan) {
    if (!plan.sort) plan.sort = SortKey::kRatio;
    return plan;
  }
  [[nodiscard]] std::int64_t most_rows() const;
  void scan();
  void refresh();
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string summary() const;

  Plan plan_;
  const Watch& how_;
  Invocation& invocation_;
  Connector connector_;
  Listing listing_;
  std::optional<redis::Connection> connection_;
  Deadline next_scan_ = Clock::now();
  Clock::time_point scanned_{};
  ScanResult last_;
};

std::int64_t Watching::most_rows() const {
  if (plan_.top) return *plan_.top;
  if (!how_.redraws) return kRowsOffScreen;
  const auto lines = terminal_height(invocation_.out.fd());
  return static_cast<std::int64_t>(lines > kOtherLines ? lines - kOtherLines : 1);
}

void Watching::scan() {
  const auto begin = Clock::now();
  Progress progress(!how_.redraws && is_terminal(STDERR_FILENO));
  RowCollection first(*plan_.sort, most_rows());
  ScanResult result;
  listing_.scan(*connection_, [&](std::vector<Row> rows, double share) {
    for (const auto& row : rows) {
      // SCAN may return a key twice.
      if (!result.keys.insert(std::hash<std::string_view>{}(row.key)).second) continue;
      const auto ratio = row.ratio();
      if (!ratio) ++result.unknown;
      if (ratio && *ratio >= 1) ++result.full;
    }
    first.add(std::move(rows));
    progress.update(share, "the database");
    invocation_.interrupt.check();
  });
  result.rows = first.take();
  result.unknown += listing_.skipped().unknown;
  last_ = std::move(result);
  scanned_ = Clock::now();
  next_scan_ = scanned_ + kPauseForScan * (scanned_ - begin);
}

/// Reads only what is shown.
void Watching::refresh() {
  std::vector<std::string> keys;
  for (const auto& row : last_.rows) keys.push_back(row.key);
  RowCollection first(*plan_.sort, most_rows());
  first.add(listing_.read(*connection_, std::move(keys)));
  last_.rows = first.take();
}

/// "100000 limiters, 3 full, the limit of 2 not known; scanned 3 s ago"
std::string Watching::summary() const {
  const auto* what = plan_.has_filter() ? "matching limiter" : "limiter";
  auto text = fmt::format("{}, {} full", counted(std::ssize(last_.keys), what), last_.full);
  if (last_.unknown > 0) text += fmt::format(", the limit of {} not known", last_.unknown);
  const auto age = std::chrono::floor<std::chrono::seconds>(Clock::now() - scanned_);
  return text + fmt::format("; scanned {} s ago", age.count());
}

std::string Watching::text() const {
  std::string out;
  if (invocation_.json) {
    for (const auto& row : last_.rows) append_json(out, row);
    return out;
  }
  const Look look = look_of_rows(invocation_.out);
  append_filled(out, toned(summary(), Tone::kDim, look.colour), 0, look.columns);
  RowTable table(look);
  table.widen(last_.rows);
  table.append_titles(out);
  for (const auto& row : last_.rows) table.append_row(out, row, LongKey::kWithoutMiddle);
  return out;
}

}  // namespace

void watch_rows(const Plan& plan, const Watch& how, Invocation& invocation) {
  Watching watching(plan, how, invocation);
  watch(how, invocation, [&] { return watching.read(); });
}

}  // namespace rlctl::cli::list
