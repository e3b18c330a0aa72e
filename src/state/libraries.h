#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "limiter/limit.h"
#include "state/state.h"

namespace rlctl::state {

/// The forms in which libraries other than this project's keep their state. A library is recognized
/// by the names that it gives its keys, unless the content is unmistakable, and by type and
/// content.
[[nodiscard]] std::span<const StateForm> library_forms();

/// The limit that the name of a log gives, as decode() finds it in the log's state:
/// "LIMITS:LIMITER/ann/5/1/minute". None in other names.
[[nodiscard]] std::optional<limiter::Limit> limit_in_name(std::string_view log);

}  // namespace rlctl::state
