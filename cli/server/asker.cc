#include "cli/server/asker.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/options/completions.h"
#include "stored/libraries.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

/// Before a longer sleep, the connection is closed: this saves the server a client, and middleboxes
/// drop idle connections.
constexpr std::chrono::seconds kKeepConnection{1};
/// Interval between updates of the time left on a terminal.
constexpr std::chrono::seconds kTick{1};

}  // namespace

std::string seconds_up(microseconds duration) {
  return std::to_string(whole_seconds(duration).count()) + "s";
}

void append_seconds(std::string& out, microseconds duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  fmt::format_to(std::back_inserter(out), "{}.{:03}s", ms / 1000, ms % 1000);
}

limiter::Checker& Asker::checker() {
  if (!connection_) {
    connection_.emplace(connector_.open());
    checker_.emplace(*connection_, algorithm_);
  }
  return *checker_;
}

/// Runs `exchange(checker)`. Makes its errors clearer: adds whether the request may have been
/// counted, and about which key it is.
template <typename Exchange>
auto Asker::exchange(const limiter::Request& request, bool records, Exchange exchange) {
  auto& open = checker();
  try {
    return exchange(open);
  } catch (const redis::Error& error) {
    Problem problem = describe(error);
    if (is_about_keys(problem)) {
      problem = explain_keys(std::move(problem), algorithm_, request.keys, *connection_);
    }
    throw ProblemError(records ? may_have_been_counted(problem, request.reservation)
                               : drop_in_doubt_note(problem));
  }
}

limiter::Decision Asker::ask(const limiter::Request& request) {
  return exchange(request, true, [&](limiter::Checker& checker) { return checker.check(request); });
}

std::vector<limiter::Decision> Asker::peek_each(const limiter::Request& request) {
  return exchange(request, false, [&](limiter::Checker& checker) {
    const auto send = [&] {
      checker.append_read_only_peeks(request);
      std::vector<redis::Reply> replies;
      while (replies.size() < request.keys.size()) replies.push_back(connection_->read());
      return replies;
    };
    const auto lacks_evalsha_ro = [&](const redis::Reply& reply) {
      return checker.note_missing_evalsha_ro(reply);
    };
    const auto send_as_possible = [&] {
      auto replies = send();
      if (std::ranges::any_of(replies, lacks_evalsha_ro)) replies = send();
      return replies;
    };
    const auto send_loading = [&] {
      return limiter::send_loading(*connection_, algorithm_.script, send_as_possible,
                                   [](const auto& answers) {
                                     return std::ranges::any_of(answers, redis::is_unknown_script);
                                   });
    };
    const auto replies = limiter::ask_within_period(send_loading, [&](const auto& answers) {
      return std::ranges::any_of(
          answers, [&](const redis::Reply& reply) { return checker.note_wrong_period(reply); });
    });
    std::vector<limiter::Decision> peeks;
    for (const auto& reply : replies) peeks.push_back(limiter::Checker::parse(reply, &algorithm_));
    return peeks;
  });
}

limiter::Decision Asker::peek(const limiter::Request& request) {
  return merge_peeks(algorithm_, request.limits, request.cost, peek_each(request));
}

/// A denial if the request would be allowed, but would depart later than `left` from now. A
/// departure cannot be given back, so this looks before the request is sent.
std::optional<limiter::Decision> Asker::departure_later_than(const limiter::Request& request,
                                                             microseconds left) {
  const auto peeks = peek_each(request);
  auto merged = merge_peeks(algorithm_, request.limits, 0, peeks);
  if (merged.reset_after <= left) return std::nullopt;
  const auto latest = std::ranges::max_element(peeks, {}, &limiter::Decision::reset_after);
  merged.allowed = false;
  merged.denied_by = static_cast<int>(latest - peeks.begin()) + 1;
  merged.retry_after = merged.reset_after - left;
  return merged;
}

limiter::Decision Asker::wait(const limiter::Request& request,
                              std::optional<microseconds> at_most) {
  const auto start = Clock::now();
  while (true) {
    const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - start);
    // A sleep that ends slightly late must not cost the request.
    const auto left = at_most ? std::max(*at_most - waited, microseconds{0}) : microseconds::max();
    if (at_most && algorithm_.has_delay) {
      if (const auto denied = departure_later_than(request, left)) return *denied;
    }
    const auto decision = ask(request);
    if (decision.allowed) {
      sleep(decision.delay, request.keys.front());
      return decision;
    }
    if (decision.retry_after == limiter::kNever || decision.retry_after > left) return decision;
    sleep(decision.retry_after, request.keys.front());
  }
}

void Asker::sleep(microseconds duration, const std::string& key) {
  sleep(duration, [&key](microseconds left) {
    return "waiting " + seconds_up(left) + " for " + escaped_text(key);
  });
}

void Asker::sleep(microseconds duration, const WaitText& text) {
  if (duration > kKeepConnection) {
    checker_.reset();
    connection_.reset();
  }
  const auto until = Clock::now() + duration;
  pollfd fd{interrupt_.fd(), POLLIN, 0};
  for (auto left = until - Clock::now(); left.count() > 0; left = until - Clock::now()) {
    if (progress_.enabled()) {
      progress_.update(text(std::chrono::ceil<microseconds>(left)) + "; Ctrl-C stops");
    }
    const auto nap = progress_.enabled() ? std::min<Clock::duration>(left, kTick) : left;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(nap);
    const timespec time{.tv_sec = static_cast<time_t>(seconds.count()),
                        .tv_nsec = static_cast<long>((nap - seconds).count())};
    ::ppoll(&fd, 1, &time, nullptr);
    interrupt_.check();
  }
  progress_.clear();
}

limiter::Decision merge_peeks(const limiter::Algorithm& algorithm,
                              std::span<const limiter::Limit> limits, std::int64_t cost,
                              std::span<const limiter::Decision> peeks) {
  limiter::Decision merged = peeks.front();
  merged.allowed = true;
  for (std::size_t i = 0; i < peeks.size(); ++i) {
    merged.remaining = std::min(merged.remaining, peeks[i].remaining);
    merged.reset_after = std::max(merged.reset_after, peeks[i].reset_after);
    if (peeks[i].remaining >= cost) continue;
    const auto unused = algorithm.make_model()->peek(limits[i], cost, std::chrono::microseconds{0});
    const bool is_first_never = !unused.allowed && merged.retry_after != limiter::kNever;
    if (merged.allowed || is_first_never) merged.denied_by = static_cast<int>(i) + 1;
    merged.allowed = false;
    if (!unused.allowed) merged.retry_after = limiter::kNever;
  }
  return merged;
}

// ---- Failures ----

namespace {

/// The values of --on-error.
constexpr std::string_view kAnswers[] = {"fail", "allow", "deny"};

OnError parse_on_error(const std::string& text) {
  if (text == "fail") return {};
  if (text == "allow" || text == "deny") return {.allows = text == "allow"};
  throw UsageError("--on-error: unknown answer " + quoted_and_masked(text) + "; use " +
                   one_of(kAnswers));
}

}  // namespace

bool OnError::covers(const Problem& problem) const noexcept {
  const bool is_of_server = problem.status == ExitStatus::kUnreachable ||
                            problem.status == ExitStatus::kRefused ||
                            problem.status == ExitStatus::kRejected;
  return allows.has_value() && is_of_server && problem.code != "interrupted";
}

std::string OnError::warning(const Problem& problem, std::string_view command) const {
  Problem warning = problem;
  warning.of_command = true;
  warning.message = "warning: " + problem.message + "; taken as " +
                    (*allows ? "allowed" : "denied") + " (--on-error)";
  return render(warning, command, false);
}

void add_on_error_option(Options& options, OnError& target) {
  options
      .value("--on-error", "ANSWER", into(target, parse_on_error),
             "fail, allow or deny when the server gives no answer (default: fail)")
      .completes([](const CompletionContext&) { return to_completions(kAnswers); });
}

namespace {

/// The contents of the keys; empty if reading fails.
std::vector<stored::KeySample> try_to_read(redis::Connection& connection,
                                           std::span<const std::string> keys) {
  try {
    return stored::read_contents(connection, keys, stored::built_in_libraries());
  } catch (const redis::Error& error) {
    // Only a clearer message is lost.
  }
  return {};
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

std::string_view what_was_counted(std::int64_t cost) {
  if (cost == 0) return {};
  return cost > 0 ? kWasCounted : "; the refund was counted";
}

void flush_answers(Output& out, const std::function<std::string()>& loss) {
  try {
    out.flush();
  } catch (const OutputError& error) {
    throw OutputError(error.what() + loss());
  }
}

bool is_in_doubt(const Problem& problem) {
  return problem.code == "unreachable" || problem.code == "timeout" || problem.code == "protocol";
}

Problem may_have_been_counted(Problem problem,
                              const std::optional<limiter::ReservationCall>& reservation) {
  if (!is_in_doubt(problem) && !refuses_in_script(problem.message)) return problem;
  problem.message += "; the request may have been counted";
  if (reservation) {
    problem.message +=
        reservation->settles
            ? "; settle " + quoted_and_masked(reservation->id) + " again: it is counted once"
            : "; ask again with ID " + quoted_and_masked(reservation->id) + ": it is counted once";
  }
  return drop_in_doubt_note(problem);
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
    const auto state =
        stored::built_in_libraries().decode({.key = candidates[i], .content = &contents[i]}, {});
    const auto holds = what_it_holds(contents[i], state, algorithm);
    if (holds.empty()) continue;
    problem.message = server + "'" + candidates[i] + "' holds " + holds;
    problem.hint = inspect_hint(candidates[i]);
    return problem;
  }
  return problem;
}

Problem name_refused_keys(Problem problem, std::span<const std::string> keys,
                          redis::Connection& connection) {
  const auto is_named = [&](const std::string& key) {
    return problem.message.find(quoted_and_masked(key)) != problem.message.npos;
  };
  if (std::any_of(keys.begin(), keys.end(), is_named)) return problem;  // by Valkey and Redis 8
  std::string refused = keys.size() == 1 ? quoted_and_masked(keys[0]) : "";
  if (refused.empty()) {
    for (const auto& key : refused_keys(connection, keys)) {
      refused += (refused.empty() ? "" : ", ") + quoted_and_masked(key);
    }
  }
  if (!refused.empty()) problem.message += ": " + refused;
  return problem;
}

}  // namespace

// The server checks the keys of a call before it peeks for the script, and no script has this SHA1.
std::vector<std::string> refused_keys(redis::Connection& connection,
                                      std::span<const std::string> keys) {
  const std::string no_script(40, '0');
  std::vector<std::string> refused;
  try {
    for (const std::string_view key : keys) connection.append_evalsha(no_script, {&key, 1}, {});
    for (const auto& key : keys) {
      const auto reply = connection.read();
      if (!reply.is_error() || redis::error_code(reply.text()) != "NOPERM") continue;
      refused.push_back(key);
    }
  } catch (const redis::Error& error) {
    return {};  // only a clearer message is lost
  }
  return refused;
}

bool is_about_keys(const Problem& problem) {
  return problem.code == "WRONGTYPE" || (problem.code == "NOPERM" && refuses_key(problem.message));
}

Problem explain_keys(Problem problem, const limiter::Algorithm& algorithm,
                     std::span<const std::string> keys, redis::Connection& connection) {
  return problem.code == "WRONGTYPE"
             ? explain_wrong_type(std::move(problem), algorithm, keys, connection)
             : name_refused_keys(std::move(problem), keys, connection);
}

std::optional<Problem> conflict_of(const limiter::Decision& decision, std::string_view key,
                                   const std::optional<limiter::ReservationCall>& asked,
                                   std::int64_t units) {
  if (!asked || !decision.conflicts()) return std::nullopt;
  const bool is_settled = decision.reservation == limiter::ReservationState::kSettled;
  return Problem{.code = "conflict",
                 .message = fmt::format("reservation {} of {} {} {}, not {}; nothing was changed",
                                        quoted_and_masked(asked->id), quoted_and_masked(key),
                                        is_settled ? "is already settled with" : "was made with",
                                        decision.units, units),
                 .hint = is_settled ? "" : "give each request an ID of its own",
                 .units = decision.units};
}

std::string what_it_holds(const stored::KeySample& content, const stored::Decoded& state,
                          const limiter::Algorithm& algorithm) {
  const std::string name(algorithm.name);
  if (state.is_ours()) {
    if (state.form->algorithm() == &algorithm) return {};
    return "the state of " + std::string(state.form->name) + ", not of " + name;
  }
  if (state.form != nullptr && !state.form->library.empty()) {
    return stored::describe_form(*state.form) + ", not " + name + "'s";
  }
  const auto type = stored::with_article(content.type);
  const auto own = stored::with_article(stored::type_of_state(algorithm));
  if (content.type == "none") return {};
  if (type == own) return type + " that is not the state of " + name;
  return type + ", but " + name + " keeps " + own;
}

}  // namespace rlctl::cli
