#include "cli/trial/server.h"

#include <fmt/format.h>
#include <sys/resource.h>

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
redis::Needs needs_of(std::span<const traffic::Candidate> candidates) {
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

/// Open files besides the connections.
constexpr rlim_t kOtherFiles = 32;

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

/// Raises the soft limit on open files if necessary: each connection is an open file.
void make_room_for(std::size_t clients) {
  const auto needed = static_cast<rlim_t>(clients) + kOtherFiles;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  if (needed > files.rlim_max) {
    throw UsageError(
        fmt::format("--clients {} needs more open files than this process may have, {}", clients,
                    files.rlim_max),
        "use fewer, or raise the limit: ulimit -Hn");
  }
  // On a Cluster, each client has a connection to each master.
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// A server with too many clients reports this in its first reply, and hangs up.
void require_answer(redis::Connection& connection, std::size_t number, std::size_t count) {
  try {
    const auto reply = connection.read();
    // A user who may not PING is connected anyway.
    const bool failed = reply.is_error() && redis::error_code(reply.text()) != "NOPERM";
    if (failed) throw redis::to_error(reply);
  } catch (const redis::Error& error) {
    auto problem = describe(error);
    if (number > 0) {
      problem.message =
          fmt::format("the server accepts {} of {} clients: {}", number, count, problem.message);
      problem.hint = "use fewer --clients, or raise the server's maxclients";
    }
    throw ProblemError(problem);
  }
}

}  // namespace

Server::Server(Invocation& invocation, std::span<const traffic::Candidate> candidates)
    : invocation_(invocation),
      connector_(with_default_server(invocation.connection), invocation.configuration,
                 invocation.interrupt, [needs = needs_of(candidates)] { return needs; }) {
  const auto is_foreign = [](const traffic::Candidate& candidate) { return candidate.foreign; };
  is_foreign_ = std::any_of(candidates.begin(), candidates.end(), is_foreign);
  if (!connector_.is_private()) prefix_ = random_prefix(is_foreign_);
}

std::span<redis::Connection> Server::connections(std::size_t count) {
  if (connections_.size() < count) make_room_for(count);
  while (connections_.size() < count) {
    invocation_.interrupt.check();
    auto& connection = connections_.emplace_back(connector_.open_uninterrupted());
    connection.append({"PING"});
    require_answer(connection, connections_.size() - 1, count);
  }
  if (!connector_.is_private() && !is_prefix_shown_) {
    require_writable();
    warn("writing under '" + prefix_ + "' on " + connector_.name(), invocation_.command);
    is_prefix_shown_ = true;
  }
  return connections_;
}

/// Throws the server's error if it takes no writes, for example because it is a replica. A user who
/// may write but not remove keys is warned after the run.
void Server::require_writable() {
  try {
    redis::unlink_keys(connections_.front(), {&prefix_, 1});
  } catch (const redis::Error& error) {
    if (error.failure() != redis::Failure::kRefused) throw;
  }
}

bool Server::may_retry(const redis::Error& error, const traffic::Candidate& candidate) const {
  return error.failure() == redis::Failure::kTimeout && candidate.foreign && is_private() &&
         invocation_.interrupt.signal() == 0;
}

std::string Server::next_prefix() {
  if (is_private()) {
    if (auto* const server = private_server()) server->remove_keys();
    return {};
  }
  return prefix_ + std::to_string(++runs_) + ':';
}

std::string Server::when_they_expire() const {
  return is_foreign_ ? "stay unless the script lets them expire" : "expire by themselves";
}

void Server::remove_keys(const traffic::Script& script) noexcept {
  if (is_private()) return;
  const bool is_busy = std::any_of(connections_.begin(), connections_.end(),
                                   [](const auto& each) { return each.outstanding() > 0; });
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

/// Uses an open connection if possible, since the server may not accept another one; after an error
/// the open ones are unusable.
void Server::unlink(std::span<const std::string> keys) {
  try {
    const bool is_idle = !connections_.empty() && connections_.front().outstanding() == 0;
    if (is_idle) return redis::unlink_keys(connections_.front(), keys);
  } catch (const redis::Error& error) {
    if (error.failure() == redis::Failure::kRejected) throw;
    if (error.failure() == redis::Failure::kRefused) throw;
  }
  auto connection = connector_.open_uninterrupted();
  redis::unlink_keys(connection, keys);
}

}  // namespace rlctl::cli::trial
