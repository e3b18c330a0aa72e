#include "exec/program.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::exec {
namespace {

/// What is kept of a program's standard error, and how many lines of it a message shows.
constexpr std::size_t kMostError = 8'192, kErrorLines = 5;
/// Reads of its standard error at a time: more than a pipe holds.
constexpr int kMostErrorReads = 64;
/// What a message shows of a key, and of a line.
constexpr std::size_t kMostShown = 60;
/// Once its input has ended, a program has this long to end by itself.
constexpr std::chrono::milliseconds kToEnd{1'000};
/// After a program has closed its output, how long it may take to end, so that a message can tell
/// how it ended.
constexpr std::chrono::milliseconds kToTellEnd{200};

}  // namespace

// ---- The processor ----

#ifdef __linux__
namespace {

/// The processors that this thread might use when it was asked first.
const cpu_set_t& all_cpus() {
  static const cpu_set_t kAll = [] {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  return kAll;
}

}  // namespace
#endif

CpuPin::CpuPin([[maybe_unused]] pid_t other) {
#ifdef __linux__
  static_cast<void>(all_cpus());
  cpu_set_t one;
  const int cpu = ::sched_getcpu();
  if (cpu < 0) return;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  std::error_code ended;
  const auto threads = fmt::format("/proc/{}/task", other);
  for (const auto& thread : std::filesystem::directory_iterator(threads, ended)) {
    const auto id = to_number<pid_t>(thread.path().filename().string());
    if (id) ::sched_setaffinity(*id, sizeof one, &one);
  }
#endif
}

CpuPin::~CpuPin() {
#ifdef __linux__
  ::sched_setaffinity(0, sizeof(cpu_set_t), &all_cpus());
#endif
}

// ---- Its environment ----

Environment::Environment(const Settings& settings) : clocks_(settings.clocks) {
  const bool has_server = redis::PrivateServer::is_installed();
  if (settings.has_virtual_clock && (has_server || clocks_)) {
    folder_.emplace();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    clock_.emplace(folder_->path(), std::chrono::floor<std::chrono::microseconds>(now));
  }
  if (!has_server) return;
  server_.emplace(clock_ ? &*clock_ : nullptr, settings.interrupt);
  server_->verify();
}

std::vector<std::string> Environment::variables() const {
  std::vector<std::string> variables;
  if (clock_ && clocks_) variables = clock_->environment(*clocks_);
  if (server_) {
    variables.push_back("RLCTL_REDIS_URL=" + server_->url());
    variables.push_back("RLCTL_REDIS_SOCKET=" + server_->socket());
  }
  return variables;
}

bool Environment::uses_server() {
  if (!uses_server_ && server_) uses_server_ = server_->other_connections() > 0;
  return uses_server_;
}

bool Environment::needs_time() {
  return clock_ && (clocks_ || uses_server());
}

void Environment::remove_keys() {
  if (uses_server()) server_->remove_keys();
}

std::vector<std::chrono::microseconds> Environment::ttls() {
  if (!uses_server()) return {};
  const auto ttls = server_->ttls();
  return {ttls.begin(), ttls.end()};
}

std::vector<ServerCommand> Environment::commands_during(const std::function<void()>& run) {
  if (uses_server()) return server_->commands_during(run);
  run();
  return {};
}

// ---- A program ----

Program::Program(const script::Candidate& candidate, const traffic::Traffic& names,
                 const Settings& settings)
    : program_(*candidate.program),
      names_(names),
      settings_(settings),
      writer_(candidate.limits.front()),
      environment_(settings),
      in_flight_(1) {}

void Program::start() {
  cpu_pin_.reset();
  environment_.expect_program();
  try {
    child_.emplace(program_.words, program_.folder, environment_.variables());
  } catch (const std::system_error& error) {
    throw UsageError(fmt::format("{}: cannot run '{}': {}", program_.name, program_.words.front(),
                                 errno_text(error.code().value())));
  }
  unsent_.clear();
  lines_ = LineBuffer(kLongestAnswer);
  has_written_ = has_answered_ = reads_no_more_ = false;
  pipeline_ = 1;
  in_flight_.assign(1, {});
}

void Program::start_and_wait() {
  constexpr std::chrono::seconds kAtMost{1};
  start();
  const auto deadline = Clock::now() + kAtMost;
  while (!has_written_ && Clock::now() < deadline) {
    wait(deadline);
    static_cast<void>(take());
  }
}

void Program::send(const traffic::Arrival& arrival) {
  environment_.set_time(arrival.sent_at());
  // Only now, since it may ask for the time as soon as it runs.
  if (!child_) start();
  if (std::exchange(forgets_, false)) unsent_ += kResetLine;
  std::string holder, reservation;
  if (traffic::is_of_reservation(arrival.event)) {
    reservation = traffic::reservation_name(arrival.holder);
  } else if (arrival.holder > 0) {
    holder = traffic::holder_name(arrival.holder);
  }
  const bool settles = arrival.event == traffic::Event::kSettle;
  writer_.append(unsent_, {.now = arrival.sent_at(),
                           .key = names_.key_name(arrival.key),
                           .cost = arrival.cost,
                           .id = static_cast<std::int64_t>(sent_) + 1,
                           .event = traffic::event_name(arrival.event),
                           .holder = holder,
                           .reservation = reservation,
                           .actual = settles ? std::optional(arrival.actual) : std::nullopt,
                           .hold = arrival.hold});
  in_flight_[sent_ % pipeline_] = arrival;
  if (in_flight() == 0) due_ = deadline_after(settings_.timeout);
  ++sent_;
}

std::optional<limiter::Decision> Program::take() {
  while (const auto line = lines_.next()) {
    if (line->text.empty() && !line->has_newline) break;
    if (line->too_long) fail(fmt::format("wrote a line of more than {} bytes", kLongestAnswer));
    const auto answer = read(line->text);
    const bool is_first_line = !std::exchange(has_written_, true);
    if (answer.pipeline) {
      if (!is_first_line) fail("wrote a \"hello\" after its first line");
      set_pipeline(static_cast<std::size_t>(*answer.pipeline));
      continue;
    }
    if (in_flight() == 0) {
      fail(fmt::format("wrote '{}' without a request", escape(line->text, kMostShown)));
    }
    const auto id = static_cast<std::int64_t>(answered_) + 1;
    if (answer.id && *answer.id != id) {
      fail(fmt::format("answered request {} instead", *answer.id),
           "the answers must be in the order of the requests");
    }
    // Nothing else is in flight yet.
    const bool is_first = !std::exchange(has_answered_, true);
    if (is_first) require_clocks();
    ++answered_;
    if (is_first && pipeline_ > 1 && environment_.needs_time()) set_pipeline(1);
    // The two share a processor only once the program has started, since a busy processor would
    // delay the start; under the real clock they never do, since both may work at the same time.
    if (is_first && settings_.has_virtual_clock) cpu_pin_.emplace(child_->pid());
    due_ = deadline_after(settings_.timeout);
    return answer.decision;
  }
  return std::nullopt;
}

Answer Program::read(std::string_view line) {
  try {
    return read_answer(line, in_flight_[answered_ % pipeline_].sent_at());
  } catch (const UsageError& error) {
    fail(fmt::format("wrote '{}': {}", escape(line, kMostShown), error.what()),
         "a program answers each request with one line; see rlctl-exec(7)");
  }
}

/// At most one request may be in flight.
void Program::set_pipeline(std::size_t pipeline) {
  const auto first = in_flight_[answered_ % pipeline_];
  pipeline_ = pipeline;
  in_flight_.assign(pipeline_, {});
  in_flight_[answered_ % pipeline_] = first;
}

void Program::flush() {
  std::string_view rest = unsent_;
  while (!rest.empty() && !reads_no_more_) {
    const auto written = ::write(child_->input(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      reads_no_more_ = true;  // its output tells why
    }
  }
  unsent_.erase(0, reads_no_more_ ? unsent_.size() : unsent_.size() - rest.size());
}

void Program::read_output() {
  const auto space = lines_.space();
  const auto size = ::read(child_->output(), space.data(), space.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  lines_.add(size > 0 ? static_cast<std::size_t>(size) : 0);
}

void Program::read_error() {
  std::array<char, 4096> buffer;
  // Not forever, since it may write as fast as this reads.
  for (int i = 0; i < kMostErrorReads && child_->error() >= 0; ++i) {
    const auto size = ::read(child_->error(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return child_->close_error();
    errors_.append(buffer.data(), static_cast<std::size_t>(size));
    if (errors_.size() > 2 * kMostError) errors_.erase(0, errors_.size() - kMostError);
  }
}

void Program::wait(Deadline until) {
  flush();
  if (lines_.end_of_file()) fail_to_answer();
  const bool has_rest = !unsent_.empty();
  std::array<pollfd, 4> files{
      {{.fd = child_->output(), .events = POLLIN, .revents = 0},
       {.fd = child_->error(), .events = POLLIN, .revents = 0},
       {.fd = settings_.interrupt != nullptr ? settings_.interrupt->fd() : -1,
        .events = POLLIN,
        .revents = 0},
       {.fd = has_rest ? child_->input() : -1, .events = POLLOUT, .revents = 0}}};
  const auto deadline = in_flight() > 0 ? std::min(until, due_) : until;
  timespec left{};
  if (deadline != kNoDeadline) {
    const auto time = std::max<Clock::duration>(deadline - Clock::now(), Clock::duration{0});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    left = {.tv_sec = static_cast<time_t>(seconds.count()),
            .tv_nsec = static_cast<long>(std::chrono::nanoseconds(time - seconds).count())};
  }
  const int ready =
      ::ppoll(files.data(), files.size(), deadline == kNoDeadline ? nullptr : &left, nullptr);
  if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
  if (settings_.interrupt != nullptr) settings_.interrupt->check();
  if (ready > 0 && files[1].revents != 0) read_error();
  if (ready > 0 && files[0].revents != 0) return read_output();
  if (in_flight() > 0 && Clock::now() >= due_) {
    fail(fmt::format("has not answered within {}{}", format_duration(settings_.timeout),
                     reads_no_more_ ? ", and has closed its standard input" : ""),
         "use a longer --timeout, or flush its output after each line", true);
  }
}

void Program::forget() {
  if (!child_) return;
  require_none_left();
  require_no_time();
  forgets_ = true;
  environment_.remove_keys();
  sent_ = answered_ = 0;
}

/// A program that lets several requests be in flight may connect to its server only until it has
/// answered the first one.
void Program::require_no_time() {
  if (pipeline_ == 1 || !environment_.needs_time()) return;
  fail(
      "has connected to RLCTL_REDIS_URL after its first answer, although it lets several requests "
      "be in flight: the server's clock is that of one request",
      "connect before the first answer, or write no \"hello\"");
}

/// Once it has answered, so that it has surely begun. It would be measured by the real time, in
/// which hardly any passes, and be reported as a limiter that never allows too much.
void Program::require_clocks() {
  read_error();
  if (environment_.has_clocks(*child_, errors_)) return;
  fail("does not follow the clock of --exec-clock",
       "the clock is a library that is preloaded: the program must be linked dynamically and run "
       "as the user of rlctl, and TMPDIR must not be on a file system that is mounted noexec; "
       "without --exec-clock, a program takes the time from now_us, see rlctl-exec(7)");
}

/// Only of what has arrived: the rest is noticed later, when it is taken for the answer to the next
/// request.
void Program::require_none_left() {
  static_cast<void>(take());
}

void Program::finish() {
  if (!child_) return;
  require_no_time();
  flush();
  child_->close_input();
  const auto deadline = Clock::now() + kToEnd;
  while (!lines_.end_of_file() && Clock::now() < deadline) {
    wait(deadline);
    require_none_left();
  }
  child_->ends_within(std::chrono::ceil<std::chrono::milliseconds>(
      std::max<Clock::duration>(deadline - Clock::now(), Clock::duration{0})));
}

/// "request 7, of key 'k'", the first in flight; "after request 7"; empty before the first
std::string Program::request_text() const {
  if (in_flight() == 0) return answered_ == 0 ? "" : fmt::format("after request {}", answered_);
  const auto& arrival = in_flight_[answered_ % pipeline_];
  return fmt::format("request {}, of key '{}'", answered_ + 1,
                     escape(names_.key_name(arrival.key), kMostShown));
}

void Program::fail(const std::string& what, const std::string& hint, bool timed_out) {
  read_error();
  const auto said = last_lines(errors_, kErrorLines);
  const auto request = request_text();
  throw ProgramError(
      fmt::format("{} {}{}{}{}", escape(program_.name), what, request.empty() ? "" : ": ", request,
                  said.empty() ? "" : "; its standard error ends with: " + said),
      hint, timed_out);
}

void Program::fail_to_answer() {
  child_->ends_within(kToTellEnd);
  fail(child_->end().value_or("closed its standard output"),
       "a program reads requests until its standard input ends; see rlctl-exec(7)");
}

// ---- A decider ----

std::size_t ProgramDecider::decide(std::span<const traffic::Arrival> arrivals,
                                   std::span<limiter::Decision> decisions) {
  std::size_t sent = 0, answered = 0;
  try {
    while (answered < arrivals.size()) {
      // In lots of half the pipeline, since each write wakes the other side.
      if (program_.in_flight() <= program_.pipeline() / 2) {
        while (sent < arrivals.size() && program_.in_flight() < program_.pipeline()) {
          program_.send(arrivals[sent++]);
        }
      }
      program_.wait(kNoDeadline);
      while (auto decision = program_.take()) decisions[answered++] = *decision;
    }
  } catch (const Interrupted&) {
    return answered;
  }
  return answered;
}

std::vector<ServerCommand> ProgramDecider::commands_of(const traffic::Arrival& arrival) {
  limiter::Decision decision;
  return program_.environment().commands_during([&] {
    if (decide({&arrival, 1}, {&decision, 1}) == 0) throw Interrupted();
  });
}

}  // namespace rlctl::exec
