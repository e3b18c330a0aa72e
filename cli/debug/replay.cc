#include "cli/debug/replay.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/failure.h"
#include "cli/replay.h"
#include "ldb/probes.h"
#include "limiter/algorithm.h"
#include "redis/error.h"
#include "redis/reply.h"

namespace rlctl::cli {
namespace {

using std::chrono::milliseconds;

/// A script that is told the time by its own text is another one each time; servers keep them all.
constexpr std::int64_t kForgetScriptsEvery = 500;

void require_costs(const DebugPlan& plan, const replay::Recording& recording) {
  if (plan.words != nullptr) return;
  try {
    for (const auto& limit : plan.limits) {
      limiter::require_usable(*plan.algorithm, limit, recording.max_cost());
    }
  } catch (const UsageError& error) {
    throw UsageError(std::string("--replay: ") + error.what(),
                     "--cost-field '' takes every request as 1");
  }
}

void require_requests(const DebugPlan& plan, const replay::Recording& recording) {
  const auto there = recording.counts().requests;
  if (plan.skip < there) return;
  throw UsageError(fmt::format("--skip {} leaves none: the log has {} request{}", plan.skip, there,
                               plural(there)),
                   fmt::format("--skip {} debugs the last one", there - 1));
}

traffic::Candidate candidate_of(const DebugPlan& plan) {
  traffic::Candidate candidate{.limits = plan.limits};
  if (plan.words == nullptr) {
    candidate.algorithm = plan.algorithm;
  } else {
    candidate.foreign = plan.words;
    // Nothing asks for it then.
    if (candidate.limits.empty()) candidate.limits.emplace_back();
  }
  return candidate;
}

}  // namespace

DebugReplay::DebugReplay(const DebugPlan& plan, const Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      recording_(*plan.replay, invocation.interrupt),
      traffic_(recording_.traffic()),
      candidate_(candidate_of(plan)) {
  warn_of_bad_lines(recording_, invocation.command);
  require_requests(plan, recording_);
  require_costs(plan, recording_);
  script_ = traffic::make_script(candidate_, *traffic_, "");
  is_frozen_ = plan.words != nullptr && script_->may_call_time();
}

bool DebugReplay::advance() {
  if (!traffic_->next(arrival_)) return false;
  ++number_;
  const auto call = script_->call(arrival_);
  called_.keys.assign(call.keys.begin(), call.keys.end());
  called_.arguments.assign(call.arguments.begin(), call.arguments.end());
  return true;
}

/// By its SHA1, unless its text holds the time.
void DebugReplay::append_call(redis::Connection& connection) {
  std::optional<ldb::ProbedScript> frozen;
  if (is_frozen_) {
    frozen = ldb::add_probes(plan_.debuggee.source, {.probes = false, .now = arrival_.at});
  }
  const auto count = std::to_string(called_.keys.size());
  std::vector<std::string_view> command{"EVAL", frozen ? frozen->text : plan_.debuggee.source,
                                        count};
  command.insert(command.end(), called_.keys.begin(), called_.keys.end());
  command.insert(command.end(), called_.arguments.begin(), called_.arguments.end());
  connection.append(command);
}

void DebugReplay::tell(const redis::Error& error) {
  if (std::exchange(has_told_, true) || plan_.quiet) return;
  const auto shown = script_->with_question(error, arrival_, number_);
  warn(fmt::format("warning: request {} ended in an error, as others may: {}", number_,
                   shown.what()),
       invocation_.command);
}

void DebugReplay::run(redis::Connection& connection) {
  auto& ttls = ttls_[arrival_.key];
  began_ = Clock::now();
  ttls.append_ageing(connection, arrival_.at);
  append_call(connection);
  ttls.append_looks(connection, called_.keys);
  ttls.read_ageing(connection);
  const auto reply = connection.read();
  ttls.read_looks(connection,
                  std::chrono::ceil<milliseconds>(Clock::now() - began_) + milliseconds{1});
  if (reply.is_error()) tell(redis::to_error(reply));
  if (is_frozen_ && number_ % kForgetScriptsEvery == 0) {
    static_cast<void>(connection.call({"SCRIPT", "FLUSH"}));
  }
}

void DebugReplay::run_skipped(redis::Connection& connection) {
  while (number_ < plan_.skip && advance()) {
    invocation_.interrupt.check();
    run(connection);
  }
}

std::optional<DebugReplay::Call> DebugReplay::next(redis::Connection& connection) {
  if (!advance()) return std::nullopt;
  auto& ttls = ttls_[arrival_.key];
  began_ = Clock::now();
  ttls.append_ageing(connection, arrival_.at);
  ttls.read_ageing(connection);
  Call call{.debuggee = plan_.debuggee, .now = arrival_.at};
  call.debuggee.keys = called_.keys;
  call.debuggee.arguments = called_.arguments;
  return call;
}

std::string DebugReplay::request_text() const {
  return fmt::format("request {} of {}, of {}, for {}", number_, recording_.counts().requests,
                     instant_text(arrival_.at), in_quotes(traffic_->key_name(arrival_.key)));
}

void DebugReplay::finish(redis::Connection& connection) {
  auto& ttls = ttls_[arrival_.key];
  ttls.append_looks(connection, called_.keys);
  connection.flush();
  ttls.read_looks(connection,
                  std::chrono::ceil<milliseconds>(Clock::now() - began_) + milliseconds{1});
}

}  // namespace rlctl::cli
