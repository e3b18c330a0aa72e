#include "stored/backup.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "embedded_restore.h"
#include "embedded_save.h"
#include "limiter/check.h"
#include "redis/cluster.h"
#include "redis/error.h"

namespace rlctl::stored {
namespace {

using std::chrono::milliseconds;

/// Calls a script for each index below `count`: `append` sends a call, `use` takes its reply. A
/// call that is answered with NOSCRIPT was not executed and is repeated after a SCRIPT LOAD.
template <typename Append, typename Use>
void call_for_each(redis::Connection& connection, const EmbeddedScript& script, std::size_t count,
                   Append append, Use use) {
  std::vector<std::size_t> open(count);
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (int loads = 0; !open.empty(); ++loads) {
    if (loads > 0) limiter::load_script(connection, script.text);
    for (const auto index : open) append(index);
    std::vector<std::size_t> unknown;
    for (const auto index : open) {
      const auto reply = connection.read();
      if (loads < limiter::kMaxLoads && redis::is_unknown_script(reply)) {
        unknown.push_back(index);
      } else {
        use(index, reply);
      }
    }
    open = std::move(unknown);
  }
}

/// The error of a script that saves or restores keys with `command`.
redis::Error explain_error(redis::ReplyView reply, const EmbeddedScript& script,
                           const std::string& command) {
  const auto error = redis::to_error(reply, script.text);
  const auto text = lower_case(error.what());
  if (text.find("unknown ") == text.npos || text.find("command called from") == text.npos) {
    return error;
  }
  return redis::Error(error.failure(),
                      "the server has no command " + command + ", which saving and restoring needs",
                      error.code(), "remove rename-command " + command + " from its configuration")
      .from(error.server(), command);
}

// ---- Saving ----

/// Parses what save.lua replies for a key, which is the reply's element `index`.
SavedKey parse_saved(std::string_view name, redis::ReplyView replies, std::size_t index) {
  const auto reply = replies[index];
  SavedKey key{.key = std::string(name), .saved_at = milliseconds{replies[0].integer()}};
  if (reply.is_nil()) return key;
  using enum redis::ReplyType;
  const auto is = [&](std::size_t i, auto... types) { return ((reply[i].type() == types) || ...); };
  const bool is_saved = reply.type() == kArray && reply.size() == 4 && is(0, kStatus, kString) &&
                        is(1, kInteger) && is(2, kString) && is(3, kString);
  if (!is_saved) throw limiter::not_of_script();
  key.type = reply[0].text();
  if (const auto at = reply[1].integer(); at > 0) key.expires_at = milliseconds{at};
  key.dump = reply[2].text();
  key.sha1 = reply[3].text();
  return key;
}

/// Checks save.lua's reply for `count` keys.
void require_saved(redis::ReplyView reply, std::size_t count) {
  if (reply.is_error()) throw explain_error(reply, embedded::k_save, "DUMP");
  const bool is_saved = reply.type() == redis::ReplyType::kArray && reply.size() == count + 1 &&
                        reply[0].type() == redis::ReplyType::kInteger;
  if (!is_saved) throw limiter::not_of_script();
}

}  // namespace

std::vector<SavedKey> save_keys(redis::Connection& connection, std::span<const std::string> keys) {
  constexpr std::size_t kAnyLength = std::numeric_limits<std::int64_t>::max();
  if (keys.empty()) return {};
  std::vector<SavedKey> saved(keys.size());
  const std::vector<std::string_view> names(keys.begin(), keys.end());
  const auto longest = std::to_string(kAnyLength);
  const std::string_view arguments[] = {longest};
  const auto slot = redis::slot_of(keys.front());
  bool are_split = connection.has_slots() && std::any_of(keys.begin(), keys.end(), [&](auto& key) {
                     return redis::slot_of(key) != slot;
                   });
  call_for_each(
      connection, embedded::k_save, are_split ? 0 : 1,
      [&](std::size_t) { connection.append_evalsha(embedded::k_save.sha1, names, arguments); },
      [&](std::size_t, redis::ReplyView reply) {
        // A plain URL may be that of a node of a Cluster.
        are_split = reply.is_error() && redis::error_code(reply.text()) == "CROSSSLOT";
        if (are_split) return;
        require_saved(reply, keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i)
          saved[i] = parse_saved(names[i], reply, i + 1);
      });
  if (are_split) {
    save_each(connection, names, kAnyLength,
              [&](std::size_t i, SavedKey key) { saved[i] = std::move(key); });
  }
  return saved;
}

void save_each(redis::Connection& connection, std::span<const std::string_view> keys,
               std::size_t longest, const std::function<void(std::size_t, SavedKey)>& use) {
  constexpr std::size_t kMaxAtOnce = 20;
  const auto longest_text = std::to_string(longest);
  const std::string_view arguments[] = {longest_text};
  for (std::size_t begin = 0; begin < keys.size(); begin += kMaxAtOnce) {
    const auto some = keys.subspan(begin, std::min(kMaxAtOnce, keys.size() - begin));
    call_for_each(
        connection, embedded::k_save, some.size(),
        [&](std::size_t i) {
          connection.append_evalsha(embedded::k_save.sha1, some.subspan(i, 1), arguments);
        },
        [&](std::size_t i, redis::ReplyView reply) {
          require_saved(reply, 1);
          use(begin + i, parse_saved(some[i], reply, 1));
        });
  }
}

// ---- Restoring ----

namespace {

RestoreResult parse_result(redis::ReplyView reply) {
  constexpr std::array kWords = std::to_array<std::pair<std::string_view, RestoreResult>>({
      {"restored", RestoreResult::kRestored},
      {"would-restore", RestoreResult::kWouldRestore},
      {"identical", RestoreResult::kIdentical},
      {"exists", RestoreResult::kExists},
      {"expired", RestoreResult::kExpired},
  });
  for (const auto& [word, result] : kWords) {
    if (reply.text() == word) return result;
  }
  throw limiter::not_of_script();
}

/// Whether RESTORE was refused because the server does not understand the dump.
bool is_foreign_dump(redis::ReplyView refusal) {
  const auto text = refusal.text();
  return text.find("DUMP payload") != text.npos || text.find("Bad data format") != text.npos;
}

}  // namespace

void restore_keys(redis::Connection& connection, std::span<const SavedKey> keys,
                  RestoreOptions options,
                  const std::function<void(const SavedKey&, RestoreResult)>& report) {
  std::vector<std::optional<RestoreResult>> results(keys.size());
  std::optional<redis::Error> refused;
  const auto append = [&](std::size_t i) {
    const std::string_view names[] = {keys[i].key};
    const auto expires = std::to_string(keys[i].expires_at.value_or(milliseconds{0}).count());
    const std::string_view arguments[] = {options.dry_run ? "look" : "write",
                                          options.replace ? "replace" : "keep", expires,
                                          keys[i].dump};
    connection.append_evalsha(embedded::k_restore.sha1, names, arguments);
  };
  const auto use = [&](std::size_t i, redis::ReplyView reply) {
    if (!reply.is_error()) {
      results[i] = parse_result(reply);
    } else if (is_foreign_dump(reply)) {
      results[i] = RestoreResult::kForeign;
    } else if (!refused) {
      refused = explain_error(reply, embedded::k_restore, "RESTORE");
    }
  };
  const auto report_all = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (results[i]) report(keys[i], *results[i]);
    }
  };
  try {
    call_for_each(connection, embedded::k_restore, keys.size(), append, use);
  } catch (...) {
    report_all();
    throw;
  }
  report_all();
  if (refused) throw redis::Error(*refused);
}

void copy_to(redis::Connection& connection, std::vector<SavedKey> keys) {
  std::erase_if(keys, [](const SavedKey& key) { return !key.exists(); });
  if (keys.empty()) return;
  const auto now =
      std::chrono::duration_cast<milliseconds>(redis::server_time(connection.call({"TIME"})));
  for (auto& key : keys) {
    if (key.expires_at) *key.expires_at += now - key.saved_at;
  }
  restore_keys(connection, keys, {}, [](const SavedKey& key, RestoreResult result) {
    if (result != RestoreResult::kForeign) return;
    constexpr std::size_t kMaxShown = 100;
    throw redis::Error(redis::Failure::kUnsupported,
                       "'" + escape(key.key, kMaxShown) +
                           "' cannot be copied: its dump is too new for the other server",
                       {},
                       "use a server of the same version: RLCTL_REDIS_SERVER names its program");
  });
}

// ---- The file ----

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "rlctl saved keys";
constexpr int kVersion = 1;
/// The field of a line that older versions wrote for a key whose earlier lines are void.
constexpr const char* kNotRemoved = "not_removed";
/// A dump has at most kLongestDump bytes, but older versions also wrote the contents.
constexpr std::size_t kLongestLine = std::size_t{1} << 31;

/// A line that is not one of a file of saved keys. what() is the end of a sentence.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

const Json& field_of(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw BadLine(std::string("has no field '") + name + "'");
  return *found;
}

const std::string& text_of(const Json& value, const char* name) {
  if (!value.is_string()) throw BadLine(std::string("'") + name + "' is not a string");
  return value.get_ref<const std::string&>();
}

std::string decoded(const Json& value, const char* name) {
  auto bytes = from_base64(text_of(value, name));
  if (!bytes) throw BadLine(std::string("'") + name + "' is not base64");
  return std::move(*bytes);
}

/// The value that JsonWriter::bytes_field() wrote.
std::string bytes_of(const Json& line, const char* name) {
  const auto in_base64 = std::string(name) + "_base64";
  if (line.contains(in_base64)) return decoded(line[in_base64], in_base64.c_str());
  return text_of(field_of(line, name), name);
}

Json parse_line(std::string_view text) {
  auto line = parse_json(text);
  if (!line.is_object()) throw BadLine(std::string(json_fault(text, kNotAnObject)));
  return line;
}

SavedKey parse_key(const Json& line) {
  SavedKey key{.key = bytes_of(line, "key"), .type = text_of(field_of(line, "type"), "type")};
  const auto& library = field_of(line, "library");
  if (!library.is_null()) key.library = text_of(library, "library");
  const auto& algorithm = field_of(line, "algorithm");
  if (!algorithm.is_null()) key.algorithm = text_of(algorithm, "algorithm");
  const auto& expires_at = field_of(line, "expires_at_ms");
  if (!expires_at.is_null()) {
    const bool is_time = expires_at.is_number_integer() && expires_at.get<std::int64_t>() > 0;
    if (!is_time) throw BadLine("'expires_at_ms' is not a time");
    key.expires_at = std::chrono::milliseconds{expires_at.get<std::int64_t>()};
  }
  key.dump = decoded(field_of(line, "dump_base64"), "dump_base64");
  if (key.dump.empty()) throw BadLine("'dump_base64' is empty");
  const auto again = line.find("saved_again");
  key.saved_again = again != line.end() && *again == true;
  return key;
}

/// Throws InputError if this is not the first line of a file that can be restored.
void require_header(const std::string& path, std::string_view text) {
  auto line = parse_json(text);
  // A later format may be nested more deeply.
  if (line.is_discarded()) line = parse_json_outline(text);
  if (!line.is_object() || !line.contains("format") || line["format"] != kFormat) {
    throw InputError("--restore: " + quoted_and_masked(path) +
                         " does not begin like a file that reset --save writes",
                     "nothing was restored");
  }
  const auto version = line.find("version");
  if (version == line.end() || *version != kVersion) {
    throw InputError("--restore: " + quoted_and_masked(path) +
                         " has a format that this version of rlctl does not know",
                     "nothing was restored; use the version that saved it, or a newer one");
  }
}

[[noreturn]] void throw_damaged(const std::string& path, std::size_t line,
                                const std::string& what) {
  throw InputError(
      "--restore: " + quoted_and_masked(path) + ", line " + std::to_string(line) + " " + what,
      "nothing was restored; delete the line from a copy of the file to restore the "
      "other keys");
}

}  // namespace

// ---- Writing ----

void SaveFile::begin(const std::optional<redis::ServerVersion>& server) {
  std::string line;
  JsonWriter(line)
      .begin_object()
      .field("format", kFormat)
      .field("version", kVersion)
      .field("server", server ? std::optional(redis::display(*server)) : std::nullopt)
      .field("saved_at", format_instant(system_time()))
      .end_object();
  file_.add(line += '\n');
}

void SaveFile::add(const SavedKey& key) {
  std::string line;
  JsonWriter json(line);
  json.begin_object()
      .bytes_field("key", key.key)
      .field("type", key.type)
      .field("library", known_text(key.library))
      .field("algorithm", known_text(key.algorithm))
      .field("expires_at_ms",
             key.expires_at ? std::optional(key.expires_at->count()) : std::nullopt)
      .field("dump_base64", to_base64(key.dump))
      .field("saved_again", key.saved_again)
      .end_object();
  file_.add(line += '\n');
}

// ---- Reading ----

SaveFileReader::SaveFileReader(const std::string& path) : path_(path) {
  lines_.emplace(path, kLongestLine);
  if (lines_->total_bytes() == 0) {
    throw InputError("--restore: " + quoted_and_masked(path) + " is empty or not a regular file");
  }
  while (const auto line = read_line()) {
    try {
      if (line->number == 1) {
        require_header(path_, line->text);
        continue;
      }
      const auto parsed = parse_line(line->text);
      if (parsed.contains(kNotRemoved)) {
        void_before_[bytes_of(parsed, kNotRemoved)] = line->number;
      } else if (const auto key = parse_key(parsed); key.saved_again) {
        void_before_[key.key] = line->number;
      }
    } catch (const BadLine& error) {
      is_cut_ = !line->has_newline && !line->too_long && line->number > 1;
      if (!is_cut_) throw_damaged(path_, line->number, error.what());
    }
    keys_until_ = line->number - (is_cut_ ? 1 : 0);
  }
  lines_.emplace(path, kLongestLine);
}

std::optional<LineReader::Line> SaveFileReader::read_line() {
  for (;;) {
    if (auto line = lines_->next()) return line;
    if (lines_->ended()) return std::nullopt;
    lines_->fill();
  }
}

std::optional<SavedKey> SaveFileReader::next() {
  while (const auto line = read_line()) {
    if (line->number > keys_until_) return std::nullopt;
    if (line->number == 1) continue;
    try {
      const auto parsed = parse_line(line->text);
      if (parsed.contains(kNotRemoved)) continue;
      auto key = parse_key(parsed);
      const auto valid = void_before_.find(key.key);
      if (valid == void_before_.end() || valid->second <= line->number) return key;
    } catch (const BadLine& error) {
      throw_damaged(path_, line->number, error.what());  // it was changed meanwhile
    }
  }
  return std::nullopt;
}

double SaveFileReader::share() const noexcept {
  return static_cast<double>(lines_->taken_bytes()) / static_cast<double>(lines_->total_bytes());
}

}  // namespace rlctl::stored
