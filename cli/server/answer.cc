#include "cli/server/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "cli/server/asker.h"
#include "cli/terminal/terminal.h"
#include "limiter/budget_model.h"

namespace rlctl::cli {
namespace {

std::string_view denied_key(const Answer& answer) {
  const auto number = static_cast<std::size_t>(answer.decision.denied_by);
  if (number == 0 || number > answer.redis_keys.size()) return {};
  return answer.redis_keys[number - 1];
}

/// The reservation as it stands or, if it is unknown, as it was asked for.
struct Reserved {
  limiter::ReservationState state;
  std::int64_t units;
  std::chrono::microseconds hold;
};

Reserved reserved(const Answer& answer) {
  const auto& decision = answer.decision;
  // Without an answer, nothing is known.
  const auto state = decision.reservation.value_or(limiter::ReservationState::kUnknown);
  if (state == limiter::ReservationState::kUnknown) {
    return {.state = state, .units = answer.cost, .hold = answer.reservation->hold};
  }
  return {.state = state, .units = decision.units, .hold = decision.hold};
}

/// Why a reservation was denied though its units are free; empty if they are not.
std::string_view reason(const Answer& answer) {
  const auto& decision = answer.decision;
  const bool is_answer = answer.reservation != nullptr && answer.on_error == nullptr;
  const bool is_full = is_answer && !decision.allowed && decision.remaining >= answer.cost;
  return is_full ? limiter::kAllReservationsHeld : std::string_view();
}

void append_timing(std::string& out, const Answer& answer) {
  const auto& decision = answer.decision;
  if (!decision.allowed && (!answer.peek || decision.retry_after == limiter::kNever)) {
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

AnswerFormat::AnswerFormat(const Limiter& limiter, bool json, bool colour)
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

void AnswerFormat::append(std::string& out, const Answer& answer) const {
  if (json_) {
    append_json(out, answer);
  } else {
    append_text(out, answer);
  }
}

void AnswerFormat::append_text(std::string& out, const Answer& answer) const {
  const auto& decision = answer.decision;
  out.append(passes(answer) ? allowed_ : denied_).append(" key=");
  out += escaped_text(answer.key);
  out += settings_;
  if (answer.reservation != nullptr) {
    const auto [state, units, hold] = reserved(answer);
    out += " reservation=" + escaped_text(answer.reservation->id);
    out.append(" state=").append(limiter::to_text(state)).append(" units=");
    append_number(out, units);
    out += " hold=";
    append_seconds(out, hold);
  }
  if (answer.shadow && !decision.allowed) out += " would_deny=true";
  if (answer.on_error != nullptr) {
    out += decision.allowed ? " on_error=allow\n" : " on_error=deny\n";
    return;
  }
  out += " remaining=";
  append_number(out, decision.remaining);
  append_timing(out, answer);
  if (answer.redis_keys.size() > 1 && !denied_key(answer).empty()) {
    out += " denied_by=";
    out += escaped_text(denied_key(answer));
  }
  if (const auto why = reason(answer); !why.empty()) out += " reason=" + quoted_text(why);
  out += '\n';
}

void AnswerFormat::append_json(std::string& out, const Answer& answer) const {
  const auto& decision = answer.decision;
  const bool known = answer.on_error == nullptr;
  const auto known_value = [known](auto value) {
    return known ? std::optional(value) : std::nullopt;
  };
  const bool hides_retry_after = answer.peek && decision.retry_after != limiter::kNever;
  const auto retry_after = hides_retry_after ? std::nullopt : known_value(decision.retry_after);
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", answer.key)
      .name("algorithm")
      .raw(algorithm_)
      .field("allowed", passes(answer))
      .field("cost", answer.cost)
      .field("remaining", known_value(decision.remaining))
      .field("retry_after_us", retry_after)
      .field("reset_after_us", known_value(decision.reset_after))
      .field("delay_us", known_value(decision.delay))
      .name("limits")
      .begin_array();
  for (std::size_t i = 0; i < json_limits_.size(); ++i) {
    json.begin_object().bytes_field("key", answer.redis_keys[i]);
    json.raw(json_limits_[i]).end_object();
  }
  const auto denied_by = denied_key(answer);
  json.end_array();
  if (denied_by.empty()) {
    json.name("denied_by").null();
  } else {
    json.bytes_field("denied_by", denied_by);
  }
  if (answer.reservation != nullptr) {
    const auto [state, units, hold] = reserved(answer);
    json.name("reservation").begin_object().bytes_field("id", answer.reservation->id);
    json.field("state", limiter::to_text(state))
        .field("units", units)
        .field("hold_us", hold)
        .known_field("reason", reason(answer))
        .end_object();
  }
  if (!answer.holders.empty()) {
    json.name("holders").begin_array();
    for (const auto& holder : answer.holders) json.value(holder);
    json.end_array();
  }
  if (answer.shadow) json.field("would_deny", !decision.allowed);
  if (!known) {
    write_problem(json.name("error"), *answer.on_error);
  }
  json.end_object();
  out += '\n';
}

void AnswerFormat::append_error(std::string& out, std::size_t line, const Problem& problem) const {
  if (json_) {
    JsonWriter json(out);
    write_problem(json.begin_object().field("line", line).name("error"), problem);
    json.end_object();
    out += '\n';
    return;
  }
  out += fmt::format("error line={} status={} message={}", line, static_cast<int>(problem.status),
                     quoted_text(problem.message));
  out += '\n';
}

}  // namespace rlctl::cli
