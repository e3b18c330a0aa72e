#include "cli/trial/json.h"

#include <algorithm>

#include "cli/trial/report.h"

namespace rlctl::cli::trial {
namespace {

using std::chrono::microseconds;

/// A column of numbers, of which all but the first are differences. If all are equal, only the
/// first is written.
template <typename Number>
void write_column(JsonWriter& json, std::string_view name, const std::vector<Event>& events,
                  const Number& number) {
  const bool are_equal = std::ranges::all_of(
      events, [&](const Event& event) { return number(event) == number(events.front()); });
  json.name(name).begin_array();
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

void write_requests(JsonWriter& json, const Events& events) {
  json.begin_object().name("keys").begin_array();
  for (const auto& key : events.keys) json.value(key);
  json.end_array();
  write_column(json, "at_us", events.single, [](const Event& e) { return e.at.count(); });
  write_column(json, "key", events.single, [](const Event& e) { return e.key; });
  write_column(json, "cost", events.single, [](const Event& e) { return e.cost; });
  json.end_object();
}

/// A digit: whether an event was denied, and for ever, or allowed, and with a delay.
char digit_of(const Event& event) {
  if (event.allowed) return event.wait.count() > 0 ? '2' : '1';
  return event.wait == limiter::kNever ? '3' : '0';
}

/// When a request that was denied, but not for ever, may be sent again, or a delayed one proceeds.
void write_ends_of_waits(JsonWriter& json, const std::vector<Event>& events) {
  json.name("until_us").begin_array();
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

void write_decisions(JsonWriter& json, const Run& run, std::size_t traffic) {
  const auto& events = *run.requests()->events;
  std::string decisions;
  for (const auto& event : events.single) decisions += digit_of(event);
  json.begin_object().field("traffic", traffic).field("begin_us", run.begin);
  json.field("decisions", decisions);
  write_column(json, "remaining", events.single, [](const Event& e) { return e.remaining; });
  write_ends_of_waits(json, events.single);
  write_column(json, "denied_by", events.single, [](const Event& e) { return e.denied_by; });
  json.end_object();
}

}  // namespace

void write_events(JsonWriter& json, const Report& report) {
  const auto& runs = report.runs;
  const bool has_events = std::ranges::all_of(
      runs, [](const Run& run) { return run.requests() != nullptr && run.requests()->events; });
  if (!has_events) return;
  std::vector<const Events*> traffic;
  std::vector<std::size_t> traffic_of;
  for (const auto& run : runs) {
    const auto& events = *run.requests()->events;
    const auto same = std::ranges::find_if(
        traffic, [&](const auto* one) { return have_same_requests(*one, events); });
    traffic_of.push_back(static_cast<std::size_t>(same - traffic.begin()));
    if (same == traffic.end()) traffic.push_back(&events);
  }
  const auto* pattern = report.plan.pattern();
  json.name("events").begin_object();
  json.field("begins_with_window",
             !report.plan.is_real() || (pattern != nullptr && pattern->first_in_window != nullptr));
  json.name("traffic").begin_array();
  for (const auto* events : traffic) write_requests(json, *events);
  json.end_array().name("runs").begin_array();
  for (std::size_t i = 0; i < runs.size(); ++i) write_decisions(json, runs[i], traffic_of[i]);
  json.end_array().end_object();
}

}  // namespace rlctl::cli::trial
