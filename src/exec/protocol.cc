#include "exec/protocol.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace rlctl::exec {
namespace {

using Json = nlohmann::json;

/// An integer member from `least` to `most`, which is the largest number that rlctl computes with;
/// std::nullopt if there is none.
std::optional<std::int64_t> integer_member(const Json& object, const char* name, std::int64_t least,
                                           std::int64_t most = limiter::kLatestComputed.count()) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return std::nullopt;
  // One that is not negative is unsigned, and may be too large for std::int64_t.
  if (member->is_number_integer() &&
      !(member->is_number_unsigned() &&
        member->get<std::uint64_t>() > static_cast<std::uint64_t>(most))) {
    const auto number = member->get<std::int64_t>();
    if (number >= least && number <= most) return number;
  }
  throw UsageError(
      fmt::format("\"{}\" must be a whole number from {} to {}, not {}", name, least, most,
                  escape(member->dump(-1, ' ', false, Json::error_handler_t::replace), 60)));
}

/// Reads a wait. Throws UsageError if it is really a time since 1970, near `now`.
std::optional<std::chrono::microseconds> time_member(const Json& object, const char* name,
                                                     std::chrono::microseconds now,
                                                     std::int64_t least = 0) {
  const auto number = integer_member(object, name, least);
  if (!number) return std::nullopt;
  const std::chrono::microseconds wait{*number};
  if (!limiter::is_time_since_1970(wait, now)) return wait;
  throw UsageError(fmt::format("\"{}\" is {}, a time since 1970: subtract now_us", name, *number));
}

limiter::Decision decision_of(bool allowed) {
  return {.allowed = allowed,
          .remaining = limiter::kNotTold,
          .retry_after = allowed ? std::chrono::microseconds{0} : limiter::kTimeNotTold,
          .reset_after = limiter::kTimeNotTold};
}

Answer read_hello(const Json& hello) {
  Answer answer{.pipeline = 1};
  if (!hello.is_object()) throw UsageError("\"hello\" is not an object");
  if (const auto pipeline = integer_member(hello, "pipeline", 1, kLargestPipeline)) {
    answer.pipeline = pipeline;
  }
  return answer;
}

Answer read_object(const Json& object, std::chrono::microseconds now) {
  if (const auto hello = object.find("hello"); hello != object.end()) return read_hello(*hello);
  const auto allowed = object.find("allowed");
  if (allowed == object.end()) throw UsageError("it has no \"allowed\"");
  if (!allowed->is_boolean()) throw UsageError("\"allowed\" is neither true nor false");
  Answer answer{.decision = decision_of(allowed->get<bool>())};
  auto& decision = answer.decision;
  answer.id = integer_member(object, "id", 1);
  if (const auto remaining =
          integer_member(object, "remaining", -limiter::kLatestComputed.count())) {
    decision.remaining = std::max<std::int64_t>(*remaining, 0);
  }
  // -1 says that waiting does not help.
  const auto retry_after = time_member(object, "retry_after_us", now, limiter::kNever.count());
  if (retry_after && !decision.allowed) decision.retry_after = *retry_after;
  if (const auto reset_after = time_member(object, "reset_after_us", now)) {
    decision.reset_after = *reset_after;
  }
  const auto delay = time_member(object, "delay_us", now);
  if (delay && decision.allowed) decision.delay = *delay;
  return answer;
}

}  // namespace

RequestWriter::RequestWriter(const limiter::Limit& limit)
    : limit_(fmt::format(R"(,"limit":{},"window_us":{},"burst":{}}})"
                         "\n",
                         limit.limit, limit.window.count(), limit.burst_or_limit())),
      lease_(fmt::format(R"(,"limit":{},"lease_us":{}}})"
                         "\n",
                         limit.limit, limit.window.count())) {}

void RequestWriter::append(std::string& out, const RequestLine& request) const {
  const auto add = [&](std::string_view name, std::int64_t number) {
    const fmt::format_int digits(number);
    out.append(name).append(digits.data(), digits.size());
  };
  add("{\"now_us\":", request.now.count());
  out += ',';
  JsonWriter(out).bytes_field("key", request.key);
  const bool is_lease = !request.holder.empty();
  if (is_lease) {
    // None of these needs escapes.
    out.append(",\"event\":\"").append(request.event).append("\"");
    out.append(",\"holder\":\"").append(request.holder).append("\"");
  } else if (!request.reservation.empty()) {
    out.append(",\"event\":\"").append(request.event).append("\"");
    out.append(",\"reservation\":\"").append(request.reservation).append("\"");
    add(",\"units\":", request.cost);
    if (request.actual) {
      add(",\"actual\":", *request.actual);
    } else {
      add(",\"hold_us\":", request.hold.count());
    }
  } else {
    add(",\"cost\":", request.cost);
  }
  add(",\"id\":", request.id);
  out += is_lease ? lease_ : limit_;
}

Answer read_answer(std::string_view line, std::chrono::microseconds now) {
  // The most frequent ones.
  if (line == "1" || line == "{\"allowed\":true}") return {.decision = decision_of(true)};
  if (line == "0" || line == "{\"allowed\":false}") return {.decision = decision_of(false)};
  const auto json = parse_json(line);
  if (json.is_discarded()) throw UsageError(fmt::format("it {}", json_fault(line)));
  if (json.is_number_integer() && (json == 0 || json == 1))
    return {.decision = decision_of(json == 1)};
  if (!json.is_object()) throw UsageError("it is neither an object nor 1 nor 0");
  return read_object(json, now);
}

}  // namespace rlctl::exec
