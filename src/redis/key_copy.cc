#include "redis/key_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "redis/error.h"
#include "redis/reply.h"

namespace rlctl::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kNone = "none";
constexpr std::size_t kMostShown = 100;  // bytes of a key in a message

// ---- Reading at one instant ----

/// Sends MULTI, the appended commands, and EXEC in one write.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {
    connection_.append({"MULTI"});
  }

  void append(std::initializer_list<std::string_view> command) {
    connection_.append(command);
    ++commands_;
  }

  struct Result {
    std::optional<Reply> exec;        ///< an array without error elements
    std::optional<Reply> refused;     ///< an error, or an array with an error
    std::size_t refused_command = 0;  ///< its number, from 0
  };
  [[nodiscard]] Result run() {
    connection_.append({"EXEC"});
    Result result;
    const auto multi = connection_.read();
    for (std::size_t i = 0; i < commands_; ++i) {
      auto queued = connection_.read();
      if (queued.is_error() && !result.refused) {
        result.refused.emplace(std::move(queued));
        result.refused_command = i;
      }
    }
    auto exec = connection_.read();
    if (multi.is_error()) throw to_error(multi);
    if (result.refused) return result;
    if (exec.is_error()) throw to_error(exec);
    // Some servers check a command only when they execute it.
    std::size_t failed = 0;
    while (failed < exec.size() && !exec[failed].is_error()) ++failed;
    result.refused_command = failed;
    (failed < exec.size() ? result.refused : result.exec).emplace(std::move(exec));
    return result;
  }

 private:
  Connection& connection_;
  std::size_t commands_ = 0;
};

/// The error that refused a transaction.
ReplyView error_in(const Transaction::Result& result) {
  const ReplyView refused = *result.refused;
  return refused.is_error() ? refused : refused[result.refused_command];
}

/// Parses PTTL's reply.
std::optional<milliseconds> ttl_of(ReplyView reply) {
  if (reply.integer() < 0) return std::nullopt;
  // For RESTORE, a TTL of 0 means no expiry.
  return std::max(milliseconds{reply.integer()}, milliseconds{1});
}

constexpr std::size_t kDumpCommands = 3;  ///< TYPE, PTTL, DUMP

/// Reads dumps; returns what run() returns.
Transaction::Result read_dumps(Connection& connection, std::span<const std::string> keys) {
  Transaction transaction(connection);
  for (const auto& key : keys) {
    transaction.append({"TYPE", key});
    transaction.append({"PTTL", key});
    transaction.append({"DUMP", key});
  }
  return transaction.run();
}

std::vector<DumpedKey> parse_dumps(std::span<const std::string> keys, ReplyView exec) {
  std::vector<DumpedKey> dumps;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto at = i * kDumpCommands;
    DumpedKey dump{.key = keys[i]};
    // The key may have expired between the commands.
    if (!exec[at + 2].is_nil()) {
      dump.type = exec[at].text();
      dump.ttl = ttl_of(exec[at + 1]);
      dump.payload = exec[at + 2].text();
    }
    dumps.push_back(std::move(dump));
  }
  return dumps;
}

// ---- Copying by contents ----

/// How to read a type completely and write it: `write` takes elements, N per unit.
struct TypeRow {
  std::string_view type;
  std::string_view read;
  std::string_view write;
  std::size_t unit;
  bool reversed = false;  ///< ZADD takes the score first
};
constexpr std::array kTypes = std::to_array<TypeRow>({
    {.type = "string", .read = "GET", .write = "SET", .unit = 1},
    {.type = "list", .read = "LRANGE", .write = "RPUSH", .unit = 1},
    {.type = "set", .read = "SMEMBERS", .write = "SADD", .unit = 1},
    {.type = "hash", .read = "HGETALL", .write = "HSET", .unit = 2},
    {.type = "zset", .read = "ZRANGE", .write = "ZADD", .unit = 2, .reversed = true},
});

const TypeRow& row_of(std::string_view type, const std::string& key) {
  for (const auto& row : kTypes) {
    if (row.type == type) return row;
  }
  throw Error(
      Failure::kUnsupported,
      fmt::format("'{}' holds {}, which can be copied only as a dump, and the dump cannot be "
                  "read, or is too new for the other server",
                  escape(key, kMostShown),
                  type == "stream" ? "a stream" : fmt::format("'{}'", escape(type))),
      {}, "use a server of the same version: RLCTL_REDIS_SERVER names its program");
}

void append_read(Transaction& transaction, const TypeRow& row, const std::string& key) {
  if (row.type == "list") {
    transaction.append({row.read, key, "0", "-1"});
  } else if (row.type == "zset") {
    transaction.append({row.read, key, "0", "-1", "WITHSCORES"});
  } else {
    transaction.append({row.read, key});
  }
}

constexpr std::size_t kUnreadCommands = 2, kReadCommands = 3;

/// All keys at one instant: TYPE, PTTL, and the contents of those that exist.
struct Contents {
  Reply exec;
  std::vector<std::string> types;
};

std::vector<std::string> types_of(Connection& connection, std::span<const std::string> keys) {
  for (const auto& key : keys) connection.append({"TYPE", key});
  std::vector<std::string> types;
  std::optional<Error> failed;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto reply = connection.read();
    if (reply.is_error() && !failed) failed = to_error(reply);
    types.emplace_back(reply.text());
  }
  if (failed) throw Error(*failed);
  return types;
}

/// Returns none if the type of a key has changed, after updating `types`.
std::optional<Contents> try_to_read(Connection& from, std::span<const std::string> keys,
                                    std::vector<std::string>& types) {
  Transaction transaction(from);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    transaction.append({"TYPE", keys[i]});
    transaction.append({"PTTL", keys[i]});
    if (types[i] != kNone) append_read(transaction, row_of(types[i], keys[i]), keys[i]);
  }
  auto result = transaction.run();
  if (result.refused) {
    const auto error = to_error(error_in(result));
    if (error.code() != "WRONGTYPE") throw Error(error);
    types = types_of(from, keys);
    return std::nullopt;
  }
  bool same = true;
  std::size_t at = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto asked = types[i];
    types[i] = (*result.exec)[at].text();
    same = same && types[i] == asked;
    at += asked == kNone ? kUnreadCommands : kReadCommands;
  }
  if (!same) return std::nullopt;
  return Contents{.exec = std::move(*result.exec), .types = types};
}

Contents read_contents(Connection& from, std::span<const std::string> keys) {
  constexpr int kTries = 10;
  auto types = types_of(from, keys);
  for (int i = 0; i < kTries; ++i) {
    if (auto contents = try_to_read(from, keys, types)) return std::move(*contents);
  }
  throw Error(Failure::kNotNow, "the set of keys changes while it is read; try again");
}

// ---- Writing ----

/// Takes the outstanding replies of the target, and throws the first error.
void take_all(Connection& to) {
  std::optional<Error> failed;
  while (to.outstanding() > 0) {
    const auto reply = to.read();
    if (reply.is_error() && !failed) failed = to_error(reply);
  }
  if (failed) throw Error(*failed);
}

/// Writes elements in commands of moderate length.
void write_elements(Connection& to, const TypeRow& row, const std::string& key,
                    ReplyView elements) {
  constexpr std::size_t kAtOnce = 1000;
  std::vector<std::string_view> command{row.write, key};
  for (std::size_t i = 0; i + row.unit <= elements.size(); i += row.unit) {
    for (std::size_t j = 0; j < row.unit; ++j) {
      command.push_back(elements[row.reversed ? i + row.unit - 1 - j : i + j].text());
    }
    if (command.size() < kAtOnce && i + 2 * row.unit <= elements.size()) continue;
    to.append(command);
    take_all(to);
    command.resize(2);
  }
}

void write_contents(Connection& to, const std::string& key, const TypeRow& row, ReplyView content,
                    const std::optional<milliseconds>& ttl) {
  if (row.type == "string") {
    to.append({row.write, key, content.text()});
  } else {
    write_elements(to, row, key, content);
  }
  if (ttl) to.append({"PEXPIRE", key, std::to_string(ttl->count())});
  take_all(to);
}

/// Whether a key expired between TYPE and this read.
bool is_empty(ReplyView content) {
  return content.is_nil() || (content.type() == ReplyType::kArray && content.size() == 0);
}

std::vector<CopiedKey> copy_contents(Connection& from, Connection& to,
                                     std::span<const std::string> keys) {
  const auto contents = read_contents(from, keys);
  std::vector<CopiedKey> copied;
  std::size_t at = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CopiedKey key{.key = keys[i]};
    const bool was_read = contents.types[i] != kNone;
    if (was_read && !is_empty(contents.exec[at + 2])) {
      key.type = contents.types[i];
      write_contents(to, key.key, row_of(key.type, key.key), contents.exec[at + 2],
                     ttl_of(contents.exec[at + 1]));
    }
    at += was_read ? kReadCommands : kUnreadCommands;
    copied.push_back(std::move(key));
  }
  return copied;
}

/// Returns false if the target does not understand the payloads; then it has none of the keys.
bool restore(Connection& to, std::span<const DumpedKey> dumps) {
  for (const auto& dump : dumps) {
    if (!dump.exists()) continue;
    const auto ttl = dump.ttl.value_or(milliseconds{0});
    const auto reply = to.call({"RESTORE", dump.key, std::to_string(ttl.count()), dump.payload});
    if (!reply.is_error()) continue;
    for (const auto& undone : dumps) static_cast<void>(to.call({"DEL", undone.key}));
    const auto text = reply.text();
    const bool is_foreign =
        text.find("DUMP payload") != text.npos || text.find("Bad data format") != text.npos;
    if (!is_foreign) throw to_error(reply);
    return false;
  }
  return true;
}

}  // namespace

std::vector<DumpedKey> dump_keys(Connection& connection, std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const auto result = read_dumps(connection, keys);
  if (result.refused) throw to_error(error_in(result));
  return parse_dumps(keys, *result.exec);
}

void restore_keys(Connection& connection, std::span<const DumpedKey> dumps) {
  if (restore(connection, dumps)) return;
  throw Error(Failure::kUnsupported, "the server does not accept another server's dumps of keys");
}

std::vector<CopiedKey> copy_keys(Connection& from, Connection& to,
                                 std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const auto result = read_dumps(from, keys);
  if (result.refused) {
    // The user may lack permission for DUMP alone, or the server may not support it.
    const bool is_dump = result.refused_command % kDumpCommands == kDumpCommands - 1;
    if (!is_dump) throw to_error(error_in(result));
    return copy_contents(from, to, keys);
  }
  const auto dumps = parse_dumps(keys, *result.exec);
  if (!restore(to, dumps)) return copy_contents(from, to, keys);
  std::vector<CopiedKey> copied;
  for (const auto& dump : dumps) copied.push_back({.key = dump.key, .type = dump.type});
  return copied;
}

}  // namespace rlctl::redis
