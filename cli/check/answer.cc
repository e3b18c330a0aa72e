#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/check/check.h"
#include "limiter/state.h"
#include "redis/error.h"

namespace rlctl::cli {

// ---- Results ----

namespace {

std::string_view denied_key(const Result& result) {
  const auto number = static_cast<std::size_t>(result.decision.denied_by);
  if (number == 0 || number > result.redis_keys.size()) return {};
  return result.redis_keys[number - 1];
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
  append_json_string(algorithm_, limiter.algorithm->name);
  for (const auto& limit : limiter.limits) {
    settings_ += settings_.empty() ? " limit=" : ",";
    settings_ += limiter::format_limit(limit);
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
  out += decision.allowed ? "allowed key=" : "denied key=";
  escape_text(out, result.key);
  out += settings_;
  if (result.on_error != nullptr) {
    out += decision.allowed ? " on_error=allow\n" : " on_error=deny\n";
    return;
  }
  if (result.refunded) {
    out += " refunded=";
    append_number(out, *result.refunded);
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
      .field("allowed", decision.allowed)
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
  if (!known) {
    json.name("error");
    append_problem_json(out, *result.on_error);
  }
  json.end_object();
  out += '\n';
}

void ResultFormat::append_error(std::string& out, std::size_t line, const Problem& problem) const {
  const auto number = static_cast<std::int64_t>(line);
  if (json_) {
    JsonWriter json(out);
    json.begin_object().field("line", number).name("error");
    append_problem_json(out, problem);
    json.end_object();
    out += '\n';
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

// ---- Failures ----

namespace {

/// The contents of the keys; empty if reading fails.
std::vector<limiter::Content> try_to_read(redis::Connection& connection,
                                          std::span<const std::string> keys) {
  try {
    return limiter::read_contents(connection, keys);
  } catch (const redis::Error& error) {
    // Only a clearer message is lost.
  }
  return {};
}

/// What a key holds instead of this algorithm's state; empty if the script's message is as clear.
std::string what_it_holds(const limiter::Content& content, const limiter::Algorithm& algorithm) {
  const auto state = limiter::decode(content);
  const std::string name(algorithm.name);
  if (state.is_ours()) {
    if (state.form->algorithm() == &algorithm) return {};
    return "the state of " + std::string(state.form->name) + ", not of " + name;
  }
  const auto type = limiter::with_article(content.type);
  const auto own = limiter::with_article(limiter::type_of_state(algorithm));
  if (content.type == "none") return {};
  if (type == own) return type + " that is not the state of " + name;
  return type + ", but " + name + " keeps " + own;
}

/// The n of the first "KEYS[n]" in a message, and its position; 0 if there is none.
struct KeyMention {
  std::size_t number = 0, begin = 0, end = 0;
};

KeyMention find_key_mention(std::string_view message) {
  constexpr std::string_view kMark = "KEYS[";
  KeyMention mention;
  mention.begin = message.find(kMark);
  if (mention.begin == message.npos) return {};
  const auto digits = message.substr(mention.begin + kMark.size());
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), mention.number);
  mention.end = static_cast<std::size_t>(parsed.ptr - message.data());
  if (mention.end == message.size() || message[mention.end] != ']') return {};
  ++mention.end;
  return mention;
}

}  // namespace

bool OnError::covers(const Problem& problem) const noexcept {
  return allows.has_value() && problem.status >= ExitStatus::kUnreachable &&
         problem.code != "interrupted";
}

std::string OnError::warning(const Problem& problem, std::string_view command) const {
  Problem warning = problem;
  warning.of_command = true;
  warning.message = "warning: " + problem.message + "; taken as " +
                    (*allows ? "allowed" : "denied") + " (--on-error)";
  return render(warning, command, false);
}

limiter::Decision merge_looks(const limiter::Algorithm& algorithm,
                              std::span<const limiter::Limit> limits, std::int64_t cost,
                              std::span<const limiter::Decision> looks) {
  limiter::Decision merged = looks.front();
  merged.allowed = true;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    merged.remaining = std::min(merged.remaining, looks[i].remaining);
    merged.reset_after = std::max(merged.reset_after, looks[i].reset_after);
    if (looks[i].remaining >= cost) continue;
    if (merged.allowed) merged.denied_by = static_cast<int>(i) + 1;
    merged.allowed = false;
    const auto unused = algorithm.make_model()->look(limits[i], cost, std::chrono::microseconds{0});
    if (!unused.allowed) merged.retry_after = limiter::kNever;
  }
  return merged;
}

std::int64_t units_back(std::span<const limiter::Decision> looks, std::int64_t cost) {
  const auto keys = looks.size() / 2;
  std::int64_t units = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    units = std::max(units, looks[keys + i].remaining - looks[i].remaining);
  }
  return std::min(units, -cost);
}

bool is_counted(const Result& result) {
  return result.decision.allowed && result.cost != 0 && !result.peek && result.on_error == nullptr;
}

namespace {

/// OutputClosed with a message, which is shown if SIGPIPE is ignored.
class AnswersLost : public OutputClosed {
 public:
  explicit AnswersLost(std::string message) : message_(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace

void flush_answers(Output& out, const std::function<std::string()>& loss) {
  try {
    out.flush();
  } catch (const OutputClosed& error) {
    throw AnswersLost(error.what() + loss());
  } catch (const OutputError& error) {
    throw OutputError(error.what() + loss());
  }
}

Problem may_have_been_counted(Problem problem) {
  const bool is_in_doubt =
      problem.code == "unreachable" || problem.code == "timeout" || problem.code == "protocol";
  if (!is_in_doubt) return problem;
  problem.message += kMayHaveBeenCounted;
  return without_doubt(problem);
}

namespace {

Problem explain_wrong_type(Problem problem, const limiter::Algorithm& algorithm,
                           std::span<const std::string> keys, redis::Connection& connection) {
  const std::string message = problem.message;
  const std::string server = problem.server.empty() ? "" : problem.server + ": ";
  const auto mention = find_key_mention(message);
  const bool named = mention.number >= 1 && mention.number <= keys.size();
  const auto candidates = named ? keys.subspan(mention.number - 1, 1) : keys;
  if (named) {
    problem.message = server + "'" + candidates.front() + "'" + message.substr(mention.end) +
                      " for " + std::string(algorithm.name);
    problem.hint = inspect_hint(candidates.front());
  }
  const auto contents = try_to_read(connection, candidates);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto holds = what_it_holds(contents[i], algorithm);
    if (holds.empty()) continue;
    problem.message = server + "'" + candidates[i] + "' holds " + holds;
    problem.hint = inspect_hint(candidates[i]);
    return problem;
  }
  return problem;
}

/// The keys that the user may not access, in quotes; empty if asking fails. The server checks the
/// keys of a call before it looks for the script, and no script has this SHA1.
std::string refused_keys(redis::Connection& connection, std::span<const std::string> keys) {
  const std::string no_script(40, '0');
  std::string refused;
  try {
    for (const std::string_view key : keys) connection.append_evalsha(no_script, {&key, 1}, {});
    for (const auto& key : keys) {
      const auto reply = connection.read();
      if (!reply.is_error() || redis::error_code(reply.text()) != "NOPERM") continue;
      refused += (refused.empty() ? "" : ", ") + in_quotes(key);
    }
  } catch (const redis::Error& error) {
    return {};  // only a clearer message is lost
  }
  return refused;
}

Problem name_refused_keys(Problem problem, std::span<const std::string> keys,
                          redis::Connection& connection) {
  const auto is_named = [&](const std::string& key) {
    return problem.message.find(in_quotes(key)) != problem.message.npos;
  };
  if (std::any_of(keys.begin(), keys.end(), is_named)) return problem;  // by Valkey and Redis 8
  const auto refused = keys.size() == 1 ? in_quotes(keys[0]) : refused_keys(connection, keys);
  if (!refused.empty()) problem.message += ": " + refused;
  return problem;
}

}  // namespace

bool is_about_keys(const Problem& problem) {
  return problem.code == "WRONGTYPE" || (problem.code == "NOPERM" && refuses_key(problem.message));
}

Problem explain_keys(Problem problem, const limiter::Algorithm& algorithm,
                     std::span<const std::string> keys, redis::Connection& connection) {
  return problem.code == "WRONGTYPE"
             ? explain_wrong_type(std::move(problem), algorithm, keys, connection)
             : name_refused_keys(std::move(problem), keys, connection);
}

}  // namespace rlctl::cli
