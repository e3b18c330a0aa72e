#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "limiter/algorithm.h"
#include "redis/connection.h"
#include "state/state.h"

namespace rlctl::cli {

// What a request to a limiter that fails means to its caller.

/// --on-error: the answer if the server or the network fails.
struct OnError {
  std::optional<bool> allows;  ///< none: fail

  /// Whether the user chose an answer for this failure; never for wrong usage or a signal.
  [[nodiscard]] bool covers(const Problem& problem) const noexcept;
  /// The warning that replaces the error. Requires covers().
  [[nodiscard]] std::string warning(const Problem& problem, std::string_view command) const;
};

/// Adds --on-error.
void add_on_error_option(Options& options, OnError& target);

// The ends of messages.
inline constexpr const char* kWasCounted = "; the request was counted";
/// "; the request was counted" or, if `cost` is negative, "; the refund was counted"; empty for 0.
[[nodiscard]] std::string_view what_was_counted(std::int64_t cost);
/// Flushes the answers. If that fails, the message ends in what `loss` returns.
void flush_answers(Output& out, const std::function<std::string()>& loss);
/// Whether the request may have been sent, and was not answered.
[[nodiscard]] bool is_in_doubt(const Problem& problem);
/// If the request was sent but not answered, or one of its script's commands was refused, adds to
/// the message that it may have been counted.
[[nodiscard]] Problem may_have_been_counted(Problem problem);

/// What a key holds instead of this algorithm's state: "a string, but sliding-window-log keeps a
/// list", "the state of gcra, not of fixed-window". Empty if it does not exist or seems to hold
/// that state.
[[nodiscard]] std::string what_it_holds(std::string_view key, const state::Content& content,
                                        const limiter::Algorithm& algorithm);

/// The keys that the user may not access as a script does; none if asking fails. Requires a user
/// who may call EVALSHA, and no outstanding replies.
[[nodiscard]] std::vector<std::string> refused_keys(redis::Connection& connection,
                                                    std::span<const std::string> keys);

/// Whether the problem is one of the keys, which explain_keys() makes clearer.
[[nodiscard]] bool is_about_keys(const Problem& problem);

/// Makes a script's WRONGTYPE error, which mentions KEYS[n], clearer: "'k' holds a string, but
/// sliding-window-log keeps a list", "'k' holds the state of gcra, not of fixed-window"; and adds
/// to NOPERM the keys that the user may not access. Asks the server, and records nothing; no
/// replies may be outstanding. If that fails or explains nothing, keeps the message, with the key's
/// name in it if that is known. Requires is_about_keys().
[[nodiscard]] Problem explain_keys(Problem problem, const limiter::Algorithm& algorithm,
                                   std::span<const std::string> keys,
                                   redis::Connection& connection);

}  // namespace rlctl::cli
