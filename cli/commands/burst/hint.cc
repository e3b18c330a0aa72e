#include "cli/commands/burst/hint.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/errors/failure.h"

namespace rlctl::cli {
namespace {

using traffic::AllowedWhen;

std::string inverted_text(const AllowedWhen& when) {
  const std::string what =
      "the reply may be inverted: the first request was denied, and a later one was allowed; try "
      "--allowed-when ";
  if (when.named == nullptr) return what + "'not (" + escape(when.expression.source()) + ")'";
  if (when.named->opposite.empty()) return what + "with an expression";
  return what + std::string(when.named->opposite);
}

std::string replies_text(const traffic::RepliesSeen& replies) {
  std::string text;
  for (const auto& reply : replies.first) text += (text.empty() ? "" : ", ") + reply;
  return text;
}

}  // namespace

std::optional<std::string> reply_hint(const BurstRun& run, const traffic::Candidate& candidate) {
  const auto& measured = run.outcome.measured;
  const auto& replies = run.outcome.replies;
  if (!candidate.foreign || measured.sent == 0 || replies.first.empty()) return std::nullopt;
  const auto& when = candidate.foreign->reading.allowed_when;
  const bool is_wrong = measured.allowed == 0 || measured.worst.ratio > 1;
  const bool is_always =
      when.named != nullptr && when.named->wait == traffic::NamedCondition::Wait::kOfRequest;
  if (replies.all_nil && is_wrong && !is_always) {
    return "the script returns nothing: every reply was nil; it must return whether the request "
           "is allowed";
  }
  if (measured.looks_inverted) return inverted_text(when);
  const bool is_nonzero = when.named == &traffic::named_conditions().front();
  if (is_nonzero && replies.any_negative) {
    const bool is_array = replies.first.front().starts_with('[');
    return fmt::format(
        "a negative reply counts as allowed; if it denies, try --allowed-when '{} >= 0'",
        is_array ? "r[1]" : "r");
  }
  const auto limit = candidate.limits.front().limit;
  if (is_nonzero && replies.all_count && replies.highest > limit) {
    return fmt::format(
        "nothing was denied, and the replies were {} up to {}: if the script returns a count, try "
        "--allowed-when '<=limit'",
        replies_text(replies), replies.highest);
  }
  if (measured.allowed > 0) return std::nullopt;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     replies_text(replies));
}

void warn_of_hint(const BurstRun& run, const Invocation& invocation) {
  if (!run.hint) return;
  warn(fmt::format("warning: {}: {}", run.name, *run.hint), invocation.command);
}

}  // namespace rlctl::cli
