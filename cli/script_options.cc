#include "cli/script_options.h"

#include <fmt/format.h>

#include <string_view>

#include "base/shell.h"
#include "cli/failure.h"
#include "cli/limits.h"
#include "cli/script_file.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kDefaultKey = "{key}";

void require_script(const ScriptOptions& options) {
  const auto refuse = [](bool given, std::string_view option) {
    if (!given) return;
    throw UsageError(std::string(option) + " is about a script, but there is no --script",
                     "name its file: --script FILE.lua");
  };
  refuse(options.arguments.has_value(), "--args");
  refuse(options.allowed_when.has_value(), "--allowed-when");
  refuse(options.delay_unit.has_value(), "--delay-unit");
  if (options.keys.empty()) return;
  throw UsageError(
      "--keys must be a whole number in decimal digits, not " + in_quotes(options.keys.front()),
      "a key of a script needs --script FILE.lua");
}

void require_one(const std::vector<std::string>& scripts) {
  if (scripts.size() == 1) return;
  throw UsageError(fmt::format("--script takes one file, but there are {}: {} and {}",
                               scripts.size(), in_quotes(scripts[0]), in_quotes(scripts[1])),
                   "run one after the other, each beside the same --algorithm");
}

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

std::vector<std::string> keys_of(const ScriptOptions& options) {
  return options.keys.empty() ? std::vector{std::string(kDefaultKey)} : options.keys;
}

}  // namespace

void add_script_options(Options& options, ScriptOptions& target) {
  options.list("--script", "FILE", target.scripts, "anyone's limiter in Lua instead, as it is");
  options.value("--args", "WORDS", target.arguments,
                "its ARGV, in one string that is split as a shell does (default: none)");
  options.value("--allowed-when", "REPLY", target.allowed_when,
                "its reply is nonzero, zero, nil, '<=limit', or always allowed (default: nonzero)");
  options.value("--delay-unit", "UNIT", target.delay_unit, "its reply is a wait, in s, ms or us");
}

std::string placeholder_help() {
  constexpr std::size_t kColumn = 16;
  std::string out = "\nIn --keys and --args of a script:\n";
  for (const auto& row : traffic::placeholders()) {
    out += fmt::format("  {:{}}{}\n", fmt::format("{{{}}}", row.name), kColumn, row.summary);
  }
  return out;
}

std::shared_ptr<const traffic::ForeignLimiter> read_script(const ScriptOptions& options) {
  if (options.scripts.empty()) {
    require_script(options);
    return nullptr;
  }
  require_one(options.scripts);
  const auto& path = options.scripts.front();
  traffic::ForeignLimiter limiter{.name = script_name(path), .reading = parse_reading(options)};
  parsed("--keys", [&] {
    for (const auto& key : keys_of(options)) limiter.keys.emplace_back(key);
  });
  parsed("--args", [&] {
    for (const auto& word : shell_words(options.arguments.value_or(""))) {
      limiter.arguments.emplace_back(word);
    }
  });
  limiter.source = read_script_file("--script", path);
  return std::make_shared<const traffic::ForeignLimiter>(std::move(limiter));
}

std::vector<std::string> script_words(const ScriptOptions& options) {
  if (options.scripts.empty()) return {};
  std::vector<std::string> words{"--script", options.scripts.front()};
  for (const auto& key : keys_of(options)) words.insert(words.end(), {"--keys", key});
  words.insert(words.end(), {"--args", options.arguments.value_or("")});
  words.insert(words.end(), {"--allowed-when", options.allowed_when.value_or(std::string(
                                                   traffic::allowed_when_rows().front().name))});
  if (options.delay_unit) words.insert(words.end(), {"--delay-unit", *options.delay_unit});
  return words;
}

std::string reading_text(const traffic::ForeignLimiter& limiter) {
  const auto when = limiter.reading.allowed_when;
  if (when == traffic::AllowedWhen::kAlways) return "allowed always, after a delay";
  return fmt::format("allowed when its reply is {}", name_of(when));
}

}  // namespace rlctl::cli
