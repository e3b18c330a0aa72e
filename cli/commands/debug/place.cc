#include "cli/commands/debug/place.h"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/server/needs.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"
#include "redis/scan.h"

namespace rlctl::cli::debug {

std::optional<redis::Connection> open_source(Connector& connector, const Interrupt& interrupt) {
  try {
    return connector.open();
  } catch (const std::exception& error) {
    interrupt.check();
    if (connector.url_from() != Origin::kDefault) throw;
    const auto code = describe(error).code;
    if (code != "unreachable" && code != "timeout") throw;
    return std::nullopt;
  }
}

namespace {

/// Formats the names of a few keys, or the number of many: "'a' and 'b'", "7 keys".
std::string keys_text(std::span<const std::string> keys) {
  constexpr std::size_t kMax = 3;
  if (keys.size() > kMax) return fmt::format("{} keys", keys.size());
  std::string out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out += i + 1 == keys.size() ? " and " : ", ";
    out += quoted_and_masked(keys[i]);
  }
  return out;
}

}  // namespace

std::string copied_text(const CopiedKeys& keys, const std::string& from) {
  const auto& [there, missing] = keys;
  if (there.empty() && missing.empty()) return "; there are no keys to copy";
  if (there.empty()) return fmt::format("; {} has no {}", from, keys_text(missing));
  auto out = fmt::format(" with {} copied from {}", keys_text(there), from);
  if (!missing.empty()) out += ", which has no " + keys_text(missing);
  return out;
}

void refuse_server(const ConnectionOptions& connection) {
  auto other = connection;
  if (other.url == "private:") other.url.reset();
  if (!names_server(other)) return;
  throw UsageError(
      "--replay runs in this process and takes no server: omit --url, --host, --port and --socket");
}

namespace {

/// Keeps this process on one CPU. The script and the debugger take turns, thousands of times. On
/// one CPU neither waits for another CPU to wake up, which takes several times as long as a step; a
/// server started from here stays on this CPU, too.
void stay_on_this_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(cpu), &only);
  // Where this is not permitted, debugging is only slower.
  static_cast<void>(::sched_setaffinity(0, sizeof(only), &only));
}

}  // namespace

void require_consent(const Plan& plan, const std::string& server, const Interrupt& interrupt) {
  const auto warning = fmt::format(
      "--sync stops all of {} at every line: it serves no other client meanwhile, and what {} "
      "writes is kept",
      server, plan.debuggee.name);
  if (plan.yes) return;
  if (!can_confirm()) {
    throw ProblemError({.status = ExitStatus::kUsage,
                        .code = "usage",
                        .message = warning + "; refusing without --yes",
                        .hint = "without --sync, the server keeps running and no writes are kept"});
  }
  if (confirm("warning: " + warning + "\ncontinue? [y/N] ", interrupt)) return;
  throw ProblemError(
      {.status = ExitStatus::kDenied, .code = "refused", .message = "nothing was debugged"});
}

Place::Place(const Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {
  connector_ = std::make_unique<Connector>(
      invocation.connection, invocation.configuration, invocation.interrupt,
      [copies = plan.is_private()] { return copies ? needs_of("debug --ldb") : redis::Needs{}; });
  try {
    if (plan.is_private()) {
      start_copy();
    } else {
      attach();
    }
  } catch (const redis::Error& error) {
    throw ProblemError(drop_in_doubt_note(describe(error)));  // the server was only read
  }
}

void Place::attach() {
  if (connector_->is_private()) {
    throw UsageError("--attach requires an existing server, which private: is not",
                     "omit one of them");
  }
  if (plan_.sync) {
    require_consent(plan_, connector_->name(), invocation_.interrupt);
    return say("running in " + connector_->name() +
               " itself: it serves no other client meanwhile, and what is written is kept");
  }
  if (connector_->url().tls) {
    throw UsageError(
        "--attach: a fork of the server cannot be reached over TLS: the server closes the "
        "connection that they share",
        "omit --attach to use a private server with the same keys, or add --sync");
  }
  return say("running in a fork of " + connector_->name() +
             ": it keeps serving, and nothing that is written is kept");
}

std::string Place::start_private() {
  redis::PrivateServer::Options options;
  // While debugging, this is the interval in ms at which a running script can be stopped.
  options.arguments = {"--lua-time-limit", "10"};
  options.interrupt = &invocation_.interrupt;
  stay_on_this_cpu();
  server_.emplace(options);
  auto connection = connect();
  version_ = redis::version_of(connection);
  return "private server" + (version_ ? fmt::format(" ({})", display(*version_)) : "");
}

void Place::start_copy() {
  const bool names_none = connector_->url_from() == Origin::kDefault;
  if (names_none || connector_->is_private()) {
    return say("using an empty " + start_private());
  }
  auto source = connector_->open();
  const auto source_version = redis::version_of(source);
  auto message = "using a " + start_private();
  auto target = connect();
  auto copied = stored::save_keys(source, redis::each_once(plan_.debuggee.keys));
  stored::copy_to(target, copied);
  CopiedKeys keys;
  for (const auto& key : copied) (key.exists() ? keys.there : keys.missing).push_back(key.key);
  message += copied_text(keys, connector_->name());
  if (source_version && source_version != version_) {
    message += fmt::format("; that one is {}", display(*source_version));
  }
  say(message);
}

void Place::say(const std::string& message) {
  if (!plan_.quiet) warn(message, invocation_.command);
}

redis::Connection Place::connect() {
  // An attached session must be ended properly, or its script may run on by itself.
  if (!server_) {
    auto connection = connector_->open_uninterrupted();
    const auto& keys = plan_.debuggee.keys;
    // The node of a plain URL need not be the one that has the key.
    if (!keys.empty()) static_cast<void>(connection.servers());
    connection.pin_to_server(keys.empty() ? std::string_view() : keys.front());
    return connection;
  }
  constexpr std::chrono::seconds kTimeout{30};  // for each answer, which may be a large key
  return redis::Connection::open(server_->url(), kTimeout, &invocation_.interrupt);
}

std::vector<stored::SavedKey> Place::keep() {
  auto connection = connect();
  std::set<std::string> keys;
  for (redis::Scan scan(connection, "*"); !scan.done();) {
    const auto some = scan.next();
    keys.insert(some.begin(), some.end());
  }
  const std::vector<std::string> list(keys.begin(), keys.end());
  return stored::save_keys(connection, list);
}

void Place::replace(const std::vector<stored::SavedKey>& keys) {
  discard();
  start_private();
  auto connection = connect();
  stored::copy_to(connection, keys);
}

}  // namespace rlctl::cli::debug
