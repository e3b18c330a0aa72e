#include "limiter/contents.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rlctl::limiter {
namespace {

constexpr std::string_view kLastOfText = "127";
static_assert(Content::kMostText == 128);
/// An entry may have any size, and nothing says which before it comes; and a server makes all
/// answers to one write before it sends the first. So the ends of lists and sorted sets are asked
/// for a few keys at a time: of one first, of twice as many next, up to so many...
constexpr std::size_t kMostEnds = 16;
/// ... and of one again where those of the last were larger than this together.
constexpr std::size_t kManyBytes = std::size_t{1} << 20;
/// How often a key is looked at that is empty: it went or changed its type between the two halves
/// of a look, or is an empty string.
constexpr int kLooks = 2;

redis::Reply read_of_any_type(redis::Connection& connection) {
  auto reply = connection.read();
  if (reply.is_error() && redis::error_code(reply.text()) != "WRONGTYPE") {
    throw redis::to_error(reply);
  }
  return reply;
}

void append_type(redis::Connection& connection, const std::string& key) {
  connection.append({"TYPE", key});
}

bool has_ends(const Content& content) {
  return content.type == "list" || content.type == "zset";
}

void append_read(redis::Connection& connection, const std::string& key, const std::string& type) {
  if (type == "string") {
    connection.append({"GETRANGE", key, "0", kLastOfText});
  } else if (type == "list") {
    connection.append({"LINDEX", key, "0"});
    connection.append({"LINDEX", key, "-1"});
    connection.append({"PTTL", key});
  } else if (type == "zset") {
    connection.append({"ZRANGE", key, "0", "0", "WITHSCORES"});
    connection.append({"ZRANGE", key, "-1", "-1", "WITHSCORES"});
    connection.append({"PTTL", key});
  }
}

bool is_edge(redis::ReplyView reply) {
  return reply.type() == redis::ReplyType::kString || reply.size() == 2;
}

Content::Edge edge(redis::ReplyView reply) {
  if (!is_edge(reply)) return {};
  if (reply.type() == redis::ReplyType::kString) {
    return {.member = std::string(reply.text()), .score = {}};
  }
  return {.member = std::string(reply[0].text()), .score = std::string(reply[1].text())};
}

/// Takes what append_read() asked for. False where there was nothing: no list or sorted set is
/// empty, and hardly a string.
bool take_read(redis::Connection& connection, Content& content) {
  if (content.type == "string") {
    const auto text = read_of_any_type(connection);
    if (!text.is_error()) content.text = text.text();
    return !content.text.empty();
  }
  if (!has_ends(content)) return true;
  const auto first = read_of_any_type(connection);
  const auto last = read_of_any_type(connection);
  content.expires = read_of_any_type(connection).integer() > 0;
  content.first = edge(first);
  content.last = edge(last);
  return is_edge(first) && is_edge(last);
}

using Indices = std::vector<std::size_t>;

/// The contents of some keys, whose types are known. Appends those that were empty to `empty`;
/// returns how many bytes the ends had.
std::size_t read_group(redis::Connection& connection, std::span<const std::string> keys,
                       std::vector<Content>& contents, std::span<const std::size_t> group,
                       Indices& empty) {
  for (const auto i : group) append_read(connection, keys[i], contents[i].type);
  std::size_t bytes = 0;
  for (const auto i : group) {
    if (!take_read(connection, contents[i])) empty.push_back(i);
    bytes += contents[i].first.member.size() + contents[i].last.member.size();
  }
  return bytes;
}

/// The same of any number of them. Those that were empty.
Indices read_groups(redis::Connection& connection, std::span<const std::string> keys,
                    std::vector<Content>& contents, Indices which) {
  const auto small_ones = std::partition(which.begin(), which.end(),
                                         [&](std::size_t i) { return has_ends(contents[i]); });
  Indices empty;
  std::span<const std::size_t> ends(which.begin(), small_ones);
  std::size_t most = 1;
  while (!ends.empty()) {
    const auto group = ends.first(std::min(most, ends.size()));
    const auto bytes = read_group(connection, keys, contents, group, empty);
    most = bytes > kManyBytes ? 1 : std::min(most * 2, kMostEnds);
    ends = ends.subspan(group.size());
  }
  read_group(connection, keys, contents, {small_ones, which.end()}, empty);
  return empty;
}

}  // namespace

std::vector<Content> read_contents(redis::Connection& connection,
                                   std::span<const std::string> keys) {
  append_types(connection, keys);
  return take_contents(connection, keys);
}

void append_types(redis::Connection& connection, std::span<const std::string> keys) {
  for (const auto& key : keys) append_type(connection, key);
}

std::vector<Content> take_contents(redis::Connection& connection,
                                   std::span<const std::string> keys) {
  std::vector<Content> contents(keys.size());
  Indices open(keys.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (int look = 1;; ++look) {
    for (const auto i : open)
      contents[i] = {.type = std::string(read_of_any_type(connection).text())};
    open = read_groups(connection, keys, contents, std::move(open));
    if (open.empty() || look == kLooks) return contents;
    for (const auto i : open) append_type(connection, keys[i]);
  }
}

}  // namespace rlctl::limiter
