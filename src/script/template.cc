#include "script/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/table.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::script {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using Form = Placeholder::TimeForm;
using Contains = Placeholder::Contains;

constexpr std::int64_t kSecond = 1'000'000;
constexpr int kDecimals = 6;

/// "1767225660.000000"
void append_seconds(std::string& out, microseconds time) {
  fmt::format_to(std::back_inserter(out), "{}.{:0{}}", time.count() / kSecond,
                 time.count() % kSecond, kDecimals);
}

/// "5", "16.666666666666668", "0.00001"
void append_ratio(std::string& out, double ratio) {
  std::array<char, 64> digits{};
  const auto [end, error] =
      std::to_chars(digits.begin(), digits.end(), ratio, std::chars_format::fixed);
  out.append(digits.begin(), end);
}

std::int64_t in_unit(microseconds time, nanoseconds unit) {
  return unit < 1us ? time / 1us * (1us / unit) : time / unit;
}

// ---- The table ----

double rate_of(const TemplateValues& values) {
  return static_cast<double>(values.limit.limit) * kSecond /
         static_cast<double>(values.limit.window.count());
}
std::int64_t window_index(const TemplateValues& values) {
  return values.now / values.limit.window;
}
microseconds now_of(const TemplateValues& values) {
  return values.now;
}
microseconds window_of(const TemplateValues& values) {
  return values.limit.window;
}
microseconds hold_of(const TemplateValues& values) {
  return values.hold;
}
/// Not before 1970, like every other time.
microseconds cutoff_of(const TemplateValues& values) {
  return std::max(values.now - values.limit.window, 0us);
}
microseconds window_start_of(const TemplateValues& values) {
  return values.now / values.limit.window * values.limit.window;
}

microseconds window_end_of(const TemplateValues& values) {
  return window_start_of(values) + values.limit.window;
}
template <std::size_t number>
std::string_view key_number(const TemplateValues& values) {
  return number <= values.keys.size() ? values.keys[number - 1] : std::string_view();
}

/// The columns: name, summary, value, contains, tick, unit, form, formula. A unit rounds the
/// time of the request, but the beginning of a window depends on the exact time.
constexpr std::array kPlaceholders{
    Placeholder{"key", "the key's name", [](const TemplateValues& values) { return values.key; }},
    Placeholder{"limit", "number of --limit",
                [](const TemplateValues& values) { return values.limit.limit; }, Contains::kLimit},
    Placeholder{"burst", "number of --burst, or the limit",
                [](const TemplateValues& values) { return values.limit.burst_or_limit(); },
                Contains::kWindow},
    Placeholder{"rate", "limit per second: 5, 0.25", rate_of, Contains::kWindow, 0us, 1us,
                Form::kWhole, "limit/window"},
    Placeholder{"cost", "cost of the request, or units of the reservation",
                [](const TemplateValues& values) { return values.cost; }},
    Placeholder{"id", "number of the request, from 1",
                [](const TemplateValues& values) { return values.id; }},
    Placeholder{"now", "time of the request in seconds, with six decimals", now_of,
                Contains::kNothing, 1us, 1us, Form::kSixDecimals},
    Placeholder{"now_s", "time of the request in whole seconds", now_of, Contains::kNothing, 1s,
                1s},
    Placeholder{"now_ms", "time of the request in whole milliseconds", now_of, Contains::kNothing,
                1ms, 1ms},
    Placeholder{"now_us", "time of the request in microseconds", now_of, Contains::kNothing, 1us,
                1us},
    Placeholder{"now_ns", "time of the request in nanoseconds", now_of, Contains::kNothing, 1us,
                1ns},
    Placeholder{"window", "window of --limit in seconds: 60, 0.25", window_of, Contains::kWindow,
                0us, 1us, Form::kShort},
    Placeholder{"window_s", "window of --limit in whole seconds", window_of, Contains::kWindow, 0us,
                1s},
    Placeholder{"window_ms", "window of --limit in whole milliseconds", window_of,
                Contains::kWindow, 0us, 1ms},
    Placeholder{"window_us", "window of --limit in microseconds", window_of, Contains::kWindow, 0us,
                1us},
    Placeholder{"window_ns", "window of --limit in nanoseconds", window_of, Contains::kWindow, 0us,
                1ns},
    Placeholder{"cutoff", "now less the window in seconds, with six decimals", cutoff_of,
                Contains::kWindow, 1us, 1us, Form::kSixDecimals, "now-window"},
    Placeholder{"cutoff_s", "now less the window in whole seconds", cutoff_of, Contains::kWindow,
                1s, 1s, Form::kWhole, "now_s-window_s"},
    Placeholder{"cutoff_ms", "now less the window in whole milliseconds", cutoff_of,
                Contains::kWindow, 1ms, 1ms, Form::kWhole, "now_ms-window_ms"},
    Placeholder{"cutoff_us", "now less the window in microseconds", cutoff_of, Contains::kWindow,
                1us, 1us, Form::kWhole, "now_us-window_us"},
    Placeholder{"window_start", "start of the clock's window in seconds, with six decimals",
                window_start_of, Contains::kWindow, 1us, 1us, Form::kSixDecimals, "now-now%window"},
    Placeholder{"window_start_s", "start of the clock's window in whole seconds", window_start_of,
                Contains::kWindow, 1us, 1s, Form::kWhole, "now_s-now_s%window_s"},
    Placeholder{"window_start_ms", "start of the clock's window in whole milliseconds",
                window_start_of, Contains::kWindow, 1us, 1ms, Form::kWhole,
                "now_ms-now_ms%window_ms"},
    Placeholder{"window_start_us", "start of the clock's window in microseconds", window_start_of,
                Contains::kWindow, 1us, 1us, Form::kWhole, "now_us-now_us%window_us"},
    Placeholder{"window_end", "end of the clock's window in seconds, with six decimals",
                window_end_of, Contains::kWindow, 1us, 1us, Form::kSixDecimals},
    Placeholder{"window_end_s", "end of the clock's window in whole seconds", window_end_of,
                Contains::kWindow, 1us, 1s, Form::kWhole},
    Placeholder{"window_end_ms", "end of the clock's window in whole milliseconds", window_end_of,
                Contains::kWindow, 1us, 1ms, Form::kWhole},
    Placeholder{"window_end_us", "end of the clock's window in microseconds", window_end_of,
                Contains::kWindow, 1us, 1us, Form::kWhole},
    Placeholder{"window_index", "number of windows that have ended since 1970", window_index,
                Contains::kWindow, 1us},
    Placeholder{"prev_window_index", "the same of the window before",
                [](const TemplateValues& values) { return window_index(values) - 1; },
                Contains::kWindow, 1us, 1us, Form::kWhole, "window_index-1"},
    Placeholder{"event", "acquire, renew or release; reserve or settle",
                [](const TemplateValues& values) { return values.event; }, Contains::kEvent},
    Placeholder{"holder", "name of the holder of a lease: h17",
                [](const TemplateValues& values) { return values.holder; }, Contains::kLease},
    Placeholder{"lease", "--lease in seconds: 30, 0.25", window_of, Contains::kLease, 0us, 1us,
                Form::kShort},
    Placeholder{"lease_s", "--lease in whole seconds", window_of, Contains::kLease, 0us, 1s},
    Placeholder{"lease_ms", "--lease in whole milliseconds", window_of, Contains::kLease, 0us, 1ms},
    Placeholder{"lease_us", "--lease in microseconds", window_of, Contains::kLease, 0us, 1us},
    Placeholder{"reservation", "ID of a reservation: r17",
                [](const TemplateValues& values) { return values.reservation; },
                Contains::kReservation},
    Placeholder{"actual", "actual cost of a settle, or 0",
                [](const TemplateValues& values) { return values.actual; }, Contains::kReservation},
    Placeholder{"hold", "--hold of a reservation in seconds: 30, 0.25", hold_of,
                Contains::kReservation, 0us, 1us, Form::kShort},
    Placeholder{"hold_s", "--hold in whole seconds", hold_of, Contains::kReservation, 0us, 1s},
    Placeholder{"hold_ms", "--hold in whole milliseconds", hold_of, Contains::kReservation, 0us,
                1ms},
    Placeholder{"hold_us", "--hold in microseconds", hold_of, Contains::kReservation, 0us, 1us},
    Placeholder{"key1", "KEYS[1] as the script gets it; in --args only", key_number<1>},
    Placeholder{"key2", "KEYS[2]", key_number<2>},
    Placeholder{"key3", "KEYS[3]", key_number<3>},
    Placeholder{"key4", "KEYS[4]", key_number<4>},
};

// ---- Braces ----

/// A name or formula without blanks and underscores, in lower case, as likely_placeholder()
/// compares it.
std::string normal_form(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    if (c != ' ' && c != '\t' && c != '_') out += lower_case(c);
  }
  return out;
}

[[noreturn]] void throw_bad_braces(std::string_view text, const std::string& what,
                                   std::string_view typed) {
  const auto likely = likely_placeholder(typed);
  throw UsageError(
      fmt::format("'{}' contains {}{}", escape(text), what,
                  likely.empty() ? "" : fmt::format("; did you mean {{{}}}?", likely)),
      fmt::format("a placeholder is {}; for a literal brace, write '{{{{}}'", placeholder_names()));
}

/// The "{{user}}" at the beginning of a text, which stands for "{user}"; empty if there is none, or
/// if the name is, or was probably meant to be, that of a placeholder.
std::string_view hash_tag(std::string_view text) {
  if (!text.starts_with("{{")) return {};
  const auto end = text.find_first_of("{}", 2);
  if (end == text.npos || end == 2 || !text.substr(end).starts_with("}}")) return {};
  return likely_placeholder(text.substr(2, end - 2)).empty() ? text.substr(0, end + 2)
                                                             : std::string_view();
}

}  // namespace

void Placeholder::append(std::string& out, const TemplateValues& values) const {
  if (const auto* text = std::get_if<Text>(&value)) {
    out += (*text)(values);
  } else if (const auto* count = std::get_if<Count>(&value)) {
    append_number(out, (*count)(values));
  } else if (const auto* ratio = std::get_if<Ratio>(&value)) {
    append_ratio(out, (*ratio)(values));
  } else {
    const auto time = std::get<Time>(value)(values);
    switch (form) {
      case TimeForm::kSixDecimals:
        return append_seconds(out, time);
      case TimeForm::kShort:
        out += decimal_seconds(time);
        return;
      case TimeForm::kWhole:
        return append_number(out, in_unit(time, unit));
    }
  }
}

long double Placeholder::number(const TemplateValues& values) const {
  if (const auto* count = std::get_if<Count>(&value)) {
    return static_cast<long double>((*count)(values));
  }
  if (const auto* ratio = std::get_if<Ratio>(&value)) return (*ratio)(values);
  const auto time = std::get<Time>(value)(values);
  if (form == TimeForm::kWhole) return static_cast<long double>(in_unit(time, unit));
  return static_cast<double>(time.count()) / kSecond;  // the double that its text is read as
}

void Placeholder::require_usable(const limiter::Limit& limit, bool has_leases,
                                 microseconds hold) const {
  if (contains == Contains::kNothing) return;
  if (has_leases && contains == Contains::kWindow) {
    throw UsageError(fmt::format("{{{}}} is about a window, but leases have none", name),
                     "the duration of a lease is {lease_ms}");
  }
  if (!has_leases && contains == Contains::kLease) {
    throw UsageError(fmt::format("{{{}}} is about a lease; it requires --concurrency", name));
  }
  if (contains == Contains::kEvent && !has_leases && hold == 0us) {
    throw UsageError(fmt::format(
        "{{{}}} is about leases or reservations; it requires --concurrency or --reserve", name));
  }
  const bool is_of_reservation = contains == Contains::kReservation;
  if (is_of_reservation && hold == 0us) {
    throw UsageError(fmt::format("{{{}}} is about a reservation; it requires --reserve", name));
  }
  const auto time = is_of_reservation ? hold : limit.window;
  if (time % std::max<nanoseconds>(unit, 1us) == 0ns) return;
  const auto family = name.substr(0, name.rfind('_'));
  throw UsageError(
      fmt::format("a {} of {} is not a whole number for {{{}}}; write {{{}}}{} or {{{}_us}}",
                  contains == Contains::kLease ? "lease"
                  : is_of_reservation          ? "hold"
                                               : "window",
                  format_duration(time), name, family,
                  time % 1ms == 0us ? fmt::format(", {{{}_ms}}", family) : "", family));
}

std::span<const Placeholder> placeholders() {
  return kPlaceholders;
}

const Placeholder* find_placeholder(std::string_view name) {
  return find_by_name(placeholders(), name);
}

std::string_view likely_placeholder(std::string_view typed) {
  const auto meant = normal_form(typed);
  std::vector<std::string_view> names;
  for (const auto& row : placeholders()) {
    if (normal_form(row.name) == meant) return row.name;
    if (!row.formula.empty() && normal_form(row.formula) == meant) return row.name;
    names.emplace_back(row.name);
  }
  return closest(typed, names);
}

std::string placeholder_names(bool only_numbers) {
  std::vector<std::string_view> names;
  for (const auto& row : placeholders()) {
    const bool has_unit = std::holds_alternative<Placeholder::Time>(row.value) &&
                          row.form == Placeholder::TimeForm::kWhole;
    const bool is_text = std::holds_alternative<Placeholder::Text>(row.value);
    if (!has_unit && !(is_text && only_numbers)) names.emplace_back(row.name);
  }
  return one_of(names) + ", or a time with a unit: now_s, now_ms, now_us";
}

Template::Template(std::string_view text) : source_(text) {
  parse();
}

void Template::parse() {
  constexpr std::string_view kBrace = "{{}";
  struct Open {
    std::size_t at;
    bool encloses;  ///< a placeholder
  };
  std::vector<Open> open;
  const std::string_view text = source_;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto rest = text.substr(at);
    const auto next = rest.find_first_of("{}", 1);
    if (rest.starts_with(kBrace)) {
      add_text("{");
      at += kBrace.size();
    } else if (const auto literal = hash_tag(rest); !literal.empty()) {
      add_text(literal.substr(1, literal.size() - 2));
      at += literal.size();
    } else if (rest.front() == '{' && next != rest.npos && rest[next] == '}') {
      const auto name = rest.substr(1, next - 1);
      const auto* found = find_placeholder(name);
      if (found == nullptr) {
        throw_bad_braces(text, fmt::format("{{{}}}, which is not a placeholder", escape(name)),
                         name);
      }
      pieces_.push_back({.placeholder = found});
      for (auto& brace : open) brace.encloses = true;
      at += next + 1;
    } else {
      if (rest.front() == '{') open.push_back({at, false});
      if (rest.front() == '}' && !open.empty()) {
        const auto [begin, encloses] = open.back();
        const auto braces = text.substr(begin, at + 1 - begin);
        if (!encloses) {
          throw_bad_braces(text, fmt::format("{}, which has no placeholder", escape(braces)), "");
        }
        open.pop_back();
      }
      const auto length = std::min(next, rest.size());
      add_text(rest.substr(0, length));
      at += length;
    }
  }
  if (open.empty()) return;
  const auto begin = open.back().at;
  throw_bad_braces(text, fmt::format("'{}', whose brace is not closed", escape(text.substr(begin))),
                   text.substr(begin + 1));
}

void Template::add_text(std::string_view text) {
  if (text.empty()) return;
  if (pieces_.empty() || pieces_.back().placeholder != nullptr) pieces_.emplace_back();
  pieces_.back().text += text;
}

void Template::append(std::string& out, const TemplateValues& values) const {
  for (const auto& [placeholder, text] : pieces_) {
    if (placeholder != nullptr) {
      placeholder->append(out, values);
    } else {
      out += text;
    }
  }
}

std::vector<const Placeholder*> Template::times() const {
  std::vector<const Placeholder*> times;
  for (const auto& [placeholder, text] : pieces_) {
    if (placeholder != nullptr && placeholder->tick > 0us) times.push_back(placeholder);
  }
  return times;
}

bool Template::uses_limit() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->uses_limit();
  });
}

bool Template::holds(std::string_view placeholder) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [placeholder](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->name == placeholder;
  });
}

bool Template::is_about(Placeholder::Contains subject) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [subject](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->contains == subject;
  });
}

void Template::require_usable(const limiter::Limit& limit, bool has_leases,
                              microseconds hold) const {
  for (const auto& [placeholder, text] : pieces_) {
    if (placeholder != nullptr) placeholder->require_usable(limit, has_leases, hold);
  }
}

}  // namespace rlctl::script
