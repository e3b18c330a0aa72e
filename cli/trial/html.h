#pragma once

#include <string>
#include <string_view>

namespace rlctl::cli::trial {

/// A report as a page: one HTML document that loads nothing. page.js draws what the JSON has, with
/// `events` (json.h), and lets the reader drag a window of the limit's length over the requests;
/// the text is shown below, and alone where scripts do not run.
std::string draw_page(std::string_view title, std::string_view text, std::string_view json);

}  // namespace rlctl::cli::trial
