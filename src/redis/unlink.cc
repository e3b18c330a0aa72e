#include "redis/unlink.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "redis/error.h"

namespace rlctl::redis {

void unlink_keys(Connection& connection, std::span<const std::string> keys) {
  constexpr std::size_t kAtOnce = 500;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kAtOnce));
    std::vector<std::string_view> arguments{"UNLINK"};
    arguments.insert(arguments.end(), some.begin(), some.end());
    const auto reply = connection.call(arguments);
    if (reply.is_error()) throw to_error(reply);
    keys = keys.subspan(some.size());
  }
}

}  // namespace rlctl::redis
