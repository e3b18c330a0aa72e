#pragma once

#include <string>
#include <string_view>

namespace rlctl {

/// Returns the JSON, one or more lines that `rlctl COMMAND --json` could write, and records them if
/// tests/run asks for it: tests/schema/validate compares them with the schema.
std::string recorded(std::string_view command, std::string json);

}  // namespace rlctl
