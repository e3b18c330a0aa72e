#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/dap/client.h"
#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"
#include "cli/commands/debug/dap/variables.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/plan.h"
#include "debugger/engine_debugger.h"

namespace rlctl::cli::debug::dap {

/// A debug adapter: answers the requests of one client, and lets the script that it launches run
/// and stop.
class Adapter {
 public:
  /// `given` are the options that rlctl was started with. The client's bytes come from `input`, and
  /// `out` are those for it. All must outlive this.
  Adapter(const Plan& given, Invocation& invocation, int input, Output& out)
      : given_(given),
        invocation_(invocation),
        out_(out),
        client_(input, out, invocation.interrupt) {}

  /// Serves the client until it disconnects, or vanishes. Throws UsageError for bytes that are not
  /// this protocol.
  ExitStatus serve();

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
    /// Null for launch and attach, which are answered once the script can start.
    Json (*answer)(Adapter& adapter, const Json& arguments);
    bool waits = false;  ///< answered once the script has stopped
  };
  static std::span<const Row> rows();

  using Move = debugger::Halt (debugger::EngineDebugger::*)();

  // ---- Messages ----

  void receive(bool waits);
  bool answer_received();
  void receive_request(const Json& request);
  void answer(const Json& request);
  bool answer_waiting();
  bool wants_stop();

  // ---- From launch to end ----

  void launch();
  void drive(const Plan& plan, const EngineKeys& keys, const Json& request);
  void begin();
  void run(Move move);
  void after_stop(debugger::Halt halt, bool is_free);
  void halted(const debugger::Halt& halt);
  void report(const debugger::Halt& halt);
  void end_run();
  void end();

  // ---- Requests ----

  Json initialize(const Json& arguments);
  Json configuration_done();
  Json restart();
  Json terminate();
  Json exception_info() const;
  Json disconnect();
  Json threads() const;
  /// Moves the script after the answer; `is_free`: not for one step.
  Json begin_move(Move move, bool is_free = false);
  Json pause();

  const Plan& given_;
  Invocation& invocation_;
  Output& out_;
  Client client_;
  Counting counting_;
  bool is_initialized_ = false;
  bool is_over_ = false;  ///< the client has disconnected, or is gone
  std::string broken_;    ///< why its bytes cannot be read
  std::optional<Json> launch_request_;
  std::vector<Json> waiting_;  ///< requests to answer once the script has stopped

  // While there is a script.
  State state_ = State::kNone;
  std::optional<Script> script_;
  std::optional<Variables> variables_;
  bool stops_on_entry_ = false;
  std::optional<std::string> error_;  ///< at which the script is stopped
  bool is_beginning_ = false;         ///< begin() is due
  Move move_ = nullptr;               ///< what to do next
  bool runs_freely_ = false;          ///< not for one step, which a stop would end
  bool is_paused_ = false;            ///< the client wants the running script to stop
};

}  // namespace rlctl::cli::debug::dap
