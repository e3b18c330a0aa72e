#include "cli/commands/check/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/terminal/terminal.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {
namespace {

using std::chrono::seconds;

std::string_view denied_key(const Result& result) {
  const auto number = static_cast<std::size_t>(result.decision.denied_by);
  if (number == 0 || number > result.redis_keys.size()) return {};
  return result.redis_keys[number - 1];
}

/// Of its reservation. Without an answer, none is known.
limiter::ReservationState state_of(const Result& result) {
  return result.decision.reservation.value_or(limiter::ReservationState::kUnknown);
}

void append_timing(std::string& out, const Result& result) {
  const auto& decision = result.decision;
  if (!decision.allowed && (!result.peek || decision.retry_after == limiter::kNever)) {
    out += " retry_after=";
    if (decision.retry_after == limiter::kNever) {
      out += "never";
    } else {
      append_seconds(out, decision.retry_after);
    }
  }
  out += " reset=";
  append_seconds(out, decision.reset_after);
  if (decision.delay.count() > 0) {
    out += " delay=";
    append_seconds(out, decision.delay);
  }
}

}  // namespace

ResultFormat::ResultFormat(const Limiter& limiter, bool json, bool colour)
    : json_(json),
      allowed_(toned("allowed", Tone::kGood, colour)),
      denied_(toned("denied", Tone::kBad, colour)) {
  append_json_string(algorithm_, limiter.algorithm->name);
  settings_ = " limit=" + limiter::format_limits(limiter.limits);
  for (const auto& limit : limiter.limits) {
    JsonWriter fields(json_limits_.emplace_back());
    append_limit_fields(fields, *limiter.algorithm, limit);
  }
  // What the answer depends on, except defaults.
  if (limiter.algorithm->name != limiter::kDefaultAlgorithm) {
    settings_.append(" algorithm=").append(limiter.algorithm->name);
  }
  const auto has_own_burst = [](const limiter::Limit& limit) {
    return limit.burst && *limit.burst != limit.limit;
  };
  const auto& limits = limiter.limits;
  const auto found = std::find_if(limits.begin(), limits.end(), has_own_burst);
  if (found != limits.end()) settings_ += " burst=" + std::to_string(*found->burst);
}

void ResultFormat::append(std::string& out, const Result& result) const {
  if (json_) {
    append_json(out, result);
  } else {
    append_text(out, result);
  }
}

void ResultFormat::append_text(std::string& out, const Result& result) const {
  const auto& decision = result.decision;
  out.append(passes(result) ? allowed_ : denied_).append(" key=");
  out += escaped_text(result.key);
  out += settings_;
  if (result.reservation != nullptr) {
    out += " reservation=" + escaped_text(result.reservation->id);
    out.append(" state=").append(limiter::to_text(state_of(result))).append(" units=");
    append_number(out, result.cost);
  }
  if (result.shadow && !decision.allowed) out += " would_deny=true";
  if (result.on_error != nullptr) {
    out += decision.allowed ? " on_error=allow\n" : " on_error=deny\n";
    return;
  }
  out += " remaining=";
  append_number(out, decision.remaining);
  append_timing(out, result);
  if (result.redis_keys.size() > 1 && !denied_key(result).empty()) {
    out += " denied_by=";
    out += escaped_text(denied_key(result));
  }
  out += '\n';
}

void ResultFormat::append_json(std::string& out, const Result& result) const {
  const auto& decision = result.decision;
  const bool known = result.on_error == nullptr;
  const auto known_value = [known](auto value) {
    return known ? std::optional(value) : std::nullopt;
  };
  const bool hides_retry_after = result.peek && decision.retry_after != limiter::kNever;
  const auto retry_after = hides_retry_after ? std::nullopt : known_value(decision.retry_after);
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", result.key)
      .name("algorithm")
      .raw(algorithm_)
      .field("allowed", passes(result))
      .field("cost", result.cost)
      .field("remaining", known_value(decision.remaining))
      .field("retry_after_us", retry_after)
      .field("reset_after_us", known_value(decision.reset_after))
      .field("delay_us", known_value(decision.delay))
      .name("limits")
      .begin_array();
  for (std::size_t i = 0; i < json_limits_.size(); ++i) {
    json.begin_object().bytes_field("key", result.redis_keys[i]);
    json.raw(json_limits_[i]).end_object();
  }
  const auto denied_by = denied_key(result);
  json.end_array();
  if (denied_by.empty()) {
    json.name("denied_by").null();
  } else {
    json.bytes_field("denied_by", denied_by);
  }
  if (result.reservation != nullptr) {
    json.name("reservation").begin_object().bytes_field("id", result.reservation->id);
    json.field("state", limiter::to_text(state_of(result)))
        .field("units", result.cost)
        .field("hold_us", result.reservation->hold)
        .end_object();
  }
  if (result.shadow) json.field("would_deny", !decision.allowed);
  if (!known) {
    json.name("error");
    append_problem_json(out, *result.on_error);
  }
  json.end_object();
  out += '\n';
}

void ResultFormat::append_error(std::string& out, std::size_t line, const Problem& problem) const {
  if (json_) {
    JsonWriter json(out);
    json.begin_object().field("line", line).name("error");
    append_problem_json(out, problem);
    json.end_object();
    out += '\n';
    return;
  }
  out += fmt::format("error line={} status={} message={}", line, static_cast<int>(problem.status),
                     escaped_text(problem.message));
  out += '\n';
}

std::optional<limiter::ReservationCall> reservation_of(const Plan& plan,
                                                       const std::optional<std::string>& id) {
  if (!plan.hold) return std::nullopt;
  if (id) return limiter::ReservationCall{.id = *id, .hold = *plan.hold};
  std::random_device random;
  return limiter::ReservationCall{.id = fmt::format("{:08x}{:08x}", random(), random()),
                                  .hold = *plan.hold};
}

// ---- Header fields ----

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
std::optional<seconds> retry_after(const Result& result) {
  const auto& decision = result.decision;
  const bool known = result.on_error == nullptr && !result.peek;
  if (decision.allowed || !known || decision.retry_after == limiter::kNever) return std::nullopt;
  return std::max(whole_seconds(decision.retry_after), seconds{1});
}

}  // namespace

void append_headers(std::string& out, const Limiter& limiter, const Result& result,
                    std::span<const limiter::Decision> states, std::chrono::microseconds now) {
  out += "RateLimit-Policy: ";
  for (const auto& limit : limiter.limits) {
    if (&limit != &limiter.limits.front()) out += ", ";
    out += policy_item(limiter, limit, now);
  }
  out += '\n';
  const auto retry = retry_after(result);
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto reset = whole_seconds(states[i].reset_after);
    // By the draft, Retry-After should not be earlier than t.
    if (retry) reset = std::min(reset, *retry);
    out += i == 0 ? "RateLimit: " : ", ";
    fmt::format_to(std::back_inserter(out), "{};r={};t={}", limit_name(limiter, limiter.limits[i]),
                   states[i].remaining, reset.count());
  }
  if (!states.empty()) out += '\n';
  if (retry) fmt::format_to(std::back_inserter(out), "Retry-After: {}\n", retry->count());
}

}  // namespace rlctl::cli::check
