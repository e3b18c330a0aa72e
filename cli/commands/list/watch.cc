#include "cli/commands/list/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/wait.h"
#include "cli/commands/list/report.h"
#include "cli/errors/failure.h"
#include "cli/server/connection.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "redis/server_info.h"

namespace rlctl::cli {
namespace {

/// The pause before the next scan of the database, in multiples of the time that the last one took:
/// a server is busy with scans for less than 4 % of the time.
constexpr int kPauseForScan = 25;
/// How many of the keys that move most are shown.
constexpr std::size_t kMovers = 5;
/// Lines of the screen that are not rows: the header, what is known of all, titles, and those about
/// the keys that move most.
constexpr std::size_t kOtherLines = 6;
constexpr std::int64_t kRowsOffScreen = 20;

struct Mover {
  std::string key;
  std::int64_t units = 0;  ///< that `used` has changed by
};

/// What a complete scan of the database found.
struct ScanResult {
  std::vector<ListRow> rows;                           ///< the first ones, to be shown
  std::int64_t keys = 0, full = 0, unknown = 0;        ///< unknown: how full it is
  std::unordered_map<std::size_t, std::int64_t> used;  ///< of each key, by its hash
  /// Of the keys that the scan before found too: those that moved most.
  std::vector<Mover> movers;
};

class ListWatch {
 public:
  ListWatch(const ListPlan& plan, const Watch& how, Invocation& invocation)
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
      count_calls();
    } catch (const redis::Error& error) {
      connection_.reset();
      throw ProblemError(without_doubt(describe(error)));
    } catch (...) {
      connection_.reset();
      throw;
    }
    return text();
  }

 private:
  static ListPlan with_top(ListPlan plan) {
    if (!plan.sort) plan.sort = SortKey::kRatio;
    return plan;
  }
  [[nodiscard]] std::int64_t most_rows() const;
  void scan();
  void count(const ListRow& row, ScanResult& result) const;
  void refresh();
  void count_calls();
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string summary() const;

  ListPlan plan_;
  const Watch& how_;
  Invocation& invocation_;
  Connector connector_;
  Listing listing_;
  std::optional<redis::Connection> connection_;
  Deadline next_scan_ = Clock::now();
  Clock::time_point scanned_{};
  ScanResult last_;
  std::optional<std::int64_t> calls_;
  Clock::time_point calls_at_{};
  std::optional<double> calls_per_second_;
};

std::int64_t ListWatch::most_rows() const {
  if (plan_.top) return *plan_.top;
  if (!how_.redraws) return kRowsOffScreen;
  const auto lines = terminal_height(invocation_.out.fd());
  const auto others = kOtherLines + kMovers;
  return static_cast<std::int64_t>(lines > others + 1 ? lines - others : 1);
}

void ListWatch::scan() {
  const auto begin = Clock::now();
  Progress progress(!how_.redraws && is_terminal(STDERR_FILENO));
  RowCollection first(*plan_.sort, most_rows());
  ScanResult result;
  listing_.scan(*connection_, [&](std::vector<ListRow> rows, double share) {
    for (const auto& row : rows) count(row, result);
    first.add(std::move(rows));
    progress.update(share, "the database");
    invocation_.interrupt.check();
  });
  result.rows = first.take();
  result.unknown += listing_.unlisted().unknown;
  last_ = std::move(result);
  scanned_ = Clock::now();
  next_scan_ = scanned_ + kPauseForScan * (scanned_ - begin);
}

void ListWatch::count(const ListRow& row, ScanResult& result) const {
  const auto hash = std::hash<std::string_view>{}(row.key);
  const auto used = row.used.value_or(0);
  if (!result.used.emplace(hash, used).second) return;  // SCAN may return it twice
  ++result.keys;
  const auto ratio = row.ratio();
  if (!ratio) ++result.unknown;
  if (ratio && *ratio >= 1) ++result.full;
  const auto before = last_.used.find(hash);
  if (before == last_.used.end() || before->second == used) return;
  auto& movers = result.movers;
  movers.push_back({.key = row.key, .units = std::abs(used - before->second)});
  std::ranges::sort(movers, std::greater{}, &Mover::units);
  if (movers.size() > kMovers) movers.pop_back();
}

/// Reads only what is shown.
void ListWatch::refresh() {
  std::vector<std::string> keys;
  for (const auto& row : last_.rows) keys.push_back(row.key);
  RowCollection first(*plan_.sort, most_rows());
  first.add(listing_.read(*connection_, std::move(keys)));
  last_.rows = first.take();
}

void ListWatch::count_calls() {
  const auto stats = redis::read_command_stats(*connection_);
  const auto now = Clock::now();
  calls_per_second_.reset();
  if (!stats) return;
  const auto calls = redis::stats_of_scripts(*stats).calls;
  if (calls_ && calls >= *calls_) {
    const std::chrono::duration<double> elapsed = now - calls_at_;
    calls_per_second_ = static_cast<double>(calls - *calls_) / std::max(elapsed.count(), 1e-3);
  }
  calls_ = calls;
  calls_at_ = now;
}

/// "100000 limiters, 3 full, the limit of 2 not known; 1234 script calls a second; the database was
/// scanned 3 s ago"
std::string ListWatch::summary() const {
  const auto* what = plan_.has_filter() ? "matching limiter" : "limiter";
  auto text = fmt::format("{}, {} full", counted(last_.keys, what), last_.full);
  if (last_.unknown > 0) text += fmt::format(", the limit of {} not known", last_.unknown);
  text += "; ";
  if (calls_per_second_) text += fmt::format("{:.0f} script calls a second; ", *calls_per_second_);
  const auto age = std::chrono::floor<std::chrono::seconds>(Clock::now() - scanned_);
  return text + fmt::format("the database was scanned {} s ago", age.count());
}

std::string ListWatch::text() const {
  std::string out;
  if (invocation_.json) {
    for (const auto& row : last_.rows) append_list_json(out, row);
    return out;
  }
  const Look look = look_of_list(invocation_.out.fd());
  out.append(toned(summary(), Tone::kDim, look.colour)).append("\n");
  append_list_titles(out, look);
  for (const auto& row : last_.rows) append_list_row(out, row, look, LongKey::kWithoutMiddle);
  if (last_.movers.empty()) return out;
  out.append(toned("moved most between the last two scans", Tone::kDim, look.colour)).append("\n");
  for (const auto& mover : last_.movers) {
    out += fmt::format("{:>8}  {}\n", mover.units, escaped_text(mover.key));
  }
  return out;
}

}  // namespace

void watch_list(const ListPlan& plan, const Watch& how, Invocation& invocation) {
  ListWatch watching(plan, how, invocation);
  watch(how, invocation, [&] { return watching.read(); });
}

}  // namespace rlctl::cli
