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
#include <utility>
#include <vector>

#include "base/distribution.h"
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
  unsigned latest_anchor;  ///< 0: none can be given
  sys_days (*first_date)(int index, unsigned anchor);
};

const CalendarWindow::Unit CalendarWindow::kUnits[] = {
    {"day", days{1}, 0, [](int index, unsigned) { return sys_days{days{index}}; }},
    // 1970-01-01 was a Thursday.
    {"week", days{7}, 0, [](int index, unsigned) { return sys_days{days{7 * index - 3}}; }},
    {"month", days{31}, 31,
     [](int index, unsigned anchor) {
       const auto month =
           std::chrono::year{1970} / std::chrono::January + std::chrono::months{index};
       const auto last = (month / std::chrono::last).day();
       return sys_days{month / std::min(std::chrono::day{anchor}, last)};
     }},
    {"year", days{366}, 0,
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

/// The numbers of a time zone file, which are big-endian, taken from its front.
class ZoneBytes {
 public:
  explicit ZoneBytes(std::string_view bytes) : rest_(bytes) {}

  /// Empty if there are fewer.
  std::string_view take(std::size_t count) {
    is_short_ |= count > rest_.size();
    const auto taken = is_short_ ? std::string_view() : rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::int64_t number(std::size_t width) {
    const auto bytes = take(width);
    std::uint64_t number = bytes.empty() || (bytes.front() & 0x80) == 0 ? 0 : ~std::uint64_t{0};
    for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(number);
  }
  bool is_short() const { return is_short_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

/// What precedes each of a file's blocks: its version, and how much the block has of each.
struct ZoneHeader {
  explicit ZoneHeader(ZoneBytes& bytes) {
    is_header = bytes.take(4) == "TZif";
    const auto taken = bytes.take(16);
    version = taken.empty() ? '\1' : taken.front();
    for (auto* count : {&universal, &standard, &leaps, &changes, &types, &letters}) {
      *count = bytes.number(4);
    }
  }
  bool is_possible() const {
    constexpr std::int64_t kMost = 100'000;
    const bool has_version = version == '\0' || (version >= '2' && version <= '4');
    for (const auto count : {universal, standard, leaps, changes, types, letters}) {
      if (count < 0 || count > kMost) return false;
    }
    return is_header && has_version && types >= 1 && types <= 256 && letters >= 1 &&
           (universal == 0 || universal == types) && (standard == 0 || standard == types);
  }

  bool is_header = false;
  char version = 0;
  std::int64_t universal = 0, standard = 0, leaps = 0, changes = 0, types = 0, letters = 0;
};

/// Whether the block whose header was read is possible, with times of this width; takes it.
bool take_zone_block(ZoneBytes& bytes, const ZoneHeader& header, std::size_t width) {
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  bool is_sorted = true;
  std::optional<std::int64_t> last;
  for (auto left = header.changes; left > 0; --left) {
    const auto time = bytes.number(width);
    is_sorted = is_sorted && (!last || *last < time);
    last = time;
  }
  const auto is_type = [&](char c) { return static_cast<unsigned char>(c) < header.types; };
  const bool has_types = std::ranges::all_of(bytes.take(size(header.changes)), is_type);
  bool are_types = true;
  for (auto left = header.types; left > 0; --left) {
    const seconds offset{bytes.number(4)};
    const auto is_summer = bytes.number(1), letters = bytes.number(1) & 0xff;
    are_types = are_types && offset < kLargestOffset + hours{1} && offset > -kLargestOffset &&
                (is_summer == 0 || is_summer == 1) && letters < header.letters;
  }
  const auto letters = bytes.take(size(header.letters));
  bytes.take(size(header.leaps) * (width + 4));
  const auto is_flag = [](char c) { return c == '\0' || c == '\1'; };
  const auto flags = bytes.take(size(header.standard + header.universal));
  return !bytes.is_short() && is_sorted && has_types && are_types && letters.ends_with('\0') &&
         std::ranges::all_of(flags, is_flag);
}

/// Reads the rule for the time after a zone's last change, as POSIX writes TZ:
/// "CET-1CEST,M3.5.0,M10.5.0/3".
class ZoneRule {
 public:
  explicit ZoneRule(std::string_view text) : rest_(text) {}

  bool is_valid() {
    if (rest_.empty()) return true;
    if (!is_name() || !is_time(24)) return false;
    if (rest_.empty()) return true;  // no summer time
    if (!is_name() || (!rest_.starts_with(',') && !is_time(24))) return false;
    return is_change() && is_change() && rest_.empty();
  }

 private:
  bool is(char c) {
    const bool is_there = rest_.starts_with(c);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  bool is_number(std::int64_t least, std::int64_t most) {
    const auto digits = take_digits(rest_);
    const auto number = bounded_value(digits, most);
    return !digits.empty() && number >= least && number <= most;
  }
  bool is_name() {
    const bool is_quoted = is('<');
    std::size_t size = 0;
    for (; size < rest_.size() && rest_[size] != '>'; ++size) {
      if (!is_quoted && (!is_alphanumeric(rest_[size]) || is_digit(rest_[size]))) break;
    }
    rest_.remove_prefix(size);
    return size >= 3 && (!is_quoted || is('>'));
  }
  bool is_time(std::int64_t most_hours) {
    if (!is('-')) is('+');
    return is_number(0, most_hours) &&
           (!is(':') || (is_number(0, 59) && (!is(':') || is_number(0, 59))));
  }
  bool is_change() {
    if (!is(',')) return false;
    const bool is_date =
        is('M')   ? is_number(1, 12) && is('.') && is_number(1, 5) && is('.') && is_number(0, 6)
        : is('J') ? is_number(1, 365)
                  : is_number(0, 365);
    return is_date && (!is('/') || is_time(167));
  }

  std::string_view rest_;
};

}  // namespace

// The layout is that of RFC 8536. The C library takes a file that it cannot read for UTC.
bool is_zone_data(std::string_view data) {
  ZoneBytes bytes(data);
  const ZoneHeader old(bytes);
  if (!old.is_possible() || !take_zone_block(bytes, old, 4)) return false;
  if (old.version == '\0') return bytes.rest().empty();
  const ZoneHeader header(bytes);
  if (header.version != old.version || !header.is_possible()) return false;
  if (!take_zone_block(bytes, header, 8)) return false;
  // What follows the last change: "\nCET-1CEST,M3.5.0,M10.5.0/3\n".
  auto rule = bytes.rest();
  if (rule.size() < 2 || !rule.starts_with('\n') || !rule.ends_with('\n')) return false;
  return ZoneRule(rule.substr(1, rule.size() - 2)).is_valid();
}

namespace {

constexpr std::string_view kUtc = "UTC";

std::string zone_folder() {
  const char* folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);  // a FIFO would block
}

bool is_zone_file(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  try {
    return is_file(path) && is_zone_data(read_all(open_file(path), kLargest));
  } catch (const std::system_error&) {
    return false;
  }
}

/// Whether the name is that of a file which differs from machine to machine, or has no zone.
bool is_no_zone(std::string_view name) {
  return name == "localtime" || name == "posixrules" || name == "Factory";
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
    } else if (!is_no_zone(name) && is_zone_file(each->path().string())) {
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

/// "; did you mean 'Europe/Zurich'?", also for "Zurich". Abbreviations are similar only to those of
/// other zones.
std::string similar_zones(std::string_view typed, std::span<const std::string> names) {
  constexpr std::string_view kExample = "; names are like Europe/Zurich";
  constexpr std::size_t kLongestAbbreviation = 4;
  if (typed.size() <= kLongestAbbreviation &&
      std::ranges::none_of(typed, [](char c) { return c >= 'a' && c <= 'z'; }))
    return std::string(kExample);
  const std::vector<std::string_view> whole(names.begin(), names.end());
  std::vector<std::string_view> parts(whole);
  std::ranges::transform(parts, parts.begin(), last_part);
  const bool is_part = std::ranges::find(parts, typed) != parts.end();
  if (auto similar = did_you_mean(typed, whole); !is_part && !similar.empty()) return similar;
  const auto part = closest(last_part(typed), parts);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < whole.size() && !part.empty(); ++i) {
    if (parts[i] == part) found.push_back(fmt::format("'{}'", whole[i]));
  }
  if (found.empty()) return std::string(kExample);
  const std::vector<std::string_view> views(found.begin(), found.end());
  return fmt::format("; did you mean {}?", one_of(views));
}

bool can_be_zone(std::string_view name) {
  const auto is_of_name = [](char c) {
    return is_alphanumeric(c) || std::string_view("/_-+").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '/' && name.find("//") == name.npos &&
         std::ranges::all_of(name, is_of_name);
}

void require_name(std::string_view whole, std::string_view zone) {
  if (!can_be_zone(zone)) {
    throw UsageError(
        fmt::format("'{}' has zone '{}', which cannot be a zone's name; write it like "
                    "Europe/Zurich",
                    whole, zone));
  }
  constexpr std::pair<std::string_view, std::string_view> kAllZonesAgain[] = {
      {"right/", "counts leap seconds, as servers do not"}, {"posix/", "has another name"}};
  for (const auto& [folder, why] : kAllZonesAgain) {
    if (!zone.starts_with(folder)) continue;
    throw UsageError(fmt::format("'{}' has zone '{}', which {}; use '{}'", whole, zone, why,
                                 zone.substr(folder.size())));
  }
}

/// The value of TZ for a zone, which makes the C library read the file that was found here: it
/// takes a zone that it does not find for UTC.
std::string tz_of(std::string_view whole, std::string_view zone) {
  if (zone == kUtc) return "UTC0";
  require_name(whole, zone);
  const auto path = fmt::format("{}/{}", zone_folder(), zone);
  if (is_file(path) && !is_no_zone(zone)) {
    if (is_zone_file(path)) return ":" + std::filesystem::absolute(path).string();
    throw UsageError(
        fmt::format("'{}' has zone '{}', but {} is not a time zone file, or is damaged", whole,
                    zone, quoted_and_masked(path)),
        "install the package tzdata again");
  }
  const auto names = time_zones();
  if (names.empty()) {
    throw UsageError(
        fmt::format("'{}' has zone '{}', but no time zones are installed", whole, zone),
        how_to_install(SystemPart::kTimeZones));
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
    auto anchor_text = name;
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
  std::string_view name, zone;
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
    throw UsageError(fmt::format(
        "'{}' has an unknown calendar window; use day, week, month, month+15 or year", whole));
  }
  if (!parts.has_valid_anchor) {
    throw UsageError(
        fmt::format("'{}' has an invalid '+'; only months begin on another day, from month+1 to "
                    "month+31",
                    whole));
  }
  auto tz = tz_of(whole, parts.zone);
  static std::map<std::string, std::unique_ptr<const CalendarWindow>, std::less<>> windows;
  auto& window = windows[parts.text()];
  if (window == nullptr) window.reset(new CalendarWindow(parts, std::move(tz)));
  return window.get();
}

}  // namespace rlctl::limiter
