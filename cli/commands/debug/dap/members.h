#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Reading the members of a request. Null is the same as no member. All but member() throw
// UsageError for a member of another type.

namespace rlctl::cli::debug::dap {

using Json = nlohmann::json;

/// Null if there is no such member, or no object.
const Json* member(const Json& object, const char* name);
/// "" without one.
std::string text_member(const Json& object, const char* name);
std::int64_t integer_member(const Json& object, const char* name, std::int64_t absent);
bool flag_member(const Json& object, const char* name, bool absent);
/// The strings of an array, or the one string; none if there is no such member.
std::vector<std::string> texts_member(const Json& object, const char* name);

}  // namespace rlctl::cli::debug::dap
