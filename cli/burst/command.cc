#include "cli/burst/command.h"

#include <optional>
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

class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}

  void add(std::string_view option) { words_.emplace_back(option); }
  void add(std::string_view option, const std::string& value) {
    words_.emplace_back(option);
    words_.push_back(value);
  }
  void add(std::string_view option, const std::optional<std::string>& value) {
    if (value) add(option, *value);
  }
  void add(const std::vector<std::string>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

void add_clock(Words& words, const RealClock& clock) {
  words.add("--clock", std::string("real"));
  words.add("--clients", std::to_string(clock.clients));
  if (clock.pipeline) words.add("--pipeline", std::to_string(*clock.pipeline));
}

void add_server(Words& words, const ConnectionOptions& connection) {
  if (connection.url) words.add("--url", redis::display(redis::parse_url(*connection.url)));
  words.add("--host", connection.host);
  words.add("--port", connection.port);
  words.add("--socket", connection.socket);
  words.add("--db", connection.database);
  words.add("--user", connection.user);
}

void add_schedule(Words& words, const BurstPlan& plan, const BurstOptions& options) {
  words.add("--rate", options.rate);
  if (plan.real && plan.real->duration) {
    words.add("--duration", format_duration(*plan.real->duration));
  } else {
    words.add("--duration", options.duration);
  }
  words.add("--requests", options.requests);
}

/// Which limiters decide, by which limits.
void add_limiters(Words& words, const BurstPlan& plan, const BurstOptions& options) {
  for (const auto& limit : plan.limits) words.add("--limit", limiter::format_limit(limit));
  for (const auto& names : algorithm_lists(plan)) words.add("--algorithm", names);
  words.add(script_words(script_options(options)));
  words.add("--burst", options.burst);
}

}  // namespace

std::vector<std::string> replay_words(const BurstPlan& plan, const BurstOptions& options) {
  const bool is_file = options.write && options.write != "-";
  Words words({"rlctl", "burst", "--replay", is_file ? *options.write : "FILE"});
  add_limiters(words, plan, options);
  if (plan.model) words.add("--model");
  return words.take();
}

std::vector<std::string> command_words(const BurstPlan& plan, const BurstOptions& options,
                                       const ConnectionOptions& connection) {
  Words words({"rlctl", "burst"});
  if (plan.pattern) words.add(plan.pattern->name);
  if (plan.adversary_budget) words.add(kAdversary);
  if (plan.replay) words.add(replay_words(*plan.replay));
  add_limiters(words, plan, options);
  if (plan.real) add_clock(words, *plan.real);
  add_schedule(words, plan, options);
  words.add("--keys", key_count(options));
  words.add("--key-skew", options.key_skew);
  words.add("--cost", options.cost);
  if (!plan.replay) words.add("--seed", std::to_string(plan.request.seed));
  if (plan.adversary_budget) words.add("--budget", std::to_string(*plan.adversary_budget));
  words.add("--suggest", options.replay.suggest);
  if (plan.model) words.add("--model");
  if (plan.real) add_server(words, connection);
  return words.take();
}

}  // namespace rlctl::cli
