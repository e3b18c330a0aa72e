#include "cli/app/watch.h"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

// ---- The screen ----

constexpr std::string_view kOpen = "\033[?1049h\033[?25l";
constexpr std::string_view kClose = "\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";

/// Redraws a terminal repeatedly, on its alternate screen, without a cursor. At the end, restores
/// the terminal and writes the last text to it. Also restores it while Ctrl-Z stops the process.
class Screen {
 public:
  /// `out` must be a terminal.
  explicit Screen(Output& out) : out_(out) {}
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// `header` is one or more lines above the text. At the end it is written too if `keeps_header`.
  /// Throws what Output::flush() throws.
  void draw(const std::string& header, const std::string& text, bool keeps_header = false);
  /// Waits until the deadline, or until the process was stopped and continues, so that the screen
  /// must be redrawn. Throws Interrupted.
  void wait(const Interrupt& interrupt, Deadline deadline);

 private:
  Output& out_;
  std::optional<Suspension> open_;
  std::string last_;
};

void Screen::draw(const std::string& header, const std::string& text, bool keeps_header) {
  if (!open_) {
    out_.write_raw(kOpen);
    open_.emplace(out_.fd(), kClose, kOpen);
  }
  const auto lines = terminal_height(out_.fd());
  const auto frame = printable(header + "\n" + text, Printed::kColouredLines);
  last_ = keeps_header ? frame : text;
  out_.write_raw(frame_text(frame, terminal_width(out_.fd()), lines));
  out_.flush();
}

void Screen::wait(const Interrupt& interrupt, Deadline deadline) {
  wait_for(open_ ? open_->fd() : -1, POLLIN, &interrupt, deadline);
  if (open_) open_->clear();
}

Screen::~Screen() {
  if (!open_) return;
  open_.reset();
  try {
    out_.write_raw(kClose);
    out_.write(last_);
    out_.flush();
  } catch (...) {
    // The terminal is gone or no longer accepts output.
  }
}

// ---- One text after another ----

microseconds parse_interval(const std::string& text) {
  constexpr microseconds kMin{100'000};
  const auto interval = parse_duration_of(text, "--watch");
  if (interval >= kMin) return interval;
  throw UsageError("--watch: " + quoted_and_masked(text) + " is too short; it must be at least " +
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

std::string frame_text(std::string_view text, std::size_t columns, std::size_t lines) {
  std::string out(kHome);
  std::size_t line = 0;
  for (; line < lines && !text.empty(); ++line) {
    if (line > 0) out += '\n';
    const auto end = text.find('\n');
    out += cut_to_width(text.substr(0, end), columns);
    out += kClearLine;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  // If the text fills all lines, there is nothing to clear, and a line end would scroll.
  if (line < lines) out.append(line > 0 ? "\n" : "").append(kClearBelow);
  return out;
}

Option add_watch_option(Options& options, Watch& target, std::string_view help) {
  return options.optional_value("--watch", "TIME", target.is_given,
                                into(target.interval, parse_interval), help);
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
