#include "state/saved_key.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "embedded_restore.h"
#include "embedded_save.h"
#include "limiter/check.h"
#include "redis/key_copy.h"

namespace rlctl::state {
namespace {

constexpr std::size_t kMaxReadAtOnce = 20;

void append_save(redis::Connection& connection, const TypedKey& key, std::size_t longest) {
  const std::string_view keys[] = {key.key};
  const auto longest_text = std::to_string(longest), most = std::to_string(kLongestReadable);
  const auto size = key.type == "string" ? most : std::to_string(kMaxReadable);
  std::vector<std::string_view> arguments{key.type, longest_text, most, size};
  for (const auto word : redis::command_to_read(key.type)) arguments.push_back(word);
  connection.append_evalsha(embedded::k_save.sha1, keys, arguments);
}

std::vector<std::string> texts_of(redis::ReplyView contents) {
  if (contents.type() != redis::ReplyType::kArray) return {std::string(contents.text())};
  std::vector<std::string> texts;
  texts.reserve(contents.size());
  for (std::size_t i = 0; i < contents.size(); ++i) texts.emplace_back(contents[i].text());
  return texts;
}

std::optional<SavedKey> parse_saved(const TypedKey& key, redis::ReplyView reply) {
  if (reply.is_nil()) return std::nullopt;
  if (reply.is_error()) throw redis::to_error(reply, embedded::k_save.text);
  const bool is_array = reply.type() == redis::ReplyType::kArray;
  if (!is_array || reply.size() == 0 || reply.size() == 2) {
    throw limiter::not_of_script();
  }
  SavedKey saved{.key = std::string(key.key), .type = std::string(key.type)};
  if (const auto at = reply[0].integer(); at > 0) saved.expires_at = std::chrono::milliseconds{at};
  if (reply.size() == 1) return saved;  // too long
  saved.dump = reply[1].text();
  saved.sha1 = reply[2].text();
  if (reply.size() > 3) saved.contents = texts_of(reply[3]);
  return saved;
}

/// The elements in an order that does not depend on how the server stores them.
std::vector<std::vector<std::string>> in_order(std::string_view type,
                                               const std::vector<std::string>& contents) {
  const std::size_t unit = type == "hash" ? 2 : 1;
  std::vector<std::vector<std::string>> units;
  for (std::size_t i = 0; i + unit <= contents.size(); i += unit) {
    const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(i);
    units.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(unit));
  }
  if (type == "set" || type == "hash") std::sort(units.begin(), units.end());
  return units;
}

/// Whether the key has what was saved. The dumps may differ: another version's do, and those of
/// sets and hashes depend on their history.
bool is_same(const SavedKey& present, const SavedKey& saved) {
  if (!present.contents || present.expires_at.has_value() != saved.expires_at.has_value()) {
    return false;
  }
  // As in restore.lua.
  constexpr std::chrono::milliseconds kMaxApart{2};
  if (saved.expires_at && std::chrono::abs(*present.expires_at - *saved.expires_at) > kMaxApart) {
    return false;
  }
  return in_order(saved.type, *present.contents) == in_order(saved.type, *saved.contents);
}

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

}  // namespace

void read_saved(redis::Connection& connection, std::span<const TypedKey> keys,
                const std::function<void(std::optional<SavedKey>)>& use, std::size_t longest) {
  for (int loads = 0; !keys.empty();) {
    const auto some = keys.first(std::min(kMaxReadAtOnce, keys.size()));
    for (const auto& key : some) append_save(connection, key, longest);
    std::size_t used = 0;
    bool must_load = false;  // at first, and after a SCRIPT FLUSH: then the rest is read again
    for (const auto& key : some) {
      const auto reply = connection.read();
      must_load = must_load || (redis::is_unknown_script(reply) && loads < limiter::kMaxLoads);
      if (must_load) continue;
      use(parse_saved(key, reply));
      ++used;
    }
    keys = keys.subspan(used);
    loads = used > 0 ? 0 : loads + 1;
    if (must_load) limiter::load_script(connection, embedded::k_save.text);
  }
}

void Restorer::send(const SavedKey& saved, bool by_dump) {
  const std::string_view keys[] = {saved.key};
  const auto expires =
      std::to_string(saved.expires_at.value_or(std::chrono::milliseconds{0}).count());
  std::vector<std::string_view> arguments{options_.dry_run ? "look" : "write",
                                          options_.replace ? "replace" : "keep", expires,
                                          by_dump ? std::string_view(saved.dump) : ""};
  std::deque<std::string> numbers;  // of the words of each command; their addresses stay
  if (!by_dump) {
    const std::vector<std::string_view> contents(saved.contents->begin(), saved.contents->end());
    const auto add = [&](redis::Arguments command) {
      arguments.push_back(numbers.emplace_back(std::to_string(command.size() - 1)));
      arguments.push_back(command[0]);
      arguments.insert(arguments.end(), command.begin() + 2, command.end());
    };
    redis::for_each_write(saved.type, saved.key, contents, add);
    const std::string_view expire[] = {"PEXPIREAT", saved.key, expires};
    if (saved.expires_at) add(expire);
  }
  connection_.append_evalsha(embedded::k_restore.sha1, keys, arguments);
}

/// Among the keys that exist, marks those that have what was saved although the dumps differ.
void Restorer::find_identical(std::span<const SavedKey> keys, Results& results) {
  std::vector<std::size_t> indices;
  std::vector<TypedKey> present;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (results[i] != RestoreResult::kExists || !keys[i].contents) continue;
    indices.push_back(i);
    present.push_back({.key = keys[i].key, .type = keys[i].type});
  }
  std::size_t at = 0;
  read_saved(connection_, present, [&](const std::optional<SavedKey>& key) {
    const auto index = indices[at++];
    if (key && is_same(*key, keys[index])) results[index] = RestoreResult::kIdentical;
  });
}

/// Restores the keys that have no result. Returns false if some still have none: the server does
/// not understand their dumps, or has lost the script.
bool Restorer::restore(std::span<const SavedKey> keys, Results& results) {
  struct Sent {
    std::size_t index;
    bool by_dump;
  };
  if (!std::exchange(is_loaded_, true)) limiter::load_script(connection_, embedded::k_restore.text);
  std::vector<Sent> sent;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (results[i]) continue;
    sent.push_back({i, understands_dumps_ || !keys[i].contents});
    send(keys[i], sent.back().by_dump);
  }
  bool is_complete = true;
  std::optional<redis::Error> refused;
  for (const auto& [index, by_dump] : sent) {
    const auto reply = connection_.read();
    if (!reply.is_error()) {
      results[index] = parse_result(reply);
    } else if (by_dump && redis::is_foreign_dump(reply)) {
      understands_dumps_ = false;
      if (!keys[index].contents) results[index] = RestoreResult::kForeign;
    } else if (redis::is_unknown_script(reply) && loads_ < limiter::kMaxLoads) {
      is_loaded_ = false;
    } else if (!refused) {
      refused = redis::to_error(reply, embedded::k_restore.text);
    }
    is_complete = is_complete && results[index];
  }
  if (refused) throw redis::Error(*refused);
  loads_ = is_loaded_ ? 0 : loads_ + 1;
  return is_complete;
}

void Restorer::restore(std::span<const SavedKey> keys) {
  Results results(keys.size());
  const auto report = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (results[i]) report_(keys[i], *results[i]);
    }
  };
  try {
    while (!restore(keys, results)) {
    }
    find_identical(keys, results);
  } catch (...) {
    report();
    throw;
  }
  report();
}

}  // namespace rlctl::state
