#include "cli/options/holder_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
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

bool tells(const script::ForeignLimiter& script, std::string_view placeholder) {
  return std::ranges::any_of(script.arguments, [placeholder](const auto& argument) {
    return argument.holds(placeholder);
  });
}

bool tells_about(const script::ForeignLimiter& script, script::Placeholder::Contains subject) {
  return std::ranges::any_of(
      script.arguments, [subject](const auto& argument) { return argument.is_about(subject); });
}

/// The words about a script that ends what another gives.
struct EndingWords {
  std::string_view word, option, of, begins;
};

/// Sets the script that releases or settles. Throws UsageError if there is none.
void set_ending_script(script::ForeignLimiter& script, const ScriptOptions& options,
                       const EndingWords& words) {
  if (script.reading.delay) {
    refuse_value(script::origin_of(script.reading.origins, "delay"),
                 fmt::format("it cannot be combined with {}: {} begins when it is given",
                             words.option, words.begins));
  }
  const auto found = options.words.find(words.word);
  if (found == options.words.end()) {
    if (tells_event(script)) return;
    throw UsageError(
        fmt::format("nothing {}s the {} of {}", words.word, words.of, escape(script.name)),
        fmt::format("name the script that does in its head, '-- rlctl: {0} FILE.lua', or with "
                    "--head '{0} FILE.lua', or tell this one with {{event}} in --args",
                    words.word));
  }
  const auto& [text, source, origin] = found->second;
  if (!script.function.empty()) {
    refuse_value(
        origin,
        fmt::format("it is for scripts, but {} is a library of functions", escape(script.name)),
        "tell its function with {event} in args");
  }
  const auto file_and_arguments = shell_words(text);
  const auto& file = file_and_arguments.front();
  auto ending = script;
  ending.setup.clear();
  ending.name = script_name(file);
  ending.source = parsed(origin, [&] { return read_source("", {.path = file}); });
  if (ending.source.find_first_not_of(" \t\r\n") == ending.source.npos) {
    refuse_value(origin, quoted_and_masked(file) + " is empty");
  }
  ending.origins[script::kFunctionWord] = origin;
  choose_function(ending);
  if (file_and_arguments.size() > 1) {
    ending.arguments.clear();
    ending.origins[script::kArgumentsWord] = origin;
    for (const auto& word : std::span(file_and_arguments).subspan(1)) {
      ending.arguments.emplace_back(word);
    }
  }
  script.ending = std::make_shared<const script::ForeignLimiter>(std::move(ending));
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

bool tells_event(const script::ForeignLimiter& script) {
  return tells(script, "event");
}

bool tells_lease(const script::ForeignLimiter& script) {
  return tells_about(script, script::Placeholder::Contains::kLease);
}

bool tells_reservation(const script::ForeignLimiter& script) {
  return tells_about(script, script::Placeholder::Contains::kReservation);
}

bool tells_cost(const script::ForeignLimiter& script) {
  return tells(script, "cost");
}

bool takes_renewals(const script::Candidate& candidate) {
  return !candidate.foreign || tells_event(*candidate.foreign);
}

std::chrono::microseconds clock_tick_of(const script::Candidate& candidate) {
  if (candidate.is_bundled()) return {};
  constexpr std::chrono::microseconds kFinest{1'000};
  const auto* time = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
  return time == nullptr ? kFinest : std::max(kFinest, time->tick);
}

void ask_for_leases(script::ForeignLimiter& script, const ScriptOptions& options) {
  script.has_leases = true;
  set_ending_script(script, options, {"release", "--concurrency", "leases", "a lease"});
}

void ask_for_reservations(script::ForeignLimiter& script, std::chrono::microseconds hold,
                          const ScriptOptions& options) {
  script.hold = hold;
  set_ending_script(script, options, {"settle", "--reserve", "reservations", "a hold"});
}

}  // namespace rlctl::cli
