#include "cli/commands/debug/dap/messages.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rlctl::cli::debug::dap_messages_test {
namespace {

using Texts = std::vector<std::string>;

Texts all_of(dap::Messages& messages) {
  Texts texts;
  while (auto text = messages.next()) texts.push_back(*std::move(text));
  return texts;
}

TEST_CASE("messages are read however their bytes are cut") {
  const auto bytes =
      dap::framed("{}") + "content-length:3 \r\nOther: 1\r\n\r\n[1]" + dap::framed("");
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    CAPTURE(size);
    dap::Messages messages;
    Texts texts;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      messages.add(std::string_view(bytes).substr(at, size));
      for (auto& text : all_of(messages)) texts.push_back(std::move(text));
    }
    CHECK(texts == Texts{"{}", "[1]", ""});
  }
}

TEST_CASE("a message that cannot be read is refused, however long") {
  static constexpr std::pair<const char*, const char*> kRefused[] = {
      {"\r\n\r\n{}", "no Content-Length"},
      {"Content-Length: -1\r\n\r\n{}", "no Content-Length"},
      {"Content-Length: 1e9\r\n\r\n{}", "no Content-Length"},
      {"Content-Length: 99999999999999999999\r\n\r\n{}", "no Content-Length"},
      {"Content-Length: 16777217\r\n\r\n", "too large"},
  };
  for (const auto& one : kRefused) {
    CAPTURE(one.first);
    dap::Messages messages;
    messages.add(one.first);
    CHECK_THROWS_WITH_AS(static_cast<void>(messages.next()), doctest::Contains(one.second),
                         UsageError);
  }
  dap::Messages messages;
  messages.add(std::string(dap::Messages::kLargestHeader, 'x'));
  CHECK_THROWS_WITH_AS(static_cast<void>(messages.next()), doctest::Contains("begins with"),
                       UsageError);
}

TEST_CASE("a message of binary bytes is refused with all that is shown of it") {
  dap::Messages with_header, without;
  with_header.add(std::string("a\0b\x1b\r\n\r\n", 8));
  CHECK_THROWS_WITH_AS(static_cast<void>(with_header.next()), doctest::Contains("'a\\x00b\\x1b'"),
                       UsageError);
  without.add(std::string(dap::Messages::kLargestHeader, '\0'));
  CHECK_THROWS_WITH_AS(static_cast<void>(without.next()), doctest::Contains("\\x00\\x00'"),
                       UsageError);
}

TEST_CASE("a message may have any length up to the largest") {
  dap::Messages messages;
  messages.add("Content-Length: 16777216\r\n\r\n");
  CHECK_FALSE(messages.next());
}

}  // namespace
}  // namespace rlctl::cli::debug::dap_messages_test
