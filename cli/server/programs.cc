#include "cli/server/programs.h"

#include <chrono>

namespace rlctl::cli {

exec::Settings program_settings(const ExecOptions& options, const ConnectionOptions& connection,
                                ConfigurationSource& configuration, const Interrupt& interrupt) {
  constexpr std::chrono::seconds kPatience{10};
  const auto settings = resolve_connection(connection, configuration);
  return {.clocks = options.clocks,
          .timeout = settings.timeout_from == Origin::kDefault ? kPatience : settings.timeout,
          .interrupt = &interrupt};
}

}  // namespace rlctl::cli
