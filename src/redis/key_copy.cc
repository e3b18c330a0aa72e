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
constexpr std::size_t kMaxShown = 100;  // bytes of a key in a message

// ---- Reading at one instant ----

/// Commands that read keys at one instant, sent in one write: WATCH, the commands, MULTI, EXEC.
/// They are not queued between MULTI and EXEC: Redis 6.0 and 7.0 refuse that when their memory is
/// full.
class Snapshot {
 public:
  Snapshot(Connection& connection, std::span<const std::string> keys)
      : connection_(connection), watches_(keys.size()) {
    for (const auto& key : keys) connection_.append({"WATCH", key});
  }

  void append(Arguments command) {
    connection_.append(command);
    ++commands_;
  }
  void append(std::initializer_list<std::string_view> command) {
    append(Arguments(command.begin(), command.size()));
  }

  /// Returns the replies, which may be errors; none if another client wrote to a key meanwhile.
  [[nodiscard]] std::optional<std::vector<Reply>> read() {
    connection_.append({"MULTI"});
    connection_.append({"EXEC"});
    std::optional<Error> failed;
    const auto read_own = [&] {
      auto reply = connection_.read();
      if (reply.is_error() && !failed) failed = to_error(reply);
      return reply;
    };
    for (std::size_t i = 0; i < watches_; ++i) static_cast<void>(read_own());
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < commands_; ++i) replies.push_back(connection_.read());
    static_cast<void>(read_own());
    const auto exec = read_own();
    if (failed) throw Error(*failed);
    if (exec.is_nil()) return std::nullopt;
    return replies;
  }

 private:
  Connection& connection_;
  std::size_t watches_, commands_ = 0;
};

/// Reads until no other client writes meanwhile. `try_to_read` returns none if one did.
template <typename TryToRead>
auto read_unchanged(TryToRead try_to_read) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    if (auto found = try_to_read()) return std::move(*found);
  }
  throw Error(Failure::kNotNow, "the keys change while they are read; try again");
}

/// The index of the first error, or the number of replies.
std::size_t first_error(std::span<const Reply> replies) {
  const auto found = std::find_if(replies.begin(), replies.end(),
                                  [](const Reply& reply) { return reply.is_error(); });
  return static_cast<std::size_t>(found - replies.begin());
}

/// Parses PTTL's reply.
std::optional<milliseconds> ttl_of(ReplyView reply) {
  if (reply.integer() < 0) return std::nullopt;
  // For RESTORE, a TTL of 0 means no expiry.
  return std::max(milliseconds{reply.integer()}, milliseconds{1});
}

constexpr std::size_t kDumpCommands = 3;  ///< TYPE, PTTL, DUMP

/// Replies to kDumpCommands for each key.
std::vector<Reply> read_dumps(Connection& connection, std::span<const std::string> keys) {
  // So that MULTI and EXEC, which have no key, go where WATCH goes.
  static_cast<void>(connection.servers());
  return read_unchanged([&] {
    Snapshot snapshot(connection, keys);
    for (const auto& key : keys) {
      snapshot.append({"TYPE", key});
      snapshot.append({"PTTL", key});
      snapshot.append({"DUMP", key});
    }
    return snapshot.read();
  });
}

std::vector<DumpedKey> parse_dumps(std::span<const std::string> keys,
                                   std::span<const Reply> replies) {
  std::vector<DumpedKey> dumps;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto at = i * kDumpCommands;
    DumpedKey dump{.key = keys[i]};
    // The key may have expired between the commands.
    if (!replies[at + 2].is_nil()) {
      dump.type = replies[at].text();
      dump.ttl = ttl_of(replies[at + 1]);
      dump.payload = replies[at + 2].text();
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

/// Null if only DUMP reads the type completely.
const TypeRow* find_row(std::string_view type) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.type == type; });
  return found == kTypes.end() ? nullptr : found;
}

const TypeRow& row_of(std::string_view type, const std::string& key) {
  if (const auto* row = find_row(type)) return *row;
  throw Error(
      Failure::kUnsupported,
      fmt::format("'{}' holds {}, which can be copied only as a dump, and the dump cannot be "
                  "read, or is too new for the other server",
                  escape(key, kMaxShown),
                  type == "stream" ? "a stream" : fmt::format("'{}'", escape(type))),
      {}, "use a server of the same version: RLCTL_REDIS_SERVER names its program");
}

void append_read(Snapshot& snapshot, const TypeRow& row, const std::string& key) {
  auto words = command_to_read(row.type);
  words.insert(words.begin() + 1, key);
  snapshot.append(words);
}

constexpr std::size_t kUnreadCommands = 2, kReadCommands = 3;

/// All keys at one instant: TYPE, PTTL, and the contents of those that exist.
struct Contents {
  std::vector<Reply> replies;
  std::vector<std::string> types;
};

/// `types` are the expected types. Returns none if they differ, after updating them, or if another
/// client wrote meanwhile.
std::optional<Contents> try_to_read(Connection& from, std::span<const std::string> keys,
                                    std::vector<std::string>& types) {
  Snapshot snapshot(from, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    snapshot.append({"TYPE", keys[i]});
    snapshot.append({"PTTL", keys[i]});
    if (types[i] != kNone) append_read(snapshot, row_of(types[i], keys[i]), keys[i]);
  }
  auto replies = snapshot.read();
  if (!replies) return std::nullopt;
  const auto asked = types;
  std::size_t at = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto count = asked[i] == kNone ? kUnreadCommands : kReadCommands;
    const auto own = std::span(*replies).subspan(at, count);
    const auto failed = first_error(own);
    if (failed < kUnreadCommands) throw to_error(own[failed]);
    types[i] = own.front().text();
    // If the type differs, the error is WRONGTYPE.
    if (failed < count && types[i] == asked[i]) throw to_error(own[failed]);
    at += count;
  }
  if (types != asked) return std::nullopt;
  return Contents{.replies = std::move(*replies), .types = types};
}

Contents read_contents(Connection& from, std::span<const std::string> keys) {
  std::vector<std::string> types(keys.size(), std::string(kNone));
  return read_unchanged([&] { return try_to_read(from, keys, types); });
}

// ---- Writing ----

/// The elements of a reply; a string is one.
std::vector<std::string_view> elements_of(ReplyView content) {
  if (content.type() != ReplyType::kArray) return {content.text()};
  std::vector<std::string_view> elements;
  elements.reserve(content.size());
  for (std::size_t i = 0; i < content.size(); ++i) elements.push_back(content[i].text());
  return elements;
}

void write_contents(Connection& to, const std::string& key, std::string_view type,
                    ReplyView content, const std::optional<milliseconds>& ttl) {
  for_each_write(type, key, elements_of(content), [&](Arguments command) {
    to.append(command);
    to.take_all();
  });
  if (!ttl) return;
  to.append({"PEXPIRE", key, std::to_string(ttl->count())});
  to.take_all();
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
    if (was_read && !is_empty(contents.replies[at + 2])) {
      key.type = contents.types[i];
      write_contents(to, key.key, key.type, contents.replies[at + 2],
                     ttl_of(contents.replies[at + 1]));
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
    if (!is_foreign_dump(reply)) throw to_error(reply);
    return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> command_to_read(std::string_view type, std::string_view last) {
  const auto* row = find_row(type);
  if (row == nullptr) return {};
  if (!is_read_in_part(type)) return {row->read};
  if (type == "zset") return {row->read, "0", last, "WITHSCORES"};
  return {row->read, "0", last};
}

bool is_read_in_part(std::string_view type) {
  return type == "list" || type == "zset";
}

void for_each_write(std::string_view type, std::string_view key,
                    std::span<const std::string_view> contents,
                    const std::function<void(Arguments)>& use) {
  constexpr std::size_t kAtOnce = 1000;
  const TypeRow& row = row_of(type, std::string(key));
  std::vector<std::string_view> command{row.write, key};
  for (std::size_t i = 0; i + row.unit <= contents.size(); i += row.unit) {
    for (std::size_t j = 0; j < row.unit; ++j) {
      command.push_back(contents[row.reversed ? i + row.unit - 1 - j : i + j]);
    }
    if (command.size() < kAtOnce && i + 2 * row.unit <= contents.size()) continue;
    use(command);
    command.resize(2);
  }
}

bool is_foreign_dump(ReplyView refusal) {
  const auto text = refusal.text();
  return text.find("DUMP payload") != text.npos || text.find("Bad data format") != text.npos;
}

std::vector<DumpedKey> dump_keys(Connection& connection, std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const auto replies = read_dumps(connection, keys);
  const auto failed = first_error(replies);
  if (failed < replies.size()) throw to_error(replies[failed]);
  return parse_dumps(keys, replies);
}

void restore_keys(Connection& connection, std::span<const DumpedKey> dumps) {
  if (restore(connection, dumps)) return;
  throw Error(Failure::kUnsupported, "the server does not accept another server's dumps of keys");
}

std::vector<CopiedKey> copy_keys(Connection& from, Connection& to,
                                 std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const auto replies = read_dumps(from, keys);
  const auto failed = first_error(replies);
  if (failed < replies.size()) {
    // The user may lack permission for DUMP alone, or the server may not support it.
    const bool is_dump = failed % kDumpCommands == kDumpCommands - 1;
    if (!is_dump) throw to_error(replies[failed]);
    return copy_contents(from, to, keys);
  }
  const auto dumps = parse_dumps(keys, replies);
  if (!restore(to, dumps)) return copy_contents(from, to, keys);
  std::vector<CopiedKey> copied;
  for (const auto& dump : dumps) copied.push_back({.key = dump.key, .type = dump.type});
  return copied;
}

}  // namespace rlctl::redis
