#include "support/forwarded_commands.h"

#include <fmt/format.h>

#include <cmath>

#include "base/number.h"

namespace rlctl::test {

std::string to_resp(redis::ReplyView reply) {
  switch (reply.type()) {
    case redis::ReplyType::kString:
      return fmt::format("${}\r\n{}\r\n", reply.text().size(), reply.text());
    case redis::ReplyType::kStatus:
      return fmt::format("+{}\r\n", reply.text());
    case redis::ReplyType::kError:
      return fmt::format("-{}\r\n", reply.text());
    case redis::ReplyType::kInteger:
      return fmt::format(":{}\r\n", reply.integer());
    case redis::ReplyType::kNil:
      return "$-1\r\n";
    case redis::ReplyType::kArray:
      break;
  }
  auto text = fmt::format("*{}\r\n", reply.size());
  for (std::size_t i = 0; i < reply.size(); ++i) text += to_resp(reply[i]);
  return text;
}

void ForwardedCommands::call(std::span<const std::string_view> words, bool read_only,
                             std::string& reply) {
  for (const auto word : words) {
    const auto number = to_number<double>(word);
    if (number && word.size() > 16 && fmt::format("{:.17g}", *number) == word &&
        *number != std::floor(*number)) {
      has_long_number_ = true;
    }
  }
  const auto refused = refusal(words, read_only);
  reply += refused.empty() ? to_resp(connection_.call(words)) : refused;
}

std::string_view ForwardedCommands::refusal(std::span<const std::string_view> words,
                                            bool read_only) {
  auto found = commands_.find(words.front());
  if (found == commands_.end()) {
    Command command;
    const auto reply = connection_.call({"COMMAND", "INFO", words.front()});
    if (reply.size() == 1 && reply[0].size() >= 3) {
      command = {.is_known = true, .is_for_scripts = true, .arity = reply[0][1].integer()};
      for (std::size_t i = 0; i < reply[0][2].size(); ++i) {
        const auto flag = reply[0][2][i].text();
        if (flag == "write") command.writes = true;
        if (flag == "noscript") command.is_for_scripts = false;
      }
    }
    found = commands_.emplace(words.front(), command).first;
  }
  const auto& command = found->second;
  const auto size = static_cast<std::int64_t>(words.size());
  if (!command.is_known) return "-ERR Unknown Redis command called from script\r\n";
  if (command.arity > 0 ? size != command.arity : size < -command.arity) {
    return "-ERR Wrong number of args calling Redis command from script\r\n";
  }
  if (!command.is_for_scripts) return "-ERR This Redis command is not allowed from script\r\n";
  if (command.writes && read_only) {
    return "-ERR Write commands are not allowed from read-only scripts.\r\n";
  }
  return {};
}

}  // namespace rlctl::test
