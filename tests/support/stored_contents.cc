#include "support/stored_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace rlctl::test {
namespace {

std::string reply_to(lua::Commands& commands, std::vector<std::string_view> words) {
  std::string reply;
  commands.call(words, false, reply);
  return reply;
}

/// An array of strings without line ends, sorted.
std::string sorted(std::string reply) {
  if (!reply.starts_with('*')) return reply;
  std::string_view rest = reply;
  const std::string size(take_until(rest, "\n"));
  std::vector<std::string> elements;
  while (!rest.empty()) {
    const auto length = take_until(rest, "\n");
    const auto text = take_until(rest, "\n");
    elements.push_back(fmt::format("{}\n{}\n", length, text));
  }
  std::ranges::sort(elements);
  return fmt::format("{}\n{}", size, fmt::join(elements, ""));
}

}  // namespace

std::string stored_contents(lua::Commands& commands, std::string_view key) {
  const auto type = reply_to(commands, {"TYPE", key});
  const auto value = type == "+string\r\n" ? reply_to(commands, {"GET", key})
                     : type == "+list\r\n" ? reply_to(commands, {"LRANGE", key, "0", "-1"})
                     : type == "+hash\r\n" ? reply_to(commands, {"HGETALL", key})
                     : type == "+set\r\n"  ? sorted(reply_to(commands, {"SMEMBERS", key}))
                     : type == "+zset\r\n"
                         ? reply_to(commands, {"ZRANGE", key, "0", "-1", "WITHSCORES"})
                         : "";
  return type + reply_to(commands, {"PTTL", key}) + value;
}

std::string sorted_if_set(const std::vector<std::string>& words, const std::string& reply) {
  const auto name = lower_case(words.front());
  return name == "smembers" || name == "spop" || name == "srandmember" ? sorted(reply) : reply;
}

}  // namespace rlctl::test
