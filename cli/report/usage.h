#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_object.h"
#include "cli/terminal/terminal.h"
#include "stored/inspection.h"

// How all commands show a limiter's key and how much of its limit is used: in words and as JSON.
// A text is empty if its value is not known.

namespace rlctl::cli::report {

/// A key of a limiter. Unknown names are empty; they live as long as the libraries and the
/// configuration.
struct KeyState {
  KeyState(const stored::Inspection& inspection, std::string_view its_policy);

  std::string key;
  std::string_view library, algorithm, policy;
  std::string part_of;  ///< the key to whose state this one belongs
  stored::Usage usage;
  std::optional<double> ratio;  ///< stored::Inspection::ratio()
};
/// The fields for this, which are the same in all commands.
extern const JsonObject<KeyState> kKeyJson;

/// "~", if the window follows from the key's name, and so does what depends on it; else empty.
std::string_view mark_of(const stored::Usage& usage);
/// "5/60s", "3", "?/~60s"
std::string limit_text(const stored::Usage& usage);
/// "3"
std::string used_text(const stored::Usage& usage);
/// "3 of 5"; the amount is known.
std::string used_of_text(const stored::Inspection& key);
/// "82%", rounded down, so that only what is full shows as 100%.
std::string ratio_text(std::optional<double> ratio);
/// The tone of a ratio: `low` unless most of the limit is used.
Tone tone_of_use(std::optional<double> ratio, Tone low);
/// How long it takes from now: "12.041 s", "now" or "never".
std::string time_text(const stored::Usage& usage, std::optional<std::chrono::microseconds> time);
/// "next free in 12.041 s" or "next free never"; empty if that is now.
std::string next_free_remark(const stored::Usage& usage);
/// "resets in 12.041 s"; empty if that is now.
std::string reset_remark(const stored::Usage& usage);
/// "59.3 s" or "none"
std::string ttl_text(const stored::Usage& usage);
/// "banned by 'login:ann:ban', next free in 12.041 s"; empty without a ban.
std::string ban_text(const stored::Inspection& key);

/// What --read-as can tell about keys of a type: "--read-as times or --read-as leases"; empty if
/// nothing.
std::string_view readings_of(std::string_view type);

}  // namespace rlctl::cli::report
