#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/time.h"
#include "cli/commands/check/plan.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {

using std::chrono::seconds;

namespace {

/// A String of RFC 9651, which has printable ASCII characters only. Others, and the percent sign,
/// are percent-encoded, so that no name can end the line.
std::string header_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c < ' ' || c > '~' || c == '%') {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// The name of one limit: the policy's, the window, or for one of a policy's several limits both.
std::string limit_name(const Limiter& limiter, const limiter::Limit& limit) {
  const auto window = limiter::window_suffix(limit);
  if (limiter.policy == nullptr) return header_string(window);
  const auto& name = limiter.policy->name;
  return header_string(limiter.limits.size() == 1 ? name : name + ":" + window);
}

/// The draft has no parts of a second: such a window is left out, since any other would be another
/// limit.
std::string policy_item(const Limiter& limiter, const limiter::Limit& limit,
                        std::chrono::microseconds now) {
  auto item = fmt::format("{};q={}", limit_name(limiter, limit), limit.limit);
  const auto length = period_of(limit, now).length();
  const auto window = std::chrono::floor<seconds>(length);
  if (window == length) item += fmt::format(";w={}", window.count());
  return item;
}

/// The time until the request would be allowed; none if that is not known, or never.
std::optional<seconds> retry_after(const Answer& answer) {
  const auto& decision = answer.decision;
  const bool known = answer.on_error == nullptr && !answer.peek;
  if (decision.allowed || !known || decision.retry_after == limiter::kNever) return std::nullopt;
  return std::max(whole_seconds(decision.retry_after), seconds{1});
}

}  // namespace

void append_headers(std::string& out, const Limiter& limiter, const Answer& answer,
                    std::span<const limiter::Decision> states, std::chrono::microseconds now) {
  out += "RateLimit-Policy: ";
  for (const auto& limit : limiter.limits) {
    if (&limit != &limiter.limits.front()) out += ", ";
    out += policy_item(limiter, limit, now);
  }
  out += '\n';
  const auto retry = retry_after(answer);
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto reset = whole_seconds(states[i].reset_after);
    // The IETF draft of the RateLimit header says that Retry-After should not be earlier than t.
    if (retry) reset = std::min(reset, *retry);
    out += i == 0 ? "RateLimit: " : ", ";
    fmt::format_to(std::back_inserter(out), "{};r={};t={}", limit_name(limiter, limiter.limits[i]),
                   states[i].remaining, reset.count());
  }
  if (!states.empty()) out += '\n';
  if (retry) fmt::format_to(std::back_inserter(out), "Retry-After: {}\n", retry->count());
}

}  // namespace rlctl::cli::check
