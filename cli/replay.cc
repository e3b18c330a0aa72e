#include "cli/replay.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "cli/failure.h"
#include "cli/limits.h"
#include "cli/warning.h"
#include "replay/log_format.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kOfKeys = "keys";

void require_replay(const ReplayArguments& arguments) {
  const auto refuse = [](bool given, std::string_view option) {
    if (!given) return;
    throw UsageError(std::string(option) + " is about a log, but there is no --replay",
                     "name its file: --replay FILE");
  };
  refuse(arguments.format.has_value(), "--format");
  refuse(arguments.time_field.has_value(), "--time-field");
  refuse(arguments.key_field.has_value(), "--key-field");
  refuse(arguments.cost_field.has_value(), "--cost-field");
  refuse(arguments.strict, "--strict");
  refuse(arguments.suggest.has_value(), "--suggest");
}

/// A pattern's name there is more likely meant as one than as a file's.
void refuse_pattern(const std::string& operand) {
  if (operand != kAdversary && traffic::find_pattern(operand) == nullptr) return;
  throw UsageError(
      fmt::format("--replay sends what a log says, so that there is no pattern {}", operand),
      fmt::format("leave it out; a file of that name is ./{}", operand));
}

/// What is wrong with them, without a look at any file.
void require_format(const replay::ReplayOptions& options) {
  if (!options.format) return;
  const auto* format = replay::find_log_format(*options.format);
  if (format != nullptr) {
    parsed("--format", [&] { return format->make_parser(options.fields); });
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& one : replay::log_formats()) names.push_back(one.name);
  throw UsageError("--format: unknown format " + in_quotes(*options.format) +
                       did_you_mean(*options.format, names),
                   "it is one of " + one_of(names));
}

/// A word that may begin with "-", as an option's value.
void add_value(std::vector<std::string>& words, std::string_view option, const std::string& value) {
  if (value.size() > 1 && value.front() == '-') {
    words.push_back(fmt::format("{}={}", option, value));
  } else {
    words.insert(words.end(), {std::string(option), value});
  }
}

void add_value(std::vector<std::string>& words, std::string_view option,
               const std::optional<std::string>& value) {
  if (value) add_value(words, option, *value);
}

}  // namespace

void add_replay_options(Options& options, ReplayArguments& target) {
  options.group("Recorded traffic");
  options.list("--replay", "FILE", target.files,
               "a log instead of a pattern, plain or gzip, - for standard input; more FILEs may "
               "follow");
  add_log_options(options, target);
  options.value("--suggest", "SHARE", target.suggest,
                "the smallest limit that denies at most 1% of the requests, or 1%keys");
}

void add_log_options(Options& options, ReplayArguments& target) {
  options.value("--format", "FORMAT", target.format, "of all files (default: recognised)");
  options.value("--time-field", "NAME", target.time_field, "where the time is in JSON or CSV");
  options.value("--key-field", "NAME", target.key_field,
                "which field is the key (default: the client's address)");
  options.value("--cost-field", "NAME", target.cost_field, "which field is the cost; '' for none");
  options.flag("--strict", target.strict, "a line that cannot be read is an error");
}

std::string format_help() {
  constexpr std::size_t kColumn = 10;
  std::string out = "\nFormats of logs:\n";
  for (const auto& format : replay::log_formats()) {
    out += fmt::format("  {:{}}{}\n", format.name, kColumn, format.summary);
  }
  return out;
}

std::optional<replay::ReplayOptions> parse_replay(const ReplayArguments& arguments,
                                                  const std::vector<std::string>& operands) {
  if (!arguments.given()) {
    require_replay(arguments);
    return std::nullopt;
  }
  replay::ReplayOptions options{.files = arguments.files,
                                .format = arguments.format,
                                .fields = {.time = arguments.time_field,
                                           .key = arguments.key_field,
                                           .cost = arguments.cost_field},
                                .strict = arguments.strict};
  for (const auto& operand : operands) {
    refuse_pattern(operand);
    options.files.push_back(operand);
  }
  for (const auto& file : options.files) {
    if (file.empty()) throw UsageError("--replay: a file's name is empty", "is the variable set?");
  }
  require_format(options);
  return options;
}

traffic::DeniedShare parse_denied_share(const std::string& text) {
  traffic::DeniedShare share;
  std::string_view rest = text;
  share.of_keys = rest.ends_with(kOfKeys);
  if (share.of_keys) rest.remove_suffix(kOfKeys.size());
  const bool has_percent = rest.ends_with('%');
  if (has_percent) rest.remove_suffix(1);
  double percent = 0;
  const auto* end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, percent, std::chars_format::fixed);
  const bool is_number = error == std::errc{} && stop == end && !rest.starts_with('-');
  if (has_percent && is_number && percent >= 0 && percent <= 100) {
    // Not percent / 100, which rounds once more: 7 of 1000 is 0.7 %.
    const auto moved = std::string(rest) + "e-2";
    std::from_chars(moved.data(), moved.data() + moved.size(), share.most);
    return share;
  }
  throw UsageError("--suggest must be a share like 1%, 0.1% or 1%keys, not " + in_quotes(text),
                   "1% is of the requests, 1%keys of the keys");
}

std::string denied_share_text(const traffic::DeniedShare& share) {
  return fmt::format("{:.6g} % of {}", share.most * 100, share.of_keys ? "keys" : "requests");
}

std::vector<std::string> replay_words(const replay::ReplayOptions& options) {
  std::vector<std::string> words;
  for (const auto& file : options.files) add_value(words, "--replay", file);
  add_value(words, "--format", options.format);
  add_value(words, "--time-field", options.fields.time);
  add_value(words, "--key-field", options.fields.key);
  add_value(words, "--cost-field", options.fields.cost);
  if (options.strict) words.emplace_back("--strict");
  return words;
}

void warn_of_bad_lines(const replay::Recording& recording, std::string_view command) {
  const auto& counts = recording.counts();
  const auto& bad = recording.first_bad();
  if (!bad) return;
  warn(fmt::format("warning: {} of {} lines cannot be read; the first is {}:{}: {}: '{}'",
                   counts.bad, counts.lines, bad->file, bad->line, bad->why, bad->text),
       command);
}

}  // namespace rlctl::cli
