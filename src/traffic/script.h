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

/// Which reply of a script means allowed. In an array, the first element counts. A number may be
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
  std::string_view name;      ///< as typed
  std::string_view expected;  ///< the replies that it accepts: the end of a sentence
};

/// All rows, the default first.
[[nodiscard]] std::span<const AllowedWhenRow> allowed_when_rows();
/// Throws UsageError.
[[nodiscard]] AllowedWhen parse_allowed_when(std::string_view name);
/// "s", "ms" or "us". Throws UsageError.
[[nodiscard]] std::chrono::microseconds parse_delay_unit(std::string_view name);

/// How the reply of a foreign script becomes a decision.
struct ReplyReading {
  AllowedWhen allowed_when = AllowedWhen::kNonzero;
  /// The unit of a reply that is a wait: with kAlways the delay before the request proceeds, with
  /// kZero or kNil the time until a denied request would be allowed.
  std::optional<std::chrono::microseconds> delay_unit = {};
};

/// Throws UsageError if it has a delay unit, but its replies cannot be waits.
void require_usable(const ReplyReading& reading);

/// Reads a decision from a reply, which is not an error, to a request under this limit. `remaining`
/// is kNotTold; the retry_after of a denial that is not a wait is kNever, which promises nothing.
/// Throws redis::Error (kRejected), with a message that begins with `script`, for any other reply.
[[nodiscard]] limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                                           std::int64_t limit, std::string_view script);

/// A reply in one line, for a message: 7, 'OK', nil, [1, 'x'].
[[nodiscard]] std::string reply_text(redis::ReplyView reply);

/// A third-party limiter script: its source, how to call it, and how to read its reply.
struct ForeignLimiter {
  std::string name = {};    ///< its file name, for messages and reports
  std::string source = {};  ///< Lua
  std::vector<Template> keys = {}, arguments = {};
  ReplyReading reading = {};
};

/// Throws UsageError if it cannot be called with this limit.
void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit);
/// Throws UsageError if neither its keys nor its arguments contain the time of a request: then it
/// uses the server's clock or relies on the TTLs of its keys, and rlctl cannot know which.
void require_virtual_clock(const ForeignLimiter& limiter);

/// The time placeholder in its keys and arguments that rounds most; null if all of them give µs.
[[nodiscard]] const Placeholder* coarsest_time(const ForeignLimiter& limiter);

/// A limiter to test: an algorithm or a foreign limiter, and the limits, all of which must hold.
struct Candidate {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};             ///< a foreign limiter gets the first
  std::shared_ptr<const ForeignLimiter> foreign = {};  ///< instead of an algorithm
};

/// The name of the algorithm or of the foreign limiter.
[[nodiscard]] std::string_view name_of(const Candidate& candidate);
/// Throws UsageError if it does not support these limits.
void require_usable(const Candidate& candidate);

/// The script of a candidate: the call for each request, and how to read its reply. One serves any
/// number of connections. Memory grows with the number of different keys.
class Script {
 public:
  virtual ~Script() = default;

  /// The name of an algorithm or of a file, for messages.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Throws UsageError if the script is known not to follow a virtual clock.
  virtual void require_virtual_clock() const {}
  /// Whether the script may call TIME.
  [[nodiscard]] virtual bool may_call_time() const { return false; }
  /// The key of KeyAging's hash, if the script may decide by the TTLs of its keys, so that virtual
  /// time must pass for them. None for a script that uses only the time that it is given.
  [[nodiscard]] virtual std::optional<std::string> key_of_ttls() const { return std::nullopt; }

  /// Loads it into the server. Throws redis::Error; for a foreign script that does not compile,
  /// with the file's name and line.
  virtual void load(redis::Connection& connection) = 0;
  /// The call for a request, as of its arrival. Valid until the next call().
  [[nodiscard]] virtual limiter::ScriptCall call(const Arrival& arrival) = 0;
  /// Throws redis::Error for an error reply, and for a reply that does not fit the script. NOSCRIPT
  /// is an error too: the script was loaded, so someone has removed it; the request is not
  /// repeated, since other requests may have been decided without it.
  [[nodiscard]] limiter::Decision parse(redis::ReplyView reply) const;
  /// An error that parse() threw, with details of the request. `number` is that of its call(), from
  /// 1. A foreign script adds KEYS and ARGV.
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

/// The script of a candidate; the candidate and the traffic must outlive it. Its keys are the
/// prefix followed by the names from the traffic or the templates. A bundled script sets their
/// TTLs; a foreign one may set none, and may write other keys too. Throws UsageError if the
/// candidate does not support its limits.
[[nodiscard]] std::unique_ptr<Script> make_script(const Candidate& candidate,
                                                  const Traffic& traffic, std::string prefix);

}  // namespace rlctl::traffic
