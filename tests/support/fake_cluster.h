#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/reply.h"
#include "redis/url.h"
#include "support/scripted_server.h"

namespace support {

inline constexpr std::chrono::seconds kLong{120};
/// For a call that must time out: too short for any answer to be expected within it.
inline constexpr std::chrono::milliseconds kShort{300};

inline std::string text(const rlctl::redis::Reply& reply) {
  return std::string(reply.text());
}

/// A ScriptedServer on a port of 127.0.0.1 whose answers to commands a test chooses: what a real
/// node of a Cluster cannot be made to reply.
class FakeNode {
 public:
  struct Answer {
    std::string bytes;      ///< may be empty: none
    bool hangs_up = false;  ///< then
  };
  /// Gets the words of one command; calls do not overlap.
  using Script = std::function<Answer(const std::vector<std::string>& words)>;

  /// Takes effect with the next command. There is none at first, and no answers.
  void set_script(Script script);
  rlctl::redis::HostPort address() const { return {server_.url().host, server_.url().port}; }
  /// "127.0.0.1:port"
  std::string name() const { return rlctl::redis::display(address()); }
  /// How many commands began with these words, on all connections.
  int count(const std::string& beginning);
  /// Waits until so many of them have been answered.
  void wait_for(const std::string& beginning, int commands);
  /// The commands, words joined by blanks.
  std::vector<std::string> seen();
  int clients() { return server_.clients(); }

 private:
  void talk_to(Peer& client);

  std::mutex mutex_;  ///< of what follows
  Script script_;
  std::vector<std::string> seen_;
  ScriptedServer server_{[this](Peer& client) { talk_to(client); }, rlctl::redis::Scheme::kTcp};
};

/// The words of a command.
using Words = std::vector<std::string>;

/// Two masters: `low` has the lower half of the slots, with "bar" (5061), `high` the upper, with
/// "foo" (12182). Each replies with its name and the last word of the command, except where the
/// Special that it serves has an answer.
class FakeCluster {
 public:
  using Special = std::function<std::optional<FakeNode::Answer>(const Words&)>;

  FakeCluster();
  void serve(FakeNode& node, const std::string& name, Special special = nullptr);
  /// The reply to CLUSTER SLOTS.
  std::string slots() const;
  rlctl::redis::Url url() const;
  /// Of the node alone, as if it were no Cluster's.
  static rlctl::redis::Url plain(const FakeNode& node);

  FakeNode low, high;
};

// Parts of replies.
std::string bulk(const std::string& text);
std::string number(long long value);
/// A server's reply, as it was sent.
std::string encoded(rlctl::redis::ReplyView reply);
std::string slots_row(int first, int last, const rlctl::redis::HostPort& master);
FakeNode::Answer moved(int slot, const std::string& to);

/// Appends commands such as "GET foo; TTL bar".
void append(rlctl::redis::Connection& connection, const std::string& commands);
/// A reply's text; for an error, the kind of failure with its code, and "in doubt" if the command
/// may have been executed. An error that is the server's answer to the command is shown whole.
std::string outcome(const rlctl::redis::Reply& reply);
/// The outcomes of this many commands: "low bar; timeout, in doubt".
std::string read(rlctl::redis::Connection& connection, int count);
/// The outcomes of commands that are sent together.
std::string answers(rlctl::redis::Connection& connection, const std::string& commands);

/// Answers so many of these commands like this.
FakeCluster::Special first(int times, std::string command, FakeNode::Answer answer);
/// Answers all of them.
FakeCluster::Special always(std::string command, FakeNode::Answer answer);

}  // namespace support
