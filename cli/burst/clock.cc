#include "cli/burst/clock.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"
#include "cli/burst/options.h"
#include "cli/failure.h"
#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kVirtual = "virtual", kReal = "real";
constexpr std::int64_t kMost = 10'000;
/// As redis-benchmark has it.
constexpr std::size_t kClientsOfClosedLoop = 50;
constexpr std::chrono::seconds kClosedLoop{10};

bool wants_real(const BurstOptions& options) {
  const bool closed_loop = options.rate == kMaxRate;
  if (!options.clock) return closed_loop;
  if (options.clock == kReal) return true;
  if (options.clock != kVirtual) {
    throw UsageError("--clock must be virtual or real, not " + in_quotes(*options.clock));
  }
  if (!closed_loop) return false;
  throw UsageError("--rate max requires --clock real: only a server sets that pace",
                   "use --clock real, or a rate like 400/s");
}

std::size_t parse_count(const std::optional<std::string>& text, std::string_view name,
                        std::size_t if_not_given) {
  if (!text) return if_not_given;
  return static_cast<std::size_t>(parse_between(*text, name, 1, kMost));
}

}  // namespace

std::optional<RealClock> parse_clock(const BurstOptions& options) {
  if (!wants_real(options)) return std::nullopt;
  if (options.rate != kMaxRate) {
    return RealClock{.clients = parse_count(options.clients, "--clients", 1)};
  }
  RealClock clock{.clients = parse_count(options.clients, "--clients", kClientsOfClosedLoop),
                  .pipeline = parse_count(options.pipeline, "--pipeline", 1)};
  if (options.duration) {
    clock.duration = parse_time(*options.duration, "--duration");
    if (clock.duration->count() == 0) throw UsageError("--duration must be more than 0");
  } else if (!options.requests && !options.replay.given()) {
    clock.duration = kClosedLoop;
  }
  return clock;
}

std::string clock_text(const RealClock& clock) {
  auto text = fmt::format("{} loop, {} client{}", clock.is_closed_loop() ? "closed" : "open",
                          clock.clients, plural(clock.clients));
  if (clock.pipeline) text += fmt::format(", pipeline {}", *clock.pipeline);
  return text;
}

}  // namespace rlctl::cli
