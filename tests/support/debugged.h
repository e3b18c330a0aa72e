#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "support/limiters.h"

namespace rlctl::test {

/// Steps through a script in the debugger of the server to its end, and shows every item that the
/// debugger says. The connection is of no more use. Returns what EVAL replies.
redis::Reply debug_script(redis::Connection& connection, std::string_view text,
                          const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments,
                          const std::function<void(std::string_view)>& on_item);

/// The line of a stop, as the debugger says it; 0 where the item is none.
[[nodiscard]] int stopped_at(std::string_view item);

/// {1 'a' +OK nil}. Errors are without where they came from, of which a probed script says
/// something else.
[[nodiscard]] std::string to_text(redis::ReplyView reply);

/// What was told in the debugger, in its order.
struct Told {
  std::vector<ldb::ProbeReading> readings;
  std::vector<ldb::ProbeReader::Line> calls;
  std::vector<std::string> messages;  ///< the script's own, without the quotes around each word
  std::vector<int> stops;             ///< lines of the source
  std::string reply;
};

/// Runs it in a debugger on an empty server. `on_message` is called for each of the script's own
/// messages, with what was told before it.
[[nodiscard]] Told debug(const ldb::ProbedScript& script, const std::vector<std::string>& keys = {},
                         const std::vector<std::string>& arguments = {},
                         const std::function<void(const Told&)>& on_message = {});

/// A script that is its source.
[[nodiscard]] ldb::ProbedScript unprobed(std::string_view source);
/// Fails the test where add_probes() gives none.
[[nodiscard]] ldb::ProbedScript probed(std::string_view source,
                                       const ldb::ProbeOptions& options = {});

}  // namespace rlctl::test

/// Lists in doctest's messages.
template <typename Item>
struct doctest::StringMaker<std::vector<Item>> {
  static String convert(const std::vector<Item>& items) {
    String text;
    for (const auto& item : items) text += "\n    " + doctest::toString(item);
    return text;
  }
};
