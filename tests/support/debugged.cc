#include "support/debugged.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "redis/connection.h"
#include "redis/server.h"

namespace rlctl::test {

using redis::ReplyType;

redis::Reply debug_script(redis::Connection& connection, std::string_view text,
                          const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments,
                          const std::function<void(std::string_view)>& on_item) {
  REQUIRE(connection.call({"SCRIPT", "DEBUG", "SYNC"}).text() == "OK");
  const auto count = std::to_string(keys.size());
  std::vector<std::string_view> command{"EVAL", text, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto items = connection.call(command);
  while (true) {
    REQUIRE(items.type() == ReplyType::kArray);
    REQUIRE(items.size() > 0);
    for (std::size_t i = 0; i < items.size(); ++i) on_item(items[i].text());
    if (items[items.size() - 1].text() == "<endsession>") return connection.read();
    items = connection.call({"step"});
  }
}

int stopped_at(std::string_view item) {
  constexpr std::string_view kStopped = "* Stopped at ";
  if (!item.starts_with(kStopped)) return 0;
  return std::stoi(std::string(item.substr(kStopped.size())));
}

namespace {

/// A new connection to a server that all calls share, without its keys.
redis::Connection empty_server() {
  static const redis::PrivateServer kServer;
  auto connection = redis::Connection::open(kServer.url(), std::chrono::seconds(120));
  (void)connection.call({"FLUSHALL"});
  return connection;
}

void erase_while(std::string& text, std::size_t at, std::string_view letters) {
  const auto end = text.find_first_not_of(letters, at);
  text.erase(at, std::min(end, text.size()) - at);
}

/// Removes the part of an error that tells where it comes from: "call to f_SHA1", "@user_script:12:
/// ".
std::string without_places(std::string text) {
  constexpr std::string_view kCall = "call to f_";
  for (auto at = text.find(kCall); at != text.npos; at = text.find(kCall, at)) {
    text.erase(at, kCall.size());
    erase_while(text, at, "0123456789abcdef");
  }
  for (const std::string_view chunk : {"user_script:", "rl_shim:"}) {
    for (auto at = text.find(chunk); at != text.npos; at = text.find(chunk, at)) {
      text.erase(at, chunk.size());
      erase_while(text, at, " 0123456789");
      erase_while(text, at, ": ");
      if (at > 0 && text[at - 1] == '@') text.erase(--at, 1);
    }
  }
  return text;
}

}  // namespace

std::string to_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kInteger:
      return std::to_string(reply.integer());
    case ReplyType::kStatus:
      return "+" + std::string(reply.text());
    case ReplyType::kError:
      return "-" + without_places(redis::to_error(reply).what());
    case ReplyType::kString:
      return "'" + std::string(reply.text()) + "'";
    case ReplyType::kArray:
      break;
  }
  std::string text = "{";
  for (std::size_t i = 0; i < reply.size(); ++i) {
    text += (i > 0 ? " " : "") + to_text(reply[i]);
  }
  return text + "}";
}

Told debug(const ldb::ProbedScript& script, const std::vector<std::string>& keys,
           const std::vector<std::string>& arguments,
           const std::function<void(const Told&)>& on_message) {
  using Kind = ldb::ProbeReader::Line::Kind;
  auto connection = empty_server();
  Told told;
  ldb::ProbeReader reader(script);
  const auto on_item = [&](std::string_view item) {
    if (const int line = script.line_of(stopped_at(item)); line > 0) told.stops.push_back(line);
    if (!item.starts_with("<debug> line ")) return;
    const auto text = item.substr(item.find(": ") + 2);
    auto line = reader.read(text);
    if (line.kind == Kind::kProbe) {
      told.readings.push_back(std::move(line.reading));
    } else if (line.kind == Kind::kCall) {
      told.calls.push_back(std::move(line));
    } else if (line.kind == Kind::kMessage) {
      std::string message(text);
      std::erase(message, '"');
      told.messages.push_back(std::move(message));
      if (on_message) on_message(told);
    }
  };
  told.reply = to_text(debug_script(connection, script.text, keys, arguments, on_item));
  return told;
}

ldb::ProbedScript unprobed(std::string_view source) {
  auto script = ldb::add_probes(source, {.probes = false});
  REQUIRE(script.has_value());
  REQUIRE(script->text == source);
  return *std::move(script);
}

ldb::ProbedScript probed(std::string_view source, const ldb::ProbeOptions& options) {
  auto script = ldb::add_probes(source, options);
  REQUIRE_MESSAGE(script.has_value(), std::string(source.substr(0, 1000)));
  return *std::move(script);
}

std::vector<std::string> lines_of(const ldb::ProbedScript& script, const Told& told) {
  std::vector<std::string> lines;
  for (const auto& reading : told.readings) {
    auto line = std::to_string(script.probes[reading.probe].line) + ":";
    for (const auto& variable : reading.variables) {
      line += " " + script.locals[variable.local].name;
      if (variable.activation > 0) line += "#" + std::to_string(variable.activation);
      line += "=" + text_of(variable.value);
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> told_of(std::string_view source, const ldb::ProbeOptions& options) {
  const auto script = probed(source, options);
  return lines_of(script, debug(script));
}

std::string reply_to(std::string_view text) {
  return to_text(empty_server().call({"EVAL", text, "0"}));
}

std::string same_reply(std::string_view source) {
  const auto reply = reply_to(source);
  CAPTURE(source.substr(0, 500));
  for (const bool wrapped : {false, true}) {
    const ldb::ProbeOptions clock{
        .wrapped = wrapped, .probes = false, .now = std::chrono::microseconds(42)};
    CHECK(reply_to(probed(source, {.wrapped = wrapped}).text) == reply);
    CHECK(reply_to(probed(source, clock).text) == reply);
  }
  return reply;
}

std::string local_name(int i) {
  return "v" + std::to_string(i);
}

std::string locals(int count) {
  return repeated(count, [](int i) { return "local v" + std::to_string(i) + " = 1\n"; });
}

std::string repeated(int count, const std::function<std::string(int)>& item,
                     std::string_view separator) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    if (i > 1) text += separator;
    text += item(i);
  }
  return text;
}

}  // namespace rlctl::test
