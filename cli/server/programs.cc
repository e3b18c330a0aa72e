#include "cli/server/programs.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "adversary/trial.h"

namespace rlctl::cli {

exec::Settings program_settings(const ExecOptions& options, const ConnectionOptions& connection,
                                ConfigurationSource& configuration, const Interrupt& interrupt) {
  constexpr std::chrono::seconds kPatience{10};
  const auto settings = resolve_connection(connection, configuration);
  return {.clocks = options.clocks,
          .timeout = settings.timeout_from == Origin::kDefault ? kPatience : settings.timeout,
          .interrupt = &interrupt};
}

std::optional<std::string> own_clock_hint(const script::Candidate& program,
                                          const exec::Settings& settings,
                                          const rlctl::adversary::Schedule& schedule) {
  using enum exec::Clocks;
  for (const auto& [clocks, name] : {std::pair{kWall, "wall"}, std::pair{kAll, "all"}}) {
    if (settings.clocks && *settings.clocks >= clocks) continue;
    auto with_clock = settings;
    with_clock.clocks = clocks;
    const rlctl::adversary::TrialKeys keys;
    try {
      exec::ProgramDecider decider(program, keys, with_clock);
      const auto answers = rlctl::adversary::ForgetfulTrial(decider).run({&schedule, 1}).front();
      if (!answers.back().allowed) continue;
    } catch (const exec::ProgramError&) {
      return "";
    }
    return fmt::format(
        "the answers do not follow now_us: the program may read another clock; try "
        "--exec-clock {}",
        name);
  }
  return std::nullopt;
}

}  // namespace rlctl::cli
