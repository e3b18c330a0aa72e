#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

// Windows of the calendar: the days, weeks, months and years of a time zone. The zones are those of
// the C library. The scripts know no calendar: they are told when the period begins and ends that
// holds the present.

namespace rlctl::limiter {

/// One window in time: from `start`, up to but not including `end`, in µs since 1970.
struct Period {
  microseconds start{0}, end{0};

  bool holds(microseconds t) const { return start <= t && t < end; }
  microseconds length() const { return end - start; }
  bool operator==(const Period&) const = default;
};

/// The days, weeks from Monday, months or years of a zone. A period begins at the first instant of
/// its first date or of a later date, so also where there is no midnight, where a date is skipped,
/// and where the clocks go back over midnight. Not before 1970: the period then begins in 1970.
///
/// Each window exists once, so that windows are equal if their addresses are.
class CalendarWindow {
 public:
  /// "day@Europe/Zurich", "week@UTC", "month+15@Europe/Zurich": months that begin on the 15th, and
  /// from "month+29" on at the end of a month that is shorter.
  const std::string& text() const noexcept { return text_; }
  /// The longest that the unit can be by the calendar: 1, 7, 31 or 366 days. A period can be longer
  /// by what the clocks are put back.
  microseconds longest() const noexcept;
  /// The period that holds `now`. Sets TZ for a moment: no other thread may use the environment.
  Period period_at(microseconds now) const;

 private:
  friend const CalendarWindow* find_calendar_window(std::string_view, std::string_view);
  friend std::optional<microseconds> longest_with_text(std::string_view);
  struct Unit;
  struct Parts;
  static const Unit kUnits[];
  static const Unit* find_unit(std::string_view name);

  CalendarWindow(const Parts& parts, std::string tz);
  std::chrono::sys_days first_date(int index) const;
  int index_of(std::chrono::sys_days date) const;

  const Unit& unit_;
  unsigned anchor_;  ///< the day of the month on which a month begins
  std::string text_;
  std::string tz_;            ///< the value of TZ
  mutable Period last_ = {};  ///< what period_at() returned last
};

/// The window that "day@ZONE", "week@ZONE", "month@ZONE", "month+DAY@ZONE" or "year@ZONE" names;
/// without a zone, "week", "month", "month+DAY" and "year" are those of UTC. Null if the text is
/// of another kind, such as "60s", or "day", which is a duration. `whole` is the text that contains
/// it, for messages. Throws UsageError, which names similar zones if the zone does not exist.
const CalendarWindow* find_calendar_window(std::string_view whole, std::string_view text);

/// The text() of a limit's window; none if it is of fixed length, for which limits have a null
/// pointer.
inline std::optional<std::string_view> text_of(const CalendarWindow* window) {
  return window != nullptr ? std::optional<std::string_view>(window->text()) : std::nullopt;
}

/// Whether these are the bytes of a whole time zone file, from which the C library reads a zone.
bool is_zone_data(std::string_view data);
/// The names of the zones that are installed, sorted, without those that count leap seconds.
std::vector<std::string> time_zones();
/// How long the window with this text() is at most, whether its zone exists here or not;
/// std::nullopt if no window has this text.
std::optional<microseconds> longest_with_text(std::string_view text);

}  // namespace rlctl::limiter
