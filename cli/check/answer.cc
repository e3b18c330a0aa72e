#include "cli/check/answer.h"

#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace rlctl::cli {
namespace {

std::string_view denied_key(const Result& result) {
  const auto number = static_cast<std::size_t>(result.decision.denied_by);
  if (number == 0 || number > result.redis_keys.size()) return {};
  return result.redis_keys[number - 1];
}

/// A number, or null where nobody answered.
void append_field(std::string& out, std::string_view name, std::int64_t value, bool known) {
  out.append(",\"").append(name).append("\":");
  if (known) {
    append_number(out, value);
  } else {
    out += "null";
  }
}

void append_timing(std::string& out, const Result& result) {
  const auto& decision = result.decision;
  if (!decision.allowed && !result.peek) {
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

void append_seconds(std::string& out, std::chrono::microseconds duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  append_number(out, ms / 1000);
  out += '.';
  const auto fraction = ms % 1000;
  if (fraction < 100) out += '0';
  if (fraction < 10) out += '0';
  append_number(out, fraction);
  out += 's';
}

ResultFormat::ResultFormat(const Limiter& limiter, bool json) : json_(json) {
  algorithm_ = ",\"algorithm\":";
  append_json_string(algorithm_, limiter.algorithm->name);
  for (const auto& limit : limiter.limits) {
    limits_ += limits_.empty() ? " limit=" : ",";
    limits_ += limiter::format_limit(limit);
    std::string tail = ",";
    append_limit_fields(tail, *limiter.algorithm, limit);
    tail += '}';
    json_limits_.push_back(std::move(tail));
  }
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
  out += decision.allowed ? "allowed key=" : "denied key=";
  escape_text(out, result.key);
  out += limits_;
  if (result.on_error != nullptr) {
    out += decision.allowed ? " on_error=allow\n" : " on_error=deny\n";
    return;
  }
  out += " remaining=";
  append_number(out, decision.remaining);
  append_timing(out, result);
  if (result.redis_keys.size() > 1 && !denied_key(result).empty()) {
    out += " denied_by=";
    escape_text(out, denied_key(result));
  }
  out += '\n';
}

void ResultFormat::append_json(std::string& out, const Result& result) const {
  const auto& decision = result.decision;
  const bool known = result.on_error == nullptr;
  out += "{\"key\":";
  append_json_string(out, result.key);
  out += algorithm_;
  out += decision.allowed ? ",\"allowed\":true" : ",\"allowed\":false";
  append_field(out, "cost", result.cost, true);
  append_field(out, "remaining", decision.remaining, known);
  append_field(out, "retry_after_us", decision.retry_after.count(), known && !result.peek);
  append_field(out, "reset_after_us", decision.reset_after.count(), known);
  append_field(out, "delay_us", decision.delay.count(), known);
  out += ",\"limits\":[";
  for (std::size_t i = 0; i < json_limits_.size(); ++i) {
    out += i == 0 ? "{\"key\":" : ",{\"key\":";
    append_json_string(out, result.redis_keys[i]);
    out += json_limits_[i];
  }
  out += "],\"denied_by\":";
  if (denied_key(result).empty()) {
    out += "null";
  } else {
    append_json_string(out, denied_key(result));
  }
  if (!known) {
    out += ",\"error\":";
    append_problem_json(out, *result.on_error);
  }
  out += "}\n";
}

void ResultFormat::append_error(std::string& out, std::size_t line, const Problem& problem) const {
  const auto number = static_cast<std::int64_t>(line);
  if (json_) {
    out += "{\"line\":";
    append_number(out, number);
    out += ",\"error\":";
    append_problem_json(out, problem);
    out += "}\n";
    return;
  }
  out += "error line=";
  append_number(out, number);
  out += " status=";
  append_number(out, static_cast<std::int64_t>(problem.status));
  out += " message=";
  escape_text(out, problem.message);
  out += '\n';
}

}  // namespace rlctl::cli
