#include "cli/options/holder_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "limiter/budget_model.h"
#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

bool tells(const traffic::ForeignLimiter& script, std::string_view placeholder) {
  return std::ranges::any_of(script.arguments, [placeholder](const auto& argument) {
    return argument.holds(placeholder);
  });
}

/// The words about a script that ends what another gives.
struct EndingWords {
  std::string_view nothing_ends, option, arguments_option, ends;
};

/// Sets the script that releases or settles. Throws UsageError if there is none.
void set_ending_script(traffic::ForeignLimiter& script, const std::optional<std::string>& file,
                       const std::optional<std::string>& arguments, const EndingWords& words) {
  if (!file && !tells_event(script)) {
    throw UsageError(fmt::format("{} {}", words.nothing_ends, escape(script.name)),
                     fmt::format("name the script that does with {} FILE.lua, or tell this one "
                                 "with {{event}} in --args",
                                 words.option));
  }
  if (!file) return;
  if (!script.function.empty()) {
    throw UsageError(fmt::format("{} is for scripts, but {} is a library of functions",
                                 words.option, escape(script.name)),
                     "tell its function with {event} in --args");
  }
  auto ending = script;
  ending.setup.clear();
  ending.name = script_name(*file);
  ending.source = read_source(words.option, {.path = *file});
  parsed(words.option, [&] { traffic::choose_function(ending); });
  if (arguments) {
    ending.arguments.clear();
    parsed(words.arguments_option, [&] {
      for (const auto& word : shell_words(*arguments)) ending.arguments.emplace_back(word);
    });
  }
  script.ending = std::make_shared<const traffic::ForeignLimiter>(std::move(ending));
}

}  // namespace

RandomTime parse_random_time(const std::string& text, std::string_view option) {
  const bool is_exponential = text.ends_with('~');
  const auto time = is_exponential ? text.substr(0, text.size() - 1) : text;
  const RandomTime parsed{.time = parse_duration_of(time, option),
                          .is_exponential = is_exponential};
  if (parsed.time.count() == 0) throw UsageError(fmt::format("{} must be more than 0", option));
  return parsed;
}

std::chrono::microseconds parse_lease(const std::string& text) {
  const auto lease = parse_duration_of(text, "--lease");
  if (lease >= limiter::kShortestWindow) return lease;
  throw UsageError("--lease must be at least 1ms, not " + quoted_and_masked(text));
}

std::chrono::microseconds parse_hold(const std::string& text) {
  const auto hold = parse_duration_of(text, "--hold");
  if (hold >= limiter::kShortestHold) return hold;
  throw UsageError("--hold must be at least 1ms, not " + quoted_and_masked(text));
}

std::string parse_reservation_id(const std::string& text, const std::string& name) {
  require_not_empty(text, name);
  if (text.size() <= limiter::kLongestReservationId) return text;
  throw UsageError(fmt::format("{} must have at most {} bytes, not the {} of {}", name,
                               limiter::kLongestReservationId, text.size(),
                               quoted_and_masked(text)));
}

bool tells_event(const traffic::ForeignLimiter& script) {
  return tells(script, "event");
}

bool tells_cost(const traffic::ForeignLimiter& script) {
  return tells(script, "cost");
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
  set_ending_script(
      script, file, arguments,
      {"--concurrency: nothing releases the leases of", "--release", "--release-args", "releases"});
}

void ask_for_reservations(traffic::ForeignLimiter& script, std::chrono::microseconds hold,
                          const std::optional<std::string>& file,
                          const std::optional<std::string>& arguments) {
  script.hold = hold;
  set_ending_script(
      script, file, arguments,
      {"--reserve: nothing settles the reservations of", "--settle", "--settle-args", "settles"});
}

}  // namespace rlctl::cli
