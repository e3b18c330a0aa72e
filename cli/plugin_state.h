#pragma once

#include "cli/failure.h"

namespace rlctl::cli {

/// The states of the Monitoring Plugins guidelines; the values are the exit statuses of the
/// commands that judge: quota and audit.
enum class PluginState { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

[[nodiscard]] constexpr ExitStatus to_status(PluginState state) noexcept {
  return static_cast<ExitStatus>(state);
}

}  // namespace rlctl::cli
