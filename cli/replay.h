#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "replay/recording.h"
#include "traffic/suggestion.h"

namespace rlctl::cli {

/// The word that replaces a pattern's name if a schedule is to be searched for.
inline constexpr std::string_view kAdversary = "adversary";

/// --replay and what belongs to it, as it was typed.
struct ReplayArguments {
  std::vector<std::string> files = {};  ///< without those that are operands
  std::optional<std::string> format = {}, time_field = {}, key_field = {}, cost_field = {};
  std::optional<std::string> suggest = {};
  bool strict = false;

  [[nodiscard]] bool given() const noexcept { return !files.empty(); }
};

void add_replay_options(Options& options, ReplayArguments& target);
/// Those alone that say how a log is read: --format to --strict.
void add_log_options(Options& options, ReplayArguments& target);
/// The section of --help that lists the formats.
[[nodiscard]] std::string format_help();

/// What they mean; `operands` are further files. None without --replay. Throws UsageError for an
/// unknown format or field and for an operand that is the name of a pattern. Touches no file.
[[nodiscard]] std::optional<replay::ReplayOptions> parse_replay(
    const ReplayArguments& arguments, const std::vector<std::string>& operands);

/// "1%", "0.1%", "1%keys". Throws UsageError.
[[nodiscard]] traffic::DeniedShare parse_denied_share(const std::string& text);
/// "1 % of requests"
[[nodiscard]] std::string denied_share_text(const traffic::DeniedShare& share);

/// Warns if some lines could not be read.
void warn_of_bad_lines(const replay::Recording& recording, std::string_view command);

}  // namespace rlctl::cli
