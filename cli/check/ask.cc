#include "cli/check/ask.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <utility>

#include "cli/inspect_hint.h"
#include "limiter/contents.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

/// Who sleeps longer than this gives the connection back: the server has one client less, and what
/// lies between drops connections on which nothing moves.
constexpr std::chrono::seconds kKeepConnection{1};
/// How often the time left is shown on a terminal.
constexpr std::chrono::seconds kTick{1};

/// What lies under the keys; empty where it cannot be had.
std::vector<limiter::Content> try_to_read(redis::Connection& connection,
                                          std::span<const std::string> keys) {
  try {
    return limiter::read_contents(connection, keys);
  } catch (const redis::Error& error) {
    // Only a better sentence is lost.
  }
  return {};
}

/// What a key holds in place of this algorithm's state; empty where it cannot be said better than
/// the script does.
std::string what_it_holds(const limiter::Content& content, const limiter::Algorithm& algorithm) {
  const auto state = limiter::decode(content);
  const std::string name(algorithm.name);
  if (state.is_ours()) {
    if (state.form->algorithm() == &algorithm) return {};
    return "the state of " + std::string(state.form->name) + ", not of " + name;
  }
  const auto type = limiter::with_article(content.type);
  const auto own = limiter::with_article(limiter::type_of_state(algorithm));
  if (content.type == "none" || type == own) return {};
  return type + ", but " + name + " keeps " + own;
}

/// The n of the first "KEYS[n]" and where it stands; 0 if there is none.
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

redis::Connection& Asker::connection() {
  if (!connection_) connection_.emplace(connector_.open());
  return *connection_;
}

/// Runs `exchange(checker)`. What it throws is made clearer: whether the request may have been
/// counted, and what a key of the wrong type holds.
template <typename Exchange>
auto Asker::exchange(const limiter::Request& request, bool records, Exchange exchange) {
  auto& open = connection();
  try {
    limiter::Checker checker(open, algorithm_);
    return exchange(checker);
  } catch (const redis::Error& error) {
    Problem problem = describe(error);
    if (problem.code == "WRONGTYPE") {
      problem = explain_wrong_type(std::move(problem), algorithm_, request.keys, open);
    }
    throw ProblemError(records ? may_have_been_counted(problem) : without_doubt(problem));
  }
}

limiter::Decision Asker::ask(const limiter::Request& request) {
  return exchange(request, true, [&](limiter::Checker& checker) { return checker.check(request); });
}

std::vector<limiter::Decision> Asker::look(const limiter::Request& request) {
  return exchange(request, false, [&](limiter::Checker& checker) {
    const auto look_once = [&] {
      checker.append_looks(request);
      std::vector<redis::Reply> replies;
      while (replies.size() < request.keys.size()) replies.push_back(connection_->read());
      return replies;
    };
    auto replies = look_once();
    if (std::any_of(replies.begin(), replies.end(), limiter::is_unknown_script)) {
      checker.load();
      replies = look_once();
    }
    std::vector<limiter::Decision> looks;
    for (const auto& reply : replies) looks.push_back(limiter::Checker::parse(reply));
    return looks;
  });
}

limiter::Decision Asker::peek(const limiter::Request& request) {
  return merge_looks(look(request), request.cost);
}

/// A request would be allowed, but to leave only after `left`: denied, where that is so. Taking a
/// departure cannot be undone, so it is looked at before.
std::optional<limiter::Decision> Asker::departure_later_than(const limiter::Request& request,
                                                             microseconds left) {
  const auto looks = look(request);
  auto merged = merge_looks(looks, 0);
  if (merged.reset_after <= left) return std::nullopt;
  const auto late = std::find_if(looks.begin(), looks.end(),
                                 [&](const auto& look) { return look.reset_after > left; });
  merged.allowed = false;
  merged.denied_by = static_cast<int>(late - looks.begin()) + 1;
  merged.retry_after = merged.reset_after - left;
  return merged;
}

limiter::Decision Asker::wait(const limiter::Request& request,
                              std::optional<microseconds> at_most) {
  const auto start = Clock::now();
  while (true) {
    const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - start);
    const auto left = at_most ? *at_most - waited : microseconds::max();
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
  if (duration > kKeepConnection) connection_.reset();
  const auto until = Clock::now() + duration;
  pollfd fd{interrupt_.fd(), POLLIN, 0};
  for (auto left = until - Clock::now(); left.count() > 0; left = until - Clock::now()) {
    progress_.update(std::chrono::ceil<microseconds>(left), key);
    const auto nap = progress_.enabled() ? std::min<Clock::duration>(left, kTick) : left;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(nap);
    const timespec time{.tv_sec = static_cast<time_t>(seconds.count()),
                        .tv_nsec = static_cast<long>((nap - seconds).count())};
    ::ppoll(&fd, 1, &time, nullptr);
    interrupt_.check();
  }
  progress_.clear();
}

limiter::Decision merge_looks(std::span<const limiter::Decision> looks, std::int64_t cost) {
  limiter::Decision merged = looks.front();
  merged.allowed = true;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    merged.remaining = std::min(merged.remaining, looks[i].remaining);
    merged.reset_after = std::max(merged.reset_after, looks[i].reset_after);
    if (merged.allowed && looks[i].remaining < cost) {
      merged.allowed = false;
      merged.denied_by = static_cast<int>(i) + 1;
    }
  }
  return merged;
}

Problem may_have_been_counted(Problem problem) {
  const bool is_in_doubt =
      problem.code == "unreachable" || problem.code == "timeout" || problem.code == "protocol";
  if (!is_in_doubt) return problem;
  problem.message += kMayHaveBeenCounted;
  return without_doubt(problem);
}

Problem explain_wrong_type(Problem problem, const limiter::Algorithm& algorithm,
                           std::span<const std::string> keys, redis::Connection& connection) {
  const std::string message = problem.message;
  const auto mention = find_key_mention(message);
  const bool named = mention.number >= 1 && mention.number <= keys.size();
  const auto candidates = named ? keys.subspan(mention.number - 1, 1) : keys;
  if (named) {
    problem.message = "'" + candidates.front() + "'" + message.substr(mention.end) + " for " +
                      std::string(algorithm.name);
    problem.hint = inspect_hint(candidates.front());
  }
  const auto contents = try_to_read(connection, candidates);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto holds = what_it_holds(contents[i], algorithm);
    if (holds.empty()) continue;
    problem.message = "'" + candidates[i] + "' holds " + holds;
    problem.hint = inspect_hint(candidates[i]);
    return problem;
  }
  return problem;
}

}  // namespace rlctl::cli
