#include <algorithm>
#include <string>

#include "cli/trial/json.h"

// The field `events` of a report. A request takes a few bytes there, since each of its numbers is a
// difference in a column.

namespace rlctl::cli::trial {
namespace {

using namespace json_type;
using std::chrono::microseconds;

constexpr JsonType kColumn{R"("type": "array", "items": {"type": "integer"})"};

/// A column of numbers, of which all but the first are differences. If all are equal, only the
/// first is written.
template <typename Number>
void write_column(JsonWriter& json, const std::vector<Event>& events, const Number& number) {
  const bool are_equal = std::ranges::all_of(
      events, [&](const Event& event) { return number(event) == number(events.front()); });
  json.begin_array();
  std::int64_t last = 0;
  for (const auto& event : events) {
    const std::int64_t value = number(event);
    json.value(value - last);
    last = value;
    if (are_equal) break;
  }
  json.end_array();
}

bool have_same_requests(const Events& one, const Events& other) {
  return std::equal(one.single.begin(), one.single.end(), other.single.begin(), other.single.end(),
                    [&](const Event& a, const Event& b) {
                      return a.at == b.at && a.cost == b.cost &&
                             one.keys[a.key] == other.keys[b.key];
                    });
}

/// A digit: whether an event was denied, and for ever, or allowed, and with a delay.
char digit_of(const Event& event) {
  if (event.allowed) return event.wait.count() > 0 ? '2' : '1';
  return event.wait == limiter::kNever ? '3' : '0';
}

/// When a request that was denied, but not for ever, may be sent again, or a delayed one proceeds.
void write_ends_of_waits(JsonWriter& json, const std::vector<Event>& events) {
  json.begin_array();
  microseconds last{0};
  for (const auto& event : events) {
    if (const auto digit = digit_of(event); digit == '1' || digit == '3') continue;
    if (event.wait.count() < 0) {
      json.null();
    } else {
      const auto until = event.at + event.wait;
      json.value(until - last);
      last = until;
    }
  }
  json.end_array();
}

constexpr JsonField<Events> kTrafficFields[] = {
    {"keys", kStrings, "The keys.", [](const auto& of) { return std::span(of.keys); }},
    {"at_us", kColumn, "A column: when the requests are made, in microseconds since 1970.",
     [](JsonWriter& json, const Events& of) {
       write_column(json, of.single, [](const Event& event) { return event.at.count(); });
     }},
    {"key", kColumn, "A column: the places of their keys in keys, from 0.",
     [](JsonWriter& json, const Events& of) {
       write_column(json, of.single, [](const Event& event) { return event.key; });
     }},
    {"cost", kColumn, "A column: their costs.",
     [](JsonWriter& json, const Events& of) {
       write_column(json, of.single, [](const Event& event) { return event.cost; });
     }},
};
constexpr JsonObject<Events> kTraffic(kTrafficFields);

struct Decisions {
  microseconds begin;
  std::size_t traffic;
  const std::vector<Event>& events;
};
constexpr JsonField<Decisions> kDecisionFields[] = {
    {"traffic", kCount, "The place of its requests in events.traffic, from 0.",
     [](const auto& of) { return of.traffic; }},
    {"begin_us", kTime,
     "When its traffic began under the real clock, or the window before the edge that the pattern "
     "surrounds; otherwise 0. In microseconds since 1970.",
     [](const auto& of) { return of.begin; }},
    {"decisions", JsonType{R"("type": "string", "pattern": "^[0-3]*$")"},
     "A digit for each request: 0 denied, 1 allowed, 2 allowed after a delay, 3 denied forever.",
     [](const auto& of) {
       std::string digits;
       for (const auto& event : of.events) digits += digit_of(event);
       return digits;
     }},
    {"remaining", kColumn, "A column: the units that remain; below 0 if that is not known.",
     [](JsonWriter& json, const Decisions& of) {
       write_column(json, of.events, [](const Event& event) { return event.remaining; });
     }},
    {"until_us", JsonType{R"("type": "array", "items": {"type": ["integer", "null"]})"},
     "For each digit 0 or 2: when the request may be sent again, or proceeds; the difference to "
     "the number before, or null if it is not known.",
     [](JsonWriter& json, const Decisions& of) { write_ends_of_waits(json, of.events); }},
    {"denied_by", kColumn,
     "A column: the number of the limit that denied the request, from 1, or 0.",
     [](JsonWriter& json, const Decisions& of) {
       write_column(json, of.events, [](const Event& event) { return event.denied_by; });
     }},
};
constexpr JsonObject<Decisions> kDecisions(kDecisionFields);

constexpr JsonField<EventTable> kEventsFields[] = {
    {"begins_with_window", kBoolean,
     "Whether windows of the clock are known: under the virtual clock, and if the traffic was sent "
     "from the edge of one.",
     [](const auto& of) {
       const auto* pattern = of.report.plan.pattern();
       return !of.report.plan.is_real() ||
              (pattern != nullptr && pattern->first_in_window != nullptr);
     }},
    {"traffic", array_of(kTraffic), "Requests in columns; limiters that got the same share a row.",
     [](const auto& of, const auto& write) {
       for (const auto* events : of.traffic) write(*events);
     }},
    {"runs", array_of(kDecisions), "What each limiter decided, in the order of runs.",
     [](const auto& of, const auto& write) {
       for (std::size_t i = 0; i < of.traffic_of.size(); ++i) {
         const auto& run = of.report.runs[i];
         write({run.begin, of.traffic_of[i], run.requests()->events->single});
       }
     }},
};

}  // namespace

constinit const JsonObject<EventTable> kEventsJson(kEventsFields);

std::optional<EventTable> event_table(const Report& report) {
  EventTable table{.report = report, .traffic = {}, .traffic_of = {}};
  for (const auto& run : report.runs) {
    if (run.requests() == nullptr || !run.requests()->events) return std::nullopt;
    const auto& events = *run.requests()->events;
    const auto same = std::ranges::find_if(
        table.traffic, [&](const auto* one) { return have_same_requests(*one, events); });
    table.traffic_of.push_back(static_cast<std::size_t>(same - table.traffic.begin()));
    if (same == table.traffic.end()) table.traffic.push_back(&events);
  }
  return table;
}

}  // namespace rlctl::cli::trial
