#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limiter/check.h"
#include "limiter/decision.h"
#include "redis/connection.h"
#include "traffic/contestant.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// A limiter's script as traffic is put to it: the command for each request, and what its answer
/// says. One for any number of connections.
class Script {
 public:
  virtual ~Script() = default;

  /// Sees to it that the server has got it. Throws redis::Error.
  virtual void load(redis::Connection& connection) = 0;
  /// The command that asks about a request as of the time at which it comes. Valid until the next
  /// call.
  [[nodiscard]] virtual redis::Arguments command(const Arrival& arrival) = 0;
  /// Throws redis::Error for an error reply, and for what is no answer of this script. NOSCRIPT is
  /// such an error: it has been loaded, so that someone removed it meanwhile; what was not executed
  /// is not asked again, since other requests may have been decided without it.
  [[nodiscard]] limiter::Decision parse(redis::ReplyView reply) const;
  /// Every key in Redis that command() has named.
  [[nodiscard]] virtual std::vector<std::string> keys() const = 0;

 private:
  [[nodiscard]] virtual limiter::Decision read(redis::ReplyView reply) const = 0;
};

/// One of rlctl's own. Its keys are the prefix and the traffic's names; they get TTLs as the script
/// sets them.
class BundledScript final : public Script {
 public:
  /// What it refers to must outlive it. Throws limiter::UsageError where the algorithm cannot be
  /// asked with these limits.
  BundledScript(const Contestant& contestant, const Traffic& traffic, std::string prefix);

  void load(redis::Connection& connection) override;
  [[nodiscard]] redis::Arguments command(const Arrival& arrival) override;
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

}  // namespace rlctl::traffic
