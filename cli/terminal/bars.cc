#include "cli/terminal/bars.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli {

// ---- Bars ----

namespace {

using std::chrono::microseconds;

constexpr Glyphs kUtf8{.bars = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                       .heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                       .denied = {"·", "░", "░", "░", "▒", "▒", "▒", "▓", "▓"},
                       .nothing = "·",
                       .full = "█",
                       .empty = "░",
                       .side = "│",
                       .line = "─",
                       .crossing = "├",
                       .corner = "└",
                       .tick = "┴",
                       .end = "┘",
                       .times = "×"};
constexpr Glyphs kAscii{.bars = {".", ":", "-", "=", "+", "*", "#", "%", "@"},
                        .heights = {" ", "_", "_", ".", "-", "=", "+", "*", "#"},
                        .denied = {".", "x", "x", "x", "x", "X", "X", "X", "X"},
                        .nothing = ".",
                        .full = "#",
                        .empty = "-",
                        .side = "|",
                        .line = "-",
                        .crossing = "+",
                        .corner = "+",
                        .tick = "+",
                        .end = "+",
                        .times = "x"};

/// 0 only for a count of 0, kGlyphLevels for the highest.
std::size_t level(std::int64_t count, std::int64_t highest) {
  if (count <= 0) return 0;
  const auto share = static_cast<double>(count) / static_cast<double>(highest);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::llround(share * kGlyphLevels), 1, kGlyphLevels));
}

/// Widths for bars and columns, narrowest first.
std::vector<microseconds> round_widths() {
  using namespace std::chrono_literals;
  std::vector<microseconds> widths;
  const auto add = [&](microseconds unit, std::initializer_list<int> multiples) {
    for (const auto multiple : multiples) widths.push_back(unit * multiple);
  };
  for (microseconds unit = 1us; unit < 1s; unit *= 10) add(unit, {1, 2, 5});
  for (const microseconds unit : {1s, 60s}) add(unit, {1, 2, 5, 10, 15, 20, 30});
  add(1h, {1, 2, 3, 6, 12});
  for (int days = 1; days <= 100'000; days *= 10) add(24h, {days, 2 * days, 5 * days});
  return widths;
}

void repeat(std::string& out, std::string_view text, std::size_t times) {
  for (; times > 0; --times) out += text;
}

}  // namespace

const Glyphs& glyphs(bool utf8) {
  return utf8 ? kUtf8 : kAscii;
}

std::string bars_text(std::span<const std::int64_t> counts, bool utf8) {
  std::string out;
  if (counts.empty()) return out;
  const auto highest = *std::max_element(counts.begin(), counts.end());
  for (const auto count : counts) out += glyphs(utf8).bars[level(count, highest)];
  return out;
}

int bars_for(microseconds window, std::size_t columns) {
  const auto most = static_cast<std::int64_t>(columns);
  for (const auto width : round_widths()) {
    if (window % width == microseconds{0} && window / width <= most) {
      return static_cast<int>(window / width);
    }
  }
  return static_cast<int>(most);
}

std::string gauge_text(double share, std::size_t columns, bool utf8) {
  const auto all = static_cast<double>(columns);
  double filled = std::round(std::clamp(share, 0.0, 1.0) * all);
  if (share > 0 && share < 1 && columns > 1) filled = std::clamp(filled, 1.0, all - 1);
  const auto full = static_cast<std::size_t>(filled);
  std::string out;
  repeat(out, glyphs(utf8).full, full);
  repeat(out, glyphs(utf8).empty, columns - full);
  return out;
}

// ---- Axes of time ----

namespace {

/// The maximum number of ticks between the ends of an axis.
constexpr std::int64_t kMaxTicks = 6;

microseconds round_down(microseconds time, microseconds unit) {
  const auto past = time % unit;
  return time - past - (past.count() < 0 ? unit : microseconds{0});
}

microseconds round_up(microseconds time, microseconds unit) {
  return -round_down(-time, unit);
}

// Ticks of recorded traffic are instants, in UTC.

using std::chrono::days;
using std::chrono::months;

/// A distance between ticks: a duration, or a number of months.
struct TickStep {
  microseconds length;
  int in_months = 0;
};

std::vector<TickStep> tick_steps() {
  std::vector<TickStep> steps;
  for (const auto width : round_widths()) {
    if (width <= days{2}) steps.push_back({.length = width});
  }
  steps.push_back({.length = days{7}});
  for (const int count : {1, 3, 6, 12, 24, 60, 120, 240}) {
    steps.push_back({.length = months{count}, .in_months = count});
  }
  return steps;
}

/// The last tick at or before an instant.
microseconds tick_before(microseconds instant, const TickStep& step) {
  constexpr days kFirstMonday{4};
  if (step.in_months == 0) {
    const auto zero = step.length == days{7} ? microseconds{kFirstMonday} : microseconds{0};
    return zero + round_down(instant - zero, step.length);
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::floor<days>(instant)}};
  const int month =
      static_cast<int>(date.year()) * 12 + static_cast<int>(unsigned{date.month()}) - 1;
  const int tick = month - month % step.in_months;
  return std::chrono::sys_days{std::chrono::year{tick / 12} / (tick % 12 + 1) / 1}
      .time_since_epoch();
}

/// "2026-01-01"
std::string date_of(microseconds instant) {
  return format_instant(instant).substr(0, 10);
}

/// "06:11", "06:11:15", "06:11:15.155": with as many digits as `step` needs.
std::string time_of_day(microseconds instant, microseconds step) {
  constexpr std::size_t kBegin = 11, kMinutes = 5, kSeconds = 8, kAll = 15;
  if (step % std::chrono::minutes{1} == microseconds{0}) {
    return format_instant(instant).substr(kBegin, kMinutes);
  }
  if (step % std::chrono::seconds{1} == microseconds{0}) {
    return format_instant(instant).substr(kBegin, kSeconds);
  }
  auto text = format_instant(instant).substr(kBegin, kAll);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// "2026-01-01 06:11", or the date alone if `step` is a number of days.
std::string date_and_time(microseconds instant, microseconds step) {
  if (step % days{1} == microseconds{0}) return date_of(instant);
  return date_of(instant) + " " + time_of_day(instant, step);
}

/// "2026", "2026-01", "2026-01-01" or a time of day: what tells this tick from its neighbours.
std::string tick_text(microseconds instant, const TickStep& step) {
  constexpr std::size_t kYear = 4, kMonth = 7;
  if (step.in_months % 12 == 0 && step.in_months > 0) return date_of(instant).substr(0, kYear);
  if (step.in_months > 0) return date_of(instant).substr(0, kMonth);
  const bool midnight = instant % days{1} == microseconds{0};
  return midnight ? date_of(instant) : time_of_day(instant, step.length);
}

std::vector<Tick> recorded_ticks(const TimeAxis& axis) {
  const auto begin = *axis.recorded_at + axis.from;
  const auto end = *axis.recorded_at + axis.to;
  const auto column = column_width(axis);
  const auto steps = tick_steps();
  const auto step = std::find_if(steps.begin(), steps.end() - 1, [&](const TickStep& one) {
    return (end - begin) / one.length <= kMaxTicks;
  });
  std::vector<Tick> ticks{{0, date_and_time(begin, column)}};
  for (auto tick = tick_before(begin, *step); tick < end;) {
    if (tick > begin) {
      ticks.push_back({place_of(axis, tick - *axis.recorded_at), tick_text(tick, *step)});
    }
    // Half a step later, so that months of any length lead to the next tick.
    tick = tick_before(tick + step->length + step->length / 2, *step);
  }
  const bool same_day = date_of(begin) == date_of(end);
  ticks.push_back({static_cast<double>(axis.columns),
                   same_day ? time_of_day(end, column) : date_and_time(end, column)});
  return ticks;
}

std::vector<Tick> window_ticks(const TimeAxis& axis, microseconds window) {
  std::vector<Tick> ticks;
  ticks.push_back({0, offset_text(axis.from - axis.origin)});
  const auto edges = (axis.to - axis.from) / window;
  const auto step = window * std::max<std::int64_t>(1, (edges + kMaxTicks - 1) / kMaxTicks);
  auto edge = axis.is_about_edge ? axis.origin : axis.origin + step;
  while (edge <= axis.from) edge += step;
  for (; edge < axis.to; edge += step) {
    ticks.push_back({place_of(axis, edge),
                     axis.is_about_edge ? "edge of a window" : offset_text(edge - axis.origin)});
  }
  ticks.push_back({static_cast<double>(axis.columns), offset_text(axis.to - axis.origin)});
  return ticks;
}

}  // namespace

double place_of(const TimeAxis& axis, microseconds time) {
  return static_cast<double>((time - axis.from).count()) /
         static_cast<double>((axis.to - axis.from).count()) * static_cast<double>(axis.columns);
}

TimeAxis make_time_axis(microseconds begin, microseconds end, microseconds window,
                        std::size_t most_columns, std::optional<microseconds> recorded_at,
                        std::optional<microseconds> zero) {
  TimeAxis axis{.recorded_at = recorded_at};
  const auto first_window = round_down(begin, window);
  axis.is_about_edge = !recorded_at && end - begin < window && end >= first_window + window;
  axis.origin = axis.is_about_edge ? first_window + window : first_window;
  const auto first = zero.value_or(recorded_at ? -*recorded_at : axis.origin);
  for (const auto width : round_widths()) {
    axis.from = first + round_down(begin - first, width);
    axis.to = first + round_up(end + microseconds{1} - first, width);
    axis.columns = static_cast<std::size_t>((axis.to - axis.from) / width);
    if (axis.columns <= most_columns) break;
  }
  return axis;
}

std::size_t text_begin(const TimeAxis& axis, const Tick& tick, std::size_t letters) {
  const auto width = display_width(tick.text);
  const auto share = tick.at / static_cast<double>(axis.columns);
  const auto letter = static_cast<std::size_t>(share * static_cast<double>(letters));
  const auto before = letter == 0 ? 0 : letter == letters ? width : width / 2;
  return letter - std::min(letter, before);
}

std::vector<Tick> ticks_of(const TimeAxis& axis, microseconds window, std::size_t letters) {
  constexpr std::size_t kGap = 2;
  auto ticks = axis.recorded_at ? recorded_ticks(axis) : window_ticks(axis, window);
  const auto last = text_begin(axis, ticks.back(), letters);
  auto used = display_width(ticks.front().text);
  for (std::size_t i = 1; i + 1 < ticks.size(); ++i) {
    const auto begin = text_begin(axis, ticks[i], letters);
    const auto end = begin + display_width(ticks[i].text);
    if (begin < used + kGap || end + kGap > last) {
      ticks[i].text.clear();
    } else {
      used = end;
    }
  }
  if (last < used + kGap) ticks.back().text.clear();
  return ticks;
}

microseconds column_width(const TimeAxis& axis) {
  return (axis.to - axis.from) / static_cast<std::int64_t>(axis.columns);
}

std::string column_text(const TimeAxis& axis) {
  return period_text(column_width(axis));
}

}  // namespace rlctl::cli
