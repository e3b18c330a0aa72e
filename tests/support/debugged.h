#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "redis/connection.h"

namespace rlctl::test {

/// Steps through a script in the server's debugger to its end and passes on every item that the
/// debugger prints. The connection cannot be used afterwards. Returns the reply of EVAL.
redis::Reply debug_script(redis::Connection& connection, std::string_view text,
                          const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments,
                          const std::function<void(std::string_view)>& on_item);

/// The line of a stop that the debugger reports; 0 if the item is not a stop.
int stopped_at(std::string_view item);

/// {1 'a' +OK nil}. Errors do not include where they came from, which differs for a probed script.
std::string to_text(redis::ReplyView reply);

/// What the debugger reported, in order.
struct Told {
  std::vector<ldb::ProbeReading> readings;
  std::vector<ldb::ProbeReader::Line> calls;
  std::vector<std::string> messages;  ///< the script's own, without the quotes around each word
  std::vector<int> stops;             ///< lines of the source
  std::string reply;
};

/// Runs a script in a debugger on an empty server. Calls `on_message` for each of the script's own
/// messages, with what was reported before it.
Told debug(const ldb::ProbedScript& script, const std::vector<std::string>& keys = {},
           const std::vector<std::string>& arguments = {},
           const std::function<void(const Told&)>& on_message = {});

/// A script whose text is its source.
ldb::ProbedScript unprobed(std::string_view source);
/// Fails the test if add_probes() returns nothing.
ldb::ProbedScript probed(std::string_view source, const ldb::ProbeOptions& options = {});

/// "3: a=1 b#2=5": the line, and the values reported before it; 2 is the activation.
std::vector<std::string> lines_of(const ldb::ProbedScript& script, const Told& told);
/// The same for a source, which is debugged.
std::vector<std::string> told_of(std::string_view source, const ldb::ProbeOptions& options = {});

/// What a script replies on an empty server, as to_text() writes it.
std::string reply_to(std::string_view text);
/// The same for a source, which must reply the same with every kind of probe.
std::string same_reply(std::string_view source);

/// "v7"
std::string local_name(int i);
/// Declares v1, v2, and so on, each on a line of its own, as 1.
std::string locals(int count);
std::string repeated(int count, const std::function<std::string(int)>& item,
                     std::string_view separator = "");

}  // namespace rlctl::test

/// Prints lists in doctest's messages.
template <typename Item>
struct doctest::StringMaker<std::vector<Item>> {
  static String convert(const std::vector<Item>& items) {
    String text;
    for (const auto& item : items) text += "\n    " + doctest::toString(item);
    return text;
  }
};
