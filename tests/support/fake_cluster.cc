#include "support/fake_cluster.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "redis/error.h"
#include "redis/reply.h"
#include "support/failure.h"

namespace support {

void FakeNode::set_script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

std::vector<std::string> FakeNode::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

int FakeNode::count(const std::string& beginning) {
  const auto all = seen();
  return static_cast<int>(std::ranges::count_if(
      all, [&](const std::string& command) { return command.starts_with(beginning); }));
}

void FakeNode::wait_for(const std::string& beginning, int commands) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (count(beginning) < commands) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no " + beginning);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

void FakeNode::talk_to(Peer& client) {
  rlctl::redis::ReplyReader reader;
  for (std::string bytes; !(bytes = client.read_some()).empty();) {
    reader.feed(bytes);
    while (const auto command = reader.next()) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < command->size(); ++i) words.emplace_back((*command)[i].text());
      const std::lock_guard lock(mutex_);
      const auto join = [](std::string all, const std::string& word) { return all + ' ' + word; };
      seen_.push_back(std::accumulate(words.begin() + 1, words.end(), words.front(), join));
      if (!script_) continue;
      const auto [reply, hangs_up] = script_(words);
      client.write(reply);
      if (hangs_up) return;
    }
  }
}

// ---- FakeCluster ----

FakeCluster::FakeCluster() {
  serve(low, "low");
  serve(high, "high");
}

void FakeCluster::serve(FakeNode& node, const std::string& name, Special special) {
  node.set_script([this, name, special](const Words& words) -> FakeNode::Answer {
    if (special) {
      if (auto answer = special(words)) return *answer;
    }
    if (words.front() == "CLUSTER") return {slots()};
    return {"+" + name + " " + words.back() + "\r\n"};
  });
}

std::string FakeCluster::slots() const {
  return "*2\r\n" + slots_row(0, 8191, low.address()) + slots_row(8192, 16383, high.address());
}

rlctl::redis::Url FakeCluster::url() const {
  return {.scheme = rlctl::redis::Scheme::kCluster,
          .port = low.address().port,
          .more_hosts = {high.address()}};
}

rlctl::redis::Url FakeCluster::plain(const FakeNode& node) {
  return {.port = node.address().port};
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string number(long long value) {
  return ":" + std::to_string(value) + "\r\n";
}

std::string encoded(rlctl::redis::ReplyView reply) {
  switch (reply.type()) {
    case rlctl::redis::ReplyType::kString:
      return bulk(std::string(reply.text()));
    case rlctl::redis::ReplyType::kStatus:
      return "+" + std::string(reply.text()) + "\r\n";
    case rlctl::redis::ReplyType::kError:
      return "-" + std::string(reply.text()) + "\r\n";
    case rlctl::redis::ReplyType::kInteger:
      return number(reply.integer());
    case rlctl::redis::ReplyType::kNil:
      return "$-1\r\n";
    case rlctl::redis::ReplyType::kArray:
      break;
  }
  std::string text = "*" + std::to_string(reply.size()) + "\r\n";
  for (std::size_t i = 0; i < reply.size(); ++i) text += encoded(reply[i]);
  return text;
}

std::string slots_row(int first, int last, const rlctl::redis::HostPort& master) {
  return "*3\r\n" + number(first) + number(last) + "*3\r\n" + bulk(master.host) +
         number(master.port) + bulk("id");
}

FakeNode::Answer moved(int slot, const std::string& to) {
  return {"-MOVED " + std::to_string(slot) + " " + to + "\r\n"};
}

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest >> std::ws, part, separator);) parts.push_back(part);
  return parts;
}

/// As Failure has them, in its order.
constexpr const char* kFailures[] = {"usage",    "unsupported", "unreachable", "timeout", "not now",
                                     "not sent", "refused",     "rejected",    "protocol"};

}  // namespace

void append(rlctl::redis::Connection& connection, const std::string& commands) {
  for (const auto& command : split(commands, ';')) {
    const auto words = split(command, ' ');
    connection.append(std::vector<std::string_view>(words.begin(), words.end()));
  }
}

std::string outcome(const rlctl::redis::Reply& reply) {
  if (!reply.is_error()) return text(reply);
  const auto error = rlctl::redis::to_error(reply);
  if (error.failure() == rlctl::redis::Failure::kRejected) return text(reply);
  return std::string(kFailures[static_cast<int>(error.failure())]) +
         (error.code().empty() ? "" : " " + std::string(error.code())) +
         (is_in_doubt(error) ? ", in doubt" : "");
}

std::string read(rlctl::redis::Connection& connection, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : "; ") + outcome(connection.read());
  return all;
}

std::string answers(rlctl::redis::Connection& connection, const std::string& commands) {
  const auto before = connection.outstanding();
  append(connection, commands);
  return read(connection, static_cast<int>(connection.outstanding() - before));
}

FakeCluster::Special first(int times, std::string command, FakeNode::Answer answer) {
  auto left = std::make_shared<int>(times);
  return [left, command = std::move(command),
          answer = std::move(answer)](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() != command || *left == 0) return std::nullopt;
    --*left;
    return answer;
  };
}

FakeCluster::Special always(std::string command, FakeNode::Answer answer) {
  return first(-1, std::move(command), std::move(answer));
}

}  // namespace support
