#include "support/cluster.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/wait.h"
#include "redis/error.h"

namespace support {

namespace {

using namespace std::chrono_literals;
using rlctl::redis::Connection;
using rlctl::redis::Error;
using rlctl::redis::HostPort;
using rlctl::redis::PrivateServer;
using rlctl::redis::Reply;
using rlctl::redis::Scheme;
using rlctl::redis::Url;

constexpr std::size_t kSlots = 16384;
constexpr std::size_t kSentinels = 3;

template <typename Condition>
void wait_until(std::string_view what, Condition condition) {
  const auto end = rlctl::Clock::now() + 120s;
  while (!condition()) {
    if (rlctl::Clock::now() > end) {
      throw std::runtime_error(fmt::format("waited two minutes until {}", what));
    }
    rlctl::wait_for(-1, 0, nullptr, rlctl::Clock::now() + 20ms);
  }
}

Url url_of(Scheme scheme, std::vector<HostPort> addresses) {
  Url url;
  url.scheme = scheme;
  url.host = addresses.front().host;
  url.port = addresses.front().port;
  url.more_hosts.assign(addresses.begin() + 1, addresses.end());
  return url;
}

// The fields of a line of CLUSTER NODES: ID, address, flags, master, ..., slots from the ninth on.
std::vector<std::vector<std::string>> fields_of(const std::string& nodes) {
  std::vector<std::vector<std::string>> out;
  std::istringstream lines(nodes);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    auto& fields = out.emplace_back();
    for (std::string word; words >> word;) fields.push_back(word);
  }
  return out;
}

constexpr std::size_t kFirstSlots = 8;

// "0-5460", "7", or "[7->-ID]" while it is moved.
bool contains_slot(const std::string& range, int slot) {
  if (range.front() == '[') return false;
  const auto dash = range.find('-');
  const int first = std::stoi(range);
  return slot >= first && slot <= (dash == range.npos ? first : std::stoi(range.substr(dash + 1)));
}

// The value after this name in a reply of names and values.
std::string field(rlctl::redis::ReplyView reply, std::string_view name) {
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    if (reply[i].text() == name) return std::string(reply[i + 1].text());
  }
  return {};
}

}  // namespace

Reply TestServers::call(std::size_t node, rlctl::redis::Arguments words) const {
  auto connection = Connection::open(nodes_.at(node).server.value().url(), 60s);
  connection.stay();
  return connection.call(words);
}

Reply TestServers::ask(std::size_t node, rlctl::redis::Arguments words) const {
  auto reply = call(node, words);
  if (!reply.is_error()) return reply;
  throw std::runtime_error(fmt::format("{}: {}", words.front(), reply.text()));
}

bool TestServers::follows(std::size_t node) const {
  const auto role = ask(node, {"ROLE"});
  return role.size() > 3 && role[3].text() == "connected";
}

// A port below those that the kernel gives to clients, as is the bus's, 10000 above.
Node start_on_free_port(const std::vector<std::string>& options) {
  std::random_device random;
  for (int tries = 0;; ++tries) {
    const int port = std::uniform_int_distribution(10000, 22000)(random);
    auto arguments = options;
    for (const auto& more : {std::string("--port"), std::to_string(port), std::string("--bind"),
                             std::string("127.0.0.1")}) {
      arguments.push_back(more);
    }
    try {
      return {.server = PrivateServer({.arguments = arguments}), .address = {"127.0.0.1", port}};
    } catch (const Error&) {
      if (tries == 20) throw;
    }
  }
}

// ---- Cluster ----

TestCluster::TestCluster(std::size_t masters, std::size_t replicas_each,
                         std::chrono::milliseconds node_timeout) {
  for (std::size_t node = 0; node < masters * (1 + replicas_each); ++node) {
    start({"--cluster-enabled", "yes", "--cluster-node-timeout",
           std::to_string(node_timeout.count())});
    ids_.emplace_back(ask(node, {"CLUSTER", "MYID"}).text());
  }
  form(masters);
}

void TestCluster::form(std::size_t masters) const {
  const auto count = nodes_.size();
  for (std::size_t node = 0; node < count; ++node) {
    // Equal epochs would have to be resolved first.
    ask(node, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(node + 1)});
    for (std::size_t other = 0; other < node; ++other) {
      ask(node, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(address(other).port)});
    }
  }
  for (std::size_t node = 0; node < masters; ++node) take_slots(node, masters);
  for (std::size_t node = 0; node < count; ++node) {
    wait_until("all nodes have met", [&] {
      const auto nodes = nodes_seen_by(node);
      return nodes.find("handshake") == nodes.npos && fields_of(nodes).size() == count;
    });
  }
  for (std::size_t node = masters; node < count; ++node) {
    ask(node, {"CLUSTER", "REPLICATE", ids_[node % masters]});
  }
  for (std::size_t node = 0; node < count; ++node) {
    wait_until("all nodes agree",
               [&] { return agrees(node) && replicas_in(node, count - masters); });
  }
  for (std::size_t node = masters; node < count; ++node) {
    wait_until("the replicas follow", [&] { return follows(node); });
  }
}

// ADDSLOTSRANGE came with 7.0.
void TestCluster::take_slots(std::size_t node, std::size_t masters) const {
  std::vector<std::string> words{"CLUSTER", "ADDSLOTS"};
  for (auto slot = kSlots * node / masters; slot < kSlots * (node + 1) / masters; ++slot) {
    words.push_back(std::to_string(slot));
  }
  ask(node, std::vector<std::string_view>(words.begin(), words.end()));
}

Url TestCluster::url() const {
  std::vector<HostPort> addresses;
  for (const auto& node : nodes_) addresses.push_back(node.address);
  return url_of(Scheme::kCluster, std::move(addresses));
}

std::string TestCluster::nodes_seen_by(std::size_t node) const {
  return std::string(ask(node, {"CLUSTER", "NODES"}).text());
}

bool TestCluster::replicas_in(std::size_t node, std::size_t count) const {
  std::size_t found = 0;
  for (const auto& fields : fields_of(nodes_seen_by(node))) {
    if (fields.at(2).find("slave") != std::string::npos) ++found;
  }
  return found == count;
}

// Whether it says that every slot is owned by a node that lives.
bool TestCluster::agrees(std::size_t node) const {
  const std::string info(ask(node, {"CLUSTER", "INFO"}).text());
  if (info.find("cluster_state:ok") == info.npos) return false;
  if (info.find("cluster_slots_assigned:16384") == info.npos) return false;
  for (const auto& fields : fields_of(nodes_seen_by(node))) {
    if (fields.size() > kFirstSlots && !lives(number_of(fields.front()))) return false;
  }
  return true;
}

std::size_t TestCluster::number_of(const std::string& id) const {
  for (std::size_t node = 0; node < ids_.size(); ++node) {
    if (ids_[node] == id) return node;
  }
  throw std::runtime_error(fmt::format("no node has the ID '{}'", id));
}

std::string TestCluster::owner_seen_by(std::size_t node, int slot) const {
  for (const auto& fields : fields_of(nodes_seen_by(node))) {
    for (auto i = kFirstSlots; i < fields.size(); ++i) {
      if (contains_slot(fields[i], slot)) return fields.front();
    }
  }
  return {};
}

std::size_t TestCluster::first_live() const {
  std::size_t node = 0;
  while (!lives(node)) ++node;
  return node;
}

int TestCluster::slot_of(std::string_view key) const {
  return static_cast<int>(ask(first_live(), {"CLUSTER", "KEYSLOT", key}).integer());
}

std::size_t TestCluster::node_of_slot(int slot) const {
  return number_of(owner_seen_by(first_live(), slot));
}

void TestCluster::begin_move(int slot, std::size_t to) const {
  const auto from = node_of_slot(slot);
  const auto number = std::to_string(slot);
  ask(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", ids_[from]});
  ask(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", ids_[to]});
}

void TestCluster::move_keys(int slot, std::size_t to, std::vector<std::string> keys) const {
  const auto from = node_of_slot(slot);
  if (keys.empty()) {
    const auto all = ask(from, {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1000"});
    for (std::size_t i = 0; i < all.size(); ++i) keys.emplace_back(all[i].text());
  }
  if (keys.empty()) return;
  const auto port = std::to_string(address(to).port);
  std::vector<std::string_view> words{"MIGRATE", "127.0.0.1", port, "", "0", "60000", "KEYS"};
  words.insert(words.end(), keys.begin(), keys.end());
  ask(from, words);
}

// The new owner is told first: otherwise the old one would redirect to a node that refuses.
void TestCluster::end_move(int slot, std::size_t to) const {
  const auto from = node_of_slot(slot);
  for (const auto node : {to, from}) {
    ask(node, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_[to]});
  }
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    wait_until("all nodes know the slot's new owner",
               [&] { return !lives(node) || owner_seen_by(node, slot) == ids_[to]; });
  }
}

void TestCluster::move_slot(int slot, std::size_t to) const {
  begin_move(slot, to);
  move_keys(slot, to);
  end_move(slot, to);
}

void TestCluster::wait_for_failover() const {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    wait_until("the nodes that live own every slot", [&] { return !lives(node) || agrees(node); });
  }
}

// ---- Sentinel ----

TestSentinels::TestSentinels(std::size_t replicas, std::chrono::milliseconds down_after)
    : servers_(1 + replicas) {
  for (std::size_t server = 0; server < servers_; ++server) start({});
  for (std::size_t server = 1; server < servers_; ++server) {
    ask(server, {"REPLICAOF", "127.0.0.1", std::to_string(address(0).port)});
    wait_until("the replica follows", [&] { return follows(server); });
  }
  for (std::size_t i = 0; i < kSentinels; ++i) {
    start_sentinel();
    watch(nodes_.size() - 1, down_after);
  }
  for (auto sentinel = first_sentinel(); sentinel < nodes_.size(); ++sentinel) {
    wait_until("the Sentinel knows all", [&] { return knows_all(sentinel); });
  }
}

// The name of the configuration, which a Sentinel rewrites, must be its first argument: a program
// in place of the server puts it there.
void TestSentinels::start_sentinel() {
  const auto server = rlctl::redis::find_server_binary();
  const auto& folder =
      configurations_.emplace_back(std::make_unique<rlctl::redis::PrivateFolder>("sentinel"))
          ->path();
  std::filesystem::create_symlink(std::filesystem::absolute(server), folder / "redis-server");
  const std::ofstream empty(folder / "sentinel.conf");
  const auto program = folder / "start";
  std::ofstream(program) << fmt::format(
      "#!/bin/sh\nexec '{0}/redis-server' '{0}/sentinel.conf' \"$@\"\n", folder.string());
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  ::setenv("RLCTL_REDIS_SERVER", program.c_str(), 1);
  start({"--sentinel"});
  ::setenv("RLCTL_REDIS_SERVER", server.c_str(), 1);
}

void TestSentinels::watch(std::size_t sentinel, std::chrono::milliseconds down_after) const {
  const auto port = std::to_string(address(0).port);
  ask(sentinel, {"SENTINEL", "MONITOR", kMaster, "127.0.0.1", port, "2"});
  ask(sentinel,
      {"SENTINEL", "SET", kMaster, "down-after-milliseconds", std::to_string(down_after.count())});
  ask(sentinel, {"SENTINEL", "SET", kMaster, "failover-timeout", "10000"});
}

bool TestSentinels::knows_all(std::size_t sentinel) const {
  const auto master = ask(sentinel, {"SENTINEL", "MASTER", kMaster});
  const auto replicas = ask(sentinel, {"SENTINEL", "REPLICAS", kMaster});
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (field(replicas[i], "flags") != "slave") return false;
  }
  return replicas.size() == servers_ - 1 && field(master, "flags") == "master" &&
         field(master, "num-other-sentinels") == std::to_string(kSentinels - 1);
}

Url TestSentinels::url() const {
  std::vector<HostPort> addresses;
  for (auto i = first_sentinel(); i < nodes_.size(); ++i) addresses.push_back(address(i));
  auto url = url_of(Scheme::kSentinel, std::move(addresses));
  url.master = kMaster;
  return url;
}

std::optional<std::size_t> TestSentinels::master() const {
  std::optional<int> port;
  for (auto i = first_sentinel(); i < nodes_.size(); ++i) {
    if (!lives(i)) continue;
    const auto found = ask(i, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kMaster});
    const int its_port = std::stoi(std::string(found[1].text()));
    if (port.value_or(its_port) != its_port) return std::nullopt;
    port = its_port;
  }
  for (std::size_t server = 0; server < servers_; ++server) {
    if (address(server).port == port) return server;
  }
  return std::nullopt;
}

void TestSentinels::fail_over() const {
  const auto old = master().value();
  // Refused while the replica's state is not known well enough.
  wait_until("the Sentinel begins to fail over", [&] {
    return !call(first_sentinel(), {"SENTINEL", "FAILOVER", kMaster}).is_error();
  });
  wait_for_failover(old);
}

void TestSentinels::wait_for_failover(std::size_t old) const {
  wait_until("all Sentinels agree on another master", [&] {
    const auto now = master();
    return now && *now != old && ask(*now, {"ROLE"})[0].text() == "master";
  });
}

}  // namespace support
