#include "support/lease_calls.h"

#include <algorithm>

namespace rlctl::test {

using namespace std::chrono_literals;

std::vector<std::string> LeaseCall::arguments(bool by_servers_clock) const {
  std::vector<std::string> arguments{std::to_string(limit), std::to_string(lease.count()), action,
                                     id};
  if (!by_servers_clock) arguments.push_back(std::to_string(now.count()));
  return arguments;
}

Decision ask(limiter::LeaseModel& model, const LeaseCall& call) {
  if (call.action == "acquire") return model.acquire(call.limit, call.lease, call.id, call.now);
  if (call.action == "renew") return model.renew(call.limit, call.lease, call.id, call.now);
  return model.release(call.limit, call.id, call.now);
}

PlannedLeaseCalls plan_lease_calls(Random& random, Freedom freedom) {
  PlannedLeaseCalls plan;
  limiter::LeaseModel model;
  LeaseCall call;
  call.limit = random.log_uniform(1, 8);
  call.lease = microseconds{random.log_uniform(1, 2'592'000'000'000)};
  if (is_aging(freedom)) call.lease = std::max<microseconds>(call.lease, 1s);
  call.now = random.percent(90) ? microseconds{1'700'000'000'000'000}
                                : microseconds{random.log_uniform(1, 3'900'000'000'000'000)};
  const bool changing = !is_aging(freedom) && random.percent(30);
  Decision last;
  auto latest = call.now;
  for (auto steps = random.log_uniform(2, 100); steps > 0; --steps) {
    if (changing && random.percent(10)) call.limit = random.log_uniform(1, 8);
    if (changing && random.percent(10)) {
      call.lease = microseconds{random.log_uniform(1, 100'000'000'000'000)};
    }
    const auto kind = random.uniform(1, 100);
    microseconds step{0};
    if (kind > 30) step = microseconds{random.uniform(0, call.lease.count() / 3)};
    if (kind > 60) step = std::max(0us, last.retry_after) + microseconds{random.uniform(-1, 1)};
    if (kind > 75) step = last.reset_after + microseconds{random.uniform(-1, 1)};
    if (kind > 80) step = call.lease + microseconds{random.uniform(-1, 1)};
    if (kind > 90) step = -microseconds{random.uniform(0, 2 * call.lease.count())};
    const auto earliest = !is_aging(freedom)              ? 0us
                          : freedom == Freedom::kHourBack ? std::max<microseconds>(0us, latest - 1h)
                                                          : latest;
    call.now = std::clamp(call.now + step, earliest, microseconds{4'000'000'000'000'000});
    latest = std::max(latest, call.now);
    const auto action = random.uniform(1, 100);
    call.action = action <= 55 ? "acquire" : action <= 75 ? "renew" : "release";
    call.id = "job-" + std::to_string(random.uniform(1, 10));
    last = ask(model, call);
    plan.calls.push_back(call);
    plan.decisions.push_back(last);
  }
  plan.exists = !model.empty();
  return plan;
}

}  // namespace rlctl::test
