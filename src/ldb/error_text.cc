#include "ldb/error_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include "ldb/source_lines.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

constexpr std::string_view kScript = "user_script";
constexpr std::string_view kShim = "rl_shim";
constexpr std::string_view kCompiling = "Error compiling script (new function): ";
constexpr std::string_view kRunning = "ERR Error running script (call to f_";

/// "@user_script:12"
struct Place {
  std::string_view chunk = {};
  int line = 0;
  std::size_t size = 0;  ///< of its text, the "@" included
};

/// A chunk's name, a colon, with a blank behind it in old versions, and a line.
std::optional<Place> parse_place(std::string_view text) {
  const std::size_t start = text.starts_with('@') ? 1 : 0;
  const auto colon = text.find(':');
  if (colon == text.npos || text.substr(0, colon).find(' ') != text.npos) return std::nullopt;
  auto digits = text.substr(colon + 1);
  if (digits.starts_with(' ')) digits.remove_prefix(1);
  Place place{.chunk = text.substr(start, colon - start)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), place.line);
  if (error != std::errc{}) return std::nullopt;
  place.size = static_cast<std::size_t>(end - text.data());
  return place;
}

/// Behind "ERR Error running script (call to f_SHA1): ": to Redis 6.
std::optional<Place> place_before(std::string_view text) {
  constexpr std::string_view kEnd = "): ";
  if (!text.starts_with(kRunning)) return std::nullopt;
  const auto end = text.find(kEnd);
  return end == text.npos ? std::nullopt : parse_place(text.substr(end + kEnd.size()));
}

/// In " script: SHA1, on @user_script:12.": since Redis 7; Valkey 9 has no SHA1.
std::optional<Place> place_behind(std::string_view text) {
  constexpr std::string_view kSuffix = " script: ", kOn = "on @";
  const auto at = text.rfind(kSuffix);
  if (at == text.npos || !text.ends_with('.')) return std::nullopt;
  const auto on = text.find(kOn, at + kSuffix.size());
  return on == text.npos ? std::nullopt : parse_place(text.substr(on + kOn.size() - 1));
}

/// Where the server says that an error was raised.
std::optional<Place> place_of(std::string_view text) {
  const auto before = place_before(text);
  return before ? before : place_behind(text);
}

/// The source's line for a place that a message names.
int source_line(const Place& place, const ErrorPlaces& places) {
  if (place.chunk != kScript) return places.last_line;
  const int line = places.line_of(place.line);
  return line == 0 ? places.last_line : line;
}

/// Puts the source's lines where `message` names the text's.
std::string with_source_lines(std::string_view message, const ErrorPlaces& places) {
  std::string out;
  while (!message.empty()) {
    const auto at = std::min(message.find(kScript), message.find(kShim));
    const auto rest = message.substr(std::min(at, message.size()));
    out += message.substr(0, message.size() - rest.size());
    message = rest;
    const auto place = parse_place(message);
    if (place && (place->chunk == kScript || place->chunk == kShim)) {
      out.append(kScript).append(":").append(std::to_string(source_line(*place, places)));
      message.remove_prefix(place->size);
    } else if (!message.empty()) {
      out += message.front();
      message.remove_prefix(1);
    }
  }
  return out;
}

/// Takes the place off that a message begins with, if it is `line`, or none was known.
void take_place(ScriptError& error) {
  const auto place = parse_place(error.message);
  if (!place || place->chunk != kScript) return;
  if (!error.message.substr(place->size).starts_with(": ")) return;
  if (error.line == 0) error.line = place->line;
  if (error.line == place->line) error.message.erase(0, place->size + 2);
}

}  // namespace

Ending ending_of(std::string_view error_text, bool stopped, bool aborting) {
  if (!stopped) {
    // In a session that comes to no stop: "ERR Error compiling script", and what is wrong with the
    // line that begins with #!; other codes (OOM, MISCONF...) are about the server.
    return error_text.starts_with("ERR ") ? Ending::kCompileError : Ending::kRefused;
  }
  if (!place_of(error_text)) return Ending::kReturned;
  constexpr std::string_view kAborted = "script aborted for user request";
  const bool aborted = aborting && error_text.find(kAborted) != error_text.npos;
  return aborted ? Ending::kAborted : Ending::kRunTimeError;
}

std::string with_source_lines(std::string_view text, const std::vector<int>& lines) {
  // A probe writes a colon as it does all that servers might quote.
  constexpr std::array<std::string_view, 2> kPlaces{"user_script:", "user_script%3A"};
  std::string out;
  while (!text.empty()) {
    const auto at = std::min(text.find(kScript), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    const auto place = std::find_if(kPlaces.begin(), kPlaces.end(),
                                    [&](auto start) { return text.starts_with(start); });
    if (place == kPlaces.end()) {
      out += text.substr(0, 1);
      text.remove_prefix(std::min<std::size_t>(1, text.size()));
      continue;
    }
    std::size_t number = 0;
    const auto* digits = text.data() + place->size();
    const auto [end, error] = std::from_chars(digits, text.data() + text.size(), number);
    out += *place;
    text.remove_prefix(place->size());
    if (error != std::errc{} || number >= lines.size() || lines[number] == 0) continue;
    out += std::to_string(lines[number]);
    text.remove_prefix(static_cast<std::size_t>(end - digits));
  }
  return out;
}

ScriptError explain_error(redis::ReplyView error_reply, const ErrorPlaces& places) {
  const std::string whole = redis::to_error(error_reply).what();
  std::string_view message = whole;
  const bool compiling = message.starts_with(kCompiling);
  if (compiling) message.remove_prefix(kCompiling.size());

  ScriptError error{.message = with_source_lines(message, places)};
  if (const auto place = place_of(error_reply.text()); place && place->chunk == kScript) {
    error.line = source_line(*place, places);
  }
  take_place(error);
  if (compiling) {
    // To Redis 6, the script is the body of a function whose end is two lines further on.
    error.line = std::min(error.line, static_cast<int>(source_lines(places.source).size()));
  } else if (error.line == 0) {
    error.line = places.last_line == 0 && places.source.starts_with("#!") ? 1 : places.last_line;
  }
  return error;
}

}  // namespace rlctl::ldb
