#include "cli/trial/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/server/programs.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::trial {
namespace {

/// Scripts run in this process unless the command line names a server, or time is the real one.
bool asks_server(const Plan& plan, const ConnectionOptions& connection) {
  return !plan.model && (plan.is_real() || names_server(connection)) &&
         std::ranges::any_of(plan.candidates,
                             [](const auto& each) { return each.program == nullptr; });
}

}  // namespace

bool shows_progress(const Plan& plan) {
  return !plan.quiet && is_terminal(STDERR_FILENO);
}

Session::Session(const Plan& plan, Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      progress_(shows_progress(plan)),
      confirmer_(invocation.interrupt, plan.command) {
  if (asks_server(plan, invocation.connection)) {
    server_ = std::make_unique<Server>(invocation, plan.candidates);
  }
  if (!has_programs(plan)) return;
  programs_ = program_settings(plan.exec, invocation.connection, invocation.configuration,
                               invocation.interrupt);
  programs_.has_virtual_clock = !plan.is_real();
}

void Session::show(std::size_t number, double share, std::string_view what) {
  const auto runs = static_cast<double>(plan_.candidates.size());
  progress_.update((static_cast<double>(number) + std::min(share, 1.0)) / runs, what);
}

void Session::warn(const std::string& text) {
  if (!is_silent_) cli::warn("warning: " + text, invocation_.command);
}

void Session::warn_of_change(const script::Script& script) {
  const auto change = script.change();
  if (!change.empty()) warn(fmt::format("{}: {}", escape(script.name()), change));
}

void Session::report_confirmation(Report& report) const {
  report.confirmation = confirmer_.confirmation();
  report.interrupted = report.interrupted || interrupt().signal() != 0;
}

Run Session::run_or_blame(const script::Candidate& candidate,
                          const std::function<Run(bool one_at_a_time)>& run) {
  try {
    return run(false);
  } catch (const redis::Error& error) {
    if (!server_ || !server_->may_retry(error, candidate)) throw;
    server_ = std::make_unique<Server>(invocation_, plan_.candidates);
    static_cast<void>(run(true));
    throw;
  }
}

}  // namespace rlctl::cli::trial
