#include "cli/trial/hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::trial {
namespace {

std::string inverted_text(const script::AllowedWhen& when) {
  const std::string what =
      "the reply may be inverted: the first request was denied, and a later one was allowed; try "
      "--allowed-when ";
  if (when.named == nullptr) {
    return what + shell_quoted(fmt::format("not ({})", when.expression->source()));
  }
  if (when.named->opposite.empty()) return what + "with an expression";
  return what + std::string(when.named->opposite);
}

/// Whether a reply of the script is a wait, which is 0 if the request is allowed.
bool replies_with_wait(const script::ForeignLimiter& foreign) {
  const auto* named = foreign.reading.allowed_when.named;
  return named != nullptr && named->name == "zero" && foreign.reading.retry_after;
}

/// How the replies should be read instead; only if that explains every reply. None if they look
/// right.
std::optional<std::string> reading_hint(const Run& run, const script::ForeignLimiter& foreign,
                                        const limiter::Limit& limit) {
  const auto& replies = run.outcome.replies;
  const auto* named = foreign.reading.allowed_when.named;
  const bool is_inverted = replies.inverted.fits(limit);
  if (is_inverted && (named == nullptr || !named->opposite.empty())) {
    return inverted_text(foreign.reading.allowed_when);
  }
  if ((named != nullptr && named->is_always()) || replies.as_read.fits(limit)) return std::nullopt;
  for (const auto& [expression, reading] : replies.others) {
    if (!reading.fits(limit)) continue;
    return "the replies fit the limit if they are read with --allowed-when " +
           shell_quoted(expression.source());
  }
  if (!is_inverted) return std::nullopt;
  return inverted_text(foreign.reading.allowed_when);
}

/// That the limiter's own limit seems to be another, for one of these reasons; none if it does not.
std::optional<std::string> early_denial_hint(const simulation::Measured& measured,
                                             const limiter::Limit& limit, bool costs_one,
                                             std::string_view reasons) {
  // If nothing was allowed to a key, it may share its state with another.
  if (measured.denied_after.value_or(0) <= 0) return std::nullopt;
  return fmt::format("denied after {}, not {}: {}",
                     counted(*measured.denied_after, costs_one ? "request" : "unit"),
                     std::min(limit.limit, limit.burst_or_limit()), reasons);
}

}  // namespace

std::optional<std::string> why_of(const script::Candidate& candidate,
                                  const simulation::Measured& measured, std::int64_t highest_cost,
                                  bool is_search) {
  // Which of several limits denied a request is not known.
  const bool is_ambiguous = candidate.limits.size() > 1 && measured.worst.ratio <= 1;
  if (!candidate.is_bundled() || is_ambiguous) return std::nullopt;
  const auto& worst = measured.worst;
  return limiter::why(*candidate.algorithm, {.limit = candidate.limits[worst.limit],
                                             .cost = highest_cost,
                                             .denied = measured.denied,
                                             .keys_denied = measured.keys_denied,
                                             .has_several_keys = measured.keys > 1,
                                             .allowed = worst.allowed,
                                             .span = worst.span,
                                             .edge = worst.edge,
                                             .after_edge = worst.after_edge,
                                             .longest_delay = measured.longest_delay,
                                             .is_search = is_search,
                                             .text_of = is_search ? exact_text : span_text});
}

std::optional<std::string> reply_hint(const Run& run, const script::Candidate& candidate,
                                      bool costs_one) {
  const auto& measured = run.outcome.measured;
  const auto& replies = run.outcome.replies;
  if (candidate.program) {
    return early_denial_hint(measured, candidate.limits.front(), costs_one,
                             "its own limit differs, or the burst is missing");
  }
  if (!candidate.foreign || measured.sent == 0 || replies.first.empty()) return std::nullopt;
  const auto& when = candidate.foreign->reading.allowed_when;
  const bool is_wrong = measured.allowed == 0 || measured.worst.ratio > 1;
  const bool is_always = when.named != nullptr && when.named->is_always();
  if (replies.all_nil && is_wrong && !is_always) {
    return "every reply was nil, which the server makes of false, too; if the script returns "
           "nothing, let it return whether the request is allowed";
  }
  const auto& limit = candidate.limits.front();
  auto hint = reading_hint(run, *candidate.foreign, limit);
  const auto text =
      early_denial_hint(measured, limit, costs_one,
                        "its own limit differs, the burst is missing, or its reply is misread");
  if (text) {
    return hint ? *text + "; " + *hint : text;
  }
  const bool is_wait =
      replies_with_wait(*candidate.foreign) && script::may_read_ttl(*candidate.foreign);
  if (!hint && run.search() && is_wait && measured.allowed > 0) {
    return "a denial whose wait is 0 counts as allowed: PTTL replies 0 in the last millisecond of "
           "a key, and TTL rounds";
  }
  return hint ? hint : holders_hint(run);
}

std::optional<std::string> holders_hint(const Run& run) {
  const auto& replies = run.outcome.replies;
  if (run.outcome.measured.allowed > 0 || replies.first.empty()) return std::nullopt;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     fmt::join(replies.first, ", "));
}

}  // namespace rlctl::cli::trial
