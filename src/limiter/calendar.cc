#include "limiter/calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace rlctl::limiter {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;

// ---- Local time ----

/// Makes the C library use a zone, and afterwards the user's again.
class ZoneInForce {
 public:
  explicit ZoneInForce(const std::string& tz) {
    if (const char* value = std::getenv("TZ")) previous_ = value;
    ::setenv("TZ", tz.c_str(), 1);
    ::tzset();
  }
  ~ZoneInForce() {
    previous_ ? ::setenv("TZ", previous_->c_str(), 1) : ::unsetenv("TZ");
    ::tzset();
  }
  ZoneInForce(const ZoneInForce&) = delete;
  ZoneInForce& operator=(const ZoneInForce&) = delete;

  /// By how much clocks in the zone are ahead of UTC.
  seconds offset_at(seconds t) const {
    const std::time_t time = t.count();
    std::tm local{};
    ::localtime_r(&time, &local);
    return seconds{local.tm_gmtoff};
  }

 private:
  std::optional<std::string> previous_;
};

/// The first second in (from, to] with another offset than that of `from`; `to` has another.
seconds find_change(const ZoneInForce& zone, seconds from, seconds to, seconds offset) {
  while (to - from > seconds{1}) {
    const auto middle = from + (to - from) / 2;
    (zone.offset_at(middle) == offset ? from : to) = middle;
  }
  return to;
}

/// No clock is further from UTC (POSIX).
constexpr hours kLargestOffset{25};

/// The first instant at which the local date is `date` or a later one. Walks from change to change
/// of the offset, between which local time advances like UTC; no zone changes twice in an hour.
seconds first_instant(const ZoneInForce& zone, sys_days date) {
  const seconds midnight = date.time_since_epoch();
  auto t = midnight - kLargestOffset;
  auto offset = zone.offset_at(t);
  while (true) {
    auto until = t + hours{1};
    const auto next = zone.offset_at(until);
    if (next != offset) until = find_change(zone, t, until, offset);
    const auto reached = std::max(t, midnight - offset);
    if (reached < until) return reached;
    t = until;
    offset = next;
  }
}

}  // namespace

// ---- Dates ----

/// The periods of a unit are numbered, so that those next to each other have numbers that are.
struct CalendarWindow::Unit {
  std::string_view name;
  days longest;
  unsigned latest_anchor;
  sys_days (*first_date)(int index, unsigned anchor);
};

const CalendarWindow::Unit CalendarWindow::kUnits[] = {
    {"day", days{1}, 1, [](int index, unsigned) { return sys_days{days{index}}; }},
    // 1970-01-01 was a Thursday.
    {"week", days{7}, 1, [](int index, unsigned) { return sys_days{days{7 * index - 3}}; }},
    {"month", days{31}, 31,
     [](int index, unsigned anchor) {
       const auto month =
           std::chrono::year{1970} / std::chrono::January + std::chrono::months{index};
       const auto last = (month / std::chrono::last).day();
       return sys_days{month / std::min(std::chrono::day{anchor}, last)};
     }},
    {"year", days{366}, 1,
     [](int index, unsigned) {
       return sys_days{std::chrono::year{1970 + index} / std::chrono::January / 1};
     }},
};

const CalendarWindow::Unit* CalendarWindow::find_unit(std::string_view name) {
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  return unit == std::end(kUnits) ? nullptr : unit;
}

sys_days CalendarWindow::first_date(int index) const {
  return unit_.first_date(index, anchor_);
}

/// The number of the period that holds the date.
int CalendarWindow::index_of(sys_days date) const {
  auto index = static_cast<int>(date.time_since_epoch() / unit_.longest);
  while (first_date(index) > date) --index;
  while (first_date(index + 1) <= date) ++index;
  return index;
}

microseconds CalendarWindow::longest() const noexcept {
  return unit_.longest;
}

Period CalendarWindow::period_at(microseconds now) const {
  if (last_.holds(now)) return last_;
  const ZoneInForce zone(tz_);
  const auto t = std::chrono::floor<seconds>(now);
  auto index = index_of(sys_days{std::chrono::floor<days>(t + zone.offset_at(t))});
  const auto start_of = [&](int i) { return first_instant(zone, first_date(i)); };
  Period period{.start = start_of(index), .end = start_of(index + 1)};
  // Clocks that go back over midnight show a date again whose period has ended.
  while (period.end <= now) period = {.start = period.end, .end = start_of(++index + 1)};
  period.start = std::max(period.start, microseconds{0});
  return last_ = period;
}

// ---- Zones ----

namespace {

constexpr std::string_view kUtc = "UTC";

std::string zone_folder() {
  const char* folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

bool is_zone_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a FIFO would block
  try {
    return read_all(open_file(path), 4) == "TZif";
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> time_zones() {
  namespace fs = std::filesystem;
  const auto folder = zone_folder();
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const auto name = each->path().lexically_relative(folder).string();
    if (name == "posix" || name == "right") {  // all zones again
      each.disable_recursion_pending();
    } else if (is_zone_file(each->path().string())) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

namespace {

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

/// "; did you mean 'Europe/Zurich'?", also for "Zurich", and empty if no zone is similar.
std::string similar_zones(std::string_view typed, std::span<const std::string> names) {
  const std::vector<std::string_view> whole(names.begin(), names.end());
  if (auto similar = did_you_mean(typed, whole); !similar.empty()) return similar;
  std::vector<std::string_view> parts(whole);
  std::ranges::transform(parts, parts.begin(), last_part);
  const auto part = closest(last_part(typed), parts);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < whole.size() && !part.empty(); ++i) {
    if (parts[i] == part) found.push_back(fmt::format("'{}'", whole[i]));
  }
  if (found.empty()) return "; names are like Europe/Zurich";
  const std::vector<std::string_view> views(found.begin(), found.end());
  return fmt::format("; did you mean {}?", one_of(views));
}

bool can_be_zone(std::string_view name) {
  const auto is_of_name = [](char c) {
    return is_alphanumeric(c) || std::string_view("/_-+").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, is_of_name);
}

void require_name(std::string_view whole, std::string_view zone) {
  if (!can_be_zone(zone)) {
    throw UsageError(
        fmt::format("'{}' has zone '{}', which cannot be a zone's name; write it like "
                    "Europe/Zurich",
                    whole, zone));
  }
  constexpr std::string_view kWithLeapSeconds = "right/";
  if (zone.starts_with(kWithLeapSeconds)) {
    throw UsageError(
        fmt::format("'{}' has zone '{}', which counts leap seconds, as servers do "
                    "not; use '{}'",
                    whole, zone, zone.substr(kWithLeapSeconds.size())));
  }
}

/// The value of TZ for a zone, which makes the C library read the file that was found here: it
/// takes a zone that it does not find for UTC.
std::string tz_of(std::string_view whole, std::string_view zone) {
  if (zone == kUtc) return "UTC0";
  require_name(whole, zone);
  const auto path = fmt::format("{}/{}", zone_folder(), zone);
  if (is_zone_file(path)) return ":" + std::filesystem::absolute(path).string();
  const auto names = time_zones();
  if (names.empty()) {
    throw UsageError(
        fmt::format("'{}' has zone '{}', but no time zones are installed (package "
                    "tzdata)",
                    whole, zone));
  }
  throw UsageError(fmt::format("'{}' has zone '{}', which does not exist{}", whole, zone,
                               similar_zones(zone, names)));
}

}  // namespace

// ---- Windows ----

/// A window as it is written: "month+15@Europe/Zurich".
struct CalendarWindow::Parts {
  explicit Parts(std::string_view text) {
    has_zone = text.find('@') != text.npos;
    name = take_until(text, "@");
    zone = has_zone ? text : kUtc;
    has_anchor = name.find('+') != name.npos;
    anchor_text = name;
    name = take_until(anchor_text, "+");
    unit = find_unit(name);
    if (unit == nullptr || !has_anchor) return;
    anchor = is_digits(anchor_text) ? bounded_value(anchor_text, 31) : 0;
    has_valid_anchor = anchor >= 1 && anchor <= unit->latest_anchor;
  }

  std::string text() const {
    return anchor == 1 ? fmt::format("{}@{}", name, zone)
                       : fmt::format("{}+{}@{}", name, anchor, zone);
  }

  bool has_zone = false, has_anchor = false, has_valid_anchor = true;
  std::string_view name, anchor_text, zone;
  const Unit* unit = nullptr;  ///< null if there is none of the name
  std::int64_t anchor = 1;
};

CalendarWindow::CalendarWindow(const Parts& parts, std::string tz)
    : unit_(*parts.unit),
      anchor_(static_cast<unsigned>(parts.anchor)),
      text_(parts.text()),
      tz_(std::move(tz)) {}

std::optional<microseconds> longest_with_text(std::string_view text) {
  const CalendarWindow::Parts parts(text);
  const bool is_text = parts.unit != nullptr && parts.has_valid_anchor && can_be_zone(parts.zone) &&
                       parts.text() == text;
  return is_text ? std::optional<microseconds>(parts.unit->longest) : std::nullopt;
}

const CalendarWindow* find_calendar_window(std::string_view whole, std::string_view text) {
  const CalendarWindow::Parts parts(text);
  const bool is_duration = parts.unit == nullptr || parts.name == "day";
  if (!parts.has_zone && !parts.has_anchor && is_duration) return nullptr;
  if (parts.unit == nullptr) {
    throw UsageError(fmt::format("'{}' has '{}' where day, week, month, month+15 or year belongs",
                                 whole, parts.name));
  }
  if (!parts.has_valid_anchor) {
    throw UsageError(
        fmt::format("'{}' has '+{}'; only months begin on another day, from month+1 to month+31",
                    whole, parts.anchor_text));
  }
  auto tz = tz_of(whole, parts.zone);
  static std::map<std::string, std::unique_ptr<const CalendarWindow>, std::less<>> windows;
  auto& window = windows[parts.text()];
  if (window == nullptr) window.reset(new CalendarWindow(parts, std::move(tz)));
  return window.get();
}

}  // namespace rlctl::limiter
