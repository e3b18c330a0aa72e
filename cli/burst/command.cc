#include "cli/burst/command.h"

#include <map>
#include <string_view>

#include "cli/burst/adversary_options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/url.h"

namespace rlctl::cli {
namespace {

/// As `--algorithm all` names them.
bool has_all_algorithms(const BurstPlan& plan) {
  std::vector<std::string_view> names;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign) names.push_back(candidate.algorithm->name);
  }
  return names == limiter::list_names(limiter::counts_requests);
}

/// The names with commas between them, in lists that fit a line of a narrow terminal.
std::vector<std::string> algorithm_lists(const BurstPlan& plan) {
  constexpr std::size_t kMostLetters = 34;
  std::vector<std::string> lists;
  if (has_all_algorithms(plan)) return {"all"};
  for (const auto& candidate : plan.candidates) {
    if (candidate.foreign) continue;
    const auto name = candidate.algorithm->name;
    if (lists.empty() || lists.back().size() + 1 + name.size() > kMostLetters) {
      lists.emplace_back(name);
    } else {
      lists.back().append(",").append(name);
    }
  }
  return lists;
}

using Resolved = std::map<std::string_view, std::vector<std::string>>;

/// The limiters that decide, and their limits.
Resolved resolved_limiters(const BurstPlan& plan, const BurstOptions& options) {
  Resolved values{{"--algorithm", algorithm_lists(plan)}};
  for (const auto& limit : plan.limits) {
    values["--limit"].push_back(limiter::format_limit(limit));
  }
  if (!plan.script) return values;
  const auto script = script_options(options);
  values["--keys"] = script_keys(script);
  values["--args"] = {script.arguments.value_or("")};
  values["--allowed-when"] = {script_condition(script)};
  return values;
}

}  // namespace

std::vector<std::string> replay_words(const BurstPlan& plan, const BurstOptions& options,
                                      const Invocation& invocation) {
  const bool is_file = options.write && options.write != "-";
  auto values = resolved_limiters(plan, options);
  for (const auto* option : {"--seed", "--budget", "--cost", "--clock"}) values[option] = {};
  std::vector<std::string> words{"rlctl", "burst", "--replay", is_file ? *options.write : "FILE"};
  const auto options_words = invocation.options.repeated(values, false);
  words.insert(words.end(), options_words.begin(), options_words.end());
  return words;
}

std::vector<std::string> command_words(const BurstPlan& plan, const BurstOptions& options,
                                       const Invocation& invocation) {
  auto values = resolved_limiters(plan, options);
  if (const auto count = key_count(options)) values["--keys"].push_back(*count);
  if (plan.replay) {
    values["--replay"] = plan.replay->files;
  } else {
    values["--seed"] = {std::to_string(plan.request.seed)};
  }
  values["--clock"] = {};  // the virtual one is the default
  if (plan.real) {
    values["--clock"] = {"real"};
    values["--clients"] = {std::to_string(plan.real->clients)};
    if (plan.real->pipeline) values["--pipeline"] = {std::to_string(*plan.real->pipeline)};
    if (plan.real->duration) values["--duration"] = {format_duration(*plan.real->duration)};
  }
  if (plan.adversary_budget) values["--budget"] = {std::to_string(*plan.adversary_budget)};
  if (const auto& url = invocation.connection.url) {
    values["--url"] = {redis::display(redis::parse_url(*url))};
  }
  std::vector<std::string> words{"rlctl", "burst"};
  if (plan.pattern) words.emplace_back(plan.pattern->name);
  if (plan.adversary_budget) words.emplace_back(kAdversary);
  const auto options_words = invocation.options.repeated(values, plan.real.has_value());
  words.insert(words.end(), options_words.begin(), options_words.end());
  return words;
}

}  // namespace rlctl::cli
