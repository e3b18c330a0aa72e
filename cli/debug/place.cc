#include "cli/debug/place.h"

#include <fmt/format.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cli/failure.h"
#include "cli/term/prompt.h"
#include "redis/error.h"
#include "redis/scan.h"

namespace rlctl::cli {
namespace {

using redis::CopiedKey;

/// For each answer of a server of our own, large keys among them.
constexpr std::chrono::seconds kPrivateTimeout{30};

/// What is known of the server that the connection's options name.
struct Source {
  std::optional<redis::Connection> connection = {};
  std::optional<redis::ServerVersion> version = {};
};

bool is_no_answer(const Problem& problem) {
  return problem.status == ExitStatus::kUnreachable &&
         (problem.code == "unreachable" || problem.code == "timeout");
}

/// No connection where no server was named and none answers.
Source open_source(Connector& connector, const Interrupt& interrupt) {
  Source source;
  try {
    source.connection.emplace(connector.open());
    source.version = redis::version_of(*source.connection);
  } catch (const std::exception& error) {
    interrupt.check();
    if (connector.url_from() != Origin::kDefault || !is_no_answer(describe(error))) throw;
    source.connection.reset();
  }
  return source;
}

/// "'a'", "'a' and 'b'", "7 keys"
std::string keys_text(std::span<const std::string> keys) {
  constexpr std::size_t kMost = 3;
  if (keys.size() > kMost) return fmt::format("{} keys", keys.size());
  std::string out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out += i + 1 == keys.size() ? " and " : ", ";
    out += in_quotes(keys[i]);
  }
  return out;
}

/// What was copied, as the end of a sentence.
std::string copied_text(std::span<const CopiedKey> copied, const std::string& from) {
  std::vector<std::string> there, missing;
  for (const auto& key : copied) (key.type == "none" ? missing : there).push_back(key.key);
  if (copied.empty()) return "; there are no keys to copy";
  if (there.empty()) return fmt::format("; {} has no {}", from, keys_text(missing));
  auto out = fmt::format(" with {} copied from {}", keys_text(there), from);
  if (!missing.empty()) out += ", which has no " + keys_text(missing);
  return out;
}

std::vector<std::string> each_once(const std::vector<std::string>& keys) {
  std::vector<std::string> once;
  for (const auto& key : keys) {
    if (std::find(once.begin(), once.end(), key) == once.end()) once.push_back(key);
  }
  return once;
}

/// A script and who steps it take turns, thousands of times. On one CPU neither waits for another
/// one to be woken, which takes several times as long as a step; a server that is started from here
/// stays there, too.
void stay_on_this_cpu() noexcept {
#ifdef __linux__
  const int cpu = ::sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(cpu), &only);
  // Where that is not allowed, all goes on as it would.
  static_cast<void>(::sched_setaffinity(0, sizeof(only), &only));
#endif
}

/// What was sent there was nothing but looks.
template <typename Read>
auto reading(Read read) {
  try {
    return read();
  } catch (const redis::Error& error) {
    throw ProblemError(without_doubt(describe(error)));
  }
}

void refuse_server(const ConnectionOptions& connection) {
  auto other = connection;
  if (other.url == "private:") other.url.reset();
  if (!names_server(other)) return;
  throw UsageError(
      "--replay runs on a private server and takes no other: omit --url, --host, "
      "--port and --socket");
}

}  // namespace

std::string why_not_forked(const redis::Url& url, const ldb::Debuggee& debuggee) {
  if (url.scheme == redis::Scheme::kTls) {
    return "over TLS a fork of the server cannot be talked to: the server closes the connection "
           "that it shares with it";
  }
  if (!ldb::fits_forked(debuggee, debuggee.source)) {
    return fmt::format(
        "{} is too long, at {} bytes with its keys and arguments, for a fork of the "
        "server: servers from 7.0 on lose parts of it there",
        debuggee.name, debuggee.source.size());
  }
  return {};
}

void require_consent(const DebugPlan& plan, const std::string& server, const Interrupt& interrupt) {
  const auto warning = fmt::format(
      "--sync stops all of {} at every line: it serves nobody else meanwhile, and what {} writes "
      "is kept",
      server, plan.debuggee.name);
  if (plan.is_sure) return;
  if (!can_confirm()) {
    throw ProblemError({.status = ExitStatus::kUsage,
                        .code = "usage",
                        .message = warning + "; refusing that without --yes",
                        .hint = "without --sync nothing is stopped, and nothing kept"});
  }
  if (confirm("warning: " + warning + "\ndo that? [y/N] ", interrupt)) return;
  throw ProblemError(
      {.status = ExitStatus::kDenied, .code = "refused", .message = "nothing was debugged"});
}

DebugPlace::DebugPlace(const DebugPlan& plan, Invocation& invocation)
    : plan_(plan), invocation_(invocation) {
  if (plan.replay) {
    refuse_server(invocation.connection);
    start_private({});
    say("running " + private_text() + ", which has no keys at first");
    return;
  }
  connector_ = std::make_unique<Connector>(invocation.connection, invocation.configuration,
                                           invocation.interrupt);
  if (plan.where == DebugWhere::kPrivate) {
    start_copy();
  } else {
    attach();
  }
}

void DebugPlace::attach() {
  if (connector_->is_private()) {
    throw UsageError("--attach is about a server that is there, and private: is none",
                     "leave out one of them");
  }
  if (plan_.where == DebugWhere::kSync) {
    require_consent(plan_, connector_->name(), invocation_.interrupt);
    return say("running in " + connector_->name() +
               " itself: it serves nobody else meanwhile, and what is written is kept");
  }
  const auto why = why_not_forked(connector_->url(), plan_.debuggee);
  if (why.empty()) {
    return say("running in a fork of " + connector_->name() +
               ": it serves on, and nothing that is written is kept");
  }
  throw UsageError(
      "--attach: " + why,
      "leave out --attach: a private server with the same keys does it; or add --sync");
}

void DebugPlace::start_private(const std::optional<redis::ServerVersion>& like) {
  redis::PrivateServer::Options options;
  options.like = like;
  // In a debugger that is how often a script that runs on can be stopped, in ms.
  if (plan_.interactive) options.arguments = {"--lua-time-limit", "100"};
  options.interrupt = &invocation_.interrupt;
  stay_on_this_cpu();
  server_.emplace(options);
  auto connection = connect();
  version_ = redis::version_of(connection);
}

void DebugPlace::start_copy() {
  if (connector_->is_private()) {
    start_private({});
    return say("running " + private_text() + ", which has no keys");
  }
  auto source = reading([&] { return open_source(*connector_, invocation_.interrupt); });
  start_private(source.version);
  if (!source.connection) {
    return say(fmt::format("no server answers at {}: running {}, which has no keys",
                           connector_->name(), private_text()));
  }
  copied_from_ = connector_->name();
  auto target = connect();
  const auto copied = reading(
      [&] { return redis::copy_keys(*source.connection, target, each_once(plan_.debuggee.keys)); });
  auto message = "running " + private_text() + copied_text(copied, connector_->name());
  if (source.version && source.version != version_) {
    message += fmt::format("; that one is {}", display(*source.version));
  }
  say(message);
}

void DebugPlace::say(const std::string& message) const {
  if (!plan_.quiet) warn(message, invocation_.command);
}

std::string DebugPlace::private_text() {
  return version_ ? fmt::format("on a private server ({})", display(*version_))
                  : "on a private server";
}

redis::Connection DebugPlace::connect() {
  // An attached session must be ended in order, or its script may run on by itself.
  if (!server_) return connector_->open_uninterrupted();
  return redis::Connection::open(server_->url(), kPrivateTimeout, &invocation_.interrupt);
}

std::vector<redis::DumpedKey> DebugPlace::keep() {
  auto connection = connect();
  std::set<std::string> keys;
  for (redis::Scan scan(connection, "*"); !scan.done();) {
    const auto some = scan.next();
    keys.insert(some.begin(), some.end());
  }
  const std::vector<std::string> list(keys.begin(), keys.end());
  return redis::dump_keys(connection, list);
}

void DebugPlace::replace(const std::vector<redis::DumpedKey>& keys) {
  if (!is_private()) return;
  server_.reset();
  start_private(version_);
  auto connection = connect();
  redis::restore_keys(connection, keys);
}

ldb::Mode DebugPlace::mode() const noexcept {
  return plan_.where == DebugWhere::kForked ? ldb::Mode::kForked : ldb::Mode::kSync;
}

std::string DebugPlace::name() const {
  return is_private() ? "a private server" : connector_->name();
}

}  // namespace rlctl::cli
