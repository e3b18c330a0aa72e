#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lua/runner.h"

namespace rlctl::test {

/// The type, the TTL and the value of a key, asked for with commands: of a server, or of a keyspace
/// in this process. The members of a set are sorted, since Redis has no order for them.
std::string stored_contents(lua::Commands& commands, std::string_view key);

/// A reply to a command, with the members sorted if it replies those of a set.
std::string sorted_if_set(const std::vector<std::string>& words, const std::string& reply);

}  // namespace rlctl::test
