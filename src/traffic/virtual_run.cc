#include "traffic/virtual_run.h"

#include <span>

#include "redis/error.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;

/// Requests decided between two looks at the interrupt. A script takes a few µs for each.
constexpr std::size_t kBatch = 4096;

/// Calls what talks to a server; false where the interrupt ended it.
template <typename Call>
bool finishes(Call call) {
  try {
    call();
    return true;
  } catch (const Interrupted&) {
    return false;
  }
}

/// As many as fit; fewer at the traffic's end.
std::size_t fill(Traffic& traffic, std::span<Arrival> arrivals) {
  std::size_t count = 0;
  while (count < arrivals.size() && traffic.next(arrivals[count])) ++count;
  return count;
}

}  // namespace

Outcome run_virtually(Traffic& traffic, Decider& decider, const std::vector<limiter::Limit>& limits,
                      const Interrupt& interrupt, const OnDecision& on_decision,
                      const OnProgress& on_progress) {
  OutcomeRecorder recorder(limits, on_decision);
  bool is_interrupted = false;
  std::vector<Arrival> arrivals(kBatch);
  std::vector<Decision> decisions(kBatch);
  std::int64_t decided = 0;
  while (!(is_interrupted = interrupt.signal() != 0)) {
    const auto count = fill(traffic, arrivals);
    if (count == 0) break;
    const auto batch = std::span(arrivals).first(count);
    const auto decide = [&] { decider.decide(batch, std::span(decisions).first(count)); };
    if (!finishes(decide)) {
      is_interrupted = true;
      break;
    }
    for (std::size_t i = 0; i < count; ++i) recorder.add(arrivals[i], decisions[i]);
    decided += static_cast<std::int64_t>(count);
    if (on_progress) on_progress(decided);
  }
  auto outcome = recorder.finish();
  if (!is_interrupted) {
    is_interrupted = !finishes([&] { outcome.bytes_per_key = decider.bytes_per_key(); });
  }
  outcome.interrupted = is_interrupted;
  return outcome;
}

}  // namespace rlctl::traffic
