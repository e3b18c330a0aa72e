#include "keyspace/keyspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "keyspace/call.h"
#include "keyspace/value.h"

namespace rlctl::keyspace {
namespace {

/// The rows of all tables, by name.
const std::vector<Command>& all_commands() {
  static const auto kAll = [] {
    std::vector<Command> all;
    for (const auto rows : {key_commands(), string_commands(), bit_commands(), hash_commands(),
                            list_commands(), set_commands(), sorted_set_commands()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::ranges::sort(all, {}, &Command::name);
    return all;
  }();
  return kAll;
}

/// Null if there is no such command.
const Command* find_command(std::string_view name) {
  const auto wanted = upper_case(name);
  const auto& all = all_commands();
  const auto at = std::ranges::lower_bound(all, wanted, {}, &Command::name);
  return at != all.end() && at->name == wanted ? &*at : nullptr;
}

/// What a word and each element of a collection take besides their bytes, about.
constexpr std::size_t kOverhead = 64;

std::size_t bytes_of(const std::string& text) {
  return text.size() + kOverhead;
}
std::size_t bytes_of(const Member& member) {
  return bytes_of(member.name);
}
std::size_t bytes_of(const Field& field) {
  return bytes_of(field.name) + bytes_of(field.value);
}
std::size_t bytes_of(const Scored& scored) {
  return bytes_of(scored.name);
}
template <typename Collection>
std::size_t bytes_of(const Collection& collection) {
  std::size_t bytes = 0;
  for (const auto& element : collection) bytes += bytes_of(element);
  return bytes;
}

// The size comes first, so that no two values have one text.
void add_text(std::string& out, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{}:{}", text.size(), text);
}
void add_text(std::string& out, const Member& member) {
  add_text(out, member.name);
}
void add_text(std::string& out, const Field& field) {
  add_text(out, field.name);
  add_text(out, field.value);
}
void add_text(std::string& out, const Scored& scored) {
  fmt::format_to(std::back_inserter(out), "{} ", scored.score);
  add_text(out, scored.name);
}
void add_text(std::string& out, const Text& text) {
  add_text(out, std::string_view(text));
}
template <typename Collection>
void add_text(std::string& out, const Collection& collection) {
  for (const auto& element : collection) add_text(out, element);
}

}  // namespace

std::string_view type_name(const Value& value) {
  constexpr std::array<std::string_view, std::variant_size_v<Value::variant>> kNames = {
      "string", "list", "hash", "set", "zset"};
  return kNames[value.index()];
}

std::string to_text(const Value& value) {
  std::string text;
  std::visit([&](const auto& its) { add_text(text, its); }, value);
  return text;
}

std::size_t size_of(const Value& value) {
  return std::visit([](const auto& its) { return bytes_of(its); }, value);
}

std::vector<std::string_view> keys_of(std::span<const std::string_view> words) {
  const auto* const command = find_command(words.front());
  if (command == nullptr || !command->takes(words.size())) return {};
  std::vector<std::string_view> keys;
  const auto last = std::min(static_cast<std::size_t>(command->last_key), words.size() - 1);
  const auto step = static_cast<std::size_t>(command->key_step);
  for (std::size_t i = 1; i <= last; i += step) keys.push_back(words[i]);
  return keys;
}

bool writes_keys(std::string_view command) {
  const auto* const its = find_command(command);
  return its != nullptr && its->writes && its->last_key != kNoKey;
}

std::vector<CommandInfo> Keyspace::commands() {
  std::vector<CommandInfo> all;
  for (const auto& row : all_commands()) all.push_back({row.name, row.arity, row.writes});
  return all;
}

void Keyspace::call(std::span<const std::string_view> words, bool read_only, std::string& reply) {
  const auto* const command = find_command(words.front());
  const char* refusal = nullptr;
  if (command == nullptr) {
    refuse_other_command(words.front());
    refusal = "ERR Unknown Redis command called from script";
  } else if (!command->takes(words.size())) {
    refusal = kWrongWordCount;
  } else if (command->writes && read_only) {
    refusal = "ERR Write commands are not allowed from read-only scripts.";
  }
  if (refusal != nullptr) {
    reply.append("-").append(refusal).append("\r\n");
    return;
  }
  const auto size = reply.size();
  Call call(*this, command->name, words, reply);
  try {
    if (command->writes) {
      std::size_t bytes = 0;
      for (const auto word : words) bytes += word.size() + kOverhead;
      reserve(bytes);
    }
    command->run(call);
  } catch (const ErrorReply& error) {
    reply.resize(size);
    reply.append("-").append(error.text).append("\r\n");
  } catch (const NotImplementedHere&) {
    reply.resize(size);
    throw;
  }
  call.finish();
}

void Keyspace::set_time(std::chrono::microseconds now, std::chrono::microseconds shown) {
  // What has expired stays gone.
  if (now < now_) remove_expired();
  now_ = now;
  ahead_ = now - shown;
}

std::vector<std::string_view> Keyspace::keys() const {
  std::vector<std::string_view> names;
  for (const auto& [name, key] : keys_) {
    if (!has_expired(key)) names.push_back(name);
  }
  return names;
}

const Key* Keyspace::find(std::string_view name) const {
  const auto at = keys_.find(name);
  return at == keys_.end() || has_expired(at->second) ? nullptr : &at->second;
}

std::chrono::milliseconds Keyspace::ttl(const Key& key) const {
  return std::chrono::milliseconds{key.expiry.value() - now_ms()};
}

std::string Keyspace::to_text() const {
  std::string text;
  for (const auto& [name, key] : keys_) {
    if (has_expired(key)) continue;
    add_text(text, name);
    const auto [milliseconds, microseconds] = time_left(key);
    fmt::format_to(std::back_inserter(text), "{} {} {} ", type_name(*key.value), milliseconds,
                   microseconds);
    std::visit([&](const auto& value) { add_text(text, value); }, *key.value);
  }
  return text;
}

std::pair<std::int64_t, std::int64_t> Keyspace::time_left(const Key& key) const {
  if (!key.expiry) return {-1, 0};
  return {*key.expiry - now_ms(), now_.count() - now_ms() * 1000};
}

std::int64_t Keyspace::now_ms() const {
  return std::chrono::floor<std::chrono::milliseconds>(now_).count();
}
std::int64_t Keyspace::ahead_ms() const {
  return now_ms() - std::chrono::floor<std::chrono::milliseconds>(now_ - ahead_).count();
}

void Keyspace::remove_expired() {
  std::erase_if(keys_, [&](const auto& key) { return has_expired(key.second); });
}

void Keyspace::reserve_copy(const Key& key) {
  reserve(size_of(*key.value));
}

void Keyspace::reserve(std::size_t bytes) {
  if (bytes_at_most_ + bytes > 2 * kMostBytes) {
    // The sum counts what has been removed since, too.
    remove_expired();
    bytes_at_most_ = 0;
    for (const auto& [name, key] : keys_) {
      bytes_at_most_ += bytes_of(name) + size_of(*key.value);
    }
    if (bytes_at_most_ + bytes > kMostBytes) {
      throw NotImplementedHere(
          fmt::format("the keys of the script hold more than {} MiB", kMostBytes >> 20),
          "a server has more memory: burst and adversary run scripts there with -u private:, debug "
          "with --ldb");
    }
  }
  bytes_at_most_ += bytes;
}

}  // namespace rlctl::keyspace
