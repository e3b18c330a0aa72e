#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"
#include "cli/commands/debug/dap_messages.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/stepper.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "ldb/debugger.h"
#include "ldb/evaluation.h"
#include "ldb/value.h"

namespace rlctl::cli::debug {
namespace {

using Json = nlohmann::json;

constexpr int kThread = 1;           // the only one
constexpr int kSourceReference = 1;  // the sourceReference of a script that has no file

// ---- Reading a request ----

const Json* dap_member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// A member that is a text; "" without one.
std::string dap_text(const Json& object, const char* name) {
  const auto* member = dap_member(object, name);
  if (member == nullptr) return {};
  if (!member->is_string()) throw UsageError(fmt::format("\"{}\" must be a string", name));
  return member->get<std::string>();
}

std::int64_t dap_integer(const Json& object, const char* name, std::int64_t absent) {
  const auto* member = dap_member(object, name);
  if (member == nullptr) return absent;
  if (!member->is_number_integer() ||
      (member->is_number_unsigned() && member->get<std::uint64_t>() > std::uint64_t{INT32_MAX}) ||
      member->get<std::int64_t>() < INT32_MIN) {
    throw UsageError(fmt::format("\"{}\" must be a whole number", name));
  }
  return member->get<std::int64_t>();
}

bool dap_flag(const Json& object, const char* name, bool absent) {
  const auto* member = dap_member(object, name);
  if (member == nullptr) return absent;
  if (!member->is_boolean()) throw UsageError(fmt::format("\"{}\" must be true or false", name));
  return member->get<bool>();
}

/// The strings of an array, or the one string; none if there is no such member.
std::vector<std::string> dap_texts(const Json& object, const char* name) {
  const auto* member = dap_member(object, name);
  if (member == nullptr) return {};
  if (member->is_string()) return {member->get<std::string>()};
  std::vector<std::string> texts;
  if (member->is_array()) {
    for (const auto& one : *member) {
      if (one.is_string()) texts.push_back(one.get<std::string>());
    }
  }
  if (!member->is_array() || texts.size() != member->size()) {
    throw UsageError(fmt::format("\"{}\" must be an array of strings", name));
  }
  return texts;
}

std::string message_of(const Problem& problem) {
  return problem.hint.empty() ? problem.message : problem.message + " (" + problem.hint + ")";
}

// ---- Launching ----

/// What a launch request asks for, as the operands and options of the command line would.
struct Launch {
  Plan plan = {};
  std::vector<std::string> operands = {};
  ConnectionOptions connection = {};
  bool stops_on_entry = false;
};

/// Adds what `arguments` name to the options that rlctl was started with.
Launch read_launch(const Json& arguments, const Plan& given, const ConnectionOptions& connection) {
  Launch launch{.plan = given, .connection = connection};
  auto& plan = launch.plan;
  plan.quiet = true;
  auto script = dap_text(arguments, "program");
  if (const auto other = dap_text(arguments, "script"); !other.empty()) {
    if (!script.empty()) throw UsageError("\"script\" and \"program\" mean the same: omit one");
    script = other;
  }
  if (script.empty() && !plan.limit_options.policy) {
    throw UsageError("the launch names no script: \"program\": \"${file}\"");
  }
  if (!script.empty()) launch.operands.push_back(std::move(script));
  for (auto& key : dap_texts(arguments, "keys")) {
    if (key == ",") throw UsageError("\"keys\" cannot hold the key \",\"");
    launch.operands.push_back(std::move(key));
  }
  if (const auto* words = dap_member(arguments, "args"); words != nullptr && words->is_string()) {
    plan.script_options.arguments = words->get<std::string>();
  } else if (words != nullptr) {
    launch.operands.emplace_back(",");
    for (auto& word : dap_texts(arguments, "args")) launch.operands.push_back(std::move(word));
  }
  if (auto limits = dap_texts(arguments, "limit"); !limits.empty()) {
    plan.limit_options.limits = std::move(limits);
  }
  if (const auto now = dap_text(arguments, "now"); !now.empty()) plan.now = parse_now(now);
  if (auto server = dap_text(arguments, "server"); !server.empty()) {
    launch.connection.url = std::move(server);
  }
  launch.stops_on_entry = dap_flag(arguments, "stopOnEntry", false);
  for (const auto* absent : {"replay", "skip"}) {
    if (dap_member(arguments, absent) == nullptr) continue;
    throw UsageError(
        fmt::format("\"{}\" is not supported in a launch: start rlctl with --{}", absent, absent));
  }
  return launch;
}

// ---- The adapter ----

/// What a reference to variables stands for.
struct VariableNode {
  enum class Kind { kLocals, kUpvalues, kKeys, kArgv, kRedis, kUnknown, kValue } kind;
  ldb::Value value = {};  ///< kValue: a table
  std::string path = {};  ///< kValue: the expression that it is the value of; empty: none
};

class Adapter {
 public:
  Adapter(const Plan& given, Invocation& invocation) : given_(given), invocation_(invocation) {}

  /// Serves the client until it disconnects, or vanishes.
  ExitStatus serve() {
    while (!is_over_) {
      receive(true);
      if (launch_request_) launch();
    }
    invocation_.out.flush();
    if (!broken_.empty()) throw UsageError(broken_);
    return ExitStatus::kDone;
  }

 private:
  enum class State {
    kNone,         ///< no script
    kConfiguring,  ///< launched, and waiting for breakpoints
    kStopped,
    kRunning,
    kEnded,  ///< only restart may follow
  };
  enum class Needs { kNothing, kScript, kStop };

  /// A request that is known.
  struct Row {
    std::string_view command;
    Needs needs;
    Json (Adapter::*answer)(const Json& arguments);
    bool waits = false;  ///< answered once the script has stopped
  };
  static std::span<const Row> rows();

  using Move = ldb::Halt (ldb::Debugger::*)();

  // ---- Messages ----

  void send(Json message) {
    message["seq"] = ++sent_;
    // Values hold any bytes.
    invocation_.out.write(
        dap_message(message.dump(-1, ' ', false, Json::error_handler_t::replace)));
    invocation_.out.flush();
  }

  void send_event(const char* event, Json body = Json::object()) {
    send({{"type", "event"}, {"event", event}, {"body", std::move(body)}});
  }

  void output(const char* category, std::string text) {
    if (text.empty()) return;
    if (!text.ends_with('\n')) text += '\n';
    send_event("output", {{"category", category}, {"output", std::move(text)}});
  }

  void respond(const Json& request, Json body) {
    Json message{{"type", "response"},
                 {"request_seq", request["seq"]},
                 {"command", request["command"]},
                 {"success", true}};
    if (!body.is_null()) message["body"] = std::move(body);
    send(std::move(message));
  }

  void respond_with_error(const Json& request, const std::string& what) {
    const auto* seq = dap_member(request, "seq");
    const auto* command = dap_member(request, "command");
    send({{"type", "response"},
          {"request_seq", seq != nullptr && seq->is_number_integer() ? *seq : Json(0)},
          {"command", command != nullptr && command->is_string() ? *command : Json("")},
          {"success", false},
          {"message", what},
          // A format's {words} would be replaced.
          {"body",
           {{"error",
             {{"id", 1},
              {"format", "{what}"},
              {"variables", {{"what", what}}},
              {"showUser", true}}}}}});
  }

  /// Answers what the client has sent; if that is nothing and `waits`, waits for it.
  void receive(bool waits) {
    if (answer_received()) return;
    if (waits) {
      wait_for(STDIN_FILENO, POLLIN, &invocation_.interrupt, kNoDeadline);
    } else {
      pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 0) <= 0) return;
    }
    std::array<char, std::size_t{1} << 16> bytes;  // NOLINT(*-member-init): read() sets it
    const auto size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      is_over_ = true;
      return;
    }
    messages_.add({bytes.data(), static_cast<std::size_t>(size)});
    static_cast<void>(answer_received());
  }

  /// Answers the messages that are complete, up to a launch. Returns whether there were any.
  bool answer_received() {
    bool were_any = false;
    try {
      while (!is_over_ && !launch_request_) {
        const auto body = messages_.next();
        if (!body) break;
        were_any = true;
        receive_request(Json::parse(*body, nullptr, false));
      }
    } catch (const UsageError& error) {
      broken_ = error.what();
      is_over_ = true;
    }
    return were_any;
  }

  void receive_request(const Json& request) {
    try {
      const auto* seq = dap_member(request, "seq");
      if (dap_text(request, "type") != "request" || seq == nullptr || !seq->is_number_integer()) {
        throw UsageError("this is not a request: \"seq\" and \"type\": \"request\" are missing");
      }
      answer(request);
    } catch (const OutputClosed&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      respond_with_error(request, message_of(describe(error)));
    }
  }

  /// Throws UsageError for what is refused.
  void answer(const Json& request) {
    const auto command = dap_text(request, "command");
    const auto found = std::find_if(rows().begin(), rows().end(),
                                    [&](const Row& row) { return row.command == command; });
    if (found == rows().end()) {
      throw UsageError("rlctl does not support the request " + quoted_and_masked(command));
    }
    const bool is_initialize = command == "initialize";
    if (is_initialize == is_initialized_ && command != "disconnect") {
      throw UsageError(is_initialize ? "it has been initialized"
                                     : "the first request is initialize");
    }
    if (found->needs != Needs::kNothing && state_ == State::kNone) {
      throw UsageError("no script has been launched; launch comes first");
    }
    if (found->needs == Needs::kStop && state_ != State::kStopped) {
      throw UsageError(state_ == State::kRunning ? "the script is running: pause it first"
                       : state_ == State::kEnded ? "the script has ended"
                                                 : "the script has not started");
    }
    if (found->waits && state_ == State::kRunning) {
      waiting_.push_back(request);
      return;
    }
    const auto* arguments = dap_member(request, "arguments");
    static const Json kNone = Json::object();
    if (command == "launch") {
      if (state_ != State::kNone || launch_request_) throw UsageError("a script was launched");
      launch_request_ = request;
      return;
    }
    respond(request, (this->*found->answer)(arguments == nullptr ? kNone : *arguments));
    if (is_initialize) is_initialized_ = true;
  }

  // ---- From launch to end ----

  void launch() {
    const auto request = *std::exchange(launch_request_, std::nullopt);
    try {
      const auto* arguments = dap_member(request, "arguments");
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
                            .out = invocation_.out};
      auto plan = make_plan(std::move(launch.plan), invocation);
      run_session(plan, invocation, [&](Place& place) {
        drive(plan, place, request);
        return ExitStatus::kDone;
      });
    } catch (const OutputClosed&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      if (state_ == State::kNone) {
        respond_with_error(request, message_of(describe(error)));
      } else {
        output("stderr", message_of(describe(error)));
        end();
      }
    }
    state_ = State::kNone;
  }

  /// Serves the client while there is a script.
  void drive(const Plan& plan, Place& place, const Json& request) {
    plan_ = &plan;
    place_ = &place;
    // The place, which the stepper uses, is gone after this, in whatever way it ends.
    const std::unique_ptr<Adapter, void (*)(Adapter*)> at_end(this, [](Adapter* adapter) {
      adapter->view_.reset();
      adapter->stepper_.reset();
    });
    stepper_.emplace(plan, place, [this] { return wants_stop(); });
    view_.emplace(text_, Look{.utf8 = true}, stepper_->debuggee());
    path_ = source_path();
    stepper_->debugger().find_stop_lines();
    state_ = State::kConfiguring;
    respond(request, nullptr);
    output("console", place.where());
    send_event("initialized");
    while (!is_over_) {
      if (std::exchange(is_beginning_, false)) {
        begin();
      } else if (const auto move = std::exchange(move_, nullptr)) {
        run(move);
      } else if (state_ == State::kStopped && !stepper_->debugger().running()) {
        end_run();  // an evaluation has ended it
      } else {
        receive(true);
      }
    }
    warn_of_leaving();
  }

  void begin() {
    state_ = State::kRunning;
    auto halt = stepper_->begin();
    auto& debugger = stepper_->debugger();
    for (const int line : debugger.drop_lost_breakpoints()) {
      send_event(
          "breakpoint",
          {{"reason", "changed"},
           {"breakpoint",
            {{"id", line}, {"verified", false}, {"message", "nothing stops at this line now"}}}});
    }
    if (!debugger.running() || stops_on_entry_) return halted(halt);
    report(halt);
    if (auto reason = debugger.reason_to_halt()) return after_stop(*std::move(reason), true);
    run(&ldb::Debugger::go_on);
  }

  void run(Move move) {
    state_ = State::kRunning;
    runs_freely_ = move == &ldb::Debugger::go_on;
    after_stop((stepper_->debugger().*move)(), runs_freely_);
  }

  /// Continues if the script was stopped only for a request that had to wait.
  void after_stop(ldb::Halt halt, bool is_free) {
    auto& debugger = stepper_->debugger();
    runs_freely_ = is_free;
    while (halt.why == ldb::Halt::Why::kStopped && !is_paused_ && !is_over_) {
      report(halt);
      halt = {.why = halt.why, .line = halt.line};
      state_ = State::kStopped;
      if (answer_waiting() || !debugger.running()) return;
      if (!is_free) break;
      state_ = State::kRunning;
      halt = debugger.go_on();
    }
    halted(halt);
    static_cast<void>(answer_waiting());
  }

  /// Answers the requests that came while the script ran. Returns whether one ended this run.
  bool answer_waiting() {
    for (const auto& request : std::exchange(waiting_, {})) receive_request(request);
    return is_beginning_ || state_ == State::kEnded;
  }

  /// Whether a running script must stop: polled while it runs.
  bool wants_stop() {
    if (state_ != State::kRunning) return false;
    receive(false);
    const bool waits_in_vain =
        std::any_of(waiting_.begin(), waiting_.end(),
                    [](const Json& request) { return request["command"] != "setBreakpoints"; });
    return is_paused_ || is_over_ || waits_in_vain || (runs_freely_ && !waiting_.empty());
  }

  void halted(const ldb::Halt& halt) {
    report(halt);
    nodes_.clear();
    if (is_over_) return;
    if (!stepper_->debugger().running()) return end_run();
    // In the order of ldb::Halt::Why, before kEnded.
    static constexpr std::array kReasons{"entry",           "step", "breakpoint", "breakpoint",
                                         "data breakpoint", "pause"};
    state_ = State::kStopped;
    is_paused_ = false;
    Json body{{"reason", kReasons.at(static_cast<std::size_t>(halt.why))},
              {"threadId", kThread},
              {"allThreadsStopped", true}};
    if (halt.why == ldb::Halt::Why::kCalledFor) body["description"] = "redis.breakpoint()";
    if (!halt.condition_error.empty()) {
      body["text"] = "the condition: " + escaped_message(halt.condition_error);
    }
    send_event("stopped", std::move(body));
  }

  /// Shows what the script did since its last stop.
  void report(const ldb::Halt& halt) {
    std::string text;
    if (halt.calls_before > 0) text += fmt::format("{} calls before these\n", halt.calls_before);
    for (const auto& call : halt.calls) text += call_line(call) + '\n';
    for (const auto& message : halt.messages) {
      text += (message.level.empty() ? "debug> " : "log> " + message.level + ": ") +
              escaped_message(message.text) + '\n';
    }
    output("stdout", std::move(text));
  }

  static std::string call_line(const ldb::Call& call) {
    auto line = "redis> " + command_text(call);
    if (call.failed()) return line + "      ! " + call.error.value_or("it was refused");
    return line + "      " + (call.reply ? escaped_message(*call.reply) : "(ran freely)");
  }

  /// Shows how the script ended, and what it left.
  void end_run() {
    text_.clear();
    view_->result(stepper_->debugger().result());
    const auto left = stepper_->end(true);
    if (!left.missing.empty()) view_->say(left.missing);
    for (const auto& line : left.keys) view_->say(line);
    const auto status = stepper_->status();
    output(status == ExitStatus::kDone ? "stdout" : "stderr", std::exchange(text_, {}));
    send_event("exited", {{"exitCode", static_cast<int>(status)}});
    end();
  }

  void end() {
    state_ = State::kEnded;
    is_paused_ = false;
    nodes_.clear();
    send_event("terminated");
  }

  void warn_of_leaving() {
    if (!stepper_->runs_on_if_left()) return;
    warn("the script continues to its end in the server, and what it writes is kept",
         invocation_.command);
  }

  // ---- Requests: the session ----

  Json initialize(const Json& arguments) {
    first_line_ = dap_flag(arguments, "linesStartAt1", true) ? 1 : 0;
    first_column_ = dap_flag(arguments, "columnsStartAt1", true) ? 1 : 0;
    Json capabilities;
    for (const auto* known :
         {"supportsConfigurationDoneRequest", "supportsConditionalBreakpoints",
          "supportsEvaluateForHovers", "supportsTerminateRequest", "supportsRestartRequest"}) {
      capabilities[known] = true;
    }
    return capabilities;
  }

  Json configuration_done(const Json& /*arguments*/) {
    if (state_ != State::kConfiguring || is_beginning_) {
      throw UsageError("the script has started");
    }
    is_beginning_ = true;
    return nullptr;
  }

  Json restart(const Json& /*arguments*/) {
    if (state_ == State::kConfiguring) throw UsageError("the script has not started");
    try {
      if (stepper_->reset()) {
        view_->read_source();
        stepper_->debugger().find_stop_lines();
      }
    } catch (const UsageError& error) {
      throw UsageError(std::string("restart: ") + error.what(), error.hint());
    }
    nodes_.clear();
    move_ = nullptr;
    is_paused_ = false;
    is_beginning_ = true;
    return nullptr;
  }

  Json terminate(const Json& /*arguments*/) {
    if (state_ == State::kEnded) throw UsageError("the script has ended");
    warn_of_leaving();
    stepper_->debugger().leave();
    // A script in a private server ends with it.
    if (plan_->is_private()) place_->discard();
    is_beginning_ = false;
    move_ = nullptr;
    end();
    return nullptr;
  }

  Json disconnect(const Json& /*arguments*/) {
    is_over_ = true;
    return nullptr;
  }

  // ---- Requests: moving ----

  template <Move move>
  Json moving(const Json& /*arguments*/) {
    if (move_ != nullptr) throw UsageError("the script is running: pause it first");
    move_ = move;
    nodes_.clear();
    if (move != &ldb::Debugger::go_on) return nullptr;
    return {{"allThreadsContinued", true}};
  }

  Json pause(const Json& /*arguments*/) {
    // It is stopped, or has ended, before the client knows.
    is_paused_ = state_ == State::kRunning || is_beginning_ || move_ != nullptr;
    return nullptr;
  }

  // ---- Requests: breakpoints ----

  /// Whether a request's source is the script.
  bool is_script(const Json& source) const {
    if (dap_integer(source, "sourceReference", 0) == kSourceReference) return true;
    const auto path = dap_text(source, "path");
    std::error_code failed;
    return !path.empty() && std::filesystem::equivalent(path, path_, failed);
  }

  /// The line nearest to this one at which the script stops, the later of two; 0 if none is known.
  int nearest_stop(int line) const {
    const auto& lines = stepper_->debugger().stop_lines();
    const auto after = lines.lower_bound(line);
    if (after == lines.begin()) return after == lines.end() ? 0 : *after;
    const int before = *std::prev(after);
    return after == lines.end() || line - before < *after - line ? before : *after;
  }

  Json set_breakpoints(const Json& arguments) {
    const auto* source = dap_member(arguments, "source");
    const auto* wanted = dap_member(arguments, "breakpoints");
    if (source == nullptr) throw UsageError("\"source\" is missing");
    if (wanted != nullptr && !wanted->is_array()) {
      throw UsageError("\"breakpoints\" must be an array");
    }
    const bool is_ours = is_script(*source);
    if (is_ours) stepper_->debugger().clear_breakpoints();
    auto set = Json::array();
    if (wanted == nullptr) return {{"breakpoints", set}};
    for (const auto& one : *wanted) {
      try {
        if (!is_ours) throw UsageError("this file is not the script that is debugged");
        set.push_back(set_breakpoint(one));
      } catch (const UsageError& error) {
        set.push_back({{"verified", false}, {"message", error.what()}});
      }
    }
    return {{"breakpoints", set}};
  }

  /// Throws UsageError for one that cannot be set.
  Json set_breakpoint(const Json& wanted) {
    auto& debugger = stepper_->debugger();
    for (const auto* absent : {"hitCondition", "logMessage"}) {
      if (dap_text(wanted, absent).empty()) continue;
      throw UsageError(fmt::format("\"{}\" is not supported", absent));
    }
    const auto asked = dap_integer(wanted, "line", first_line_) + 1 - first_line_;
    const int line = nearest_stop(static_cast<int>(asked));
    if (line == 0) throw UsageError("the script does not compile, or has no line that stops");
    if (debugger.breakpoints().contains(line)) {
      throw UsageError(fmt::format("line {} has a breakpoint", line));
    }
    debugger.add_breakpoint({.line = line, .condition = dap_text(wanted, "condition")});
    Json set{{"id", line}, {"verified", true}, {"line", line - 1 + first_line_}};
    if (line != asked) set["message"] = fmt::format("line {} is the nearest that stops", line);
    return set;
  }

  // ---- Requests: looking ----

  Json threads(const Json& /*arguments*/) {
    return {{"threads", Json::array({{{"id", kThread}, {"name", name()}}})}};
  }

  std::string name() const {
    return stepper_ ? escaped_message(stepper_->debuggee().name) : "script";
  }

  /// The file of the script; empty if it has none.
  std::string source_path() const {
    if (plan_->algorithm != nullptr) return bundled_file(stepper_->debuggee());
    std::error_code failed;
    const auto path = std::filesystem::canonical(plan_->path, failed);
    return failed ? std::string() : path.string();
  }

  Json stack_trace(const Json& arguments) {
    auto& debugger = stepper_->debugger();
    Json source{{"name", name()}};
    if (path_.empty()) {
      source["sourceReference"] = kSourceReference;
    } else {
      source["path"] = path_;
    }
    auto frames = debugger.backtrace();
    if (frames.empty()) frames.push_back({.name = "top level", .line = debugger.line()});
    const auto first = std::max<std::int64_t>(dap_integer(arguments, "startFrame", 0), 0);
    const auto levels = dap_integer(arguments, "levels", 0);
    auto shown = Json::array();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      if (index < first || (levels > 0 && index >= first + levels)) continue;
      shown.push_back({{"id", index + 1},
                       {"name", escaped_message(frames[i].name)},
                       {"source", source},
                       {"line", frames[i].line - 1 + first_line_},
                       {"column", first_column_}});
    }
    return {{"stackFrames", shown}, {"totalFrames", frames.size()}};
  }

  Json source(const Json& arguments) {
    const auto* source = dap_member(arguments, "source");
    const auto reference =
        dap_integer(arguments, "sourceReference",
                    source == nullptr ? 0 : dap_integer(*source, "sourceReference", 0));
    if (reference != kSourceReference)
      throw UsageError(fmt::format("unknown sourceReference {}", reference));
    return {{"content", stepper_->debuggee().shown_source()}, {"mimeType", "text/x-lua"}};
  }

  std::int64_t reference_to(VariableNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::int64_t>(nodes_.size());
  }

  Json scopes(const Json& arguments) {
    using Kind = VariableNode::Kind;
    const bool is_innermost = dap_integer(arguments, "frameId", 1) == 1;
    auto scopes = Json::array();
    const auto add = [&](const char* name, Kind kind) {
      scopes.push_back({{"name", name},
                        {"variablesReference", reference_to({.kind = kind})},
                        {"expensive", kind == Kind::kRedis}});
      if (kind == Kind::kLocals) scopes.back()["presentationHint"] = "locals";
    };
    add("Locals", is_innermost ? Kind::kLocals : Kind::kUnknown);
    if (is_innermost) add("Upvalues", Kind::kUpvalues);
    add("KEYS", Kind::kKeys);
    add("ARGV", Kind::kArgv);
    add("Keys in Redis", Kind::kRedis);
    return {{"scopes", scopes}};
  }

  /// A variable of one line that holds no others.
  static Json plain_variable(const std::string& name, const std::string& value) {
    return {{"name", name}, {"value", value}, {"variablesReference", 0}};
  }

  /// "value", "type" and "variablesReference" of a value, for its variable or its evaluation.
  Json value_fields(const char* name, const ldb::Value& value, const std::string& path) {
    using Kind = ldb::Value::Kind;
    // In the order of ldb::Value::Kind.
    static constexpr std::array kTypes{"nil", "boolean", "number", "string", "table", "table"};
    const bool is_table = value.kind == Kind::kTable && (!value.fields.empty() || value.is_cut);
    auto text = escaped_message(ldb::text_of(value));
    if (is_table) text = view_->shortened(std::move(text));
    return {
        {name, text},
        {"type", value.kind == Kind::kOpaque ? value.text
                                             : kTypes.at(static_cast<std::size_t>(value.kind))},
        {"variablesReference",
         is_table ? reference_to({.kind = VariableNode::Kind::kValue, .value = value, .path = path})
                  : 0}};
  }

  Json variable(const std::string& name, const ldb::Value& value, const std::string& path) {
    auto fields = value_fields("value", value, path);
    fields["name"] = name;
    if (!path.empty()) fields["evaluateName"] = path;
    return fields;
  }

  Json fields_of(const ldb::Value& table, const std::string& path) {
    auto fields = Json::array();
    for (const auto& [key, value] : table.fields) {
      const bool is_name =
          key.kind == ldb::Value::Kind::kString && ldb::names_in(key.text).contains(key.text);
      const auto text = is_name ? key.text : "[" + escaped_message(ldb::text_of(key)) + "]";
      fields.push_back(
          variable(text, value, path.empty() ? path : path + (is_name ? "." : "") + text));
    }
    if (table.is_cut) fields.push_back(plain_variable("...", "more fields are not shown"));
    return fields;
  }

  Json locals(bool are_upvalues) {
    auto& debugger = stepper_->debugger();
    auto shown = Json::array();
    if (!debugger.knows_locals()) {
      if (!are_upvalues) {
        shown.push_back(plain_variable("not known", "the script has no room for probes"));
      }
      return shown;
    }
    const auto& all = debugger.locals();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [local, value] = all[i];
      const bool is_hidden =
          std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
                      [&name = local.name](const auto& later) { return later.local.name == name; });
      if (is_hidden || (local.function != debugger.function()) != are_upvalues) continue;
      shown.push_back(variable(local.name, value, local.name));
    }
    return shown;
  }

  Json global(const char* name) {
    const auto found = stepper_->debugger().print(name);
    if (found.outcome != ldb::Evaluation::Outcome::kValues || found.values.empty()) {
      throw UsageError(std::string(name) + ": " + found.message);
    }
    return fields_of(found.values.front(), name);
  }

  Json keys_in_redis() {
    auto shown = Json::array();
    const auto call = [&](const std::vector<std::string>& words) -> std::optional<ldb::Call> {
      if (!stepper_->debugger().running()) return std::nullopt;
      return stepper_->debugger().call(words);
    };
    for (const auto& key : stepper_->debuggee().keys) {
      const auto text = read_key(call, key);
      if (!text) break;
      shown.push_back(plain_variable(escaped_message(key), text->type == "none"
                                                               ? "no such key"
                                                               : escaped_message(text_of(*text))));
    }
    return shown;
  }

  Json variables(const Json& arguments) {
    using Kind = VariableNode::Kind;
    const auto reference = dap_integer(arguments, "variablesReference", 0);
    if (reference < 1 || reference > static_cast<std::int64_t>(nodes_.size())) {
      throw UsageError("there are no such variables at this stop");
    }
    const auto node = nodes_[static_cast<std::size_t>(reference) - 1];
    switch (node.kind) {
      case Kind::kLocals:
      case Kind::kUpvalues:
        return {{"variables", locals(node.kind == Kind::kUpvalues)}};
      case Kind::kKeys:
        return {{"variables", global("KEYS")}};
      case Kind::kArgv:
        return {{"variables", global("ARGV")}};
      case Kind::kRedis:
        return {{"variables", keys_in_redis()}};
      case Kind::kUnknown:
        return {{"variables",
                 Json::array({plain_variable("not known", "only the innermost function's are")})}};
      case Kind::kValue:
        break;
    }
    return {{"variables", fields_of(node.value, node.path)}};
  }

  Json evaluate(const Json& arguments) {
    auto& debugger = stepper_->debugger();
    const auto code = dap_text(arguments, "expression");
    const auto context = dap_text(arguments, "context");
    const bool is_path = ldb::parse_path(code).has_value();
    if (code.empty()) throw UsageError("\"expression\" is missing");
    if (context != "repl" && context != "watch" && !is_path) {
      throw UsageError("only variables and their fields are evaluated here");
    }
    if (context != "repl" && ldb::may_be_endless(code)) {
      throw UsageError("loops, functions and rep() are refused here: they may not end");
    }
    if (dap_integer(arguments, "frameId", 1) != 1) {
      for (const auto& name : ldb::names_in(code)) {
        if (debugger.declared_at(name) == 0) continue;
        throw UsageError("only the innermost function's variables are known");
      }
    }
    const auto found = debugger.print(code);
    if (found.outcome != ldb::Evaluation::Outcome::kValues) throw UsageError(found.message);
    if (found.values.size() == 1) {
      return value_fields("result", found.values.front(), is_path ? code : "");
    }
    std::string text;
    for (const auto& value : found.values) {
      text += (text.empty() ? "" : ", ") + escaped_message(ldb::text_of(value));
    }
    return {{"result", text.empty() ? "(no value)" : text}, {"variablesReference", 0}};
  }

  Json nothing(const Json& /*arguments*/) { return nullptr; }

  const Plan& given_;
  Invocation& invocation_;
  DapMessages messages_;
  std::int64_t sent_ = 0;
  int first_line_ = 1, first_column_ = 1;  ///< as the client counts
  bool is_initialized_ = false;
  bool is_over_ = false;  ///< the client has disconnected, or is gone
  std::string broken_;    ///< why its bytes cannot be read
  std::optional<Json> launch_request_;
  std::vector<Json> waiting_;  ///< requests to answer once the script has stopped

  // While there is a script.
  State state_ = State::kNone;
  const Plan* plan_ = nullptr;
  Place* place_ = nullptr;
  std::optional<Stepper> stepper_;
  std::string text_;  ///< what the view has written
  std::optional<View> view_;
  std::string path_;  ///< the script's file; empty if it has none
  bool stops_on_entry_ = false;
  bool is_beginning_ = false;        ///< begin() is due
  Move move_ = nullptr;              ///< what to do next
  bool runs_freely_ = false;         ///< not for one step, which a stop would end
  bool is_paused_ = false;           ///< the client wants the running script to stop
  std::vector<VariableNode> nodes_;  ///< by their references, from 1; of the current stop
};

std::span<const Adapter::Row> Adapter::rows() {
  using A = Adapter;
  using D = ldb::Debugger;
  static constexpr Row kRows[] = {
      {"initialize", Needs::kNothing, &A::initialize},
      {"launch", Needs::kNothing, &A::nothing},
      {"configurationDone", Needs::kScript, &A::configuration_done},
      {"disconnect", Needs::kNothing, &A::disconnect},
      {"terminate", Needs::kScript, &A::terminate, true},
      {"restart", Needs::kScript, &A::restart, true},
      {"setBreakpoints", Needs::kScript, &A::set_breakpoints, true},
      {"threads", Needs::kNothing, &A::threads},
      {"stackTrace", Needs::kStop, &A::stack_trace},
      {"scopes", Needs::kStop, &A::scopes},
      {"variables", Needs::kStop, &A::variables},
      {"evaluate", Needs::kStop, &A::evaluate},
      {"source", Needs::kScript, &A::source},
      {"stepIn", Needs::kStop, &A::moving<&D::step>},
      {"next", Needs::kStop, &A::moving<&D::next>},
      {"stepOut", Needs::kStop, &A::moving<&D::finish>},
      {"continue", Needs::kStop, &A::moving<&D::go_on>},
      {"pause", Needs::kScript, &A::pause},
  };
  return kRows;
}

}  // namespace

ExitStatus run_dap(const Plan& given, Invocation& invocation) {
  return Adapter(given, invocation).serve();
}

}  // namespace rlctl::cli::debug
