#include "traffic/skip_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "redis/server_info.h"

namespace rlctl::traffic {
namespace {

/// Each node has one level, and one more with a probability of 1/4 as long as it gets one: a third
/// of a level more than one on average.
constexpr std::int64_t kLevelBytes = 16;
constexpr double kMoreBytes = kLevelBytes / 3.0;

/// The probability that so many nodes all have one level, or none has, is below 10^-7.
constexpr std::size_t kTries = 64;
/// As many members, so that one of them has one level.
constexpr std::size_t kFewest = kTries;

/// Members added again in one write.
constexpr std::size_t kMembersAtOnce = 256;

class SkipList {
 public:
  SkipList(redis::Connection& connection, std::string_view key)
      : connection_(connection),
        key_(key),
        members_(connection.call({"ZRANGE", key, "0", "-1", "WITHSCORES"})) {}

  [[nodiscard]] std::size_t size() const { return members_.size() / 2; }
  [[nodiscard]] bool is_uniform() const;
  [[nodiscard]] std::optional<double> expected_bytes();

 private:
  /// What MEMORY USAGE reports without a member that was added again, and then with it.
  struct Bytes {
    std::int64_t without = 0, with = 0;
  };

  [[nodiscard]] std::string_view member(std::size_t i) const { return members_[2 * i].text(); }
  [[nodiscard]] std::string_view score(std::size_t i) const { return members_[2 * i + 1].text(); }
  [[nodiscard]] bool end_rehash();
  void append_again(std::size_t i);
  [[nodiscard]] std::optional<Bytes> read_again();
  [[nodiscard]] std::vector<Bytes> add_first_again();
  [[nodiscard]] std::vector<Bytes> add_all_again();

  redis::Connection& connection_;
  std::string_view key_;
  redis::Reply members_;  ///< each with its score
};

bool SkipList::is_uniform() const {
  for (std::size_t i = 1; i < size(); ++i) {
    if (member(i).size() != member(0).size()) return false;
  }
  return true;
}

/// The server moves one entry of a growing or shrinking hash table at each look-up, and until the
/// last, for which chance decides when it comes, there are two tables. Looks up often enough;
/// returns false if the user may not call ZADD.
bool SkipList::end_rehash() {
  std::vector<std::string_view> add{"ZADD", key_};
  for (std::size_t i = 0; i < kMembersAtOnce; ++i) {
    add.push_back(score(0));
    add.push_back(member(0));
  }
  for (std::size_t done = 0; done < 3 * size(); done += kMembersAtOnce) {
    if (connection_.call(add).is_error()) return false;
  }
  return true;
}

void SkipList::append_again(std::size_t i) {
  connection_.append({"ZREM", key_, member(i)});
  connection_.append({"MEMORY", "USAGE", key_, "SAMPLES", "1"});
  connection_.append({"ZADD", key_, score(i), member(i)});
  connection_.append({"MEMORY", "USAGE", key_, "SAMPLES", "1"});
}

std::optional<SkipList::Bytes> SkipList::read_again() {
  const auto removed = connection_.read();
  const auto without = connection_.read();
  const auto added = connection_.read();
  const auto with = connection_.read();
  if (removed.integer() != 1 || added.integer() != 1) return std::nullopt;
  if (without.integer() <= 0 || with.integer() <= 0) return std::nullopt;
  return Bytes{without.integer(), with.integer()};
}

/// Empty if the user may not call a command.
std::vector<SkipList::Bytes> SkipList::add_first_again() {
  std::vector<Bytes> all;
  for (std::size_t i = 0; i < kTries; ++i) append_again(0);
  for (std::size_t i = 0; i < kTries; ++i) {
    if (const auto bytes = read_again()) all.push_back(*bytes);
  }
  if (all.size() < kTries) all.clear();
  return all;
}

/// The same for each member.
std::vector<SkipList::Bytes> SkipList::add_all_again() {
  std::vector<Bytes> all;
  for (std::size_t begin = 0; begin < size(); begin += kMembersAtOnce) {
    const auto end = std::min(begin + kMembersAtOnce, size());
    for (auto i = begin; i < end; ++i) append_again(i);
    for (auto i = begin; i < end; ++i) {
      if (const auto bytes = read_again()) all.push_back(*bytes);
    }
    if (all.size() < end) return {};
  }
  return all;
}

std::optional<double> SkipList::expected_bytes() {
  if (!end_rehash()) return std::nullopt;
  const auto tries = add_first_again();
  if (tries.empty()) return std::nullopt;
  const auto more = kMoreBytes * static_cast<double>(size());
  const auto [least, most] = std::ranges::minmax(tries, {}, &Bytes::with);
  if (least.with == most.with) return std::nullopt;  // not the skip list of Redis

  // With SAMPLES 1 the server multiplies the size of the first node, so that a level more counts
  // once for each member; the smallest result is that of nodes with one level.
  if (most.with - least.with >= kLevelBytes * static_cast<std::int64_t>(size())) {
    return static_cast<double>(least.with) + more;
  }
  // Redis 8.6 counts what it allocates, and ignores SAMPLES: measure each node.
  const auto nodes = add_all_again();
  if (nodes.empty()) return std::nullopt;
  const auto bytes_of = [](const Bytes& node) { return node.with - node.without; };
  const auto one_level = bytes_of(std::ranges::min(nodes, {}, bytes_of));
  auto bytes = nodes.back().with;
  for (const auto& node : nodes) bytes -= bytes_of(node) - one_level;
  return static_cast<double>(bytes) + more;
}

/// Valkey's hash tables since 8.1 have chained buckets, whose number depends on the random seed.
bool has_chained_buckets(const redis::ServerVersion& version) {
  return version.family == "valkey" && version.major_number() >= 8 &&
         !version.number.starts_with("8.0.");
}

}  // namespace

std::optional<double> expected_skip_list_bytes(redis::Connection& connection,
                                               std::span<const std::string> keys) {
  if (keys.empty()) return 0;
  const auto version = redis::version_of(connection);
  if (!version || has_chained_buckets(*version)) return std::nullopt;
  double sum = 0;
  for (const auto& key : keys) {
    SkipList list(connection, key);
    if (list.size() < kFewest || !list.is_uniform()) return std::nullopt;
    const auto bytes = list.expected_bytes();
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

}  // namespace rlctl::traffic
