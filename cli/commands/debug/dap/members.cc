#include "cli/commands/debug/dap/members.h"

#include <fmt/format.h>

#include "base/error.h"

namespace rlctl::cli::debug::dap {

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_member(const Json& object, const char* name) {
  const auto* found = member(object, name);
  if (found == nullptr) return {};
  if (!found->is_string()) throw UsageError(fmt::format("\"{}\" must be a string", name));
  return found->get<std::string>();
}

std::int64_t integer_member(const Json& object, const char* name, std::int64_t absent) {
  const auto* found = member(object, name);
  if (found == nullptr) return absent;
  if (!found->is_number_integer() ||
      (found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t{INT32_MAX}) ||
      found->get<std::int64_t>() < INT32_MIN) {
    throw UsageError(fmt::format("\"{}\" must be a whole number", name));
  }
  return found->get<std::int64_t>();
}

bool flag_member(const Json& object, const char* name, bool absent) {
  const auto* found = member(object, name);
  if (found == nullptr) return absent;
  if (!found->is_boolean()) throw UsageError(fmt::format("\"{}\" must be true or false", name));
  return found->get<bool>();
}

std::vector<std::string> texts_member(const Json& object, const char* name) {
  const auto* found = member(object, name);
  if (found == nullptr) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> texts;
  if (found->is_array()) {
    for (const auto& one : *found) {
      if (one.is_string()) texts.push_back(one.get<std::string>());
    }
  }
  if (!found->is_array() || texts.size() != found->size()) {
    throw UsageError(fmt::format("\"{}\" must be an array of strings", name));
  }
  return texts;
}

}  // namespace rlctl::cli::debug::dap
