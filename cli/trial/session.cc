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

/// Where the scripts of a plan run, if it has any.
ScriptPlace place_of_scripts(const Plan& plan, const ConnectionOptions& connection) {
  if (plan.is_real()) return ScriptPlace::kServer;
  if (!names_server(connection)) return ScriptPlace::kProcess;
  return connection.url == "private:" ? ScriptPlace::kClocked : ScriptPlace::kServer;
}

}  // namespace

bool shows_progress(const Plan& plan) {
  return !plan.quiet && is_terminal(STDERR_FILENO);
}

Session::Session(const Plan& plan, Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      progress_(shows_progress(plan)),
      place_(place_of_scripts(plan, invocation.connection)),
      confirmer_(invocation.interrupt, plan.command) {
  const auto is_script = [](const auto& each) { return each.program == nullptr; };
  const bool has_scripts = !plan.model && std::ranges::any_of(plan.candidates, is_script);
  if (has_scripts && place_ == ScriptPlace::kServer) server_.emplace(invocation, plan.candidates);
  if (!has_programs(plan)) return;
  programs_ = program_settings(plan.exec, invocation.connection, invocation.configuration,
                               invocation.interrupt);
  programs_.has_virtual_clock = !plan.is_real();
}

std::unique_ptr<exec::ClockedDecider> Session::clocked(const script::Candidate& candidate,
                                                       const traffic::Traffic& names) const {
  const auto settings = program_settings(plan_.exec, invocation_.connection,
                                         invocation_.configuration, invocation_.interrupt);
  return std::make_unique<exec::ClockedDecider>(candidate, names, settings.timeout,
                                                invocation_.interrupt);
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

}  // namespace rlctl::cli::trial
