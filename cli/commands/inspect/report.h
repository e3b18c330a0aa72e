#pragma once

#include <string>
#include <string_view>

#include "base/json_object.h"
#include "cli/app/command.h"
#include "cli/terminal/terminal.h"
#include "stored/inspection.h"

namespace rlctl::cli::inspect {

/// A key, and the policy to which it belongs; else empty. The name lives as long as the
/// configuration.
struct Found {
  stored::Inspection inspection;
  std::string_view policy = {};
};

/// Appends a description of a key for people, most important facts first. No line is wider than the
/// look allows, except for keys and holders, which are never cut. Inferred values have the prefix
/// '~'. The text includes `server` if the key does not exist.
void append_text(std::string& out, const Found& found, const Look& look,
                 std::string_view server = {});

/// The number of bars that fit beside their label.
std::size_t columns_for_bars(const Look& look) noexcept;

extern const JsonOutput kJson;
/// Appends one JSON object and a line end.
void append_json(std::string& out, const Found& found);

}  // namespace rlctl::cli::inspect
