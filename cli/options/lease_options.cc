#include "cli/options/lease_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "limiter/limit.h"

namespace rlctl::cli {

std::chrono::microseconds parse_lease(const std::string& text) {
  const auto lease = parse_duration_of(text, "--lease");
  if (lease >= limiter::kShortestWindow) return lease;
  throw UsageError("--lease must be at least 1ms, not " + quoted_and_masked(text));
}

bool tells_event(const traffic::ForeignLimiter& script) {
  return std::ranges::any_of(script.arguments,
                             [](const auto& argument) { return argument.holds("event"); });
}

bool takes_renewals(const traffic::Candidate& candidate) {
  return !candidate.foreign || tells_event(*candidate.foreign);
}

std::chrono::microseconds clock_tick_of(const traffic::Candidate& candidate) {
  if (candidate.is_bundled()) return {};
  constexpr std::chrono::microseconds kFinest{1'000};
  const auto* time = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
  return time == nullptr ? kFinest : std::max(kFinest, time->tick);
}

void ask_for_leases(traffic::ForeignLimiter& script, const std::optional<std::string>& file,
                    const std::optional<std::string>& arguments) {
  script.has_leases = true;
  if (!file && !tells_event(script)) {
    throw UsageError(
        fmt::format("--concurrency: nothing releases the leases of {}", escape(script.name)),
        "name the script that does with --release FILE.lua, or tell this one with {event} in "
        "--args");
  }
  if (!file) return;
  if (!script.function.empty()) {
    throw UsageError(
        "--release is for scripts, but " + escape(script.name) + " is a library of functions",
        "tell its function with {event} in --args");
  }
  auto release = script;
  release.setup.clear();
  release.name = script_name(*file);
  release.source = read_source("--release", {.path = *file});
  parsed("--release", [&] { traffic::choose_function(release); });
  if (arguments) {
    release.arguments.clear();
    parsed("--release-args", [&] {
      for (const auto& word : shell_words(*arguments)) release.arguments.emplace_back(word);
    });
  }
  script.release = std::make_shared<const traffic::ForeignLimiter>(std::move(release));
}

}  // namespace rlctl::cli
