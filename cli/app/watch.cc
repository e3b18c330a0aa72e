#include "cli/app/watch.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

constexpr microseconds kMinInterval{100'000};

/// The problem, if another attempt may succeed.
std::optional<Problem> passing_problem(const std::exception& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr) return std::nullopt;
  auto problem = describe(error);
  if (problem.status != ExitStatus::kUnreachable) return std::nullopt;
  return problem;
}

/// A text that was read, or the problem if another attempt may succeed.
struct Attempt {
  std::string text = {};
  std::optional<Problem> problem = {};
};

Attempt attempt(const std::function<std::string()>& read) {
  try {
    return {.text = read()};
  } catch (const std::exception& error) {
    auto problem = passing_problem(error);
    if (!problem) throw;
    return {.problem = std::move(problem)};
  }
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
      // What stays on the terminal must not look as if it were current.
      draw(escaped_message(problem.message) + "; no answer at " + clock() + ", trying again",
           Tone::kBad, true);
    } else if (!lost_) {
      write_stderr(render(problem, invocation_.command, invocation_.json));
    }
    lost_ = true;
  }

 private:
  /// Wraps the header, since the end of an error may be its cause.
  void draw(const std::string& header, Tone tone, bool keeps_header = false) {
    const Look look = invocation_.out.look();
    std::string lines;
    for (std::string_view rest = header; !rest.empty();) {
      const auto line = cut_to_width(rest, look.columns);
      if (line.empty()) break;
      lines.append(lines.empty() ? "" : "\n").append(toned(line, tone, look.colour));
      rest.remove_prefix(line.size());
    }
    screen_->draw(lines, text_, keeps_header);
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

microseconds parse_watch(const std::string& text) {
  const auto interval = parse_duration_of(text, "--watch");
  if (interval >= kMinInterval) return interval;
  throw UsageError("--watch: " + in_quotes(text) + " is too short; it must be at least " +
                   format_duration(kMinInterval));
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
    auto last = attempt(read);
    // The server may only have closed the connection; if it is gone, connecting again tells why.
    if (last.problem && last.problem->code == "unreachable") last = attempt(read);
    if (last.problem) {
      watching.show(*last.problem);
    } else {
      watching.show(std::move(last.text));
    }
  }
}

}  // namespace rlctl::cli
