#include "limiter/saved_key.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "embedded_restore.h"
#include "embedded_save.h"
#include "limiter/check.h"
#include "redis/key_copy.h"

namespace rlctl::limiter {
namespace {

constexpr std::size_t kMostReadAtOnce = 20;

void append_save(redis::Connection& connection, const TypedKey& key) {
  const std::string_view keys[] = {key.key};
  const auto most = std::to_string(kLongestReadable);
  std::vector<std::string_view> arguments{key.type, most};
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
  if (reply.type() != redis::ReplyType::kArray || reply.size() < 3) {
    throw redis::Error(redis::Failure::kProtocol, "the reply is not that of the script");
  }
  SavedKey saved{.key = std::string(key.key), .type = std::string(key.type)};
  if (const auto at = reply[0].integer(); at > 0) saved.expires_at = std::chrono::milliseconds{at};
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
  throw redis::Error(redis::Failure::kProtocol, "the reply is not that of the script");
}

}  // namespace

void read_saved(redis::Connection& connection, std::span<const TypedKey> keys,
                const std::function<void(std::optional<SavedKey>)>& use) {
  if (keys.empty()) return;
  load_script(connection, embedded::k_save.text);
  while (!keys.empty()) {
    const auto some = keys.first(std::min(kMostReadAtOnce, keys.size()));
    for (const auto& key : some) append_save(connection, key);
    for (const auto& key : some) use(parse_saved(key, connection.read()));
    keys = keys.subspan(some.size());
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

bool Restorer::has_contents(const SavedKey& saved) {
  if (!saved.contents) return false;
  bool is_same = false;
  const TypedKey key{.key = saved.key, .type = saved.type};
  read_saved(connection_, {&key, 1}, [&](const std::optional<SavedKey>& present) {
    is_same = present && present->contents &&
              in_order(saved.type, *present->contents) == in_order(saved.type, *saved.contents);
  });
  return is_same;
}

void Restorer::restore(std::span<const SavedKey> keys, Results& results) {
  struct Sent {
    std::size_t index;
    bool by_dump;
  };
  std::vector<Sent> sent;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (results[i]) continue;
    sent.push_back({i, understands_dumps_ || !keys[i].contents});
    send(keys[i], sent.back().by_dump);
  }
  std::optional<redis::Error> refused;
  for (const auto& [index, by_dump] : sent) {
    const auto reply = connection_.read();
    if (!reply.is_error()) {
      results[index] = parse_result(reply);
    } else if (by_dump && redis::is_foreign_dump(reply)) {
      understands_dumps_ = false;
      if (!keys[index].contents) results[index] = RestoreResult::kForeign;
    } else if (!refused) {
      refused = redis::to_error(reply, embedded::k_restore.text);
    }
  }
  if (refused) throw redis::Error(*refused);
}

void Restorer::restore(std::span<const SavedKey> keys) {
  Results results(keys.size());
  const auto report = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (results[i]) report_(keys[i], *results[i]);
    }
  };
  try {
    if (!std::exchange(is_loaded_, true)) load_script(connection_, embedded::k_restore.text);
    restore(keys, results);
    // Those whose dumps the server does not understand.
    if (!understands_dumps_) restore(keys, results);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // Another version's dump of the same contents differs.
      const bool exists = results[i] == RestoreResult::kExists;
      if (exists && has_contents(keys[i])) results[i] = RestoreResult::kIdentical;
    }
  } catch (...) {
    report();
    throw;
  }
  report();
}

}  // namespace rlctl::limiter
