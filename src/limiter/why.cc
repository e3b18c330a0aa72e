#include "limiter/why.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "limiter/model.h"

namespace rlctl::limiter {
namespace {

constexpr std::string_view kNothingDenied =
    "it denied nothing: no more than {allowed} were ever asked for within {window}{by_a_key}";
constexpr std::string_view kNoScheduleFound =
    "no schedule that was tried got more than {allowed} through within {window}";
/// No algorithm allows more in the order in which the server takes requests than its row says.
constexpr std::string_view kOtherOrder =
    "the server took requests in another order than that of their times, by which {allowed} were "
    "allowed {within}";

std::string_view template_of(const Algorithm& algorithm, const Treatment& treatment) {
  if (treatment.allowed > treatment.limit.limit) {
    const auto text = algorithm.why_exceeded;
    const bool is_about_edge = text.find("{edge}") != text.npos;
    const bool has_edge = treatment.after_edge > 0 && treatment.after_edge < treatment.allowed;
    // A queue goes beyond the limit only if the last request is of several units.
    const bool has_cause = algorithm.has_delay ? treatment.cost > 1 : !is_about_edge || has_edge;
    return text.empty() || !has_cause ? kOtherOrder : text;
  }
  const bool is_untouched = treatment.denied == 0 && treatment.longest_delay.count() == 0;
  if (!is_untouched) return algorithm.why_kept;
  return treatment.is_search ? kNoScheduleFound : kNothingDenied;
}

}  // namespace

std::optional<std::string> why(const Algorithm& algorithm, const Treatment& treatment) {
  if (treatment.allowed == 0) return std::nullopt;
  const auto& limit = treatment.limit;
  // No more than this comes back during the span.
  const auto back =
      static_cast<std::int64_t>(Wide{treatment.span.count()} * limit.limit / limit.window.count());
  const auto burst = effective_burst(algorithm, limit).value_or(limit.limit);
  auto denied = treatment.denied == 0 ? "no request" : counted(treatment.denied, "request");
  if (treatment.has_several_keys && treatment.denied > 0) {
    denied += " of " + counted(treatment.keys_denied, "key");
  }
  const auto within = treatment.span.count() == 0 ? "at one instant"
                                                  : "within " + treatment.text_of(treatment.span);
  const auto before = treatment.allowed - treatment.after_edge;
  const auto most = burst + back;
  const auto of_most = treatment.allowed == most
                           ? fmt::format("all {}", most)
                           : fmt::format("of these {}, {}", most, treatment.allowed);
  return fmt::format(
      fmt::runtime(template_of(algorithm, treatment)), fmt::arg("limit", limit.limit),
      fmt::arg("window", period_text(limit.window)), fmt::arg("allowed", treatment.allowed),
      fmt::arg("within", within), fmt::arg("edge", instant_text(treatment.edge)),
      fmt::arg("before", counted(before, treatment.cost > 1 ? "unit" : "request")),
      fmt::arg("they", before == 1 ? "this one" : "they"), fmt::arg("after", treatment.after_edge),
      fmt::arg("denied", denied), fmt::arg("burst", burst),
      fmt::arg("their", treatment.denied > 1 ? "their" : "its"), fmt::arg("back", back),
      fmt::arg("come", back == 1 ? "comes" : "come"),
      fmt::arg("become", back == 1 ? "becomes" : "become"), fmt::arg("of_most", of_most),
      fmt::arg("delay", treatment.text_of(treatment.longest_delay)),
      fmt::arg("cost", treatment.cost),
      fmt::arg("by_a_key", treatment.has_several_keys ? " by one key" : ""),
      fmt::arg("to_a_key", treatment.has_several_keys ? " to one key" : ""));
}

}  // namespace rlctl::limiter
