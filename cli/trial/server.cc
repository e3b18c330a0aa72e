#include "cli/trial/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "cli/errors/failure.h"
#include "cli/server/needs.h"
#include "redis/scan.h"

namespace rlctl::cli::trial {
namespace {

/// Not known of a foreign script.
redis::Needs needs_of(std::span<const script::Candidate> candidates) {
  std::vector<std::string_view> uses{"burst"};
  for (const auto& candidate : candidates) {
    if (candidate.foreign) return {};
    if (candidate.program) continue;
    uses.push_back(candidate.algorithm->name);
  }
  auto needs = cli::needs_of("burst", uses);
  needs.keys = "rlctl-burst:*";
  return needs;
}

/// A hash tag puts all keys into one Cluster slot, as a foreign script with several keys may need;
/// without it, they are on all masters.
std::string random_prefix(bool in_one_slot) {
  std::random_device random;
  const auto name = fmt::format("{:08x}{:08x}", random(), random());
  return fmt::format(fmt::runtime(in_one_slot ? "rlctl-burst:{{{}}}:" : "rlctl-burst:{}:"), name);
}

ConnectionOptions with_default_server(ConnectionOptions options) {
  if (!names_server(options)) options.url = "private:";
  return options;
}

}  // namespace

Server::Server(Invocation& invocation, std::span<const script::Candidate> candidates)
    : invocation_(invocation),
      connector_(with_default_server(invocation.connection), invocation.configuration,
                 invocation.interrupt, [needs = needs_of(candidates)] { return needs; }) {
  const auto is_foreign = [](const script::Candidate& candidate) { return candidate.foreign; };
  is_foreign_ = std::any_of(candidates.begin(), candidates.end(), is_foreign);
  if (!connector_.is_private()) prefix_ = random_prefix(is_foreign_);
}

redis::Connection& Server::connection() {
  if (connection_) return *connection_;
  invocation_.interrupt.check();
  connection_.emplace(connector_.open_uninterrupted());
  // A server with too many clients reports this in its first reply. A user who may not PING is
  // connected anyway.
  const auto reply = connection_->call({"PING"});
  if (reply.is_error() && redis::error_code(reply.text()) != "NOPERM") throw redis::to_error(reply);
  if (!connector_.is_private()) {
    require_writable();
    warn("writing under '" + prefix_ + "' on " + connector_.name(), invocation_.command);
  }
  return *connection_;
}

/// Throws the server's error if it takes no writes, for example because it is a replica. A user who
/// may write but not remove keys is warned after the run.
void Server::require_writable() {
  try {
    redis::unlink_keys(*connection_, {&prefix_, 1});
  } catch (const redis::Error& error) {
    if (error.failure() != redis::Failure::kRefused) throw;
  }
}

std::string Server::next_prefix() {
  if (is_private()) {
    if (auto* const server = connector_.private_server()) server->remove_keys();
    return {};
  }
  return prefix_ + std::to_string(++runs_) + ':';
}

std::string Server::when_they_expire() const {
  return is_foreign_ ? "stay unless the script lets them expire" : "expire by themselves";
}

void Server::remove_keys(const script::Script& script) noexcept {
  if (is_private()) return;
  const bool is_busy = connection_ && connection_->outstanding() > 0;
  if (invocation_.interrupt.signal() != 0 && is_busy) {
    warn("keys under '" + prefix_ + "' may be left; they " + when_they_expire(),
         invocation_.command);
    return;
  }
  try {
    auto keys = script.keys();
    if (auto hash = script.key_of_ttls()) keys.push_back(std::move(*hash));
    if (!keys.empty()) unlink(keys);
  } catch (const std::exception& error) {
    if (std::exchange(has_warned_, true)) return;
    warn("warning: cannot remove the keys under '" + prefix_ + "', which " + when_they_expire() +
             ": " + describe(error).message,
         invocation_.command);
  }
}

/// Uses the open connection if possible, since the server may not accept another one; after an
/// error the open one is unusable.
void Server::unlink(std::span<const std::string> keys) {
  try {
    const bool is_idle = connection_ && connection_->outstanding() == 0;
    if (is_idle) return redis::unlink_keys(*connection_, keys);
  } catch (const redis::Error& error) {
    if (error.failure() == redis::Failure::kRejected) throw;
    if (error.failure() == redis::Failure::kRefused) throw;
  }
  auto connection = connector_.open_uninterrupted();
  redis::unlink_keys(connection, keys);
}

}  // namespace rlctl::cli::trial
