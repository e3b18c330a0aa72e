#include "cli/watch.h"

#include <algorithm>
#include <optional>

#include "cli/duration_text.h"
#include "cli/escape.h"
#include "cli/limit_options.h"
#include "cli/screen.h"
#include "cli/style.h"
#include "cli/terminal.h"
#include "limiter/limit.h"
#include "redis/error.h"
#include "redis/wait.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

constexpr microseconds kLeast{100'000};

/// The problem where another attempt may help; else throws it on.
Problem passing_problem(const std::exception& error) {
  const auto* failure = dynamic_cast<const redis::Error*>(&error);
  if (failure != nullptr && failure->failure() == redis::Failure::kInterrupted) throw;
  Problem problem = describe(error);
  if (problem.status != ExitStatus::kUnreachable) throw;
  return problem;
}

/// Shows one text after another.
class Watching {
 public:
  Watching(const Watch& how, Invocation& invocation) : how_(how), invocation_(invocation) {
    if (how.redraws && may_draw(invocation.out.fd())) screen_.emplace(invocation.out);
  }

  void show(std::string text) {
    lost_ = false;
    text_ = std::move(text);
    if (screen_) {
      draw("every " + limiter::format_duration(how_.interval) + ", " + clock() + "; Ctrl-C ends",
           Tone::kDim);
    } else {
      if (!first_ && !invocation_.json) invocation_.out.write("\n");
      first_ = false;
      invocation_.out.write(text_);
      invocation_.out.flush();
    }
  }

  /// Until it is time for the next text, or for the same anew.
  void wait(redis::Deadline next) {
    if (screen_) {
      screen_->wait(invocation_.interrupt, next);
    } else {
      redis::wait_for(-1, 0, &invocation_.interrupt, next);
    }
  }

  void show(const Problem& problem) {
    if (screen_) {
      std::string message;  // last, where it may be cut
      escape_message(message, problem.message);
      draw("no answer at " + clock() + ", trying again: " + message, Tone::kBad);
    } else if (!lost_) {
      write_stderr(render(problem, invocation_.command, invocation_.json));
    }
    lost_ = true;
  }

 private:
  void draw(const std::string& header, Tone tone) {
    screen_->draw(toned(header, tone, may_colour(invocation_.out.fd())), text_);
  }

  static std::string clock() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return instant_text(std::chrono::floor<std::chrono::seconds>(now));
  }

  const Watch& how_;
  Invocation& invocation_;
  std::optional<Screen> screen_;
  std::string text_;
  bool lost_ = false;
  bool first_ = true;
};

}  // namespace

microseconds parse_watch(const OptionalValue& option) {
  if (!option.value) return Watch{}.interval;
  const auto interval =
      parsed("--watch", [&] { return limiter::parse_duration(masked(*option.value)); });
  if (interval < kLeast) {
    throw UsageError("--watch: " + in_quotes(*option.value) + " is too often; at least " +
                     limiter::format_duration(kLeast) + " is accepted");
  }
  return interval;
}

void watch(const Watch& how, Invocation& invocation, const std::function<std::string()>& read) {
  std::string first = read();
  Watching watching(how, invocation);
  watching.show(std::move(first));
  for (auto next = redis::Clock::now();;) {
    // What takes longer than the interval is not made up for.
    next = std::max(next + how.interval, redis::Clock::now());
    watching.wait(next);
    next = std::min(next, redis::Clock::now());
    std::optional<Problem> problem;
    std::string text;
    try {
      text = read();
    } catch (const std::exception& error) {
      problem = passing_problem(error);
    }
    if (problem) {
      watching.show(*problem);
    } else {
      watching.show(std::move(text));
    }
  }
}

}  // namespace rlctl::cli
