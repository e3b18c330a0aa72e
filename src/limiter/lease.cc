#include "limiter/lease.h"

#include <array>
#include <string_view>

#include "limiter/algorithm.h"
#include "limiter/check.h"

namespace rlctl::limiter {
namespace {

Decision call_concurrency(redis::Connection& connection, const Lease& lease,
                          std::string_view action) {
  const Algorithm& algorithm = *find_algorithm("concurrency");
  const auto limit = std::to_string(lease.limit);
  const auto duration = std::to_string(lease.duration.count());
  const std::array<std::string_view, 1> keys{lease.key};
  const std::array<std::string_view, 4> arguments{limit, duration, action, lease.holder};
  const ScriptCall call{.sha1 = algorithm.sha1, .keys = keys, .arguments = arguments};
  return Checker::parse(call_script(connection, algorithm, call), &algorithm);
}

}  // namespace

Decision acquire(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "acquire");
}

Decision renew(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "renew");
}

Decision release(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "release");
}

}  // namespace rlctl::limiter
