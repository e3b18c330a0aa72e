#include "cli/commands/debug/engine_keys.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/place.h"
#include "cli/errors/failure.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "redis/error.h"
#include "redis/scan.h"

namespace rlctl::cli::debug {
namespace {

redis::Reply ask(redis::Connection& connection, const std::vector<std::string_view>& words) {
  auto reply = connection.call(words);
  if (reply.is_error()) throw redis::to_error(reply);
  return reply;
}

void write(keyspace::Keyspace& keys, std::vector<std::string_view> words) {
  std::string reply;
  keys.call(words, false, reply);
  if (reply.starts_with('-')) throw std::logic_error("a key could not be copied: " + reply);
}

/// Copies a key; returns false if there is none.
bool copy_key(redis::Connection& connection, const std::string& key, keyspace::Keyspace& keys) {
  constexpr int kAll = -1;
  const auto type = std::string(ask(connection, {"TYPE", key}).text());
  if (type == "none") return false;
  const auto read = command_to_read(type, key, kAll);
  if (read.empty()) {
    throw UsageError(fmt::format("{} has the type {}, which this process does not have",
                                 quoted_and_masked(key), type),
                     kOnServer);
  }
  const auto reply = ask(connection, {read.begin(), read.end()});
  const auto words = command_to_write(type, key, reply);
  if (reply.is_nil() || words.size() < 3) return false;  // it has expired meanwhile
  write(keys, words);
  const auto ttl = ask(connection, {"PTTL", key}).integer();
  if (ttl >= 0) write(keys, {"PEXPIRE", key, std::to_string(ttl)});
  return true;
}

}  // namespace

EngineKeys copy_keys(const Plan& plan, Invocation& invocation) {
  EngineKeys copy;
  // A log has times of its own.
  if (!plan.replay) copy.keyspace.set_time(plan.now.value_or(system_time()));
  const auto say = [&](std::string message) {
    copy.where = "running in this process" + std::move(message);
    if (!plan.quiet) warn(copy.where, invocation.command);
  };
  if (plan.replay) {
    refuse_server(invocation.connection);
    say(", on no keys at first");
    return copy;
  }
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [] { return needs_of("debug"); });
  if (connector.is_private()) {
    say(", on no keys");
    return copy;
  }
  try {
    auto source = open_source(connector, invocation.interrupt);
    if (!source) {
      say(fmt::format(", on no keys: no server at {}", connector.name()));
      return copy;
    }
    CopiedKeys copied;
    for (const auto& key : redis::each_once(plan.debuggee.keys)) {
      (copy_key(*source, key, copy.keyspace) ? copied.there : copied.missing).push_back(key);
    }
    copy.copied_from = connector.name();
    say(copied_text(copied, connector.name()));
  } catch (const redis::Error& error) {
    throw ProblemError(drop_in_doubt_note(describe(error)));  // the server was only read
  }
  return copy;
}

std::string other_keys_text(const EngineKeys& keys, const debugger::RunResult& result) {
  const auto& others = result.other_keys;
  if (keys.copied_from.empty() || others.empty()) return {};
  const auto more = others.size() == 1 ? "" : fmt::format(" and {} more", others.size() - 1);
  return fmt::format(
      "the script uses {}{}, which is not among its KEYS and was not copied from {}: it did not "
      "see the contents; with --ldb --attach, it does",
      quoted_and_masked(*others.begin()), more, keys.copied_from);
}

}  // namespace rlctl::cli::debug
