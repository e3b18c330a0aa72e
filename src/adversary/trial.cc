#include "adversary/trial.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include "limiter/model/model.h"
#include "redis/unlink.h"

namespace rlctl::adversary {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Answer answer_of(const limiter::Decision& decision) {
  return {.allowed = decision.allowed, .delay = decision.delay};
}

/// The keys that an EVALSHA names.
redis::Arguments keys_of(redis::Arguments command) {
  std::size_t count = 0;
  std::from_chars(command[2].data(), command[2].data() + command[2].size(), count);
  return command.subspan(3, count);
}

/// One schedule on its way through a script, instant by instant.
class Passage {
 public:
  Passage(const Schedule& schedule, std::uint32_t key)
      : instants_(instants_of(schedule)), key_(key) {
    if (!schedule.empty()) latest_ = schedule.front();
  }

  [[nodiscard]] bool has_more() const { return next_ < instants_.size(); }
  /// Queues the next instant's requests, and what there is to do about keys that expire.
  void append(redis::Connection& connection, traffic::Script& script, std::int64_t cost);
  /// Reads what append() has queued. `late`: by how much TTLs may be told too short.
  void read(redis::Connection& connection, const traffic::Script& script, milliseconds late);

  [[nodiscard]] Answers take_answers() { return std::move(answers_); }
  [[nodiscard]] std::vector<std::string> keys() const;

 private:
  std::vector<Instant> instants_;
  std::uint32_t key_;
  std::size_t next_ = 0;
  microseconds latest_{0};
  std::size_t aged_ = 0;            ///< keys that have expired before this instant
  std::vector<std::string> named_;  ///< by this instant's requests
  std::map<std::string, std::optional<microseconds>> expire_at_;  ///< none: never
  Answers answers_;
};

void Passage::append(redis::Connection& connection, traffic::Script& script, std::int64_t cost) {
  const auto& instant = instants_[next_];
  latest_ = std::max(latest_, instant.at);
  aged_ = 0;
  named_.clear();
  for (auto& [key, expires] : expire_at_) {
    if (!expires) continue;
    if (*expires > latest_) {
      const auto left = std::chrono::ceil<milliseconds>(*expires - latest_);
      connection.append({"PEXPIRE", key, std::to_string(left.count())});
    } else {
      connection.append({"UNLINK", key});
      expires.reset();
    }
    ++aged_;
  }
  for (std::size_t i = 0; i < instant.count; ++i) {
    const auto command = script.command({.at = instant.at, .key = key_, .cost = cost});
    connection.append(command);
    for (const auto key : keys_of(command)) {
      if (std::find(named_.begin(), named_.end(), key) == named_.end()) named_.emplace_back(key);
    }
  }
  for (const auto& key : named_) connection.append({"PTTL", key});
}

void Passage::read(redis::Connection& connection, const traffic::Script& script,
                   milliseconds late) {
  for (std::size_t i = 0; i < aged_; ++i) static_cast<void>(connection.read());
  for (std::size_t i = 0; i < instants_[next_].count; ++i) {
    answers_.push_back(answer_of(script.parse(connection.read())));
  }
  for (const auto& key : named_) {
    const auto ttl = connection.read();
    auto& expires = expire_at_[key];
    expires.reset();
    if (ttl.type() != redis::ReplyType::kInteger || ttl.integer() < 0) continue;
    expires = latest_ + milliseconds{ttl.integer()} + late;
  }
  ++next_;
}

std::vector<std::string> Passage::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, expires] : expire_at_) keys.push_back(key);
  return keys;
}

/// One instant of each passage that has one. False where none has.
bool advance(std::vector<Passage>& passages, redis::Connection& connection, traffic::Script& script,
             std::int64_t cost) {
  std::vector<Passage*> under_way;
  for (auto& passage : passages) {
    if (passage.has_more()) under_way.push_back(&passage);
  }
  const auto began = Clock::now();
  for (auto* passage : under_way) passage->append(connection, script, cost);
  connection.flush();
  for (auto* passage : under_way) {
    const auto late = std::chrono::ceil<milliseconds>(Clock::now() - began) + milliseconds{1};
    passage->read(connection, script, late);
  }
  return !under_way.empty();
}

void remove_keys(const std::vector<Passage>& passages, redis::Connection& connection) {
  std::vector<std::string> keys;
  for (const auto& passage : passages) {
    for (auto& key : passage.keys()) keys.push_back(std::move(key));
  }
  redis::unlink_keys(connection, keys);
}

}  // namespace

ModelTrial::ModelTrial(const traffic::Contestant& contestant, std::int64_t cost)
    : contestant_(contestant), cost_(cost) {
  traffic::require_usable(contestant_);
}

Answers ModelTrial::answers_to(const Schedule& schedule) const {
  std::vector<std::unique_ptr<limiter::KeyModel>> models;
  std::vector<limiter::KeyAndLimit> keys;
  for (const auto& limit : contestant_.limits) {
    models.push_back(contestant_.algorithm->make_model());
    keys.push_back({.key = models.back().get(), .limit = limit});
  }
  Answers answers;
  for (const auto at : schedule) answers.push_back(answer_of(limiter::decide(keys, cost_, at)));
  return answers;
}

std::vector<Answers> ModelTrial::ask(std::span<const Schedule> schedules) {
  std::vector<Answers> answers;
  for (const auto& schedule : schedules) answers.push_back(answers_to(schedule));
  return answers;
}

std::string_view TrialKeys::key_name(std::uint32_t key) const {
  while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
  return names_[key];
}

ScriptTrial::ScriptTrial(redis::Connection& connection, traffic::Script& script, std::int64_t cost)
    : connection_(connection), script_(script), cost_(cost) {
  script_.load(connection_);
}

std::vector<Answers> ScriptTrial::ask(std::span<const Schedule> schedules) {
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    passages.emplace_back(schedules[i], static_cast<std::uint32_t>(i));
  }
  while (advance(passages, connection_, script_, cost_)) continue;
  remove_keys(passages, connection_);
  std::vector<Answers> answers;
  for (auto& passage : passages) answers.push_back(passage.take_answers());
  return answers;
}

}  // namespace rlctl::adversary
