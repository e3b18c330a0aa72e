#include "cli/options/log_options.h"

#include <fmt/format.h>

#include <string_view>

#include "base/address.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "cli/terminal/table.h"
#include "limiter/algorithm.h"
#include "replay/log_format.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kOfKeys = "keys";

/// The name of a pattern is more likely meant as a pattern than as a file.
void refuse_pattern(const std::string& operand) {
  if (operand != kAdversary && traffic::find_pattern(operand) == nullptr) return;
  throw UsageError(
      fmt::format(
          "--replay sends the requests of a log and takes no pattern: unexpected argument '{}'",
          operand),
      fmt::format("write the name of a file as ./{}", operand));
}

int parse_prefix(const std::string& text) {
  return static_cast<int>(parse_between(text, "--ipv6-prefix", 1, kIpv6Bits));
}

}  // namespace

void add_replay_options(Options& options, ReplayArguments& target) {
  options.group("Recorded traffic");
  options.list(
      "--replay", "FILE", target.files,
      "send the requests of a log instead of a pattern; plain or gzip, - for standard input; "
      "more FILEs may follow");
  add_log_options(options, target);
  options
      .value("--suggest", "SHARE", target.suggest,
             "find the smallest limit that denies at most SHARE; 1% of the requests, or 1%keys")
      .needs("--replay", "", kNameLog)
      .excludes("--script", "it runs models of the algorithms, and a script has none",
                "name an --algorithm");
}

void add_log_options(Options& options, ReplayArguments& target) {
  const auto of_log = [](Option row) { row.needs("--replay", "", kNameLog).only_in_long_help(); };
  of_log(
      options
          .value("--format", "FORMAT", target.format, "format of all files (default: recognized)")
          .completes([](const CompletionContext&) {
            return to_completions(replay::log_formats(), &replay::LogFormat::name);
          }));
  of_log(options.value("--time-field", "NAME", target.fields.time,
                       "field of JSON or CSV that holds the time"));
  of_log(options.value("--key-field", "NAME", target.fields.key,
                       "field that holds the key (default: the client's address)"));
  of_log(options.value("--cost-field", "NAME", target.fields.cost,
                       "field that holds the cost; '' for none"));
  of_log(options.value("--ipv6-prefix", "BITS", into(target.ipv6_prefix, parse_prefix),
                       "the part of an IPv6 address that is the client (64: its /64)"));
  of_log(options.flag("--strict", target.strict, "fail on a line that cannot be read"));
}

std::string format_help() {
  return help_section("Formats of logs", replay::log_formats());
}

std::optional<replay::ReplayOptions> parse_replay(replay::ReplayOptions options,
                                                  const std::vector<std::string>& operands) {
  if (options.files.empty()) return std::nullopt;
  for (const auto& operand : operands) {
    refuse_pattern(operand);
    options.files.push_back(operand);
  }
  for (const auto& file : options.files) require_not_empty(file, "--replay: the file name");
  if (options.format) {
    const auto& format =
        find_named(replay::log_formats(), *options.format, "--format: unknown format");
    parsed("--format", [&] { return format.make_parser(options.fields); });
  }
  return options;
}

traffic::DeniedShare parse_denied_share(const std::string& text) {
  traffic::DeniedShare share;
  std::string_view rest = text;
  share.of_keys = rest.ends_with(kOfKeys);
  if (share.of_keys) rest.remove_suffix(kOfKeys.size());
  const bool has_percent = rest.ends_with('%');
  if (has_percent) rest.remove_suffix(1);
  const auto percent = to_decimal(rest);
  if (has_percent && percent && !rest.starts_with('-') && *percent <= 100) {
    // Not percent / 100, which would round again: 7 of 1000 is 0.7 %.
    share.most = to_number<double>(std::string(rest) + "e-2").value_or(*percent / 100);
    return share;
  }
  throw UsageError(
      "--suggest must be a share like 1%, 0.1% or 1%keys, not " + quoted_and_masked(text),
      "1% means of all requests, 1%keys of all keys");
}

std::string denied_share_text(const traffic::DeniedShare& share) {
  return fmt::format("{:.6g} % of {}", share.most * 100, share.of_keys ? "keys" : "requests");
}

void require_costs(std::span<const traffic::Candidate> candidates,
                   const replay::Recording& recording) {
  for (const auto& candidate : candidates) {
    if (candidate.foreign) continue;
    try {
      for (const auto& limit : candidate.limits) {
        limiter::require_usable(*candidate.algorithm, limit, recording.max_cost());
      }
    } catch (const UsageError& error) {
      throw UsageError(std::string("--replay: ") + error.what(),
                       "--cost-field '' counts every request as 1");
    }
  }
}

void warn_of_lines(const replay::Recording& recording, std::string_view command) {
  const auto& counts = recording.counts();
  if (const auto& bad = recording.first_bad()) {
    warn(fmt::format("warning: {} of {} lines cannot be read; the first is {}:{}: {}: '{}'",
                     counts.bad, counts.lines, bad->file, bad->line, bad->why, bad->text),
         command);
  }
  if (recording.without_key() > 0) {
    warn(fmt::format("warning: {} of {} requests have the key '-', as logs write a value that is "
                     "absent; they count as one client; --key-field takes another field",
                     recording.without_key(), counts.requests),
         command);
  }
}

}  // namespace rlctl::cli
