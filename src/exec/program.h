#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/wait.h"
#include "exec/child.h"
#include "exec/clock.h"
#include "exec/protocol.h"
#include "exec/server.h"
#include "limiter/limit.h"
#include "script/script.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// Runs a program that is a limiter: writes it a line for each request, and reads a line for each
// decision. cli/commands/burst, cli/commands/adversary and cli/commands/lint give a ProgramDecider
// their traffic under the virtual clock; exec/real_run.h sends requests to a Program when they are
// due.

namespace rlctl::exec {

/// A program that cannot be run, does not answer, or answers nonsense. what() names the program and
/// the request, and ends with what it wrote to its standard error.
class [[nodiscard]] ProgramError : public std::runtime_error {
 public:
  ProgramError(const std::string& message, std::string hint, bool timed_out = false)
      : std::runtime_error(message), hint_(std::move(hint)), timed_out_(timed_out) {}
  /// What the user can do; may be empty.
  const std::string& hint() const noexcept { return hint_; }
  /// It did not answer in time.
  bool timed_out() const noexcept { return timed_out_; }

 private:
  std::string hint_;
  bool timed_out_;
};

/// What the user says about all programs, and what is the same for all.
struct Settings {
  bool has_virtual_clock = true;         ///< its Redis server's time is that of the requests
  std::optional<Clocks> clocks = {};     ///< and so is its own, as far as these clocks go
  std::chrono::microseconds timeout{0};  ///< for the next answer
  const Interrupt* interrupt = nullptr;  ///< ends every wait, with Interrupted
};

/// Keeps this thread on the processor on which it runs, and with it the threads that another
/// process has now, until it is destroyed; then this thread may run on all that it might use at
/// first. Sharing a processor is faster if only one of the two works at a time.
class CpuPin {
 public:
  explicit CpuPin(pid_t other);
  ~CpuPin();
  CpuPin(const CpuPin&) = delete;
  CpuPin& operator=(const CpuPin&) = delete;
};

/// What a program finds around it: a Redis server of its own, if one is installed, and the virtual
/// clock.
class Environment {
 public:
  /// Throws redis::Error if the server does not start, or does not follow the clock; OutputError;
  /// and Interrupted.
  explicit Environment(const Settings& settings);

  /// The variables for the program: "NAME=value".
  std::vector<std::string> variables() const;
  /// Sets the virtual clock, if there is one.
  void set_time(std::chrono::microseconds since_1970) noexcept {
    if (clock_) clock_->set(since_1970);
  }
  /// Says that the program is about to start.
  void expect_program() noexcept {
    if (clock_) clock_->expect_program();
  }
  /// Whether the program has the clocks that it should: see VirtualClock::is_followed_by().
  bool has_clocks(const Child& program, std::string_view said) const {
    return !clock_ || !clocks_ || clock_->is_followed_by(program.pid(), program.output(), said);
  }
  /// Whether the time of a request in flight matters, so that there must be only one: the program
  /// has the virtual clock, or has ever connected to the server, whose clock it is. Throws
  /// redis::Error.
  bool needs_time();
  /// Removes all keys. Throws redis::Error.
  void remove_keys();
  /// See ClockedServer::ttls().
  std::vector<std::chrono::microseconds> ttls();
  /// See ClockedServer::commands_during(); empty if the program has not connected before.
  std::vector<ServerCommand> commands_during(const std::function<void()>& run);

 private:
  bool uses_server();

  std::optional<Clocks> clocks_;
  std::optional<TemporaryFolder> folder_;  ///< of the clock
  std::optional<VirtualClock> clock_;
  std::optional<ClockedServer> server_;
  bool uses_server_ = false;
};

/// A running program. Requests are answered in the order in which they are sent.
class Program {
 public:
  /// Does not start it. The references, and the settings' interrupt, must outlive this. Throws what
  /// Environment throws.
  Program(const script::Candidate& candidate, const traffic::Traffic& names,
          const Settings& settings);

  /// Starts it, which else the first request does, and waits for its "hello", a second at most.
  /// Throws what send() and wait() throw.
  void start_and_wait();

  /// The requests that may be in flight: one before its first answer, which shows whether it has
  /// connected to its server; then as many as its "hello" says.
  std::size_t pipeline() const noexcept { return has_answered_ ? pipeline_ : 1; }
  std::size_t in_flight() const noexcept { return sent_ - answered_; }
  /// Queues a request, which wait() sends. Throws UsageError if the program cannot be run.
  void send(const traffic::Arrival& arrival);
  /// The next decision, if it has arrived. Throws ProgramError.
  std::optional<limiter::Decision> take();
  /// Sends what is queued, and waits for more of its output, until `until` at most. Throws
  /// ProgramError if there is no answer within the timeout although a request is in flight, and
  /// Interrupted.
  void wait(Deadline until);
  /// Makes it forget everything, before the next request. Nothing may be in flight. Throws
  /// ProgramError, and what Environment throws.
  void forget();
  std::vector<std::chrono::microseconds> ttls() { return environment_.ttls(); }
  Environment& environment() noexcept { return environment_; }
  /// Lets it end by itself. Throws ProgramError if it wrote more answers than there were requests.
  void finish();

 private:
  void start();
  Answer read(std::string_view line);
  void flush();
  void read_output();
  void read_error();
  void set_pipeline(std::size_t pipeline);
  void require_none_left();
  void require_no_time();
  void require_clocks();
  std::string request_text() const;
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {},
                         bool timed_out = false);
  [[noreturn]] void fail_to_answer();

  const script::ProgramLimiter& program_;
  const traffic::Traffic& names_;
  const Settings& settings_;
  RequestWriter writer_;
  Environment environment_;
  std::optional<CpuPin> cpu_pin_;
  std::optional<Child> child_;  ///< none before the first request
  std::string unsent_;
  LineBuffer lines_{kLongestAnswer};
  std::string errors_;  ///< the end of what it wrote to its standard error
  std::size_t pipeline_ = 1;
  /// Since it last forgot everything.
  std::size_t sent_ = 0, answered_ = 0;
  std::vector<traffic::Arrival> in_flight_;  ///< a ring of `pipeline_` requests, by their numbers
  bool forgets_ = false;                     ///< before the next request
  bool has_written_ = false;                 ///< a line, of which the first may be a hello
  bool has_answered_ = false;                ///< a request
  bool reads_no_more_ = false;               ///< it has closed its input
  Deadline due_ = kNoDeadline;               ///< when the next answer must be there
};

/// Gives requests to a program, each as of its own time.
class ProgramDecider final : public simulation::ForgetfulDecider {
 public:
  /// Like Program.
  ProgramDecider(const script::Candidate& candidate, const traffic::Traffic& names,
                 const Settings& settings)
      : program_(candidate, names, settings) {}
  /// Throws ProgramError.
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  void forget() override { program_.forget(); }
  void finish() override { program_.finish(); }
  std::vector<std::chrono::microseconds> ttls() override { return program_.ttls(); }
  /// The commands on its Redis server in one request; empty if it had never connected before.
  std::vector<ServerCommand> commands_of(const traffic::Arrival& arrival);

 private:
  Program program_;
};

}  // namespace rlctl::exec
