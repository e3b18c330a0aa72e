#include "cli/commands/debug/dap/adapter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands/debug/dap/breakpoints.h"
#include "cli/commands/debug/dap/exception_breakpoints.h"
#include "cli/commands/debug/dap/halts.h"
#include "cli/commands/debug/dap/launch.h"
#include "cli/commands/debug/dap/socket.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"

namespace rlctl::cli::debug {
namespace dap {
namespace {

std::string message_of(const Problem& problem) {
  return problem.hint.empty() ? problem.message : problem.message + " (" + problem.hint + ")";
}

}  // namespace

ExitStatus Adapter::serve() {
  while (!is_over_) {
    receive(true);
    if (launch_request_) launch();
  }
  out_.flush();
  if (!broken_.empty()) throw UsageError(broken_);
  return ExitStatus::kDone;
}

// ---- Messages ----

/// Answers what the client has sent; if that is nothing and `waits`, waits for it.
void Adapter::receive(bool waits) {
  if (answer_received()) return;
  if (!client_.read(waits)) is_over_ = true;
  static_cast<void>(answer_received());
}

/// Answers the messages that are complete, up to a launch. Returns whether there were any.
bool Adapter::answer_received() {
  bool were_any = false;
  try {
    while (!is_over_ && !launch_request_) {
      const auto body = client_.next();
      if (!body) break;
      were_any = true;
      const auto request = parse_json(*body);
      if (request.is_discarded()) {
        client_.refuse(parse_json_outline(*body), fmt::format("the message {}", json_fault(*body)));
      } else {
        receive_request(request);
      }
    }
  } catch (const UsageError& error) {
    broken_ = error.what();
    is_over_ = true;
  }
  return were_any;
}

void Adapter::receive_request(const Json& request) {
  try {
    const auto* seq = member(request, "seq");
    if (text_member(request, "type") != "request" || seq == nullptr || !seq->is_number_integer()) {
      throw UsageError("this is not a request: \"seq\" and \"type\": \"request\" are missing");
    }
    answer(request);
  } catch (const OutputClosed&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    client_.refuse(request, message_of(describe(error)));
  }
}

/// Throws UsageError for what is refused.
void Adapter::answer(const Json& request) {
  const auto command = text_member(request, "command");
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [&](const Row& row) { return row.command == command; });
  if (found == rows().end()) {
    throw UsageError("rlctl does not support the request " + quoted_and_masked(command));
  }
  const bool is_initialize = command == "initialize";
  if (is_initialize == is_initialized_ && command != "disconnect") {
    throw UsageError(is_initialize ? "it has been initialized" : "the first request is initialize");
  }
  if (found->needs != Needs::kNothing && state_ == State::kNone) {
    throw UsageError("no script has been launched; launch comes first");
  }
  if (found->needs == Needs::kStop && state_ != State::kStopped) {
    throw UsageError(state_ == State::kRunning       ? "the script is running: pause it first"
                     : state_ == State::kConfiguring ? "the script has not started"
                                                     : "the script has ended");
  }
  if (found->waits && state_ == State::kRunning) {
    waiting_.push_back(request);
    return;
  }
  const auto* arguments = member(request, "arguments");
  static const Json kNone = Json::object();
  if (found->answer == nullptr) {
    if (command == "attach") {
      throw UsageError(
          "rlctl attaches to no server: launch runs the script in this process, on copies of keys");
    }
    if (state_ != State::kNone || launch_request_) throw UsageError("a script was launched");
    launch_request_ = request;
    return;
  }
  client_.respond(request, found->answer(*this, arguments == nullptr ? kNone : *arguments));
  if (is_initialize) is_initialized_ = true;
}

// ---- From launch to end ----

void Adapter::launch() {
  const auto request = *std::exchange(launch_request_, std::nullopt);
  try {
    const auto* arguments = member(request, "arguments");
    auto launch =
        read_launch(arguments == nullptr ? Json() : *arguments, given_, invocation_.connection);
    stops_on_entry_ = launch.stops_on_entry;
    Invocation invocation{.command = invocation_.command,
                          .operands = std::move(launch.operands),
                          .program = {},
                          .options = invocation_.options,
                          .connection = launch.connection,
                          .configuration = invocation_.configuration,
                          .json = false,
                          .interrupt = invocation_.interrupt,
                          .out = out_};
    auto plan = make_plan(std::move(launch.plan), invocation);
    run_session(plan, invocation, [&](const EngineKeys& keys) {
      drive(plan, keys, request);
      return ExitStatus::kDone;
    });
  } catch (const OutputClosed&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    if (state_ == State::kNone) {
      client_.refuse(request, message_of(describe(error)));
    } else {
      client_.output("stderr", message_of(describe(error)));
      client_.event("terminated");
    }
  }
  state_ = State::kNone;
}

/// Serves the client while there is a script.
void Adapter::drive(const Plan& plan, const EngineKeys& keys, const Json& request) {
  debugger::EngineDebugger::Options options;
  options.wants_stop = [this] { return wants_stop(); };
  options.on_message = [this](int line, const std::string& text) {
    client_.log(escaped_message(text), script_->source(), counting_.line(line));
  };
  options.stops_at_errors = true;
  options.interrupt = &invocation_.interrupt;
  script_.emplace(plan, keys, counting_, std::move(options));
  variables_.emplace(*script_);
  // The keys, which the script uses, are gone after this, in whatever way it ends.
  const std::unique_ptr<Adapter, void (*)(Adapter*)> at_end(this, [](Adapter* adapter) {
    adapter->variables_.reset();
    adapter->script_.reset();
  });
  state_ = State::kConfiguring;
  client_.respond(request, nullptr);
  client_.output("console", keys.where);
  client_.event("initialized");
  while (!is_over_) {
    if (std::exchange(is_beginning_, false)) {
      begin();
    } else if (const auto move = std::exchange(move_, nullptr)) {
      run(move);
    } else {
      receive(true);
    }
  }
}

void Adapter::begin() {
  state_ = State::kRunning;
  auto halt = script_->stepper().begin();
  auto& debugger = script_->debugger();
  for (auto& body : drop_lost_breakpoints(*script_)) client_.event("breakpoint", std::move(body));
  if (!debugger.running() || stops_on_entry_) return halted(halt);
  report(halt);
  if (auto reason = debugger.reason_to_halt()) return after_stop(*std::move(reason), true);
  runs_freely_ = true;
  run(&debugger::EngineDebugger::go_on);
}

void Adapter::run(Move move) {
  state_ = State::kRunning;
  after_stop((script_->debugger().*move)(), runs_freely_);
}

/// Continues if the script was stopped only for a request that had to wait.
void Adapter::after_stop(debugger::Halt halt, bool is_free) {
  auto& debugger = script_->debugger();
  runs_freely_ = is_free;
  while (halt.why == debugger::Halt::Why::kStopped && !is_paused_ && !is_over_) {
    report(halt);
    halt = {.why = halt.why, .line = halt.line};
    state_ = State::kStopped;
    if (answer_waiting()) return;
    if (!is_free) break;
    state_ = State::kRunning;
    halt = debugger.go_on();
  }
  halted(halt);
  static_cast<void>(answer_waiting());
}

/// Answers the requests that came while the script ran. Returns whether one ended this run.
bool Adapter::answer_waiting() {
  for (const auto& request : std::exchange(waiting_, {})) receive_request(request);
  return is_beginning_ || state_ == State::kEnded;
}

/// Whether a running script must stop: polled while it runs.
bool Adapter::wants_stop() {
  if (state_ != State::kRunning) return false;
  receive(false);
  const bool waits_in_vain = std::any_of(waiting_.begin(), waiting_.end(), [](const Json& request) {
    return !request["command"].get<std::string>().ends_with("Breakpoints");
  });
  return is_paused_ || is_over_ || waits_in_vain || (runs_freely_ && !waiting_.empty());
}

void Adapter::halted(const debugger::Halt& halt) {
  report(halt);
  variables_->forget();
  if (is_over_) return;
  if (!script_->debugger().running()) return end_run();
  state_ = State::kStopped;
  is_paused_ = false;
  error_.reset();
  if (halt.why == debugger::Halt::Why::kError) error_ = halt.error;
  client_.event("stopped", stopped_body(halt));
}

/// Shows what the script did since its last stop.
void Adapter::report(const debugger::Halt& halt) {
  client_.output("stdout", done_text(halt));
}

/// Shows how the script ended, and what it left.
void Adapter::end_run() {
  auto text = script_->end_text();
  const auto status = script_->stepper().status();
  client_.output(status == ExitStatus::kDone ? "stdout" : "stderr", std::move(text));
  client_.event("exited", {{"exitCode", static_cast<int>(status)}});
  end();
}

void Adapter::end() {
  state_ = State::kEnded;
  is_paused_ = false;
  variables_->forget();
  client_.event("terminated");
}

// ---- Requests: the session ----

Json Adapter::initialize(const Json& arguments) {
  counting_.first_line = flag_member(arguments, "linesStartAt1", true) ? 1 : 0;
  counting_.first_column = flag_member(arguments, "columnsStartAt1", true) ? 1 : 0;
  Json capabilities;
  for (const auto* known :
       {"supportsConfigurationDoneRequest", "supportsConditionalBreakpoints",
        "supportsHitConditionalBreakpoints", "supportsLogPoints", "supportsEvaluateForHovers",
        "supportsTerminateRequest", "supportsRestartRequest", "supportsExceptionInfoRequest",
        "supportsSetVariable"}) {
    capabilities[known] = true;
  }
  capabilities["exceptionBreakpointFilters"] = exception_filters();
  return capabilities;
}

Json Adapter::configuration_done() {
  if (state_ != State::kConfiguring || is_beginning_) {
    throw UsageError("the script has started");
  }
  is_beginning_ = true;
  return nullptr;
}

Json Adapter::restart() {
  if (state_ == State::kConfiguring) throw UsageError("the script has not started");
  try {
    script_->reset();
  } catch (const UsageError& error) {
    throw UsageError(std::string("restart: ") + error.what(), error.hint());
  }
  variables_->forget();
  move_ = nullptr;
  is_paused_ = false;
  is_beginning_ = true;
  return nullptr;
}

Json Adapter::exception_info() const {
  if (!error_) throw UsageError("the script has not stopped at an error");
  return {{"exceptionId", "error"},
          {"description", escaped_message(*error_)},
          {"breakMode", "unhandled"}};
}

Json Adapter::terminate() {
  if (state_ == State::kEnded) throw UsageError("the script has ended");
  script_->debugger().leave();
  is_beginning_ = false;
  move_ = nullptr;
  end();
  return nullptr;
}

Json Adapter::disconnect() {
  is_over_ = true;
  return nullptr;
}

Json Adapter::threads() const {
  const auto name = script_ ? script_->name() : "script";
  return {{"threads", Json::array({{{"id", kThread}, {"name", name}}})}};
}

// ---- Requests: moving ----

Json Adapter::begin_move(Move move, bool is_free) {
  if (move_ != nullptr) throw UsageError("the script is running: pause it first");
  move_ = move;
  runs_freely_ = is_free;
  variables_->forget();
  if (!is_free) return nullptr;
  return {{"allThreadsContinued", true}};
}

Json Adapter::pause() {
  // It is stopped, or has ended, before the client knows.
  is_paused_ = state_ == State::kRunning || is_beginning_ || move_ != nullptr;
  return nullptr;
}

// ---- The requests ----

std::span<const Adapter::Row> Adapter::rows() {
  using A = Adapter;
  using D = debugger::EngineDebugger;
  using J = const Json;
  static constexpr Row kRows[] = {
      {"initialize", Needs::kNothing, [](A& a, J& given) { return a.initialize(given); }},
      {"launch", Needs::kNothing, nullptr},
      {"attach", Needs::kNothing, nullptr},
      {"configurationDone", Needs::kScript, [](A& a, J&) { return a.configuration_done(); }},
      {"disconnect", Needs::kNothing, [](A& a, J&) { return a.disconnect(); }},
      {"terminate", Needs::kScript, [](A& a, J&) { return a.terminate(); }, true},
      {"restart", Needs::kScript, [](A& a, J&) { return a.restart(); }, true},
      {"setBreakpoints", Needs::kScript,
       [](A& a, J& given) { return set_breakpoints(*a.script_, given); }, true},
      {"setExceptionBreakpoints", Needs::kScript,
       [](A& a, J& given) { return set_exception_breakpoints(*a.script_, given); }, true},
      {"exceptionInfo", Needs::kStop, [](A& a, J&) { return a.exception_info(); }},
      {"threads", Needs::kNothing, [](A& a, J&) { return a.threads(); }},
      {"stackTrace", Needs::kStop, [](A& a, J& given) { return stack_trace(*a.script_, given); }},
      {"scopes", Needs::kStop, [](A& a, J& given) { return a.variables_->scopes(given); }},
      {"variables", Needs::kStop, [](A& a, J& given) { return a.variables_->variables(given); }},
      {"evaluate", Needs::kStop, [](A& a, J& given) { return a.variables_->evaluate(given); }},
      {"setVariable", Needs::kStop,
       [](A& a, J& given) { return a.variables_->set_variable(given); }},
      {"source", Needs::kScript, [](A& a, J& given) { return source(*a.script_, given); }},
      {"stepIn", Needs::kStop, [](A& a, J&) { return a.begin_move(&D::step); }},
      {"next", Needs::kStop, [](A& a, J&) { return a.begin_move(&D::next); }},
      {"stepOut", Needs::kStop, [](A& a, J&) { return a.begin_move(&D::finish); }},
      {"continue", Needs::kStop, [](A& a, J&) { return a.begin_move(&D::go_on, true); }},
      {"pause", Needs::kScript, [](A& a, J&) { return a.pause(); }},
  };
  return kRows;
}

}  // namespace dap

ExitStatus run_dap(const Plan& given, Invocation& invocation) {
  if (!given.dap_socket) {
    return dap::Adapter(given, invocation, STDIN_FILENO, invocation.out).serve();
  }
  const auto client = dap::accept_client(*given.dap_socket, invocation.interrupt, [&] {
    if (!given.quiet) {
      warn("waiting for an editor at " + quoted_and_masked(*given.dap_socket), invocation.command);
    }
  });
  Output out(client.get(), invocation.interrupt);
  try {
    return dap::Adapter(given, invocation, client.get(), out).serve();
  } catch (const OutputClosed&) {
    return ExitStatus::kDone;  // the client has vanished
  } catch (const OutputError&) {
    return ExitStatus::kDone;
  }
}

}  // namespace rlctl::cli::debug
