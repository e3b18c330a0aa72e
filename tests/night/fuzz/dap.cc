// The bytes of a client of the Debug Adapter Protocol are cut into the same messages in whatever
// pieces they come; a launch, a hit count and a message are read or refused.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands/debug/dap/launch.h"
#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/messages.h"
#include "debugger/breakpoint.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::dap {

using rlctl::UsageError;
using namespace rlctl::cli::debug::dap;

constexpr std::size_t kLongest = 2000;

/// The messages in these pieces; std::nullopt at the end of those before bytes that are refused.
std::vector<std::optional<std::string>> messages_in(std::string_view bytes, std::size_t piece) {
  Messages messages;
  std::vector<std::optional<std::string>> found;
  while (!bytes.empty()) {
    messages.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto next = accepted<UsageError>([&] { return messages.next(); }, kLongest);
      if (!next) return found.push_back(std::nullopt), found;
      if (!*next) break;
      found.push_back(**next);
    }
  }
  return found;
}

void test_breakpoint(std::string_view text) {
  const auto hit = accepted<UsageError>([&] { return rlctl::debugger::HitCondition(text); },
                                        5 * text.size() + kLongest);
  if (hit) (void)hit->accepts(1);
  const auto message =
      accepted<UsageError>([&] { return rlctl::debugger::LogMessage(text); }, kLongest);
  if (!message) return;
  require(message->text({}).size() <= text.size() + 3 * message->expressions().size(),
          "a message is the text, with values");
}

void test(std::string_view input) {
  const auto whole = messages_in(input, input.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    require(messages_in(input, piece) == whole, "pieces make the same messages");
  }
  test_breakpoint(input);
  const std::string framed_input = framed(input);
  const auto framed_once = messages_in(framed_input, 100);
  require(framed_once.size() == 1 && framed_once.front() == std::string(input),
          "what is sent can be read");
  for (const auto& body : whole) {
    const auto json = body ? rlctl::parse_json(*body) : Json();
    (void)accepted<UsageError>([&] { return read_launch(json, {}, {}).operands.size(); },
                               10 * input.size() + kLongest);
  }
}

const Target kTarget("dap", test);

}  // namespace fuzz::dap
