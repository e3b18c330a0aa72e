#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "replay/recording.h"
#include "script/script.h"
#include "simulation/suggestion.h"

namespace rlctl::cli {

/// --replay and its related options.
struct ReplayArguments : replay::ReplayOptions {
  std::optional<std::string> suggest = {};
  bool list_formats = false;

  bool given() const noexcept { return !files.empty(); }
};

// What a log has, and options that it therefore excludes; and the hints.
inline constexpr std::string_view kLogHasTimes = "the log has the times";
inline constexpr std::string_view kLogHasCosts = "the log has the costs";
inline constexpr const char* kNameCosts = "--fields cost=NAME names their field";
inline constexpr const char* kNameKeys = "--fields key=NAME names their field";
inline constexpr const char* kNameLog = "name the log with --replay FILE";

void add_replay_options(Options& options, ReplayArguments& target);
/// What --formats lists, for people.
void append_formats(std::string& out);

/// The meaning of these options; `operands` are further files. Empty without --replay. Throws
/// UsageError for an unknown format or field, and for an operand that names a pattern. Reads no
/// file.
std::optional<replay::ReplayOptions> parse_replay(replay::ReplayOptions options,
                                                  const std::vector<std::string>& operands);

/// Parses "1%", "0.1%" or "1%keys". Throws UsageError.
simulation::DeniedShare parse_denied_share(const std::string& text);
/// Formats as "1 % of requests".
std::string denied_share_text(const simulation::DeniedShare& share);

/// Throws UsageError, with this hint, if an algorithm among the limiters does not accept the costs
/// of the log.
void require_costs(std::span<const script::Candidate> candidates,
                   const replay::Recording& recording, const std::string& hint);

/// Warns if any lines could not be read.
void warn_of_bad_lines(const replay::Recording& recording, std::string_view command);
/// Warns of lines that could not be read, of requests whose key is "-", and of keys that cannot be
/// those of clients.
void warn_of_lines(const replay::Recording& recording, std::string_view command);

}  // namespace rlctl::cli
