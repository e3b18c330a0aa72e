#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "redis/error.h"
#include "script/script.h"
#include "simulation/virtual_run.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "traffic/pattern.h"

namespace rlctl::test::foreign {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using redis::Error;

inline const Limit kMinute{5, 60s, {}};

inline ForeignLimiter limiter(std::string source, const std::vector<std::string>& keys,
                              const std::vector<std::string>& arguments,
                              ReplyReading reading = {}) {
  ForeignLimiter made{.name = "my.lua", .source = std::move(source), .reading = reading};
  for (const auto& key : keys) made.keys.emplace_back(key);
  for (const auto& argument : arguments) made.arguments.emplace_back(argument);
  return made;
}

inline Candidate candidate(const ForeignLimiter& limiter, const Limit& limit) {
  return {.limits = {limit}, .foreign = std::make_shared<ForeignLimiter>(limiter)};
}

/// The script of a limiter, which must outlive it, for requests of any traffic.
inline std::unique_ptr<Script> script_of(const Candidate& candidate, std::string prefix = "p:",
                                         const ScriptEnvironment& environment = {}) {
  static const auto kTraffic = make_traffic(patterns().front(), {.limit = kMinute});
  return make_script(candidate, *kTraffic, std::move(prefix), environment);
}

/// A server, and runs of a pattern's traffic on it.
class Bench {
 public:
  Outcome run(const ForeignLimiter& asked, PatternRequest request = {.limit = kMinute},
              std::string_view pattern = "boundary") {
    const auto foreign = candidate(asked, request.limit);
    const auto traffic = make_traffic(*find_pattern(pattern), request);
    const auto script = make_script(foreign, *traffic, "p:");
    ScriptDecider decider(server.connection(), *script);
    decisions.clear();
    const auto keep = [&](const Arrival&, const Decision& decision) {
      decisions.push_back(decision);
    };
    auto outcome = run_virtually(*traffic, decider, foreign.limits, Interrupt(), keep);
    keys = script->keys();
    return outcome;
  }
  /// The error of a run that fails.
  Error error(const ForeignLimiter& asked, const PatternRequest& request = {.limit = kMinute}) {
    return support::error_of([&] { run(asked, request); });
  }
  /// The reply to one request.
  redis::Reply reply(Script& script, const Arrival& arrival) {
    script.call(arrival).append_to(server.connection());
    return server.connection().read();
  }
  /// The reply to one request at this time.
  redis::Reply reply(const ForeignLimiter& asked, microseconds at) {
    const auto foreign = candidate(asked, kMinute);
    const auto script = script_of(foreign);
    script->load(server.connection());
    return reply(*script, {.at = at});
  }
  std::vector<std::string> list(std::string_view key) {
    const auto reply = server.call({"LRANGE", key, "0", "-1"});
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < reply.size(); ++i) elements.emplace_back(reply[i].text());
    return elements;
  }

  TestServer server;
  std::vector<Decision> decisions;
  std::vector<std::string> keys;
};

}  // namespace rlctl::test::foreign
