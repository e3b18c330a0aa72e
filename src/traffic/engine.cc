#include "traffic/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/sha1.h"
#include "redis/error.h"

namespace rlctl::traffic {
namespace {

redis::Reply parsed_reply(redis::ReplyReader& reader, std::string_view bytes) {
  reader.feed(bytes);
  auto reply = reader.next();
  if (!reply) throw std::logic_error("the engine wrote a reply that is not complete");
  return *std::move(reply);
}

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
  }
}

redis::Reply Engine::run(const limiter::ScriptCall& call, keyspace::Keyspace& keys) {
  const auto& runner = call.function.empty() ? scripts_.find(call.sha1)->second
                                             : libraries_.find(call.function)->second;
  bytes_.clear();
  runner->run(call.function, call.keys, call.arguments, keys, bytes_);
  return parsed_reply(reader_, bytes_);
}

EngineDecider::EngineDecider(Script& script, const Interrupt& interrupt)
    : script_(script),
      interrupt_(interrupt),
      decides_by_ttls_(script.key_of_ttls().has_value()),
      engine_(interrupt) {
  script_.load(engine_);
}

std::size_t EngineDecider::decide(std::span<const Arrival> arrivals,
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

limiter::Decision EngineDecider::answer(const Arrival& arrival) {
  state_.keys.set_time(std::max(state_.keys.now(), arrival.at), arrival.at);
  for (const auto& call : script_.preparation(arrival)) {
    script_.require_prepared(run(call, arrival));
  }
  ++state_.calls;
  const auto reply = run(script_.call(arrival), arrival);
  try {
    const auto decision = script_.parse(reply, arrival, state_.calls);
    const bool is_read = arrival.event == Event::kRequest || arrival.event == Event::kReserve;
    if (is_read) replies_.add(reply, arrival, decision.allowed, script_.limit());
    return decision;
  } catch (const redis::Error& error) {
    throw script_.with_request(error, arrival, state_.calls);
  }
}

redis::Reply EngineDecider::run(const limiter::ScriptCall& call, const Arrival& arrival) {
  try {
    return engine_.run(call, state_.keys);
  } catch (const lua::RanTooLong& error) {
    const redis::Error timeout(redis::Failure::kTimeout,
                               fmt::format("{}: {}", script_.name(), error.what()), "",
                               "the script may never end: step through it with rlctl debug; if it "
                               "is slow, run it on a server: -u private:");
    throw script_.with_request(timeout, arrival, state_.calls);
  } catch (const keyspace::NotImplementedHere& error) {
    throw UsageError(fmt::format("{}: {}", script_.name(), error.what()));
  }
}

void EngineDecider::forget() {
  state_ = EngineState();
  script_.restart();
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
  if (!decides_by_ttls_) return false;
  const auto names = state_.keys.keys();
  return std::ranges::any_of(
      names, [this](std::string_view name) { return !state_.keys.find(name)->expiry; });
}

}  // namespace rlctl::traffic
