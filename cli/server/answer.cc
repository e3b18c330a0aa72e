#include "cli/server/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/server/asker.h"
#include "cli/terminal/terminal.h"
#include "limiter/budget_model.h"

namespace rlctl::cli {

struct AnswerOfLimiter {
  const Limiter& limiter;
  const Answer& answer;

  /// Null if the server did not answer.
  template <typename Value>
  std::optional<Value> known(Value value) const {
    return answer.on_error == nullptr ? std::optional(value) : std::nullopt;
  }
};

struct WrongLine {
  std::size_t line;
  const Problem& problem;
};

namespace {

std::string_view denied_key(const Answer& answer) {
  const auto number = static_cast<std::size_t>(answer.decision.denied_by);
  if (number == 0 || number > answer.redis_keys.size()) return {};
  return answer.redis_keys[number - 1];
}

/// The reservation as it stands or, if it is unknown, as it was asked for.
struct Reserved {
  std::string_view id;
  limiter::ReservationState state;
  std::int64_t units;
  std::chrono::microseconds hold;
  std::string_view reason;  ///< why it was denied though its units are free; empty if they are not
};

std::optional<Reserved> reserved(const Answer& answer) {
  if (answer.reservation == nullptr) return std::nullopt;
  const auto& decision = answer.decision;
  const bool is_full =
      answer.on_error == nullptr && !decision.allowed && decision.remaining >= answer.cost;
  Reserved reserved{.id = answer.reservation->id,
                    .state = limiter::ReservationState::kUnknown,
                    .units = answer.cost,
                    .hold = answer.reservation->hold,
                    .reason = is_full ? limiter::kAllReservationsHeld : std::string_view()};
  // Without an answer, nothing is known.
  const auto state = decision.reservation.value_or(limiter::ReservationState::kUnknown);
  if (state != limiter::ReservationState::kUnknown) {
    reserved.state = state;
    reserved.units = decision.units;
    reserved.hold = decision.hold;
  }
  return reserved;
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

// ---- JSON ----

using namespace json_type;

constexpr JsonField<Reserved> kReservedFields[] = {
    {"id", JsonType{"reservation_id"},
     "The ID, by which the reservation is settled or asked for again.",
     [](const auto& of) { return JsonBytes{of.id}; }},
    {"state", JsonType{"reservation_state"},
     "What the reservation is after the request; unknown if it was denied, or --on-error gave the "
     "answer. Other than held or unknown only if the ID was used before.",
     [](const auto& of) { return limiter::to_text(of.state); }},
    {"units", kCount,
     "The units that the reservation holds or held, or was settled with. If it is unknown, those "
     "that were asked for.",
     [](const auto& of) { return of.units; }},
    {"hold_us", JsonType{R"("type": "integer", "minimum": 1000)"},
     "Microseconds for which it holds or held them. If it is unknown, those that were asked for.",
     [](const auto& of) { return of.hold; }},
    {"reason", kTextOrNull,
     "Why the reservation was denied although its units are free: 500 others are held. Otherwise "
     "null.",
     [](const auto& of) { return known_text(of.reason); }},
};
constexpr JsonObject<Reserved> kReserved(kReservedFields);

constexpr JsonField<AnswerOfLimiter> kAnswerFields[] = {
    {"key", kBytes, "The key that was checked. With --policy, the key made from the arguments.",
     [](const auto& of) { return JsonBytes{of.answer.key}; }},
    {"algorithm", kAlgorithm, {}, [](const auto& of) { return of.limiter.algorithm->name; }},
    {"allowed", kBoolean, "The answer.", [](const auto& of) { return passes(of.answer); }},
    {"cost", kInteger, "The units that the request takes; below 0, those that it gives back.",
     [](const auto& of) { return of.answer.cost; }},
    {"remaining", kCountOrNull,
     "How many more requests of cost 1 would be allowed now; with several limits, the smallest of "
     "these numbers.",
     [](const auto& of) { return of.known(of.answer.decision.remaining); }},
    {"retry_after_us", kWaitOrNull,
     "Microseconds until this request would be allowed if no other came first: 0 if it is allowed, "
     "-1 if never. With --peek, -1 or null.",
     [](const auto& of) {
       const auto wait = of.answer.decision.retry_after;
       const bool is_told = !of.answer.peek || wait == limiter::kNever;
       return is_told ? of.known(wait) : std::nullopt;
     }},
    {"reset_after_us", kDurationOrNull,
     "Microseconds until all keys are as if they had never been used.",
     [](const auto& of) { return of.known(of.answer.decision.reset_after); }},
    {"delay_us", kDurationOrNull,
     "Microseconds to wait before going on; other than 0 only with leaky-bucket.",
     [](const auto& of) { return of.known(of.answer.decision.delay); }},
    {"limits", array_of(kLimitOfKeyJson, 1),
     "The limits, in their order on the command line or in the policy.",
     [](const auto& of, const auto& add) {
       const auto& limits = of.limiter.limits;
       for (std::size_t i = 0; i < limits.size(); ++i) {
         add({of.answer.redis_keys[i], {*of.limiter.algorithm, limits[i]}});
       }
     }},
    {"denied_by", kBytesOrNull,
     "The key in Redis that asks for the longest wait, or null if the request is allowed.",
     [](const auto& of) { return known_bytes(denied_key(of.answer)); }},
    {"reservation?", kReserved,
     "The reservation that --reserve asked for. Present only with --hold.",
     [](const auto& of) { return reserved(of.answer); }},
    {"holders?",
     JsonType{R"("type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3)"},
     "Who holds the leases that deny a run, at most three; those that lapse first come first. "
     "Present only with rlctl run, if they are known.",
     [](const auto& of) {
       const auto& holders = of.answer.holders;
       return holders.empty() ? std::nullopt : std::optional(std::span(holders));
     }},
    {"would_deny?", kBoolean,
     "Whether the limiter, or --on-error deny, denied the request. Present only with --shadow: "
     "retry_after_us and denied_by are then the limiter's, although allowed is true.",
     [](const auto& of) {
       return of.answer.shadow ? std::optional(!of.answer.decision.allowed) : std::nullopt;
     }},
    {"error?", kErrorJson,
     "Why the server did not answer. Present only if --on-error gave the answer: remaining, "
     "retry_after_us, reset_after_us, delay_us and denied_by are then null.",
     [](const auto& of) { return of.answer.on_error; }},
};

constexpr JsonField<WrongLine> kWrongLineFields[] = {
    {"line", kNumberFromOne, "The number of the line in the input.",
     [](const auto& of) { return of.line; }},
    {"error", kErrorJson, "Why the line has no answer.",
     [](const auto& of) -> const Problem& { return of.problem; }},
};

}  // namespace

constinit const JsonObject<AnswerOfLimiter> kAnswerJson("answer", "The answer to a request",
                                                        kAnswerFields);
constinit const JsonObject<WrongLine> kWrongLineJson("wrong_line",
                                                     "A line of a batch that has no answer",
                                                     kWrongLineFields);

AnswerFormat::AnswerFormat(const Limiter& limiter, bool json, bool colour)
    : limiter_(limiter),
      json_(json),
      allowed_(toned("allowed", Tone::kGood, colour)),
      denied_(toned("denied", Tone::kBad, colour)),
      settings_(" limit=" + limiter::format_limits(limiter.limits)) {
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
    kAnswerJson.append_line(out, {limiter_, answer});
  } else {
    append_text(out, answer);
  }
}

void AnswerFormat::append_text(std::string& out, const Answer& answer) const {
  const auto& decision = answer.decision;
  out.append(passes(answer) ? allowed_ : denied_).append(" key=");
  out += escaped_text(answer.key);
  out += settings_;
  const auto reservation = reserved(answer);
  if (reservation) {
    out += " reservation=" + escaped_text(reservation->id);
    out.append(" state=").append(limiter::to_text(reservation->state)).append(" units=");
    append_number(out, reservation->units);
    out += " hold=";
    append_seconds(out, reservation->hold);
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
  if (reservation && !reservation->reason.empty()) {
    out += " reason=" + quoted_text(reservation->reason);
  }
  out += '\n';
}

void AnswerFormat::append_error(std::string& out, std::size_t line, const Problem& problem) const {
  if (json_) {
    kWrongLineJson.append_line(out, {line, problem});
    return;
  }
  out += fmt::format("error line={} status={} message={}", line, static_cast<int>(problem.status),
                     quoted_text(problem.message));
  out += '\n';
}

}  // namespace rlctl::cli
