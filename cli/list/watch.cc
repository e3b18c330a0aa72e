#include "cli/list/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "base/time.h"
#include "base/wait.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/list/report.h"
#include "cli/term/progress.h"
#include "cli/term/terminal.h"
#include "redis/server_info.h"

namespace rlctl::cli {
namespace {

/// The database is scanned again after so many times as long as the last scan took: a server is
/// busy with it for less than 4 % of the time.
constexpr int kPauseForScan = 25;
/// Of the keys that move most, so many are shown.
constexpr std::size_t kMovers = 5;
/// Lines of the screen that are not rows: the header, what is known of all, titles, and those about
/// the keys that move most.
constexpr std::size_t kOtherLines = 6;
constexpr std::int64_t kRowsOffScreen = 20;

constexpr std::array<std::string_view, 6> kScriptCommands{"eval",       "eval_ro", "evalsha",
                                                          "evalsha_ro", "fcall",   "fcall_ro"};

struct Mover {
  std::string key;
  std::int64_t units = 0;  ///< that `used` has changed by
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
  void take(std::vector<ListRow> rows, RowCollection& first);
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
  std::vector<ListRow> rows_;
  std::int64_t keys_ = 0, full_ = 0;
  /// By hash: what was used when the database was last scanned, and the time before that.
  std::unordered_map<std::size_t, std::int64_t> used_, used_before_;
  std::vector<Mover> movers_;
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
  used_before_ = std::exchange(used_, {});
  movers_.clear();
  keys_ = full_ = 0;
  listing_.scan(*connection_, [&](std::vector<ListRow> rows, double share) {
    take(std::move(rows), first);
    progress.update(share, "the database");
    invocation_.interrupt.check();
  });
  rows_ = first.take();
  scanned_ = Clock::now();
  next_scan_ = scanned_ + kPauseForScan * (scanned_ - begin);
}

void ListWatch::take(std::vector<ListRow> rows, RowCollection& first) {
  for (const auto& row : rows) {
    const auto hash = std::hash<std::string_view>{}(row.key);
    const auto used = row.used.value_or(0);
    if (!used_.emplace(hash, used).second) continue;  // SCAN may return it twice
    ++keys_;
    if (row.ratio().value_or(0) >= 1) ++full_;
    const auto before = used_before_.find(hash);
    if (used_before_.empty()) continue;
    const auto moved = std::abs(used - (before == used_before_.end() ? 0 : before->second));
    if (moved == 0) continue;
    movers_.push_back({.key = row.key, .units = moved});
    std::ranges::sort(movers_, std::greater{}, &Mover::units);
    if (movers_.size() > kMovers) movers_.pop_back();
  }
  first.add(std::move(rows));
}

/// Reads only what is shown.
void ListWatch::refresh() {
  std::vector<std::string> keys;
  for (auto& row : rows_) keys.push_back(std::move(row.key));
  RowCollection first(*plan_.sort, most_rows());
  first.add(listing_.read(*connection_, std::move(keys)));
  rows_ = first.take();
}

void ListWatch::count_calls() {
  const auto stats = redis::read_command_stats(*connection_);
  const auto now = Clock::now();
  calls_per_second_.reset();
  if (!stats) return;
  std::int64_t calls = 0;
  for (const auto command : kScriptCommands) {
    const auto found = stats->find(command);
    if (found != stats->end()) calls += found->second.calls;
  }
  if (calls_ && calls >= *calls_) {
    const std::chrono::duration<double> elapsed = now - calls_at_;
    calls_per_second_ = static_cast<double>(calls - *calls_) / std::max(elapsed.count(), 1e-3);
  }
  calls_ = calls;
  calls_at_ = now;
}

/// "100000 limiters, 3 full; 1234 script calls a second; the database was scanned 3 s ago"
std::string ListWatch::summary() const {
  auto text = fmt::format("{}, {} full; ", counted(keys_, "limiter"), full_);
  if (calls_per_second_) text += fmt::format("{:.0f} script calls a second; ", *calls_per_second_);
  const auto age = std::chrono::floor<std::chrono::seconds>(Clock::now() - scanned_);
  return text + fmt::format("the database was scanned {} s ago", age.count());
}

std::string ListWatch::text() const {
  std::string out;
  if (invocation_.json) {
    for (const auto& row : rows_) append_list_json(out, row);
    return out;
  }
  const Look look = look_of_list(invocation_.out.fd());
  out.append(toned(summary(), Tone::kDim, look.colour)).append("\n");
  append_list_titles(out, look);
  for (const auto& row : rows_) append_list_row(out, row, look);
  if (movers_.empty()) return out;
  out.append(toned("moved most between the last two scans", Tone::kDim, look.colour)).append("\n");
  for (const auto& mover : movers_) {
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
