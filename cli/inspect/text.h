#pragma once

#include <string>
#include <string_view>

#include "cli/term/terminal.h"
#include "limiter/inspection.h"

namespace rlctl::cli {

/// Appends what a person wants to know of a key, most urgent first, in lines no wider than the look
/// allows where keys and holders, which are never cut, leave room for that. What is inferred has a
/// '~' before it. Where nothing is stored, `server` says where that is so.
void append_inspection_text(std::string& out, const limiter::Inspection& inspection,
                            const Look& look, std::string_view server = {});

/// How many bars fit beside their label.
[[nodiscard]] std::size_t columns_for_bars(const Look& look) noexcept;

}  // namespace rlctl::cli
