#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/private_server.h"
#include "redis/reply.h"
#include "redis/url.h"

namespace support {

/// A server of several that know each other by TCP. `server` is none once it was killed.
struct Node {
  std::optional<rlctl::redis::PrivateServer> server;
  rlctl::redis::HostPort address;
};

/// Starts a server with these options on a free port of the loopback interface, beside its socket.
[[nodiscard]] Node start_on_free_port(const std::vector<std::string>& options);

/// What TestCluster and TestSentinels have in common. Servers are numbered from 0; each dies with
/// this process. A command that fails throws std::runtime_error with the server's answer.
class TestServers {
 public:
  /// On a connection of its own, without following redirections. An error reply is returned.
  [[nodiscard]] rlctl::redis::Reply call(std::size_t node, rlctl::redis::Arguments words) const;
  [[nodiscard]] rlctl::redis::Reply call(std::size_t node,
                                         std::initializer_list<std::string_view> words) const {
    return call(node, rlctl::redis::Arguments(words.begin(), words.end()));
  }
  [[nodiscard]] const rlctl::redis::HostPort& address(std::size_t node) const {
    return nodes_.at(node).address;
  }
  [[nodiscard]] pid_t pid(std::size_t node) const { return nodes_.at(node).server->pid(); }
  [[nodiscard]] bool lives(std::size_t node) const { return nodes_.at(node).server.has_value(); }
  /// As kill -9 does.
  void kill(std::size_t node) { nodes_.at(node).server.reset(); }

 protected:
  void start(const std::vector<std::string>& options) {
    nodes_.push_back(start_on_free_port(options));
  }
  /// call(), which must succeed.
  rlctl::redis::Reply ask(std::size_t node, rlctl::redis::Arguments words) const;
  rlctl::redis::Reply ask(std::size_t node, std::initializer_list<std::string_view> words) const {
    return ask(node, rlctl::redis::Arguments(words.begin(), words.end()));
  }
  /// Whether it is a replica that is connected to its master.
  [[nodiscard]] bool follows(std::size_t node) const;

  std::vector<Node> nodes_;  // NOLINT(cppcoreguidelines-non-private-member-variables-in-classes)
};

/// A Cluster; the masters come first, and node `masters` + N is a replica of node N (modulo
/// `masters`).
class TestCluster : public TestServers {
 public:
  /// Returns once all nodes agree. `node_timeout`: how long a node must be silent to be failed
  /// over.
  explicit TestCluster(std::size_t masters = 3, std::size_t replicas_each = 0,
                       std::chrono::milliseconds node_timeout = std::chrono::seconds(5));

  /// redis+cluster:// with all nodes.
  [[nodiscard]] rlctl::redis::Url url() const;
  [[nodiscard]] int slot_of(std::string_view key) const;
  /// The master that owns the slot, according to the first node that lives.
  [[nodiscard]] std::size_t node_of_slot(int slot) const;

  /// The steps of moving a slot: until move_keys(), its owner answers ASK for keys that it does not
  /// have; until end_move(), for those that were moved.
  void begin_move(int slot, std::size_t to) const;
  /// Moves these keys, or all if there are none.
  void move_keys(int slot, std::size_t to, std::vector<std::string> keys = {}) const;
  /// Returns once all nodes agree.
  void end_move(int slot, std::size_t to) const;
  void move_slot(int slot, std::size_t to) const;

  /// Waits until the nodes that live agree that they own every slot.
  void wait_for_failover() const;

 private:
  void form(std::size_t masters) const;
  void take_slots(std::size_t node, std::size_t masters) const;
  [[nodiscard]] std::size_t first_live() const;
  [[nodiscard]] std::size_t number_of(const std::string& id) const;
  [[nodiscard]] bool replicas_in(std::size_t node, std::size_t count) const;
  [[nodiscard]] std::string nodes_seen_by(std::size_t node) const;
  [[nodiscard]] bool agrees(std::size_t node) const;
  [[nodiscard]] std::string owner_seen_by(std::size_t node, int slot) const;

  std::vector<std::string> ids_;
};

/// A master, its replicas and three Sentinels that watch them as kMaster. The servers come first
/// (0 is the first master), then the Sentinels.
class TestSentinels : public TestServers {
 public:
  static constexpr const char* kMaster = "mymaster";

  /// Returns once all Sentinels know everything. `down_after`: how long the master must be silent
  /// to be failed over.
  explicit TestSentinels(std::size_t replicas = 1,
                         std::chrono::milliseconds down_after = std::chrono::seconds(5));

  /// redis+sentinel:// with the three Sentinels.
  [[nodiscard]] rlctl::redis::Url url() const;
  /// The number of the first Sentinel.
  [[nodiscard]] std::size_t first_sentinel() const { return servers_; }
  /// The master on which all Sentinels that live agree; none if they do not.
  [[nodiscard]] std::optional<std::size_t> master() const;
  /// Makes a replica the master and waits until all Sentinels know.
  void fail_over() const;
  /// Waits until all Sentinels agree on a master other than `old`.
  void wait_for_failover(std::size_t old) const;

 private:
  void start_sentinel();
  void watch(std::size_t sentinel, std::chrono::milliseconds down_after) const;
  [[nodiscard]] bool knows_all(std::size_t sentinel) const;

  std::size_t servers_ = 0;
  std::vector<std::unique_ptr<rlctl::redis::PrivateFolder>> configurations_;
};

}  // namespace support
