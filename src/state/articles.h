#pragma once

#include <span>
#include <string_view>

#include "state/state.h"

namespace rlctl::state {

inline constexpr std::string_view kArticleLibrary = "article";

/// The forms that well-known articles about rate limiting teach, and that services all over keep
/// under names like theirs. Their library is called "article".
[[nodiscard]] std::span<const StateForm> article_forms();

}  // namespace rlctl::state
