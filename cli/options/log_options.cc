#include "cli/options/log_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/address.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "limiter/algorithm.h"
#include "replay/log_format.h"
#include "script/reply.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kOfKeys = "keys";

/// The name of a pattern is more likely meant as a pattern than as a file.
void refuse_pattern(const std::string& operand) {
  if (traffic::find_pattern(operand) == nullptr) return;
  throw UsageError(
      fmt::format(
          "--replay sends the requests of a log and takes no pattern: unexpected argument '{}'",
          operand),
      fmt::format("write the name of a file as ./{}", operand));
}

/// Warns if the keys cannot be those of clients. A field that is called key was made for this.
void warn_of_keys(const replay::Recording& recording, std::string_view command) {
  constexpr std::int64_t kFew =
      5;  // of so few requests, all may be from one client, or from others
  const auto requests = recording.counts().requests;
  const auto keys = static_cast<std::int64_t>(recording.keys());
  const auto& files = recording.files();
  const auto is_key = [](const replay::RecordedFile& file) { return file.key == "key"; };
  if (requests < kFew || std::all_of(files.begin(), files.end(), is_key)) return;
  if (keys == requests) {
    warn(fmt::format(
             "warning: each of the {} requests has a key of its own, so that no limit denies "
             "any; --fields key=NAME takes another field",
             requests),
         command);
  } else if (keys == 1 && recording.without_key() == 0) {
    warn(fmt::format("warning: all {} requests have the same key, '{}', such as that of a proxy; "
                     "--fields key=NAME takes another field",
                     requests, escape(recording.traffic()->key_name(0))),
         command);
  }
}

/// Parses "time=ts,key=ip,cost=n" or, with the time for which a lease was held, "hold=s" or
/// "hold=duration:ms".
replay::FieldOptions parse_fields(const std::string& text) {
  replay::FieldOptions fields;
  std::optional<std::string> hold;
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 4> targets{
      {{"time", &fields.time}, {"key", &fields.key}, {"cost", &fields.cost}, {"hold", &hold}}};
  const auto refuse = [&](std::string_view part, std::string_view why) {
    throw UsageError(fmt::format("--fields: {} {}", quoted_and_masked(part), why),
                     "the names are time, key, cost and hold: --fields time=ts,key=ip");
  };
  for (const auto& part : split_at_commas(text)) {
    std::string_view field = part;
    const auto name = take_until(field, "=");
    const auto* const found = std::find_if(targets.begin(), targets.end(),
                                           [&](const auto& row) { return row.first == name; });
    if (found == targets.end()) refuse(part, "has an unknown name");
    if (field.empty() && name != "cost") refuse(part, "names no field");
    if (*found->second) refuse(text, fmt::format("has {} twice", name));
    *found->second = field;
  }
  if (!hold) return fields;
  if (fields.cost) refuse(text, "has both cost and hold, but each holder has one lease");
  const auto colon = hold->rfind(':');
  const auto unit = colon == hold->npos ? std::string() : hold->substr(colon + 1);
  const bool has_unit = unit == "s" || unit == "ms" || unit == "us";
  fields.cost_unit = script::parse_wait_unit(has_unit ? unit : "s");
  fields.cost = has_unit ? hold->substr(0, colon) : *hold;
  if (fields.cost->empty()) refuse(text, "names no field");
  return fields;
}

int parse_prefix(const std::string& text) {
  return static_cast<int>(parse_between(text, "--ipv6-prefix", 1, kIpv6Bits));
}

}  // namespace

void add_replay_options(Options& options, ReplayArguments& target) {
  options.group("Recorded traffic");
  options
      .list("--replay", "FILE", target.files,
            "send the requests of a log instead of a pattern; plain or gzip, - for standard input; "
            "more FILEs may follow")
      .takes_stream();
  const auto of_log = [](Option row) { row.needs("--replay", "", kNameLog); };
  of_log(options
             .value("--format", "FORMAT", target.format,
                    "format of all files: a name that burst --formats lists, nginx's log_format, "
                    "or Apache's "
                    "LogFormat (default: recognized)")
             .completes([](const CompletionContext&) {
               return to_completions(replay::log_format_names());
             }));
  of_log(options.value("--fields", "FIELDS", into(target.fields, parse_fields),
                       "fields that hold the time, the key (default: the client's address) and the "
                       "cost: time=ts,key=ip,cost=n; with --concurrency, how long a lease was "
                       "held: hold=duration:ms"));
  of_log(options.value("--ipv6-prefix", "BITS", into(target.ipv6_prefix, parse_prefix),
                       "the part of an IPv6 address that is the client (64: its /64)"));
  of_log(options.flag("--strict", target.strict, "fail on a line that cannot be read"));
  options.flag("--formats", target.list_formats, "list the formats of logs, with examples");
  options
      .value("--suggest", "SHARE", target.suggest,
             "find the smallest limit that denies at most SHARE; 1% of the requests, or 1%keys")
      .needs("--replay", "", kNameLog);
}

void append_formats(std::string& out) {
  for (const auto& format : replay::log_formats()) {
    out.append(format.name).append(format.is_prefix() ? " (before another format)" : "");
    out.append("\n  ").append(format.format);
    for (std::string_view rest = format.example; !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      out.append("\n  ").append(line);
    }
    out += "\n\n";
  }
  out.pop_back();
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
    parsed("--format", [&] { replay::require_format(*options.format, options.fields); });
  }
  return options;
}

simulation::DeniedShare parse_denied_share(const std::string& text) {
  simulation::DeniedShare share;
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

std::string denied_share_text(const simulation::DeniedShare& share) {
  return fmt::format("{:.6g} % of {}", share.most * 100, share.of_keys ? "keys" : "requests");
}

void require_costs(std::span<const script::Candidate> candidates,
                   const replay::Recording& recording, const std::string& hint) {
  for (const auto& candidate : candidates) {
    if (!candidate.is_bundled()) continue;
    try {
      for (const auto& limit : candidate.limits) {
        limiter::require_usable(*candidate.algorithm, limit, recording.max_cost());
      }
    } catch (const UsageError& error) {
      throw UsageError(std::string("--replay: ") + error.what(), hint);
    }
  }
}

void warn_of_bad_lines(const replay::Recording& recording, std::string_view command) {
  const auto& counts = recording.counts();
  if (const auto& bad = recording.first_bad()) {
    warn(fmt::format("warning: {} of {} lines cannot be read; the first is {}:{}: {}: '{}'",
                     counts.bad, counts.lines, bad->file, bad->line, bad->why, bad->text),
         command);
  }
}

void warn_of_lines(const replay::Recording& recording, std::string_view command) {
  warn_of_bad_lines(recording, command);
  const auto& counts = recording.counts();
  if (recording.without_key() > 0) {
    warn(fmt::format("warning: {} of {} requests have the key '-', as logs write a value that is "
                     "absent; they count as one client; --fields key=NAME takes another field",
                     recording.without_key(), counts.requests),
         command);
  }
  warn_of_keys(recording, command);
}

}  // namespace rlctl::cli
