#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "limiter/decision.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "traffic/template.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// Which reply of a script means allowed. Of an array the first element counts. A number may be
/// text. true is 1; false, which Redis sends as nil, is 0.
enum class AllowedWhen {
  kNonzero,
  kZero,
  kNil,          ///< anything else denies
  kAtMostLimit,  ///< the reply is a count that includes this request
  kAlways,
};

struct AllowedWhenRow {
  AllowedWhen value;
  std::string_view name;      ///< as it is typed
  std::string_view expected;  ///< the replies that it reads: the end of a sentence
};

/// All of them, the default first.
[[nodiscard]] std::span<const AllowedWhenRow> allowed_when_rows();
/// Throws UsageError.
[[nodiscard]] AllowedWhen parse_allowed_when(std::string_view name);
/// "s", "ms" or "us". Throws UsageError.
[[nodiscard]] std::chrono::microseconds parse_delay_unit(std::string_view name);

/// How the reply of a foreign script becomes a decision.
struct ReplyReading {
  AllowedWhen allowed_when = AllowedWhen::kNonzero;
  /// The unit of a reply that is a wait: with kAlways the delay before the request goes on, with
  /// kZero or kNil the time until a denied request would be allowed.
  std::optional<std::chrono::microseconds> delay_unit = {};
};

/// Throws UsageError if a reply read like this cannot be a wait.
void require_usable(const ReplyReading& reading);

/// The decision of a reply, which is not an error, about a request under this limit. `remaining` is
/// kNotTold; the retry_after of a denial that is not a wait is kNever, which promises nothing.
/// Throws redis::Error (kRejected), which begins with `script`, for a reply that cannot be read
/// like this.
[[nodiscard]] limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                                           std::int64_t limit, std::string_view script);

/// A reply in one line, for a message: 7, 'OK', nil, [1, 'x'].
[[nodiscard]] std::string reply_text(redis::ReplyView reply);

/// A limiter script of someone else's: its source, how to call it, and how to read its reply.
struct ForeignLimiter {
  std::string name = {};    ///< its file's, for messages and reports
  std::string source = {};  ///< Lua
  std::vector<Template> keys = {}, arguments = {};
  ReplyReading reading = {};
};

/// Throws UsageError if it cannot be asked with this limit.
void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit);
/// Throws UsageError if neither its keys nor its arguments tell it the time of a request: then it
/// uses the server's clock or relies on the TTLs of its keys, and there is no telling which.
void require_virtual_clock(const ForeignLimiter& limiter);

/// Of the placeholders that tell it the time, the one that rounds it most; null if all tell it in
/// µs.
[[nodiscard]] const Placeholder* coarsest_time(const ForeignLimiter& limiter);

/// What is tried: an algorithm, or a foreign limiter, and the limits, all of which must be kept.
struct Candidate {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};             ///< a foreign limiter is told the first
  std::shared_ptr<const ForeignLimiter> foreign = {};  ///< instead of an algorithm
};

/// The algorithm's, or the foreign limiter's own.
[[nodiscard]] std::string_view name_of(const Candidate& candidate);
/// Throws UsageError if it cannot be asked with these limits.
void require_usable(const Candidate& candidate);

/// The script of a candidate: the call for each request, and how to read its reply. One serves any
/// number of connections. Memory grows with the number of different keys.
class Script {
 public:
  virtual ~Script() = default;

  /// For messages: an algorithm's name, or a file's.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Throws UsageError if it is known beforehand not to follow a virtual clock.
  virtual void require_virtual_clock() const {}
  /// Whether it may turn out to ask the server for the time.
  [[nodiscard]] virtual bool may_call_time() const { return false; }
  /// If it may decide by the TTLs of its keys, so that virtual time must pass for them: the key of
  /// the hash that KeyAging keeps. None for a script that goes by the time it is told alone.
  [[nodiscard]] virtual std::optional<std::string> key_of_ttls() const { return std::nullopt; }

  /// Loads it into the server. Throws redis::Error; for a foreign script that does not compile,
  /// with the file's name and line.
  virtual void load(redis::Connection& connection) = 0;
  /// The call that asks about a request as of its arrival. Valid until the next one.
  [[nodiscard]] virtual limiter::ScriptCall call(const Arrival& arrival) = 0;
  /// Throws redis::Error for an error reply, and for a reply that the script does not give.
  /// NOSCRIPT is an error too: the script was loaded, so someone has removed it; the request is not
  /// sent again, since other requests may have been decided without it.
  [[nodiscard]] limiter::Decision parse(redis::ReplyView reply) const;
  /// An error that parse() threw, with the question: the arrival, and the number of its call(),
  /// from 1. A foreign script adds KEYS and ARGV.
  [[nodiscard]] virtual redis::Error with_question(const redis::Error& error,
                                                   const Arrival& /*arrival*/,
                                                   std::int64_t /*number*/) const {
    return error;
  }
  /// Every key in Redis that call() has named.
  [[nodiscard]] virtual std::vector<std::string> keys() const = 0;

 private:
  [[nodiscard]] virtual limiter::Decision read(redis::ReplyView reply) const = 0;
};

/// The script of a candidate, which must outlive it, as must the traffic. Its keys are the prefix
/// and what the traffic or the templates name; a bundled script sets their TTLs, a foreign one may
/// set none, and may write other keys too. Throws UsageError if the candidate cannot be asked with
/// its limits.
[[nodiscard]] std::unique_ptr<Script> make_script(const Candidate& candidate,
                                                  const Traffic& traffic, std::string prefix);

}  // namespace rlctl::traffic
