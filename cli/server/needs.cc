#include "cli/server/needs.h"

#include <algorithm>
#include <stdexcept>

#include "limiter/algorithm.h"

namespace rlctl::cli {

std::vector<Use> uses() {
  using Words = std::vector<std::string>;
  const auto together = [](Words all, const Words& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Words quota{"TIME",  "TYPE",   "PTTL",   "GETRANGE", "LLEN",  "LINDEX",
                    "ZCARD", "ZCOUNT", "ZRANGE", "HLEN",     "HMGET", "HGETALL"};
  const auto list = together({"SCAN"}, quota);
  const Words look{"TYPE", "TIME", "PTTL", "GETRANGE", "LINDEX", "ZRANGE", "HLEN", "HMGET"};
  const Words script{"EVALSHA", "SCRIPT LOAD"};
  const auto restore_look = together(script, {"TIME", "DUMP", "PTTL"});
  return {
      {"inspect", together(quota, {"WATCH", "MULTI", "EXEC", "LRANGE"})},
      {"list", list},
      {"audit", together(list, {"INFO"})},
      {"quota", quota},
      {kSearch, {"SCAN"}},
      {"reset --dry-run", look},
      {"reset", together(together(look, script), {"UNLINK"})},
      {"reset --save", {"DUMP"}},
      {"reset --restore --dry-run", restore_look},
      {"reset --restore", together(restore_look, {"RESTORE"})},
      {"scripts load", {"SCRIPT LOAD"}},
      {"burst", together(script, {"UNLINK"})},
      {"debug", {"TYPE", "PTTL", "GET", "HGETALL", "LRANGE", "SMEMBERS", "ZRANGE"}},
      {"debug --ldb", together(script, {"TYPE", "TIME", "PTTL", "DUMP"})},
  };
}

Use use_named(std::string_view name) {
  if (const auto* algorithm = limiter::find_algorithm(name)) {
    return {algorithm->name, limiter::commands_of(*algorithm)};
  }
  auto table = uses();
  const auto found = std::ranges::find(table, name, &Use::name);
  if (found == table.end()) throw std::logic_error("no use " + std::string(name));
  return std::move(*found);
}

redis::Needs needs_of(std::string_view of, std::span<const std::string_view> uses) {
  redis::Needs needs{.of = std::string(of)};
  for (const auto name : uses) {
    for (auto& command : use_named(name).commands) {
      const bool is_new = std::ranges::find(needs.commands, command) == needs.commands.end();
      if (is_new) needs.commands.push_back(std::move(command));
    }
  }
  return needs;
}

redis::Needs needs_of(std::string_view use) {
  return needs_of(use, {&use, 1});
}

}  // namespace rlctl::cli
