#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "cli/inspect/inspect.h"
#include "cli/limits.h"
#include "cli/term/screen.h"
#include "cli/term/terminal.h"
#include "limiter/limit.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

constexpr microseconds kLeast{100'000};

/// The problem, if another attempt may succeed.
std::optional<Problem> passing_problem(const std::exception& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr) return std::nullopt;
  auto problem = describe(error);
  if (problem.status != ExitStatus::kUnreachable) return std::nullopt;
  return problem;
}

/// Shows one text after another.
class Watching {
 public:
  Watching(const Watch& how, Invocation& invocation) : how_(how), invocation_(invocation) {
    if (how.redraws) screen_.emplace(invocation.out);
  }

  void show(std::string text) {
    lost_ = false;
    text_ = std::move(text);
    if (screen_) {
      draw("every " + format_duration(how_.interval) + ", " + clock() + "; Ctrl-C ends",
           Tone::kDim);
    } else {
      if (!first_ && !invocation_.json) invocation_.out.write("\n");
      first_ = false;
      invocation_.out.write(text_);
      invocation_.out.flush();
    }
  }

  /// Waits until the next text is due or the screen must be redrawn.
  void wait(Deadline next) {
    if (screen_) {
      screen_->wait(invocation_.interrupt, next);
    } else {
      wait_for(-1, 0, &invocation_.interrupt, next);
    }
  }

  void show(const Problem& problem) {
    if (screen_) {
      std::string message;  // at the end of the line, which may be cut
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
  const auto interval = parsed("--watch", [&] { return parse_duration(masked(*option.value)); });
  if (interval < kLeast) {
    throw UsageError("--watch: " + in_quotes(*option.value) + " is too short; at least " +
                     format_duration(kLeast) + " is accepted");
  }
  return interval;
}

void watch(const Watch& how, Invocation& invocation, const std::function<std::string()>& read) {
  std::string first = read();
  Watching watching(how, invocation);
  watching.show(std::move(first));
  for (auto next = Clock::now();;) {
    // A read that takes longer than the interval is not made up for.
    next = std::max(next + how.interval, Clock::now());
    watching.wait(next);
    next = std::min(next, Clock::now());
    std::optional<Problem> problem;
    std::string text;
    try {
      text = read();
    } catch (const std::exception& error) {
      problem = passing_problem(error);
      if (!problem) throw;
    }
    if (problem) {
      watching.show(*problem);
    } else {
      watching.show(std::move(text));
    }
  }
}

}  // namespace rlctl::cli
