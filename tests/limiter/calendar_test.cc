// needs: server
#include "limiter/calendar.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/time.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "support/check_each.h"
#include "support/limiters.h"
#include "support/random.h"
#include "support/refusal.h"
#include "support/temp_folder.h"

#ifdef RLCTL_HAS_DATE
#include <date/tz.h>
#endif

namespace limiter_calendar_test {

using namespace rlctl;
using namespace rlctl::limiter;
using namespace std::chrono_literals;
using rlctl::test::Cases;
using rlctl::test::check_each;
using rlctl::test::refusal_of;
using support::ScopedVariable;

namespace {

std::string zone_file(const std::string& name) {
  return read_all(open_file("/usr/share/zoneinfo/" + name));
}

/// "2026-03-29T23:00:00Z..2026-03-30T22:00:00Z": the period of this window at an instant.
std::string period(std::string_view window, std::string_view now) {
  const auto limit = parse_limit(std::string("1/").append(window));
  const auto found = period_of(limit, parse_instant(now));
  return instant_text(found.start) + ".." + instant_text(found.end);
}

std::string refusal(std::string_view limit) {
  return refusal_of([&] { return parse_limit(limit); });
}

}  // namespace

TEST_CASE("a window of fixed length begins at a multiple of it") {
  CHECK(period("60s", "2026-11-26T12:34:56Z") == "2026-11-26T12:34:00Z..2026-11-26T12:35:00Z");
  CHECK(period("day", "2026-11-26T12:34:56Z") == "2026-11-26T00:00:00Z..2026-11-27T00:00:00Z");
  CHECK(parse_limit("1/day").calendar == nullptr);
}

TEST_CASE("days, weeks from Monday, months and years are those of UTC without a zone") {
  constexpr std::string_view kNow = "2026-11-26T12:34:56Z";
  CHECK(period("day@UTC", kNow) == "2026-11-26T00:00:00Z..2026-11-27T00:00:00Z");
  CHECK(period("week", kNow) == "2026-11-23T00:00:00Z..2026-11-30T00:00:00Z");
  CHECK(period("month", kNow) == "2026-11-01T00:00:00Z..2026-12-01T00:00:00Z");
  CHECK(period("year", kNow) == "2026-01-01T00:00:00Z..2027-01-01T00:00:00Z");
  CHECK(period("week", "2026-11-29T23:59:59.999999Z") ==
        "2026-11-23T00:00:00Z..2026-11-30T00:00:00Z");
  CHECK(period("week", "2026-11-30T00:00:00Z") == "2026-11-30T00:00:00Z..2026-12-07T00:00:00Z");
}

TEST_CASE("a month can begin on another day, and then at the latest on its last") {
  CHECK(period("month+15", "2026-11-14T23:59:59Z") == "2026-10-15T00:00:00Z..2026-11-15T00:00:00Z");
  CHECK(period("month+15", "2026-11-15T00:00:00Z") == "2026-11-15T00:00:00Z..2026-12-15T00:00:00Z");
  CHECK(period("month+31", "2026-02-27T12:00:00Z") == "2026-01-31T00:00:00Z..2026-02-28T00:00:00Z");
  CHECK(period("month+31", "2026-02-28T12:00:00Z") == "2026-02-28T00:00:00Z..2026-03-31T00:00:00Z");
  CHECK(period("month+30", "2024-02-29T12:00:00Z") == "2024-02-29T00:00:00Z..2024-03-30T00:00:00Z");
}

TEST_CASE("the first period of 1970 begins in 1970, and the last ends after the last instant") {
  const auto* window = parse_limit("1/month@Europe/Zurich").calendar;
  CHECK(window->period_at(0us) == Period{0us, parse_instant("1970-01-31T23:00:00Z")});
  CHECK(window->period_at(kLatestInstant).holds(kLatestInstant));
}

TEST_CASE("a period begins at the first instant of its date, whatever the clocks do") {
  // The clocks change in the day, which has 23 or 25 hours.
  const Cases cases{
      {"day@Europe/Zurich 2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z..2026-03-29T22:00:00Z"},
      {"day@Europe/Zurich 2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z..2026-10-25T23:00:00Z"},
      // There is no midnight: the day begins at 1:00.
      {"day@America/Asuncion 2023-10-01T12:00:00Z", "2023-10-01T04:00:00Z..2023-10-02T03:00:00Z"},
      // The clocks go back from midnight to 23:00.
      {"day@America/Asuncion 2024-03-23T12:00:00Z", "2024-03-23T03:00:00Z..2024-03-24T04:00:00Z"},
      // A minute past midnight the clocks go back to 23:01: the new day has begun, and goes on.
      {"day@America/St_Johns 2010-11-07T02:30:59Z", "2010-11-07T02:30:00Z..2010-11-08T03:30:00Z"},
      {"day@America/St_Johns 2010-11-07T02:31:00Z", "2010-11-07T02:30:00Z..2010-11-08T03:30:00Z"},
      {"day@America/St_Johns 2010-11-07T12:00:00Z", "2010-11-07T02:30:00Z..2010-11-08T03:30:00Z"},
      {"day@America/St_Johns 2010-11-07T02:29:59Z", "2010-11-06T02:30:00Z..2010-11-07T02:30:00Z"},
      // 2011-12-30 was left out.
      {"day@Pacific/Apia 2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z..2011-12-30T10:00:00Z"},
      {"day@Pacific/Apia 2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z..2011-12-31T10:00:00Z"},
      {"month+30@Pacific/Apia 2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z..2012-01-29T10:00:00Z"},
  };
  check_each(cases, [](const std::string& text) {
    const auto blank = text.find(' ');
    return period(text.substr(0, blank), text.substr(blank + 1));
  });
}

TEST_CASE("a limit of a calendar has one text, and equal windows are one") {
  for (const auto* const text :
       {"5/day@Europe/Zurich", "1M/week@UTC", "1000/month+15@Europe/Zurich",
        "7/year@America/Argentina/Buenos_Aires", "7/month@Etc/GMT+5"}) {
    CHECK(format_limit(parse_limit(text)) == text);
    CHECK(parse_limit(text) == parse_limit(text));
  }
  CHECK(format_limit(parse_limit("5/month")) == "5/month@UTC");
  CHECK(parse_limit("5/month+01@UTC") == parse_limit("5/month"));
  CHECK(parse_limit("5/month") != parse_limit("5/month+2"));
  CHECK(parse_limit("5/month@Europe/Zurich").window == 24h * 31);
  CHECK(parse_limit("5/year").window == 24h * 366);
  const std::vector<Limit> both{parse_limit("5/day@Europe/Zurich"), parse_limit("9/1d"),
                                parse_limit("50/month+15")};
  CHECK(redis_keys("k", both) ==
        std::vector<std::string>{"{k}:day@Europe/Zurich", "{k}:86400s", "{k}:month+15@UTC"});
  CHECK(base_keys("{k}:month+15@UTC", both[2]) == std::vector<std::string_view>{"k", "{k}"});
  const std::vector<Limit> twice{both[2], both[2]};
  CHECK(refusal_of([&] { return redis_keys("k", twice); }) ==
        "two limits have the same window, month+15@UTC; give each its own");
}

TEST_CASE("a calendar that does not exist is refused") {
  CHECK(refusal("5/@UTC") ==
        "'5/@UTC' has an unknown calendar window; use day, week, month, month+15 or year");
  for (const std::string text : {"5/month+0@UTC", "5/month+@UTC", "5/month+99999999999999999999",
                                 "5/week+2", "5/week+1", "5/day+1@UTC", "5/day+1", "5/year+1"}) {
    CHECK(refusal(text) == "'" + text +
                               "' has an invalid '+'; only months begin on another day, from "
                               "month+1 to month+31");
  }
  for (const std::string name : {"", "/etc/passwd", "../zoneinfo/UTC", "Europe/../UTC", ":UTC",
                                 "UTC:", "a b", "Europe/Z\n", "Europe//Zurich"}) {
    CHECK(refusal("5/day@" + name) == "'5/day@" + name + "' has zone '" + name +
                                          "', which cannot be a zone's name; write it like "
                                          "Europe/Zurich");
  }
  CHECK(refusal("5/day@right/UTC") ==
        "'5/day@right/UTC' has zone 'right/UTC', which counts leap seconds, as servers do not; use "
        "'UTC'");
  CHECK(refusal("5/day@posix/Europe/Zurich") ==
        "'5/day@posix/Europe/Zurich' has zone 'posix/Europe/Zurich', which has another name; use "
        "'Europe/Zurich'");
}

TEST_CASE("a zone without a file is refused, with the names that are similar") {
  const auto end_of = [](const std::string& zone) {
    const auto text = refusal("5/day@" + zone);
    const auto begin = "'5/day@" + zone + "' has zone '" + zone + "', which does not exist; ";
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
  };
  CHECK(end_of("Europe/Zurch") == "did you mean 'Europe/Zurich'?");
  CHECK(end_of("europe/zurich") == "did you mean 'Europe/Zurich'?");
  CHECK(end_of("Zurich") == "did you mean 'Europe/Zurich'?");
  CHECK(end_of("GMT+5") == "did you mean 'Etc/GMT+5'?");
  CHECK(end_of("Europe/New_York") == "did you mean 'America/New_York'?");
  CHECK(end_of("Atlantis/Poseidonis") == "names are like Europe/Zurich");
  CHECK(end_of("Europe") == "names are like Europe/Zurich");  // a folder
  CHECK(end_of("zone1970") == "names are like Europe/Zurich");
}

TEST_CASE("names that each machine has for a zone of its own are not zones") {
  for (const std::string name : {"localtime", "posixrules", "Factory"}) {
    CHECK(refusal("5/day@" + name)
              .starts_with("'5/day@" + name + "' has zone '" + name + "', which does not exist"));
    CHECK(std::ranges::count(time_zones(), name) == 0);
  }
}

TEST_CASE("every zone that is installed is accepted, and no part of its file is") {
  const auto names = time_zones();
  CHECK(names.size() > 300);
  for (const auto& name : names) {
    CAPTURE(name);
    const auto data = zone_file(name);
    CHECK(is_zone_data(data));
    for (std::size_t size = 0; size < data.size(); size += 1 + size / 16) {
      if (is_zone_data(std::string_view(data).substr(0, size))) FAIL_CHECK("a part of ", size);
    }
    CHECK_FALSE(is_zone_data(data + "x"));
  }
}

TEST_CASE("a zone whose file is damaged is refused, and the file is named") {
  const auto whole = zone_file("Europe/Zurich");
  const support::TempFolder folder;
  const ScopedVariable tzdir("TZDIR", folder.path().string());
  std::filesystem::create_directory(folder.path() / "Europe");
  const auto file = folder.path() / "Europe/Zurich";
  const auto refused = [&](std::string_view data) {
    std::ofstream(file, std::ios::binary) << data;
    return refusal("5/day@Europe/Zurich");
  };
  REQUIRE(refused(whole) == "accepted");
  const auto expected = "'5/day@Europe/Zurich' has zone 'Europe/Zurich', but '" + file.string() +
                        "' is not a time zone file, or is damaged";
  for (const std::string damaged : {"", "TZ", "TZif", "TZif2", "no zone"}) {
    CHECK(refused(damaged) == expected);
  }
  CHECK(refused(std::string(whole.size(), '\0')) == expected);
  // Each count and each byte of the name and the version decides how the rest is read.
  const auto second = whole.find("TZif", 1);
  REQUIRE(second != whole.npos);
  for (const auto header : {std::size_t{0}, second}) {
    for (std::size_t at = 0; at < 44; ++at) {
      if (at >= 5 && at < 20) continue;  // reserved
      auto damaged = whole;
      damaged[header + at] = static_cast<char>(damaged[header + at] ^ 0x41);
      CAPTURE(header + at);
      CHECK(refused(damaged) == expected);
    }
  }
}

TEST_CASE("the rule at the end of a zone's file is one of POSIX") {
  const auto whole = zone_file("Europe/Zurich");
  const auto data = whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1);
  const auto is_rule = [&](const std::string& rule) { return is_zone_data(data + rule + "\n"); };
  for (const std::string rule :
       {"", "CET-1", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "EST5EDT4:30:59,J60/0,365/167", "IST-2IDT,M3.4.4/26,M10.5.0", "<+1245>-12:45"}) {
    CAPTURE(rule);
    CHECK(is_rule(rule));
  }
  for (const std::string rule :
       {"CE-1", "CET", "CET-25", "CET-1:60", "<CET-1", "CET-1CEST", "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0,M0.5.0", "CET-1CEST,M3.5.0,M10.5.0/168", "CET-1CEST,J0,J366",
        "CET-1CEST,J1,366", "CET-1CEST,M3.5.0,M10.5.0x", "CET-1CEST,M3.5,M10.5.0", "C3T-1"}) {
    CAPTURE(rule);
    CHECK_FALSE(is_rule(rule));
  }
}

TEST_CASE("zones are the files in TZDIR that zones can be read from") {
  const support::TempFolder folder;
  const auto& path = folder.path();
  const auto zone = zone_file("Europe/Zurich");
  const ScopedVariable tzdir("TZDIR", path.string());
  constexpr const char* kNone =
      "'5/day@Here/There' has zone 'Here/There', but no time zones are installed";
  CHECK(refusal("5/day@Here/There") == kNone);
  std::filesystem::create_directory(path / "Here");
  std::ofstream(path / "Here/There") << "no zone";
  CHECK(refusal("5/day@Here/Other").ends_with("no time zones are installed"));
  CHECK(refusal("5/day@Here/There").ends_with("' is not a time zone file, or is damaged"));
  std::filesystem::remove(path / "Here/There");
  std::ofstream(path / "Here/Where", std::ios::binary) << zone;
  CHECK(refusal("5/day@Here/There") ==
        "'5/day@Here/There' has zone 'Here/There', which does not exist; did you mean "
        "'Here/Where'?");
  std::ofstream(path / "EST", std::ios::binary) << zone;
  CHECK(refusal("5/day@PST").ends_with("; names are like Europe/Zurich"));
  CHECK(refusal("5/month@UTC") == "accepted");  // needs no file
}

TEST_CASE("the user's zone is in force afterwards") {
  const std::vector<std::optional<std::string>> values{"America/New_York", "", std::nullopt};
  for (const auto& tz : values) {
    const ScopedVariable variable("TZ", tz);
    CHECK(period("day@Asia/Tokyo", "2026-11-26T12:00:00Z") ==
          "2026-11-25T15:00:00Z..2026-11-26T15:00:00Z");
    const auto* after = std::getenv("TZ");
    CHECK((after == nullptr ? std::nullopt : std::optional<std::string>(after)) == tz);
  }
}

TEST_CASE("scripts and models agree in periods of the calendar, also if the limit changes") {
  std::vector<Limit> limits{parse_limit("4/1d")};
  for (const auto* const text :
       {"5/day@America/Asuncion", "4/week@Asia/Tokyo", "3/day@UTC", "6/month+31@Europe/Zurich"}) {
    limits.push_back(parse_limit(text));
  }
  rlctl::test::TestServer server;
  for (const auto& algorithm : algorithms()) {
    if (!algorithm.has_periods) continue;
    CAPTURE(algorithm.name);
    rlctl::test::ModelLimiter model(algorithm);
    rlctl::test::ScriptLimiter script(server, algorithm);
    rlctl::test::Random random;
    const std::string name(algorithm.name);
    auto now = parse_instant("2024-03-20T00:00:00Z");
    for (int i = 0; i < 600; ++i) {
      const auto& limit = random.percent(80) ? limits[1] : random.one_of(limits);
      const auto& other = random.one_of(limits);
      // To an edge, over it, or anywhere, and sometimes back.
      const auto edge = period_of(random.one_of(limits), now).end;
      now = random.percent(20)   ? edge
            : random.percent(20) ? edge - 1us
                                 : now + microseconds{random.log_uniform(1, 1'000'000'000'000)};
      if (random.percent(5)) now -= 30h;
      Request request{{name}, {limit}, random.uniform(-1, 3), now};
      if (random.percent(30)) {
        request.keys.push_back(name + "2");
        request.limits.push_back(other);
      }
      REQUIRE(script.ask(request) == model.ask(request));
    }
  }
}

#ifdef RLCTL_HAS_DATE

namespace {

/// The first instant of a local date or of a later one, by the changes of the offset that Howard
/// Hinnant's library knows.
class Oracle {
 public:
  explicit Oracle(const date::time_zone& zone) {
    for (auto t = date::sys_seconds{date::sys_days{date::year{2023} / 11 / 1}};
         t < date::sys_days{date::year{2031} / 4 / 1};) {
      infos_.push_back(zone.get_info(t));
      t = infos_.back().end;
    }
  }

  microseconds begin_of(std::chrono::sys_days date) const {
    const std::chrono::seconds midnight = date.time_since_epoch();
    for (const auto& info : infos_) {
      const auto begin = info.begin.time_since_epoch(), end = info.end.time_since_epoch();
      const auto reached = std::max(begin, midnight - info.offset);
      if (reached < end) return reached;
    }
    return {};
  }

 private:
  std::vector<date::sys_info> infos_;
};

/// The dates from 2024 to 2030 at which `starts` says that a period begins.
template <typename Starts>
std::vector<std::chrono::sys_days> dates(Starts starts) {
  using namespace std::chrono;
  std::vector<sys_days> found;
  for (sys_days date = year{2023} / December / 1; date < year{2031} / February / 5;
       date += std::chrono::days{1}) {
    if (starts(date)) found.push_back(date);
  }
  return found;
}

struct DatesOf {
  std::string window;
  std::vector<std::chrono::sys_days> starts;
};

std::vector<DatesOf> all_windows() {
  using namespace std::chrono;
  std::vector<DatesOf> windows{
      {"day", dates([](sys_days) { return true; })},
      {"week", dates([](sys_days date) { return weekday{date} == Monday; })},
      {"year", dates([](sys_days date) {
         const year_month_day day{date};
         return day.month() == January && day.day() == std::chrono::day{1};
       })}};
  for (unsigned anchor = 1; anchor <= 31; ++anchor) {
    windows.push_back({"month+" + std::to_string(anchor), dates([&](sys_days date) {
                         const year_month_day day{date};
                         const bool is_last = year_month_day{date + days{1}}.month() != day.month();
                         return unsigned(day.day()) == anchor ||
                                (is_last && unsigned(day.day()) < anchor);
                       })});
  }
  return windows;
}

/// How many periods of the window differ from the oracle's.
std::int64_t count_wrong(const Oracle& oracle, const DatesOf& dates, const std::string& zone,
                         std::int64_t& compared) {
  const auto* window = find_calendar_window("test", dates.window + "@" + zone);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i + 1 < dates.starts.size(); ++i) {
    const Period expected{oracle.begin_of(dates.starts[i]), oracle.begin_of(dates.starts[i + 1])};
    if (expected.length() == 0us) continue;  // a date that is skipped
    ++compared;
    const bool is_right = window->period_at(expected.start) == expected &&
                          window->period_at(expected.end - 1us) == expected;
    if (is_right) continue;
    if (wrong++ < 3) MESSAGE(window->text(), " at ", instant_text(expected.start));
  }
  return wrong;
}

}  // namespace

TEST_CASE("every period from 2024 to 2030 of every zone is that of Howard Hinnant's date library") {
  const auto windows = all_windows();
  // A share of the zones with each window by default; all of them take a minute.
  const auto share = static_cast<std::size_t>(rlctl::test::scaled(16, 1));
  std::int64_t wrong = 0, compared = 0;
  std::size_t number = 0;
  const auto names = time_zones();
  for (const auto& zone : date::get_tzdb().zones) {
    const auto path = "/usr/share/zoneinfo/" + zone.name();
    if (!std::ranges::binary_search(names, zone.name())) continue;
    // The C library then reads the file once for all periods.
    const ScopedVariable variable("TZ", ":" + path);
    const Oracle oracle(zone);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if ((i + number) % share == 0)
        wrong += count_wrong(oracle, windows[i], zone.name(), compared);
    }
    ++number;
  }
  CHECK(wrong == 0);
  CHECK(compared > 50'000);
  MESSAGE(compared, " periods of ", number, " zones");
}

#else

TEST_CASE("every period from 2024 to 2030 of every zone is that of Howard Hinnant's date library") {
  MESSAGE("skipped: needs Debian's libhowardhinnant-date-dev");
}

#endif

}  // namespace limiter_calendar_test
