#include "cli/server/asker.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/server/request_failure.h"
#include "redis/error.h"

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
    throw ProblemError(records ? may_have_been_counted(problem) : drop_in_doubt_note(problem));
  }
}

limiter::Decision Asker::ask(const limiter::Request& request) {
  return exchange(request, true, [&](limiter::Checker& checker) { return checker.check(request); });
}

std::vector<redis::Reply> Asker::read_replies(std::size_t count) {
  std::vector<redis::Reply> replies;
  while (replies.size() < count) replies.push_back(connection_->read());
  return replies;
}

std::vector<limiter::Decision> Asker::look(const limiter::Request& request) {
  return exchange(request, false, [&](limiter::Checker& checker) {
    const auto send = [&] {
      checker.append_read_only_looks(request);
      return read_replies(request.keys.size());
    };
    const auto lacks_evalsha_ro = [&](const redis::Reply& reply) {
      return checker.note_missing_evalsha_ro(reply);
    };
    const auto send_as_possible = [&] {
      auto replies = send();
      return std::ranges::any_of(replies, lacks_evalsha_ro) ? send() : std::move(replies);
    };
    const auto replies = limiter::send_loading(
        *connection_, algorithm_.script, send_as_possible,
        [](const auto& answers) { return std::ranges::any_of(answers, redis::is_unknown_script); });
    std::vector<limiter::Decision> looks;
    for (const auto& reply : replies) looks.push_back(limiter::Checker::parse(reply, &algorithm_));
    return looks;
  });
}

limiter::Decision Asker::peek(const limiter::Request& request) {
  return merge_looks(algorithm_, request.limits, request.cost, look(request));
}

/// A denial if the request would be allowed, but would depart later than `left` from now. A
/// departure cannot be given back, so this looks before the request is sent.
std::optional<limiter::Decision> Asker::departure_later_than(const limiter::Request& request,
                                                             microseconds left) {
  const auto looks = look(request);
  auto merged = merge_looks(algorithm_, request.limits, 0, looks);
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

}  // namespace rlctl::cli
