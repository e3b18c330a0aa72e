#include "cli/server/targets.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "limiter/configuration.h"
#include "stored/families.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kQuoteIt = "quote the pattern: a shell replaces * with file names";

std::vector<KeyTarget> policy_targets(const std::string& given, const limiter::PolicyMatch& match) {
  const auto& [policy, asked, index] = match;
  const auto key = limiter::stored_key(match, given);
  const auto target = [&policy = *policy](const std::string& name, std::size_t limit) {
    return KeyTarget{.key = name,
                     .limit = policy.limits[limit],
                     .algorithm = policy.algorithm,
                     .policy = policy.name};
  };
  if (index) return {target(key, *index)};
  std::vector<KeyTarget> targets;
  const auto keys = limiter::redis_keys(key, policy->limits);
  for (std::size_t i = 0; i < keys.size(); ++i) targets.push_back(target(keys[i], i));
  targets.push_back({.key = key, .only_if_there = true});
  return targets;
}

}  // namespace

std::vector<std::string> operands_or_lines(std::vector<std::string> operands, std::size_t typed,
                                           const Interrupt& interrupt) {
  const auto before = std::span(operands).first(std::min(typed, operands.size()));
  if (std::ranges::find(before, "-") == before.end()) return operands;
  if (operands.size() > 1) {
    throw UsageError("- reads KEYs from standard input, and must be the only KEY",
                     std::string(kDashAsKey));
  }
  std::vector<std::string> lines;
  LineReader input("-");
  while (!input.ended()) {
    while (const auto line = input.next()) {
      if (line->too_long) {
        throw UsageError(fmt::format("standard input, line {}: longer than {} bytes", line->number,
                                     LineReader::kMaxLine));
      }
      if (!line->text.empty()) lines.emplace_back(line->text);
    }
    if (input.end_of_file()) continue;
    wait_for(input.fd(), POLLIN, &interrupt, kNoDeadline);
    input.fill();
  }
  if (lines.empty()) throw UsageError("standard input has no KEY");
  return lines;
}

std::vector<std::string> distinct_keys(const std::optional<Limiter>& limiter,
                                       std::span<const std::string> operands, std::string example) {
  auto keys = asked_keys(limiter ? &*limiter : nullptr, operands);
  if (keys.empty()) throw UsageError("no KEY given", std::move(example));
  std::set<std::string> seen;
  std::erase_if(keys, [&](const auto& key) { return !seen.insert(key).second; });
  return keys;
}

std::string literal_key_warning(std::string_view key) {
  if (key.find_first_of("*?[") == key.npos) return {};
  return "a KEY is taken literally; list and reset --match take a pattern";
}

void require_pattern(const std::string& pattern, std::span<const std::string> operands) {
  if (!operands.empty()) {
    throw UsageError("--match takes no KEY: unexpected argument " + quoted_and_masked(operands[0]),
                     std::string(kQuoteIt));
  }
  require_not_empty(pattern, "--match: the pattern");
  if (pattern == "-") throw UsageError("--match: '-' is not a pattern", "'[-]' matches the KEY -");
}

std::vector<KeyTarget> find_targets(const std::string& key, const std::optional<Limiter>& limiter,
                                    ConfigurationSource& configuration) {
  if (!limiter) {
    const auto match = limiter::match_policy(configuration.policies(), key);
    return match ? policy_targets(key, *match) : std::vector<KeyTarget>{{.key = key}};
  }
  std::vector<KeyTarget> targets;
  const auto keys = limiter::redis_keys(key, limiter->limits);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto limit = limiter->limits[i];
    // A policy without a burst has the default one, whatever is stored.
    if (limiter->policy != nullptr) limit.burst = effective_burst(*limiter->algorithm, limit);
    targets.push_back({.key = keys[i],
                       .limit = limit,
                       .algorithm = limiter->algorithm,
                       .limit_is_asked = true,
                       .limit_name = limiter->policy != nullptr ? "policy" : "--limit"});
  }
  if (keys.size() > 1) targets.push_back({.key = key, .only_if_there = true});
  return targets;
}

std::string only_pattern(std::span<const std::string> operands) {
  if (operands.empty()) return "*";
  require_at_most(1, operands, std::string(kQuoteIt));
  require_not_empty(operands[0], "the pattern");
  return operands[0];
}

std::string hint_at_pattern(std::string_view pattern) {
  const auto shown = escaped_message(pattern);
  const auto several = "'{" + shown + "}:*'";
  if (pattern.find_first_of("*?[") == pattern.npos) {
    return "the pattern has no * ? or [ and matches only one key; was it quoted? '" + shown +
           "*' matches all keys that begin so, " + several + " those of several limits";
  }
  if (pattern.starts_with('{') || pattern.starts_with('*')) return {};
  return "keys with several limits have other names: " + several;
}

std::string hint_at_nothing(std::string_view pattern, Connector& connector) {
  std::string hint = hint_at_pattern(pattern);
  if (const auto others = hint_at_databases(connector); !others.empty()) {
    hint += (hint.empty() ? "" : "; ") + others;
  }
  return hint;
}

KeyTarget found_target(const std::string& key, const limiter::Configuration& configuration) {
  KeyTarget target{.key = key};
  if (configuration.policies.empty()) return target;
  const auto match = limiter::match_policy(configuration, key);
  if (!match) return target;
  target.policy = match->policy->name;
  target.algorithm = match->policy->algorithm;
  if (match->limit) target.limit = match->policy->limits[*match->limit];
  return target;
}

stored::Libraries libraries_of(ConfigurationSource& configuration,
                               const std::optional<std::string>& as) {
  return stored::Libraries(configuration.policies().libraries, as);
}

void add_as_option(Options& options, std::optional<std::string>& as) {
  options
      .value("--read-as", "VALUE", as,
             "what keys of other limiters hold (count, remaining, tat, times or leases)")
      .completes([](const CompletionContext&) { return to_completions(stored::as_values()); });
}

stored::InspectionRequest request_for(const KeyTarget& target) {
  stored::InspectionRequest request{.algorithm = target.algorithm,
                                    .window_in_name = stored::window_in_name(target.key)};
  request.limit_name = target.limit_name;
  (target.limit_is_asked ? request.limit : request.usual_limit) = target.limit;
  return request;
}

limiter::Limit limit_to_settle(const std::string& key, const stored::Decoded& budget,
                               std::chrono::microseconds now,
                               const std::optional<limiter::Limit>& named) {
  const auto limit = named.value_or(*budget.limit);
  // While the window lasts, a settle keeps it.
  const auto& window = budget.limit->window;
  const auto begin = budget.counts.front().at;
  const bool is_of_calendar = begin % window != std::chrono::microseconds{0};
  if (named || !is_of_calendar || now < begin + window) return limit;
  throw UsageError("the period of " + quoted_and_masked(key) +
                       " has ended, and it does not store how long the next one is",
                   "pass --limit or --policy");
}

void RefusedKeys::add(std::string_view key, const redis::Error& why) {
  keys_.insert(std::hash<std::string_view>{}(key));
  if (!why_) why_ = why;
}

void RefusedKeys::add(const stored::ReadableKeys& found) {
  for (const auto& key : found.refused) add(key, *found.why);
  if (!found.keys.empty()) found_readable();
}

std::vector<const stored::Inspection*> RefusedKeys::add(std::span<const stored::Surveyed> found) {
  std::vector<const stored::Inspection*> readable;
  for (const auto& [inspection, refused, error] : found) {
    if (refused) {
      add(inspection.key, *refused);
    } else if (inspection.exists()) {  // it may have been deleted since SCAN returned it
      readable.push_back(&inspection);
    }
  }
  could_read_ = could_read_ || !readable.empty();
  return readable;
}

std::string RefusedKeys::text() const {
  return counted(static_cast<std::int64_t>(count()), "key") + " that this user may not read";
}

void RefusedKeys::require_readable() const {
  if (why_ && !could_read_) throw *why_;
}

}  // namespace rlctl::cli
