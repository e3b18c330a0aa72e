#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "limiter/decision.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "traffic/reply_reading.h"
#include "traffic/template.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

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
