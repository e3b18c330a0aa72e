#pragma once

#include <span>
#include <string_view>

#include "state/state.h"

namespace rlctl::state {

/// The forms in which libraries other than this project's keep their state. A library is recognized
/// by the names that it gives its keys, unless the content is unmistakable, and by type and
/// content.
[[nodiscard]] std::span<const StateForm> library_forms();

}  // namespace rlctl::state
