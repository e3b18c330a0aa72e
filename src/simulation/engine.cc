#include "simulation/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/sha1.h"
#include "base/worker.h"
#include "redis/error.h"

namespace rlctl::simulation {
namespace {

redis::Reply parsed_reply(redis::ReplyReader& reader, std::string_view bytes) {
  reader.feed(bytes);
  auto reply = reader.next();
  if (!reply) throw std::logic_error("the engine wrote a reply that is not complete");
  return *std::move(reply);
}

/// Keys in front of which an AnswerCall stands.
class AnsweredKeys final : public lua::Commands {
 public:
  AnsweredKeys(keyspace::Keyspace& keys, const AnswerCall& answer, const Engine& engine)
      : keys_(keys), answer_(answer), engine_(engine) {}
  void call(std::span<const std::string_view> words, bool read_only, std::string& reply) override {
    answer_({keys_, words, read_only, engine_.runner().line()}, reply);
  }

 private:
  keyspace::Keyspace& keys_;
  const AnswerCall& answer_;
  const Engine& engine_;
};

}  // namespace

redis::Reply Engine::call(redis::Arguments words) {
  const auto source = words.back();
  try {
    const auto runner = std::make_shared<lua::Runner>(source, bounds_);
    const auto functions = runner->functions();
    for (const auto& function : functions) libraries_.insert_or_assign(function, runner);
    const auto name = sha1_hex(source);
    if (functions.empty()) scripts_.insert_or_assign(name, runner);
    return parsed_reply(reader_, fmt::format("${}\r\n{}\r\n", name.size(), name));
  } catch (const lua::InvalidScript& error) {
    return parsed_reply(reader_, fmt::format("-{}\r\n", error.what()));
  } catch (const lua::RanTooLong& error) {
    return parsed_reply(reader_,
                        fmt::format("-ERR the library did not end: it {}\r\n", error.what()));
  } catch (const lua::NotImplementedHere& error) {
    throw UsageError(error.what(), error.hint());
  }
}

redis::Reply Engine::run(const limiter::ScriptCall& call, lua::Commands& commands) {
  const auto& loaded = call.function.empty() ? scripts_ : libraries_;
  const auto found = loaded.find(call.function.empty() ? call.sha1 : call.function);
  if (found == loaded.end()) return parsed_reply(reader_, "-ERR Function not found\r\n");
  running_ = found->second;
  bytes_.clear();
  running_->run(call.function, call.keys, call.arguments, commands, bytes_);
  try {
    return parsed_reply(reader_, bytes_);
  } catch (const redis::ReplyTooLarge& error) {
    throw lua::NotImplementedHere(
        fmt::format("rlctl does not read its reply, which {}", error.what()),
        "let the script return less");
  }
}

EngineDecider::EngineDecider(const script::Candidate& candidate, const traffic::Traffic& traffic,
                             const Interrupt& interrupt)
    : script_(make_script(candidate, traffic, "", {.time = script::ScriptTime::kHost})),
      interrupt_(interrupt),
      decides_by_ttls_(script_->key_of_ttls().has_value()),
      engine_(interrupt) {
  worker::begin_request(script_->name(), 0, {}, {});
  script_->load(engine_);
}

std::size_t EngineDecider::decide(std::span<const traffic::Arrival> arrivals,
                                  std::span<limiter::Decision> decisions) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (interrupt_.signal() != 0) return i;
    try {
      decisions[i] = answer(arrivals[i]);
    } catch (const Interrupted&) {
      return i;
    }
  }
  return arrivals.size();
}

limiter::Decision EngineDecider::answer(const traffic::Arrival& arrival) {
  auto& keys = state_.keys;
  const bool stands = keeps_keys_ && state_.calls > 0;
  keys.set_time(stands ? keys.now() : std::max(keys.now(), arrival.at), arrival.at);
  for (const auto& call : script_->preparation(arrival)) {
    script_->require_prepared(prepare(call, keys));
  }
  ++state_.calls;
  AnsweredKeys answered(keys, answer_call_, engine_);
  lua::Commands& commands = answer_call_ ? static_cast<lua::Commands&>(answered) : keys;
  const auto reply = run(script_->call(arrival), arrival, commands);
  return read_decision(*script_, reply, arrival, state_.calls, replies_);
}

redis::Reply EngineDecider::prepare(const limiter::ScriptCall& call, keyspace::Keyspace& keys) {
  try {
    worker::begin_request(script_->name(), 0, call.keys, call.arguments);
    return engine_.run(call, keys);
  } catch (const lua::RanTooLong& error) {
    throw UsageError(
        fmt::format("the setup of {} did not end: it {}", script_->name(), error.what()));
  } catch (const lua::NotImplementedHere& error) {
    throw UsageError(fmt::format("the setup of {}: {}", script_->name(), error.what()),
                     error.hint());
  }
}

redis::Reply EngineDecider::run(const limiter::ScriptCall& call, const traffic::Arrival& arrival,
                                lua::Commands& commands) {
  try {
    worker::begin_request(script_->name(), state_.calls, call.keys, call.arguments);
    return engine_.run(call, commands);
  } catch (const lua::RanTooLong& error) {
    const redis::Error timeout(redis::Failure::kTimeout,
                               fmt::format("{} did not end: it {}", script_->name(), error.what()),
                               {}, "the script may never end: step through it with rlctl debug");
    throw script_->with_request(timeout, arrival, state_.calls);
  } catch (const lua::NotImplementedHere& error) {
    const auto line = engine_.runner().stopped_line();
    const auto place =
        line > 0 ? fmt::format("{}:{}", script_->name(), line) : std::string(script_->name());
    const redis::Error refused(redis::Failure::kUsage, fmt::format("{}: {}", place, error.what()));
    throw UsageError(script_->with_request(refused, arrival, state_.calls).what(), error.hint());
  }
}

void EngineDecider::forget() {
  state_ = EngineState();
  script_->restart();
}

std::vector<std::chrono::microseconds> EngineDecider::ttls() {
  std::vector<std::chrono::microseconds> all;
  if (!decides_by_ttls_) return all;
  for (const auto name : state_.keys.keys()) {
    const auto& key = *state_.keys.find(name);
    if (key.expiry) all.emplace_back(state_.keys.ttl(key));
  }
  return all;
}

bool EngineDecider::has_endless_key() {
  const auto names = state_.keys.keys();
  return std::ranges::any_of(
      names, [this](std::string_view name) { return !state_.keys.find(name)->expiry; });
}

}  // namespace rlctl::simulation
