#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/url.h"

namespace rlctl::cli {

/// Something that rlctl is used for: a command of rlctl, or what an option adds to it; and the
/// commands of the server that it and its scripts must be allowed to call: "GET", "SCRIPT LOAD".
/// rlctl-acl(7) lists the same.
struct Use {
  std::string_view name;
  std::vector<std::string> commands;
};

/// The use of the keys of several limits, whose names are not known.
inline constexpr std::string_view kSearch = "a search without --limit";

/// Every use but the algorithms, in the order of the manual.
std::vector<Use> uses();
/// Finds the use by its name, which may be that of an algorithm: what a call of it takes.
Use use_named(std::string_view name);

/// What these uses need together, for the hints of errors. `of` is whose needs they are.
redis::Needs needs_of(std::string_view of, std::span<const std::string_view> uses);
redis::Needs needs_of(std::string_view use);

}  // namespace rlctl::cli
