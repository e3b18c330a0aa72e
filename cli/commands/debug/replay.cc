#include "cli/commands/debug/replay.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/options/log_options.h"
#include "limiter/algorithm.h"
#include "redis/reply.h"

namespace rlctl::cli::debug {
namespace {

constexpr const char* kAgingHash = traffic::KeyAging::kHashName;

void require_requests(const Plan& plan, const replay::Recording& recording) {
  const auto there = recording.counts().requests;
  const auto skip = plan.skip.value_or(0);
  if (skip < there) return;
  throw UsageError(fmt::format("--skip {} leaves no request: the log has {} request{}", skip, there,
                               plural(there)),
                   fmt::format("--skip {} debugs the last one", there - 1));
}

traffic::Candidate make_candidate(const Plan& plan) {
  traffic::Candidate candidate{.limits = plan.limits};
  if (plan.foreign == nullptr) {
    candidate.algorithm = plan.algorithm;
  } else {
    candidate.foreign = plan.foreign;
    // The script does not use the limit.
    if (candidate.limits.empty()) candidate.limits.emplace_back();
  }
  return candidate;
}

}  // namespace

Replay::Replay(const Plan& plan, const Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      recording_(*plan.replay, invocation.interrupt),
      traffic_(recording_.traffic()),
      candidate_(make_candidate(plan)) {
  warn_of_lines(recording_, invocation.command);
  require_requests(plan, recording_);
  require_costs({&candidate_, 1}, recording_);
  script_ = traffic::make_script(candidate_, *traffic_, "",
                                 {.virtual_clock = false, .registers_made_keys = false});
  skipped_ = traffic::make_script(candidate_, *traffic_, "");
}

void Replay::connect(redis::Connection connection) {
  connection_.emplace(std::move(connection));
  aging_.emplace(*connection_, kAgingHash);
}

void Replay::run_skipped() {
  const auto skip = plan_.skip.value_or(0);
  if (skip > 0) skipped_->load(*connection_);
  while (number_ < skip && advance()) {
    invocation_.interrupt.check();
    run();
  }
}

std::optional<Target> Replay::next() {
  if (!advance()) return std::nullopt;
  age(called_.keys);
  return target();
}

Target Replay::last() {
  static_cast<void>(advance());
  auto keys = traffic::made_keys(*skipped_, *connection_);
  keys.insert(keys.end(), used_.begin(), used_.end());
  age(keys);
  static_cast<void>(
      connection_->call({"UNLINK", kAgingHash, skipped_->registry().value_or(kAgingHash)}));
  return target();
}

std::string Replay::request_text() const {
  return fmt::format("request {} of {}, of {}, for {}", number_, recording_.counts().requests,
                     instant_text(arrival_.at), in_quotes(traffic_->key_name(arrival_.key)));
}

Target Replay::target() const {
  Target call{.debuggee = plan_.debuggee,
              .now = arrival_.at,
              .values = {.limit = candidate_.limits.front(),
                         .cost = arrival_.cost,
                         .id = number_,
                         .now = arrival_.at}};
  call.debuggee.keys = called_.keys;
  call.debuggee.arguments = called_.arguments;
  return call;
}

bool Replay::advance() {
  if (!traffic_->next(arrival_)) return false;
  ++number_;
  const auto call = script_->call(arrival_);
  called_.keys.assign(call.keys.begin(), call.keys.end());
  called_.arguments.assign(call.arguments.begin(), call.arguments.end());
  used_.insert(call.keys.begin(), call.keys.end());
  return true;
}

void Replay::age(const std::vector<std::string>& keys) {
  const std::vector<std::string_view> named(keys.begin(), keys.end());
  if (aging_->advance(arrival_.at, named)) traffic::KeyAging::require_done(connection_->read());
}

void Replay::run() {
  age(called_.keys);
  skipped_->call(arrival_).append_to(*connection_);
  const auto reply = connection_->read();
  if (reply.is_error()) warn_once(redis::to_error(reply));
}

void Replay::warn_once(const redis::Error& error) {
  if (std::exchange(has_warned_, true) || plan_.quiet) return;
  const auto shown = script_->with_question(error, arrival_, number_);
  warn(fmt::format("warning: request {} ended in an error, as others may: {}", number_,
                   shown.what()),
       invocation_.command);
}

}  // namespace rlctl::cli::debug
