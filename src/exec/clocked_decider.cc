#include "exec/clocked_decider.h"

#include <algorithm>

#include "redis/error.h"
#include "redis/server.h"
#include "simulation/real_run.h"

namespace rlctl::exec {
namespace {

redis::Connection open_verified(ClockedServer& server, std::chrono::microseconds timeout,
                                const Interrupt& interrupt) {
  server.verify();
  return redis::Connection::open(server.process().url(), timeout, &interrupt);
}

}  // namespace

ClockedDecider::ClockedDecider(const script::Candidate& candidate, const traffic::Traffic& names,
                               std::chrono::microseconds timeout, const Interrupt& interrupt)
    : clock_(folder_.path(), std::chrono::floor<std::chrono::microseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())),
      server_(&clock_, &interrupt),
      connection_(open_verified(server_, timeout, interrupt)),
      // If the time steps back, TIME must follow it, which the server's clock does not.
      script_(make_script(candidate, names, "", {.time = script::ScriptTime::kTold})) {
  script_->load(connection_);
}

std::string ClockedDecider::server_name() {
  const auto version = redis::version_of(connection_);
  return version ? display(*version) : "a server";
}

std::size_t ClockedDecider::decide(std::span<const traffic::Arrival> arrivals,
                                   std::span<limiter::Decision> decisions) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    try {
      decisions[i] = answer(arrivals[i]);
    } catch (const Interrupted&) {
      return i;
    }
  }
  return arrivals.size();
}

limiter::Decision ClockedDecider::answer(const traffic::Arrival& arrival) {
  latest_ = std::max(latest_, arrival.at);
  clock_.set(latest_);
  script::prepare(*script_, connection_, arrival);
  ++calls_;
  script_->call(arrival).append_to(connection_);
  const auto reply = [&] {
    try {
      return connection_.read();
    } catch (const redis::Error& error) {
      throw script::without_answer(error, *script_, arrival, calls_, false);
    }
  }();
  return simulation::read_decision(*script_, reply, arrival, calls_, replies_);
}

std::optional<double> ClockedDecider::bytes_per_key() {
  return simulation::bytes_per_key(connection_, script_->keys());
}

void ClockedDecider::forget() {
  server_.remove_keys();
  script_->restart();
  calls_ = 0;
  latest_ = std::chrono::microseconds{0};
}

std::vector<std::chrono::microseconds> ClockedDecider::ttls() {
  if (!script_->key_of_ttls()) return {};  // they only free memory
  const auto ttls = server_.ttls();
  return {ttls.begin(), ttls.end()};
}

}  // namespace rlctl::exec
