#include "cli/app/watch.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "cli/terminal/screen.h"

namespace rlctl::cli {
namespace {

microseconds parse_interval(const std::string& text) {
  constexpr microseconds kMin{100'000};
  const auto interval = parse_duration_of(text, "--watch");
  if (interval >= kMin) return interval;
  throw UsageError("--watch: " + in_quotes(text) + " is too short; it must be at least " +
                   format_duration(kMin));
}

/// Sets the text to what `read` returns. Returns the problem if another attempt may succeed.
std::optional<Problem> attempt(const std::function<std::string()>& read, std::string& text) {
  try {
    text = read();
    return std::nullopt;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    auto problem = drop_in_doubt_note(describe(error));  // nothing is changed
    if (problem.status != ExitStatus::kUnreachable) throw;
    return problem;
  }
}

/// Draws the text below a header, which is wrapped, since the end of an error may be its cause.
void draw(Screen& screen, const std::string& text, const std::optional<Problem>& problem,
          microseconds interval, const Look& look) {
  const auto time = instant_text(std::chrono::floor<std::chrono::seconds>(system_time()));
  const auto header =
      problem ? escaped_message(problem->message) + "; no answer at " + time + ", trying again"
              : "every " + format_duration(interval) + ", " + time + "; Ctrl-C ends";
  std::string lines;
  for (std::string_view rest = header; !rest.empty();) {
    const auto line = cut_to_width(rest, look.columns);
    if (line.empty()) break;
    lines.append(lines.empty() ? "" : "\n");
    lines += toned(line, problem ? Tone::kBad : Tone::kDim, look.colour);
    rest.remove_prefix(line.size());
  }
  // A text that stays on the terminal must not look as if it were current: the problem stays too.
  screen.draw(lines, text, problem.has_value());
}

}  // namespace

Option add_watch_option(Options& options, Watch& target, std::string_view help) {
  return options
      .optional_value("--watch", "TIME", target.is_given, into(target.interval, parse_interval),
                      help)
      .rejects_detached(is_duration);
}

bool redraws(const Invocation& invocation) {
  return !invocation.json && may_draw(invocation.out.fd());
}

void watch(const Watch& how, Invocation& invocation, const std::function<std::string()>& read) {
  auto text = read();
  std::optional<Screen> screen;
  if (redraws(invocation)) screen.emplace(invocation.out);
  std::optional<Problem> problem, last_problem;
  bool is_first = true;
  for (auto next = Clock::now();;) {
    if (screen) {
      draw(*screen, text, problem, how.interval, invocation.out.look());
    } else if (problem) {
      if (!last_problem) write_stderr(render(*problem, invocation.command, invocation.json));
    } else {
      if (!std::exchange(is_first, false) && !invocation.json) invocation.out.write("\n");
      invocation.out.write(text);
      invocation.out.flush();
    }
    // A read that takes longer than the interval is not made up for.
    next = std::max(next + how.interval, Clock::now());
    if (screen) {
      screen->wait(invocation.interrupt, next);
    } else {
      wait_for(-1, 0, &invocation.interrupt, next);
    }
    next = std::min(next, Clock::now());
    last_problem = std::exchange(problem, attempt(read, text));
    // The server may only have closed the connection; if it is gone, connecting again tells why.
    if (problem && problem->code == "unreachable") problem = attempt(read, text);
  }
}

}  // namespace rlctl::cli
