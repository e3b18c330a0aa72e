#include "cli/script_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/failure.h"
#include "cli/limits.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kDefaultKey = "{key}";

traffic::ReplyReading parse_reading(const ScriptOptions& options) {
  traffic::ReplyReading reading;
  if (options.allowed_when) {
    reading.allowed_when = parsed(
        "--allowed-when", [&] { return traffic::parse_allowed_when(*options.allowed_when); });
  }
  if (options.delay_unit) {
    reading.delay_unit =
        parsed("--delay-unit", [&] { return traffic::parse_delay_unit(*options.delay_unit); });
  }
  parsed("--delay-unit", [&] { traffic::require_usable(reading); });
  return reading;
}

std::string_view name_of(traffic::AllowedWhen when) {
  for (const auto& row : traffic::allowed_when_rows()) {
    if (row.value == when) return row.name;
  }
  return {};
}

}  // namespace

std::vector<std::string> script_keys(const ScriptOptions& options) {
  return options.keys.empty() ? std::vector{std::string(kDefaultKey)} : options.keys;
}

std::string script_condition(const ScriptOptions& options) {
  return options.allowed_when.value_or(std::string(traffic::allowed_when_rows().front().name));
}

void add_script_options(Options& options, ScriptOptions& target) {
  constexpr std::string_view kNameIt = "name the script with --script FILE.lua";
  options
      .value("--script", "FILE", target.script,
             "run this Lua script instead of a bundled algorithm")
      .once("run the scripts one at a time, each with the same --algorithm")
      .repeats();
  options
      .value("--args", "WORDS", target.arguments,
             "ARGV of the script, in one string that is split as a shell does (default: none)")
      .needs("--script", "", kNameIt)
      .repeats();
  options
      .value("--allowed-when", "REPLY", target.allowed_when,
             "reply that means allowed: nonzero, zero, nil, '<=limit' or always (default: nonzero)")
      .needs("--script", "", kNameIt)
      .repeats();
  options
      .value("--delay-unit", "UNIT", target.delay_unit,
             "the reply is a time to wait, in s, ms or us")
      .needs("--script", "", kNameIt)
      .repeats();
}

std::string placeholder_help() {
  constexpr std::size_t kColumn = 16;
  std::string out = "\nIn --keys and --args of a script:\n";
  for (const auto& row : traffic::placeholders()) {
    out += fmt::format("  {:{}}{}\n", fmt::format("{{{}}}", row.name), kColumn, row.summary);
  }
  return out;
}

std::string read_script_file(std::string_view option, const std::string& path) {
  try {
    return read_all(open_file(path));
  } catch (const std::system_error& error) {
    const auto message = "cannot read " + in_quotes(path) + ": " + errno_text(error.code().value());
    throw UsageError(option.empty() ? message : std::string(option) + ": " + message);
  }
}

std::string script_name(const std::string& path) {
  const auto name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::shared_ptr<const traffic::ForeignLimiter> read_script(const ScriptOptions& options) {
  if (!options.script) {
    if (options.keys.empty()) return nullptr;
    throw UsageError(
        "--keys must be a whole number in decimal digits, not " + in_quotes(options.keys.front()),
        "a key of a script needs --script FILE.lua");
  }
  const auto& path = *options.script;
  traffic::ForeignLimiter limiter{.name = script_name(path), .reading = parse_reading(options)};
  parsed("--keys", [&] {
    for (const auto& key : script_keys(options)) limiter.keys.emplace_back(key);
  });
  parsed("--args", [&] {
    for (const auto& word : shell_words(options.arguments.value_or(""))) {
      limiter.arguments.emplace_back(word);
    }
  });
  limiter.source = read_script_file("--script", path);
  return std::make_shared<const traffic::ForeignLimiter>(std::move(limiter));
}

std::string reading_text(const traffic::ForeignLimiter& limiter) {
  const auto when = limiter.reading.allowed_when;
  if (when == traffic::AllowedWhen::kAlways) return "allowed always, after a delay";
  return fmt::format("allowed when its reply is {}", name_of(when));
}

}  // namespace rlctl::cli
