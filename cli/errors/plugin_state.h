#pragma once

#include <string_view>

#include "cli/errors/failure.h"

namespace rlctl::cli {

/// The states of the Monitoring Plugins guidelines; the values are the exit statuses of the
/// commands that judge: quota, audit, lint and doctor.
enum class PluginState { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

[[nodiscard]] constexpr ExitStatus to_status(PluginState state) noexcept {
  return static_cast<ExitStatus>(state);
}

// Texts for Command::statuses of those that report findings.
inline constexpr std::string_view kStatusWarning =
    "WARNING: memory is wasted, or something is at risk";
inline constexpr std::string_view kStatusCritical = "CRITICAL: somebody is locked out, or let in";

}  // namespace rlctl::cli
