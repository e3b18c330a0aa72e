// needs: server
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace rlctl::test::dumps_test {
namespace {

/// A tests/stored/dumps/*.state file: state that an algorithm once stored, and the answers that it
/// must give. tests/stored/dumps/record writes them.
struct Decoded {
  struct Question {
    std::vector<std::string> arguments;
    std::string reply;
  };
  std::string algorithm;
  std::vector<std::vector<std::string>> calls;  ///< those that made it; none if it was made by hand
  std::string dump;
  std::vector<std::string> content;
  std::vector<Question> questions;
};

std::string from_hexadecimal(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string to_hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

Decoded read_state(const std::filesystem::path& path) {
  Decoded state;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto blank = line.find(' ');
    const std::string name = line.substr(0, blank);
    const std::string value = line.substr(blank + 1);
    if (name == "algorithm") state.algorithm = value;
    if (name == "call") state.calls.push_back(words_of(value));
    if (name == "content") state.content.push_back(value);
    if (name == "dump") state.dump = from_hexadecimal(value);
    if (name == "ask") state.questions.push_back({words_of(value), ""});
    if (name == "reply") state.questions.back().reply = value;
  }
  return state;
}

std::string reply_text(redis::ReplyView reply) {
  if (reply.type() != redis::ReplyType::kArray) return std::string(reply.text());
  std::string text;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const bool is_text = reply[i].type() == redis::ReplyType::kString;
    text += (i == 0 ? "" : " ") +
            (is_text ? std::string(reply[i].text()) : std::to_string(reply[i].integer()));
  }
  return text;
}

std::vector<std::string> content_of(TestServer& server, const std::string& key) {
  const std::string type(server.call({"TYPE", key}).text());
  if (type == "string") return {to_hexadecimal(server.call({"GET", key}).text())};
  if (type == "hash") {
    const auto all = server.call({"HGETALL", key});
    std::vector<std::string> lines;
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
      lines.push_back(to_hexadecimal(all[i].text()) + "=" + to_hexadecimal(all[i + 1].text()));
    }
    std::ranges::sort(lines);
    return lines;
  }
  const auto reply = type == "list" ? server.call({"LRANGE", key, "0", "-1"})
                                    : server.call({"ZRANGE", key, "0", "-1", "WITHSCORES"});
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < reply.size(); ++i) lines.emplace_back(reply[i].text());
  return lines;
}

std::vector<std::filesystem::path> state_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(RLCTL_TESTS_DIR "/stored/dumps")) {
    if (entry.path().extension() == ".state") files.push_back(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("every state that was ever stored is still read with its meaning") {
  TestServer server;
  std::set<std::string> recorded;
  for (const auto& file : state_files()) {
    CAPTURE(file.filename().string());
    const Decoded state = read_state(file);
    REQUIRE_FALSE(state.questions.empty());
    const auto restored =
        server.call(std::vector<std::string>{"RESTORE", "state", "0", state.dump, "REPLACE"});
    REQUIRE_MESSAGE(!restored.is_error(), restored.text());
    const std::string before = server.dump("state");
    for (const auto& question : state.questions) {
      const auto reply =
          server.eval(algorithm(state.algorithm).script, {"state"}, question.arguments);
      CHECK(reply_text(reply) == question.reply);
    }
    CHECK(server.dump("state") == before);
    recorded.insert(state.algorithm);
  }
  for (const auto& algorithm : limiter::algorithms()) {
    CHECK_MESSAGE(recorded.contains(std::string(algorithm.name)), algorithm.name);
  }
}

// rlctl-stored(7) describes these bytes. A new form needs a new file next to the old one.
TEST_CASE("the scripts store exactly the recorded bytes") {
  TestServer server;
  std::set<std::string> made;
  for (const auto& file : state_files()) {
    CAPTURE(file.filename().string());
    const Decoded state = read_state(file);
    if (state.calls.empty()) continue;
    (void)server.call({"DEL", "state"});
    for (const auto& arguments : state.calls) {
      const auto reply = server.eval(algorithm(state.algorithm).script, {"state"}, arguments);
      REQUIRE_MESSAGE(!reply.is_error(), reply.text());
    }
    CHECK(content_of(server, "state") == state.content);
    made.insert(state.algorithm);
  }
  CHECK(made.size() == limiter::algorithms().size());
}

TEST_CASE("no algorithm mistakes another's state for its own") {
  TestServer server;
  for (const auto& file : state_files()) {
    const Decoded state = read_state(file);
    for (const auto& other : limiter::algorithms()) {
      if (other.name == state.algorithm) continue;
      CAPTURE(file.filename().string());
      CAPTURE(other.name);
      (void)server.call(std::vector<std::string>{"RESTORE", "state", "0", state.dump, "REPLACE"});
      const std::string before = server.dump("state");
      const auto reply =
          other.name == "concurrency"
              ? server.eval(other.script, {"state"}, {"5", "60000000", "acquire", "me"})
              : server.eval(other.script, {"state"}, {"5", "60000000"});
      REQUIRE(reply.is_error());
      CHECK(redis::error_code(reply.text()) == "WRONGTYPE");
      CHECK(server.dump("state") == before);
    }
  }
}

}  // namespace rlctl::test::dumps_test
