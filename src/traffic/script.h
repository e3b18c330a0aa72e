#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/check.h"
#include "limiter/decision.h"
#include "redis/connection.h"
#include "traffic/candidate.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// A limiter's script as traffic is put to it: the call for each request, and what its answer
/// says. One for any number of connections.
class Script {
 public:
  virtual ~Script() = default;

  /// As it is called in a message: an algorithm's name, or a file's.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Throws UsageError where it is known beforehand that it does not go by a virtual
  /// clock.
  virtual void require_virtual_clock() const {}
  /// Whether it may turn out to ask the server for the time.
  [[nodiscard]] virtual bool may_call_time() const { return false; }
  /// Where it may decide by the TTLs of its keys, for which virtual time must then pass: the key of
  /// a hash of ours, for KeyAging. None for one that goes by the time that it is told alone.
  [[nodiscard]] virtual std::optional<std::string> key_of_ttls() const { return std::nullopt; }

  /// Sees to it that the server has got it. Throws redis::Error.
  virtual void load(redis::Connection& connection) = 0;
  /// The call that asks about a request as of its arrival. Valid until the next one.
  [[nodiscard]] virtual limiter::ScriptCall call(const Arrival& arrival) = 0;
  /// Throws redis::Error for an error reply, and for what is no answer of this script. NOSCRIPT is
  /// such an error: it has been loaded, so that someone removed it meanwhile; what was not executed
  /// is not asked again, since other requests may have been decided without it.
  [[nodiscard]] limiter::Decision parse(redis::ReplyView reply) const;
  /// An error that parse() threw, with what was asked: the arrival, and the number of its call(),
  /// from 1 on.
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

/// One of rlctl's own. Its keys are the prefix and the traffic's names; they get TTLs as the script
/// sets them.
class BundledScript final : public Script {
 public:
  /// Everything it refers to must outlive it. Throws UsageError where the algorithm cannot be
  /// asked with these limits.
  BundledScript(const Candidate& candidate, const Traffic& traffic, std::string prefix);

  [[nodiscard]] std::string_view name() const override { return algorithm_.name; }
  void load(redis::Connection& connection) override;
  [[nodiscard]] limiter::ScriptCall call(const Arrival& arrival) override;
  [[nodiscard]] std::vector<std::string> keys() const override;

 private:
  [[nodiscard]] limiter::Decision read(redis::ReplyView reply) const override;
  const std::vector<std::string>& redis_keys(std::uint32_t key);

  const limiter::Algorithm& algorithm_;
  const Traffic& traffic_;
  std::string prefix_;
  limiter::CheckCommand command_;
  limiter::Request request_;
  std::vector<std::vector<std::string>> redis_keys_;  ///< of each of the traffic's keys
};

/// The script of a candidate, one of rlctl's own or not. What it refers to must outlive it. Throws
/// UsageError where it cannot be asked with its limits.
[[nodiscard]] std::unique_ptr<Script> make_script(const Candidate& candidate,
                                                  const Traffic& traffic, std::string prefix);

}  // namespace rlctl::traffic
