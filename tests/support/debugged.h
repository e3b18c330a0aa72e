#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "support/limiters.h"

namespace rlctl::test {

/// Steps through a script in the debugger of the server to its end, and shows every item that the
/// debugger says. The connection is of no more use. Returns what EVAL replies.
inline redis::Reply debug_script(redis::Connection& connection, std::string_view text,
                                 const std::vector<std::string>& keys,
                                 const std::vector<std::string>& arguments,
                                 const std::function<void(std::string_view)>& on_item) {
  REQUIRE(connection.call({"SCRIPT", "DEBUG", "SYNC"}).text() == "OK");
  const auto count = std::to_string(keys.size());
  std::vector<std::string_view> command{"EVAL", text, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto items = connection.call(command);
  while (true) {
    REQUIRE(items.type() == redis::ReplyType::kArray);
    REQUIRE(items.size() > 0);
    for (std::size_t i = 0; i < items.size(); ++i) on_item(items[i].text());
    if (items[items.size() - 1].text() == "<endsession>") return connection.read();
    items = connection.call({"step"});
  }
}

}  // namespace rlctl::test
