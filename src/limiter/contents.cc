#include "limiter/contents.h"

namespace rlctl::limiter {
namespace {

constexpr std::string_view kLastOfText = "127";
static_assert(Content::kMostText == 128);

redis::Reply read(redis::Connection& connection) {
  auto reply = connection.read();
  if (reply.is_error() && redis::error_code(reply.text()) != "WRONGTYPE") {
    throw redis::to_error(reply);
  }
  return reply;
}

/// How many replies there will be.
int append_reads(redis::Connection& connection, const std::string& key, const std::string& type) {
  if (type == "string") {
    connection.append({"GETRANGE", key, "0", kLastOfText});
    return 1;
  }
  if (type == "list") {
    connection.append({"LINDEX", key, "0"});
    connection.append({"LINDEX", key, "-1"});
    connection.append({"PTTL", key});
    return 3;
  }
  if (type == "zset") {
    connection.append({"ZRANGE", key, "0", "0", "WITHSCORES"});
    connection.append({"ZRANGE", key, "-1", "-1", "WITHSCORES"});
    connection.append({"PTTL", key});
    return 3;
  }
  return 0;
}

Content::Edge edge(redis::ReplyView reply) {
  if (reply.type() == redis::ReplyType::kString) {
    return {.member = std::string(reply.text()), .score = {}};
  }
  if (reply.size() != 2) return {};
  return {.member = std::string(reply[0].text()), .score = std::string(reply[1].text())};
}

}  // namespace

std::vector<Content> read_contents(redis::Connection& connection,
                                   std::span<const std::string> keys) {
  append_types(connection, keys);
  return take_contents(connection, keys);
}

void append_types(redis::Connection& connection, std::span<const std::string> keys) {
  for (const auto& key : keys) connection.append({"TYPE", key});
}

std::vector<Content> take_contents(redis::Connection& connection,
                                   std::span<const std::string> keys) {
  std::vector<Content> contents;
  contents.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    contents.push_back({.type = std::string(read(connection).text())});
  }
  std::vector<int> replies;
  replies.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    replies.push_back(append_reads(connection, keys[i], contents[i].type));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (replies[i] == 0) continue;
    const auto first = read(connection);
    if (replies[i] == 1) {
      if (!first.is_error()) contents[i].text = first.text();
      continue;
    }
    const auto last = read(connection);
    contents[i].first = edge(first);
    contents[i].last = edge(last);
    contents[i].expires = read(connection).integer() > 0;
  }
  return contents;
}

}  // namespace rlctl::limiter
