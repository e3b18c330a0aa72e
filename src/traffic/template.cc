#include "traffic/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/text.h"

namespace rlctl::traffic {
namespace {

using std::chrono::microseconds;
using namespace std::chrono_literals;

void append_number(std::string& out, std::int64_t value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

constexpr std::int64_t kSecond = 1'000'000;
constexpr int kDecimals = 6;

/// "1767225660.000000"
void append_seconds(std::string& out, microseconds time) {
  fmt::format_to(std::back_inserter(out), "{}.{:0{}}", time.count() / kSecond,
                 time.count() % kSecond, kDecimals);
}

/// "60", "0.25"
void append_short_seconds(std::string& out, microseconds time) {
  append_seconds(out, time);
  out.resize(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
}

constexpr std::array kPlaceholders = std::to_array<Placeholder>({
    {.name = "key",
     .summary = "the key's name",
     .append = [](auto& out, auto& values) { out += values.key; }},
    {.name = "limit",
     .summary = "the number of --limit",
     .append = [](auto& out, auto& values) { append_number(out, values.limit.limit); },
     .tells_limit = true},
    {.name = "burst",
     .summary = "the number of --burst, or the limit",
     .append =
         [](auto& out, auto& values) {
           append_number(out, values.limit.burst.value_or(values.limit.limit));
         },
     .tells_limit = true},
    {.name = "cost",
     .summary = "the cost of the request",
     .append = [](auto& out, auto& values) { append_number(out, values.cost); }},
    {.name = "id",
     .summary = "the number of the request, from 1",
     .append = [](auto& out, auto& values) { append_number(out, values.id); }},
    {.name = "now",
     .summary = "the time: seconds since 1970, with six decimals",
     .append = [](auto& out, auto& values) { append_seconds(out, values.now); },
     .tick = 1us},
    {.name = "now_s",
     .summary = "the time in whole seconds",
     .append = [](auto& out, auto& values) { append_number(out, values.now.count() / kSecond); },
     .tick = 1s},
    {.name = "now_ms",
     .summary = "the time in whole milliseconds",
     .append = [](auto& out, auto& values) { append_number(out, values.now / 1ms); },
     .tick = 1ms},
    {.name = "now_us",
     .summary = "the time in microseconds",
     .append = [](auto& out, auto& values) { append_number(out, values.now.count()); },
     .tick = 1us},
    {.name = "window",
     .summary = "the window of --limit, in seconds: 60, 0.25",
     .append = [](auto& out, auto& values) { append_short_seconds(out, values.limit.window); },
     .tells_limit = true},
    {.name = "window_s",
     .summary = "the window in whole seconds",
     .append = [](auto& out, auto& values) { append_number(out, values.limit.window / 1s); },
     .tells_limit = true,
     .whole_multiple = 1s},
    {.name = "window_ms",
     .summary = "the window in whole milliseconds",
     .append = [](auto& out, auto& values) { append_number(out, values.limit.window / 1ms); },
     .tells_limit = true,
     .whole_multiple = 1ms},
    {.name = "window_us",
     .summary = "the window in microseconds",
     .append = [](auto& out, auto& values) { append_number(out, values.limit.window.count()); },
     .tells_limit = true},
    {.name = "window_index",
     .summary = "the number of windows that have ended since 1970",
     .append = [](auto& out,
                  auto& values) { append_number(out, values.now / values.limit.window); },
     .tick = 1us,
     .tells_limit = true},
});

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The word in the braces at the start of `text`, empty for "{}"; none if they hold anything else.
std::optional<std::string_view> word_in_braces(std::string_view text) {
  const auto end = std::find_if_not(text.begin() + 1, text.end(), is_word);
  if (end == text.end() || *end != '}') return std::nullopt;
  return text.substr(1, static_cast<std::size_t>(end - text.begin()) - 1);
}

const Placeholder& find_placeholder(std::string_view name, std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& row : kPlaceholders) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw UsageError(fmt::format(
      "'{}' contains {{{}}}, which is not a placeholder{}; use {}, or '{{{{}}' for a brace",
      escape(text), name, did_you_mean(name, names), one_of(names)));
}

}  // namespace

std::span<const Placeholder> placeholders() {
  return kPlaceholders;
}

Template::Template(std::string_view text) : source_(text) {
  constexpr std::string_view kBrace = "{{}";
  auto rest = text;
  while (!rest.empty()) {
    const auto brace = std::min(rest.find('{'), rest.size());
    add_text(rest.substr(0, brace));
    rest.remove_prefix(brace);
    if (rest.empty()) break;
    if (rest.starts_with(kBrace)) {
      add_text("{");
      rest.remove_prefix(kBrace.size());
    } else if (const auto word = word_in_braces(rest)) {
      pieces_.push_back({.placeholder = &find_placeholder(*word, text)});
      rest.remove_prefix(word->size() + 2);
    } else {
      add_text("{");
      rest.remove_prefix(1);
    }
  }
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

bool Template::tells_time() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->tick > 0us;
  });
}

const Placeholder* Template::coarsest_time() const {
  const Placeholder* coarsest = nullptr;
  for (const auto& [placeholder, text] : pieces_) {
    if (placeholder == nullptr || placeholder->tick <= 1us) continue;
    if (coarsest == nullptr || placeholder->tick > coarsest->tick) coarsest = placeholder;
  }
  return coarsest;
}

bool Template::tells_limit() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->tells_limit;
  });
}

bool Template::holds(std::string_view placeholder) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [placeholder](const Piece& piece) {
    return piece.placeholder != nullptr && piece.placeholder->name == placeholder;
  });
}

void Template::require_usable(const limiter::Limit& limit) const {
  for (const auto& [placeholder, text] : pieces_) {
    if (placeholder == nullptr || limit.window % placeholder->whole_multiple == 0us) continue;
    throw UsageError(
        fmt::format("a window of {} is not a whole number for {{{}}}; write {{window}}, "
                    "{{window_ms}} or {{window_us}}",
                    format_duration(limit.window), placeholder->name));
  }
}

}  // namespace rlctl::traffic
