#include "cli/server/complete_key.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "cli/server/connection.h"
#include "cli/terminal/terminal.h"
#include "redis/scan.h"

namespace rlctl::cli {
namespace {

using namespace std::chrono_literals;

/// For the server's keys. After that, the shell's line editor would seem to hang.
constexpr auto kMaxTime = 500ms;
constexpr std::size_t kMaxKeys = 100;

}  // namespace

Completions complete_key(const CompletionContext& typed) {
  if (environment("RLCTL_COMPLETE_KEYS") != "1") return {};
  if (typed.options.is_given("--policy") || typed.connection.askpass) return {};
  const auto end = std::chrono::steady_clock::now() + kMaxTime;
  Connector connector(typed.connection, typed.configuration, typed.interrupt);
  if (connector.is_private()) return {};
  auto connection = connector.open_with(typed.interrupt, kMaxTime);
  redis::Scan scan(connection, redis::escape_glob(typed.word) + "*");
  std::set<std::string> keys;
  while (!scan.done() && keys.size() < kMaxKeys && std::chrono::steady_clock::now() < end) {
    for (auto& key : scan.next()) keys.insert(std::move(key));
  }
  auto completions = to_completions(keys);
  if (completions.words.size() > kMaxKeys) completions.words.resize(kMaxKeys);
  return completions;
}

}  // namespace rlctl::cli
