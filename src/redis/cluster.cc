#include "redis/cluster.h"

#include "base/address.h"
#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "base/time.h"

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

namespace rlctl::redis {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- Slots ----

namespace {

/// The CRC of a byte that this many zero bytes follow.
using CrcTables = std::array<std::array<std::uint16_t, 256>, 4>;

constexpr CrcTables make_crc_tables() {
  constexpr unsigned kPolynomial = 0x1021;
  CrcTables tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8U;
    for (auto& table : tables) {
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
      }
      table[byte] = static_cast<std::uint16_t>(crc);
    }
  }
  return tables;
}

constexpr CrcTables kCrc = make_crc_tables();

/// Four bytes at a time: byte by byte, it was a sixth of what a Cluster costs the client.
unsigned crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* end = at + bytes.size();
  for (; end - at >= 4; at += 4) {
    crc = static_cast<unsigned>(kCrc[3][(crc >> 8U) ^ at[0]] ^ kCrc[2][(crc & 0xffU) ^ at[1]] ^
                                kCrc[1][at[2]] ^ kCrc[0][at[3]]);
  }
  for (; at != end; ++at) crc = ((crc << 8U) & 0xffffU) ^ kCrc[0][(crc >> 8U) ^ *at];
  return crc;
}

/// Where the keys of a command are.
enum class Keys {
  kNone,
  kFirst,   ///< the first word after the command
  kSecond,  ///< the word after the subcommand
  kAll,     ///< all words after the command
  kCounted  ///< after a script and a number
};

struct CommandRow {
  std::string_view name;
  Keys keys;
};

/// The commands whose keys are not the first word after them.
constexpr auto kCommands = std::to_array<CommandRow>({
    {"EVALSHA", Keys::kCounted}, {"FCALL", Keys::kCounted},   {"EVALSHA_RO", Keys::kCounted},
    {"EVAL", Keys::kCounted},    {"EVAL_RO", Keys::kCounted}, {"MEMORY", Keys::kSecond},
    {"OBJECT", Keys::kSecond},   {"WATCH", Keys::kAll},       {"UNLINK", Keys::kAll},
    {"DEL", Keys::kAll},         {"EXISTS", Keys::kAll},      {"ACL", Keys::kNone},
    {"CLIENT", Keys::kNone},     {"CLUSTER", Keys::kNone},    {"COMMAND", Keys::kNone},
    {"CONFIG", Keys::kNone},     {"DBSIZE", Keys::kNone},     {"EXEC", Keys::kNone},
    {"FLUSHALL", Keys::kNone},   {"FLUSHDB", Keys::kNone},    {"FUNCTION", Keys::kNone},
    {"HELLO", Keys::kNone},      {"INFO", Keys::kNone},       {"KEYS", Keys::kNone},
    {"MULTI", Keys::kNone},      {"PING", Keys::kNone},       {"ROLE", Keys::kNone},
    {"SCAN", Keys::kNone},       {"SCRIPT", Keys::kNone},     {"TIME", Keys::kNone},
    {"UNWATCH", Keys::kNone},
});

Arguments counted_keys(Arguments command) {
  const auto text = command.size() > 2 ? command[2] : std::string_view();
  const auto count = to_number<std::size_t>(text);
  if (!count || *count > command.size() - 3) {
    throw Error(Failure::kUsage, fmt::format("{}: '{}' is not the number of its keys",
                                             command.front(), escape(text, 40)));
  }
  return command.subspan(3, *count);
}

}  // namespace

std::string_view hashed_part(std::string_view key) noexcept {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

int slot_of(std::string_view key) noexcept {
  return static_cast<int>(crc16(hashed_part(key)) % kSlots);
}

Arguments keys_of(Arguments command) {
  const auto words = command.subspan(1);
  const auto* row = find_by_name(kCommands, command.front());
  switch (row == nullptr ? Keys::kFirst : row->keys) {
    case Keys::kNone:
      return {};
    case Keys::kFirst:
      return words.first(std::min<std::size_t>(words.size(), 1));
    case Keys::kSecond:
      return words.size() > 1 ? words.subspan(1, 1) : Arguments();
    case Keys::kAll:
      return words;
    case Keys::kCounted:
      return counted_keys(command);
  }
  return {};
}

int common_slot(Arguments keys) {
  constexpr std::size_t kMaxKeyBytes = 80;
  if (keys.empty()) return -1;
  const int slot = slot_of(keys.front());
  if (keys.size() == 1) return slot;
  for (const auto key : keys.subspan(1)) {
    if (slot_of(key) == slot) continue;
    throw Error(Failure::kUsage,
                fmt::format("'{}' and '{}' are in different slots of the Cluster, so that no "
                            "command can use both",
                            escape(keys.front(), kMaxKeyBytes), escape(key, kMaxKeyBytes)),
                {}, "keys share a slot if they have the same part in braces: {user}:a, {user}:b");
  }
  return slot;
}

// ---- What the nodes of a Cluster reply ----

bool is_cluster_refusal(ReplyView reply, std::string_view command) {
  constexpr std::array<std::string_view, 3> kSentences{
      "TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down",
      "CLUSTERDOWN Hash slot not served"};
  const auto text = reply.text();
  if (!reply.is_error() || script_line(text)) return false;
  const auto begins = [&](std::string_view words) { return text.starts_with(words); };
  if (std::ranges::any_of(kSentences, begins)) return true;
  if (!begins("MOVED ") && !begins("ASK ")) return false;
  const auto referral = parse_referral(text, {});
  return referral && referral->slot == common_slot(keys_of(words_of_formatted(command)));
}

std::vector<SlotRange> parse_slots(ReplyView reply, const HostPort& asked) {
  // [[first, last, [host, port, ...], replicas...], ...]
  std::vector<SlotRange> ranges;
  if (reply.type() != ReplyType::kArray || reply.size() > kSlots) {
    throw Error(Failure::kProtocol,
                fmt::format("{}: the answer to CLUSTER SLOTS is not a list of at most {} ranges",
                            display(asked), kSlots));
  }
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto row = reply[i], master = row[2];
    const auto first = row[0].integer(), last = row[1].integer(), port = master[1].integer();
    const bool are_numbers =
        row[0].type() == ReplyType::kInteger && row[1].type() == ReplyType::kInteger;
    if (!are_numbers || first < 0 || last >= kSlots || first > last || !is_port(port)) {
      throw Error(Failure::kProtocol,
                  fmt::format("{}: the answer to CLUSTER SLOTS has slots {} to {} at port {}",
                              display(asked), first, last, port));
    }
    // A node that does not know its own address leaves it out, or replies "?".
    std::string host(master[0].text());
    if (host.empty() || host == "?") host = asked.host;
    ranges.push_back({.first = static_cast<int>(first),
                      .last = static_cast<int>(last),
                      .master = {.host = std::move(host), .port = static_cast<int>(port)}});
  }
  if (!ranges.empty()) return ranges;
  throw Error(Failure::kNotNow, fmt::format("{}: no node of the Cluster has slots", display(asked)),
              {}, "redis-cli --cluster create joins nodes to a Cluster and gives them slots");
}

std::optional<Referral> parse_referral(std::string_view text, const HostPort& from) {
  Referral referral{.server = {.host = from.host}};
  take_until(text, " ");  // MOVED or ASK
  referral.slot = to_number<int>(take_until(text, " ")).value_or(-1);
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const auto host = text.substr(0, colon);
  referral.server.port = to_number<int>(text.substr(colon + 1)).value_or(0);
  if (referral.slot < 0 || referral.slot >= kSlots || !is_port(referral.server.port)) {
    return std::nullopt;
  }
  if (!host.empty() && host != "?") referral.server.host = host;
  return referral;
}

// ---- Asking for the masters ----

namespace {

/// The hosts that a URL names.
std::vector<HostPort> hosts_of(const Url& url) {
  std::vector<HostPort> hosts{{.host = url.host, .port = url.port}};
  hosts.insert(hosts.end(), url.more_hosts.begin(), url.more_hosts.end());
  return hosts;
}

Reply ask(Link& link, std::initializer_list<std::string_view> words) {
  link.append(words);
  return link.read();
}

/// The link's errors refer to the server, so that they come with advice.
std::unique_ptr<Link> open(const Url& url, microseconds timeout, const Interrupt* interrupt) {
  return Link::open(url, timeout, interrupt,
                    std::make_shared<const Endpoint>(
                        Endpoint{.url = url, .timeout = timeout, .interrupt = interrupt}));
}

Reply ask_for_slots(const Url& url, microseconds timeout, const Interrupt* interrupt) {
  auto link = open(url, timeout, interrupt);
  return ask(*link, {"CLUSTER", "SLOTS"});
}

/// Whether this reply to CLUSTER SLOTS shows that the server is not in a Cluster.
bool shows_no_cluster(const Reply& slots) {
  return slots.is_error() && to_error(slots).code() == "ERR";
}

std::vector<SlotRange> ask_node(const Url& url, const HostPort& node, microseconds timeout,
                                const Interrupt* interrupt) {
  const auto reply = ask_for_slots(url_of(url, node), timeout, interrupt);
  if (!reply.is_error()) return parse_slots(reply, node);
  const auto error = to_error(reply);
  if (!shows_no_cluster(reply)) {
    throw Error(error.failure(), fmt::format("{}: {}", display(node), error.what()), error.code())
        .from(error.server(), "CLUSTER SLOTS");
  }
  const bool may_be_sentinel = std::string_view(error.what()).starts_with("unknown command");
  throw Error(Failure::kUsage,
              fmt::format("{} is not a node of a Cluster: {}", display(node), error.what()), {},
              may_be_sentinel
                  ? "if it is a Sentinel, write redis+sentinel://" + display(node) + "/MASTER"
                  : "write " + display(Url{.host = node.host, .port = node.port, .tls = url.tls}));
}

/// A share of a timeout, for messages.
microseconds whole_ms(microseconds share) {
  const auto whole = std::chrono::floor<milliseconds>(share);
  return whole.count() > 0 ? whole : share;
}

/// Asks without a user and a password, and with those of the URL if the Sentinel requires one.
std::vector<SlotRange> ask_sentinel(const Url& url, const HostPort& sentinel, microseconds timeout,
                                    const Interrupt* interrupt) {
  const auto ask_for_master = [&](const std::string& user, const std::string& password) {
    Url own = url_of(url, sentinel);
    own.database = 0;
    own.user = user;
    own.password = password;
    return ask(*open(own, timeout, interrupt), {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url.master});
  };
  auto reply = ask_for_master({}, {});
  const bool has_login = !url.password.empty();
  if (reply.is_error() && to_error(reply).failure() == Failure::kRefused && has_login) {
    reply = ask_for_master(url.user, url.password);
  }
  if (reply.is_error()) {
    const auto error = to_error(reply);
    if (error.code() != "ERR") {
      throw Error(error.failure(), fmt::format("Sentinel {}: {}", display(sentinel), error.what()),
                  error.code());
    }
    throw Error(
        Failure::kUsage, fmt::format("{} is not a Sentinel: {}", display(sentinel), error.what()),
        {}, "write redis://HOST:PORT for a server, redis+cluster:// for the nodes of a Cluster");
  }
  if (reply.size() != 2) {
    throw Error(Failure::kUsage,
                fmt::format("Sentinel {} does not know a master named '{}'", display(sentinel),
                            escape(url.master, 80)),
                {},
                fmt::format("redis-cli -h {} -p {} SENTINEL MASTERS lists their names",
                            sentinel.host, sentinel.port));
  }
  const auto port = reply[1].text();
  HostPort master{.host = std::string(reply[0].text()), .port = to_number<int>(port).value_or(0)};
  if (!is_port(master.port)) {
    throw Error(Failure::kProtocol, fmt::format("Sentinel {}: the master's port is '{}'",
                                                display(sentinel), escape(port, 80)));
  }
  return {{.first = 0, .last = kSlots - 1, .master = std::move(master)}};
}

/// A copy of the server with the needs of the whole.
std::shared_ptr<const Endpoint> with_needs(const std::shared_ptr<const Endpoint>& server,
                                           const RouterOptions& whole) {
  if (!server || !whole.server) return server;
  auto copy = std::make_shared<Endpoint>(*server);
  copy->needs = whole.server->needs;
  return copy;
}

/// Asks one candidate after the other, each on a connection of its own, until one answers: CLUSTER
/// SLOTS, or SENTINEL GET-MASTER-ADDR-BY-NAME, whose master has all slots. `options.timeout` is for
/// all of them together.
///
/// Throws the Error of the first candidate that answered or, if none did, of the last one. It is
/// kUsage if that candidate is not a node of a Cluster, or is a Sentinel that does not know the
/// master.
std::vector<SlotRange> find_masters(const RouterOptions& options,
                                    std::span<const HostPort> candidates) {
  const bool is_sentinel = options.url.scheme == Scheme::kSentinel;
  const auto started = Clock::now();
  std::optional<Error> failed;
  auto left = std::ssize(candidates);
  for (const auto& candidate : candidates) {
    const auto used = std::chrono::duration_cast<microseconds>(Clock::now() - started);
    // One that hangs must leave time for those after it.
    const auto timeout = whole_ms((options.timeout - used) / left--);
    if (timeout.count() <= 0) break;
    try {
      const auto ask_one = is_sentinel ? ask_sentinel : ask_node;
      return ask_one(options.url, candidate, timeout, options.interrupt);
    } catch (const Error& error) {
      // What a candidate says tells more than that another is not there.
      const bool tells_more = !failed || failed->failure() == Failure::kUnreachable ||
                              failed->failure() == Failure::kTimeout;
      if (tells_more) failed = error.from(with_needs(error.server(), options), error.command());
    }
  }
  if (!failed) {
    throw Error(Failure::kTimeout, fmt::format("no answer from {} within {}", display(options.url),
                                               format_duration(options.timeout)));
  }
  if (candidates.size() == 1) throw Error(*failed);
  throw Error(failed->failure(),
              fmt::format("no {} of {} can be asked: {}", is_sentinel ? "Sentinel" : "node",
                          display(options.url), failed->what()),
              failed->code(), failed->hint())
      .from(failed->server(), failed->command());
}

}  // namespace

bool may_be_node(const Url& url, microseconds timeout, const Interrupt* interrupt) {
  try {
    return !shows_no_cluster(ask_for_slots(url, timeout, interrupt));
  } catch (const Error&) {
    return true;
  }
}

Url url_of(const Url& whole, const HostPort& server) {
  Url url = whole;
  const auto named = hosts_of(whole);
  url.is_referred = std::ranges::none_of(named, [&](const HostPort& host) {
    return host.host == server.host || may_be_metadata_service(host.host);
  });
  url.scheme = Scheme::kTcp;
  url.host = server.host;
  url.port = server.port;
  url.path.clear();
  url.more_hosts.clear();
  url.master.clear();
  return url;
}

// ---- Nodes ----

Nodes::Nodes(const RouterOptions& options) : options_(options) {
  owners_.fill(kUnknown);
}

Node& Nodes::at(const HostPort& address) {
  for (const auto& node : nodes_) {
    if (node->address == address) return *node;
  }
  auto node = std::make_unique<Node>();
  node->address = address;
  node->name = display(address);
  node->endpoint = std::make_shared<const Endpoint>(
      Endpoint{.url = url_of(options_.url, address),
               .timeout = options_.timeout,
               .interrupt = options_.interrupt,
               .sets_name = options_.server && options_.server->sets_name,
               .needs = options_.server ? options_.server->needs : nullptr});
  node->index = nodes_.size();
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

Node& Nodes::any_master() const {
  Node* found = nodes_.front().get();
  for (const auto& node : nodes_) {
    if (!node->is_master) continue;
    if (node->link) return *node;
    if (!found->is_master) found = node.get();
  }
  return *found;
}

Node& Nodes::owner_of(int slot) const {
  const auto owner = owners_[static_cast<std::size_t>(slot)];
  return owner == kUnknown ? any_master() : *nodes_[owner];
}

void Nodes::move_slot(int slot, Node& owner) {
  owner.is_master = true;
  owners_[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(owner.index);
}

void Nodes::set_masters(std::span<const SlotRange> ranges) {
  for (const auto& node : nodes_) node->is_master = false;
  owners_.fill(kUnknown);
  for (const auto& range : ranges) {
    Node& node = at(range.master);
    node.is_master = true;
    std::fill(owners_.begin() + range.first, owners_.begin() + range.last + 1,
              static_cast<std::uint16_t>(node.index));
  }
  knows_all_ = true;
  is_stale_ = false;
}

bool Nodes::may_refresh(milliseconds at_least_after) const {
  return Clock::now() - last_refresh_ >= at_least_after;
}

bool Nodes::refresh(milliseconds at_least_after) {
  if (!may_refresh(at_least_after)) return false;
  const auto started = Clock::now();
  const auto candidates = candidates_to_ask();
  bool is_set = false;
  try {
    set_masters(find_masters(options_, candidates));
    is_set = true;
  } catch (const Error& error) {
    why_unknown_ = error;  // the next refresh is due soon
  }
  last_refresh_ = Clock::now();
  discount_silence(started);
  return is_set;
}

/// Sentinels know the master; the nodes of a Cluster know one another. The nodes that replied last
/// come first.
std::vector<HostPort> Nodes::candidates_to_ask() const {
  std::vector<HostPort> candidates;
  if (options_.url.scheme != Scheme::kSentinel) {
    std::vector<const Node*> known;
    for (const auto& node : nodes_) {
      if (node->address.port != 0) known.push_back(node.get());
    }
    std::stable_sort(known.begin(), known.end(), [](const Node* a, const Node* b) {
      return std::pair(a->why_down.has_value(), b->last_reply) <
             std::pair(b->why_down.has_value(), a->last_reply);
    });
    for (const auto* node : known) candidates.push_back(node->address);
  }
  if (options_.url.scheme != Scheme::kUnix) {
    for (auto& host : hosts_of(options_.url)) {
      if (std::ranges::find(candidates, host) == candidates.end()) candidates.push_back(host);
    }
  }
  return candidates;
}

void Nodes::discount_silence(Clock::time_point since) {
  const auto waited = Clock::now() - since;
  for (const auto& node : nodes_) node->last_reply += waited;
}

namespace {

/// How long to wait, at least, between two attempts to connect to a server that has been down for
/// the timeout. An attempt holds up the commands of all servers, so that the pause is also this
/// multiple of what it took.
constexpr seconds kReconnectPause{1};
constexpr int kPausePerAttempt = 4;
/// How long to wait, at least, before the masters are asked for again: after a reply that shows one
/// of them to be another, and after a failure.
constexpr seconds kRefreshPause{1};
constexpr milliseconds kUrgentRefreshPause{100};
/// After more referrals of one command in a row, it waits for the Cluster to agree.
constexpr int kMaxReferrals = 5;
/// After longer without commands, servers may have hung up unnoticed.
constexpr milliseconds kIdle{1};
/// The timer's id in the poller; the ids of the servers are small.
constexpr std::size_t kTimer = std::size_t{1} << 32;

bool starts_with_code(ReplyView reply, std::string_view code) {
  const auto text = reply.text();
  return text.starts_with(code) && text.substr(code.size()).starts_with(' ');
}

/// Whether a replica refuses a write, and so has executed nothing. A script may reply anything
/// after it has written: only the server's own sentence counts.
bool is_replica_refusal(ReplyView reply) {
  return reply.is_error() && error_code(reply.text()) == "READONLY" &&
         reply.text().find("READONLY You can't write against a read only ") != std::string::npos;
}

/// Whether rlctl may not connect to a server, or it speaks no RESP: asking again would not help.
bool is_final(const Error& why) {
  return why.failure() == Failure::kProtocol;
}

/// The error of a command that could not be sent.
Error not_sent(const Error& why) {
  const bool is_network =
      why.failure() == Failure::kUnreachable || why.failure() == Failure::kTimeout;
  if (!is_network && !is_final(why)) return why;
  return Error(Failure::kNotSent, fmt::format("{}; the command was not sent", why.what()), {},
               is_final(why) ? why.hint() : "")
      .from(why.server(), why.command());
}

}  // namespace

// ---- Retry queue ----

RetryQueue::RetryQueue(Poller& poller, std::size_t timer_id)
    : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!timer_) throw std::system_error(errno, std::generic_category(), "cannot make a timer");
  poller.add(timer_.get(), timer_id);
}

void RetryQueue::add(Command command) {
  if (commands_.empty()) {
    due_ = Clock::now() + kPause;
    set_timer(kPause);
  }
  commands_.push_back(std::move(command));
}

std::vector<RetryQueue::Command> RetryQueue::take() {
  set_timer(std::chrono::nanoseconds{0});
  auto commands = std::exchange(commands_, {});
  std::ranges::sort(commands, {}, &Command::id);
  return commands;
}

void RetryQueue::wake() {
  set_timer(std::chrono::nanoseconds{1});
}

void RetryQueue::expired() {
  std::uint64_t times = 0;
  [[maybe_unused]] const auto read = ::read(timer_.get(), &times, sizeof(times));
  is_timer_set_ = false;
  if (!commands_.empty()) set_timer(kPause);
}

/// Zero stops the timer. An expiry that was not read is forgotten.
void RetryQueue::set_timer(std::chrono::nanoseconds time) {
  const itimerspec spec{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = time.count()}};
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
  is_timer_set_ = time.count() > 0;
}

// ---- Router ----

Router::Router(RouterOptions options)
    : options_(std::move(options)),
      poller_(options_.interrupt),
      nodes_(options_),
      retries_(poller_, kTimer) {
  set_masters(find_masters(options_, hosts_of(options_.url)));
}

Router::Router(RouterOptions options, std::unique_ptr<Link>&& link, std::optional<Reply> refusal)
    : options_(std::move(options)),
      poller_(options_.interrupt),
      nodes_(options_),
      retries_(poller_, kTimer) {
  const bool is_unix = options_.url.scheme == Scheme::kUnix;
  Node& node = nodes_.at({.host = options_.url.host, .port = is_unix ? 0 : options_.url.port});
  node.is_master = true;
  const Endpoint as_named{
      .url = options_.url, .timeout = options_.timeout, .interrupt = options_.interrupt};
  node.endpoint = options_.server ? options_.server : std::make_shared<const Endpoint>(as_named);
  if (refusal) {
    static_cast<void>(add_command(-1));
    refusal_ = {.reply = std::move(*refusal), .command = std::string(link->last_answered())};
  }
  for (auto left = link->outstanding(); left > 0; --left) queued(node, {.id = add_command(-1)});
  poller_.add(link->fd(), node.index);
  node.link = std::move(link);
  watch_writes(node);
  last_ = &node;
}

void Router::follow_refusal(Refusal refusal) {
  Node& node = *nodes_.all().front();
  if (!follow({.id = commands_.first()}, node, refusal.reply, refusal.command)) {
    answer(commands_.first(), std::move(refusal.reply));
  }
  if (node.link) receive_from(node);  // what has arrived already would wake no poll()
}

// ---- Router: where the slots are ----

Node& Router::node_for(int slot) {
  if (slot >= 0) return nodes_.owner_of(slot);
  return last_ != nullptr && last_->is_master ? *last_ : nodes_.any_master();
}

std::vector<std::string> Router::masters() {
  if (!nodes_.knows_all() || nodes_.is_stale()) refresh(milliseconds{0});
  if (!nodes_.knows_all()) throw Error(*nodes_.why_unknown());
  await_masters();
  std::vector<std::string> names;
  for (const auto& node : nodes_.all()) {
    if (node->is_master) names.push_back(node->name);
  }
  return names;
}

/// Waits until each master can be reached, or another has taken its place.
void Router::await_masters() {
  const auto is_missing = [&](const auto& node) { return node->is_master && !connect(*node); };
  for (const Deadline until = deadline_after(options_.timeout); Clock::now() < until;) {
    if (std::ranges::none_of(nodes_.all(), is_missing)) return;
    wait_for(-1, 0, options_.interrupt, std::min(until, Clock::now() + RetryQueue::kPause));
    refresh(kUrgentRefreshPause);
  }
}

void Router::set_masters(std::span<const SlotRange> ranges) {
  nodes_.set_masters(ranges);
  drop_former_masters();
}

void Router::refresh(milliseconds at_least_after) {
  if (nodes_.refresh(at_least_after)) drop_former_masters();
}

void Router::drop_former_masters() {
  for (const auto& node : nodes_.all()) {
    if (!node->is_master && node->link && node->in_flight.empty()) disconnect(*node);
  }
}

// ---- Router: sending ----

Router::Id Router::add_command(int slot, bool is_fixed) {
  return commands_.push({.slot = slot, .is_fixed = is_fixed});
}

void Router::queued(Node& node, const InFlight& command) {
  if (node.in_flight.empty()) node.last_reply = Clock::now();
  node.in_flight.push(command);
  if (command.purpose != Purpose::kInternal) command_of(command.id).node = &node;
}

/// Queues a command for the one that follows it; its reply is dropped.
void Router::append_internal(Node& node, Id id, std::initializer_list<std::string_view> command) {
  node.link->append(command);
  queued(node, {.id = id, .purpose = Purpose::kInternal});
}

/// Whether the server can be sent something; else node.why_down gives the reason.
bool Router::connect(Node& node) {
  if (node.link) return true;
  const auto now = Clock::now();
  if (now < node.next_attempt) return false;
  open_link(node, now);
  nodes_.discount_silence(now);
  return node.link != nullptr;
}

void Router::open_link(Node& node, Clock::time_point now) {
  try {
    node.link = Link::open(node.endpoint->url, options_.timeout, options_.interrupt, node.endpoint);
    if (options_.url.scheme == Scheme::kSentinel) require_master(node);
    node.link->set_timeout(options_.timeout);
    poller_.add(node.link->fd(), node.index);
    node.why_down.reset();
  } catch (const Interrupted&) {
    node.link.reset();
    throw;
  } catch (const std::exception& exception) {
    node.link.reset();
    if (!node.why_down) node.down_since = now;
    // Besides the server's errors: too many open files, or a certificate that cannot be read.
    const auto* error = dynamic_cast<const Error*>(&exception);
    node.why_down = error != nullptr ? error->from(node.endpoint, error->command())
                                     : Error(Failure::kUsage, exception.what());
    const auto failed = Clock::now();
    const Clock::duration long_pause =
        std::max<Clock::duration>(kReconnectPause, kPausePerAttempt * (failed - now));
    node.next_attempt = failed + (is_long_down(node) ? long_pause : RetryQueue::kPause);
  }
}

bool Router::is_long_down(const Node& node) const {
  return node.why_down && Clock::now() - node.down_since >= options_.timeout;
}

/// A Sentinel may name a server that is not the master yet, or no longer. A user who may not ask is
/// told by READONLY.
void Router::require_master(Node& node) {
  const auto reply = ask(*node.link, {"ROLE"});
  if (reply.is_error() || reply.size() == 0 || reply[0].text() == "master") return;
  throw Error(Failure::kNotNow, fmt::format("{}, which the Sentinels name, is not a master",
                                            display(node.endpoint->url)));
}

void Router::append(std::string_view name, std::span<const Arguments> parts, Arguments keys,
                    ReplyKind kind) {
  const int slot = common_slot(keys);
  poll_if_idle();
  if (keys.empty() && name == "SCRIPT LOAD") return append_to_all(name, parts);
  Node& node = node_for(slot);
  const auto id = add_command(slot);
  command_of(id).kind = kind;
  last_ = &node;
  if (!connect(node)) return fail_or_retry(id, node, format_command(parts));
  node.link->append(name, parts, keys, kind);
  queued(node, {.id = id});
}

void Router::append_to(const std::string& server, Arguments command) {
  const auto node =
      std::ranges::find(nodes_.all(), server, [](const auto& known) { return known->name; });
  if (node == nodes_.all().end()) throw Error(Failure::kUsage, "an unknown server: " + server);
  const auto id = add_command(-1, true);
  if (!connect(**node)) return fail_or_retry(id, **node, {});
  (*node)->link->append(command);
  queued(**node, {.id = id});
}

/// The first reply that is no error counts: a server that does not get the script now gets it
/// later, by load_again().
void Router::append_to_all(std::string_view name, std::span<const Arguments> parts) {
  const auto id = add_command(-1, true);
  std::vector<Node*> masters;
  for (const auto& node : nodes_.all()) {
    if (node->is_master) masters.push_back(node.get());
  }
  if (masters.empty()) masters.push_back(&nodes_.any_master());
  command_of(id).replies_to_come = static_cast<int>(masters.size());
  const Deadline until = deadline_after(options_.timeout);  // for all of them together
  for (Node* node : masters) {
    if (!node->link && Clock::now() >= until) {
      answer(id, Reply::failed(Error(Failure::kNotSent, "no time is left to connect")
                                   .from(node->endpoint, std::string(name))));
    } else if (connect(*node)) {
      node->link->append(name, parts, {}, ReplyKind::kAny);
      queued(*node, {.id = id, .purpose = Purpose::kLoad});
    } else {
      fail_or_retry(id, *node, {});
    }
  }
}

/// Sends a command again, or for the first time.
void Router::send_to_node(Id id, Node& node, std::string_view formatted, bool is_asking) {
  if (!connect(node)) return fail_or_retry(id, node, std::string(formatted));
  has_resent_ = true;
  const bool is_newest = id + 1 == commands_.first() + commands_.size();
  if (is_newest && !is_asking) last_ = &node;
  if (is_asking) append_internal(node, id, {"ASKING"});
  node.link->append_formatted(command_name(words_of_formatted(formatted)), formatted,
                              command_of(id).kind);
  queued(node, {.id = id, .is_asking = is_asking});
}

/// Answers a command whose server cannot be reached, or has it sent again later. A server that is
/// down for long may have been replaced: a few commands wait until that was asked.
void Router::fail_or_retry(Id id, Node& node, std::string formatted) {
  const Error why = not_sent(*node.why_down);
  const bool may_pass = !is_final(*node.why_down) &&
                        (why.failure() == Failure::kNotSent || why.failure() == Failure::kNotNow) &&
                        (!is_long_down(node) || nodes_.may_refresh(kRefreshPause));
  if (!may_pass || command_of(id).is_fixed) {
    answer(id, Reply::failed(why));
    return retries_.wake();  // nothing else may wake the caller
  }
  nodes_.mark_stale();
  retry_later(id, std::move(formatted), why);
}

bool Router::send_to(Node& node) {
  try {
    node.link->send_some();
  } catch (const Error& error) {
    on_connection_lost(node, error);
    return true;
  }
  watch_writes(node);
  return !node.link->has_unsent();
}

void Router::watch_writes(Node& node) {
  const bool wanted = node.link->has_unsent();
  if (wanted == node.writes_watched) return;
  poller_.set_writing(node.link->fd(), node.index, wanted);
  node.writes_watched = wanted;
}

bool Router::send_some() {
  bool all = true;
  for (std::size_t i = 0; i < nodes_.all().size(); ++i) {
    Node& node = *nodes_.all()[i];
    if (node.link && node.link->has_unsent()) all = send_to(node) && all;
  }
  return all;
}

bool Router::has_unsent() const noexcept {
  return std::any_of(nodes_.all().begin(), nodes_.all().end(),
                     [](const auto& node) { return node->link && node->link->has_unsent(); });
}

void Router::flush() {
  const Deadline until = deadline_after(options_.timeout);
  while (!send_some()) {
    if (Clock::now() >= until) return time_out(options_.timeout);
    receive(until, false);
  }
}

// ---- Router: receiving ----

/// Detects closed connections before sending on them.
void Router::poll_if_idle() {
  if (!commands_.empty()) return;
  const auto now = Clock::now();
  if (now - idle_since_ >= kIdle) receive(now);
}

void Router::receive(Deadline until, bool for_answer) {
  if (refusal_) {
    follow_refusal(*std::exchange(refusal_, std::nullopt));
    send_some();
  }
  send_resent();
  if (for_answer && is_answered()) until = Clock::now();
  if (!retries_.empty()) until = std::min(until, retries_.due());
  const auto ready = poller_.wait(until);
  if (options_.interrupt != nullptr) options_.interrupt->check();
  for (const auto& event : ready) {
    if (event.id == kTimer) {
      retries_.expired();
      continue;
    }
    Node& node = *nodes_.all()[event.id];
    if (event.writable && node.link) send_to(node);
    if (event.readable && node.link) receive_from(node);
  }
  if (!retries_.empty() && Clock::now() >= retries_.due()) retry_due();
  send_resent();
}

/// Sends the commands that a redirection queued at another node, of which the caller knows nothing.
/// Without this, nothing would end a wait for their replies.
void Router::send_resent() {
  if (std::exchange(has_resent_, false)) send_some();
}

/// Fast path: the next reply, if only its own command is concerned. Almost all replies take it; it
/// costs half as much as the general path.
std::optional<Reply> Router::receive_plain() {
  if (commands_.empty() || refusal_) return std::nullopt;
  Node* node = commands_.front().node;
  // The last reply of a server is left to receive_from(), which notices one too many.
  if (node == nullptr || !node->link || node->in_flight.size() < 2) return std::nullopt;
  const auto& next = node->in_flight.front();
  if (next.id != commands_.first() || next.purpose != Purpose::kCommand) return std::nullopt;
  std::optional<Reply> reply;
  try {
    reply = node->link->try_read();
  } catch (const Error& error) {
    on_connection_lost(*node, error);
  }
  if (!reply) return reply;
  node->last_reply = node->link->last_received();
  if (reply->is_error()) {
    on_reply(*node, std::move(*reply));
    return std::nullopt;
  }
  node->in_flight.pop();
  ++node->answered;
  commands_.pop();
  return reply;
}

/// Receives what the caller awaits. Replies that are received in the order of the commands need not
/// be kept.
void Router::receive_first() {
  if (refusal_ || commands_.empty()) return;
  Node* node = commands_.front().node;
  if (node != nullptr && node->link) receive_from(*node, true);
}

void Router::receive_from(Node& node, bool until_answered) {
  try {
    // More replies than commands must be noticed before the next command is sent, so that the
    // last one does not end this.
    const auto is_enough = [&] {
      return until_answered && is_answered() && !node.in_flight.empty();
    };
    while (node.link && !is_enough()) {
      auto reply = node.link->try_read();
      if (!reply) break;
      node.last_reply = node.link->last_received();
      on_reply(node, std::move(*reply));
    }
  } catch (const Error& error) {
    if (node.link) on_connection_lost(node, error);
  }
}

void Router::on_reply(Node& node, Reply reply) {
  if (node.in_flight.empty()) {
    throw Error(Failure::kProtocol, node.name + " sent an unexpected reply");
  }
  const auto command = node.in_flight.front();
  node.in_flight.pop();
  ++node.answered;
  if (command.purpose == Purpose::kInternal) return;
  if (command.purpose == Purpose::kLoad && !reply.is_error()) remember_script(node, reply);
  if (command.purpose == Purpose::kCommand && reply.is_error() &&
      !command_of(command.id).is_fixed &&
      follow(command, node, reply, std::string(node.link->last_answered()))) {
    return;
  }
  answer(command.id, std::move(reply));
}

/// Sends a command again that this reply refused. Returns false if the reply is the answer.
bool Router::follow(const InFlight& command, Node& node, Reply& reply,
                    const std::string& formatted) {
  const bool is_sentinel = options_.url.scheme == Scheme::kSentinel;
  if (is_sentinel && is_replica_refusal(reply)) {
    nodes_.mark_stale();  // a replica refuses every write, so nothing was executed
    retry_later(command.id, formatted, to_error(reply));
    return true;
  }
  if (is_unknown_script(reply)) return load_again(command, node, formatted);
  if (is_sentinel || !is_cluster_refusal(reply, formatted)) return false;
  if (starts_with_code(reply, "MOVED")) {
    on_moved(command.id, node, std::move(reply), formatted);
  } else if (starts_with_code(reply, "ASK")) {
    on_ask(command.id, node, std::move(reply), formatted);
  } else {
    if (starts_with_code(reply, "CLUSTERDOWN")) nodes_.mark_stale();
    retry_later(command.id, formatted, to_error(reply));
  }
  return true;
}

void Router::on_moved(Id id, Node& node, Reply reply, const std::string& formatted) {
  const auto referral = parse_referral(reply.text(), node.address);
  if (!referral) return answer(id, std::move(reply));
  Node& owner = nodes_.at(referral->server);
  nodes_.move_slot(referral->slot, owner);
  auto& command = command_of(id);
  command.slot = referral->slot;
  nodes_.mark_stale();
  if (++command.referrals > kMaxReferrals) return retry_later(id, formatted, to_error(reply));
  send_to_node(id, owner, formatted);
  refresh(nodes_.knows_all() ? kRefreshPause : kUrgentRefreshPause);
}

void Router::on_ask(Id id, Node& node, Reply reply, const std::string& formatted) {
  const auto referral = parse_referral(reply.text(), node.address);
  if (!referral) return answer(id, std::move(reply));
  Node& importer = nodes_.at(referral->server);
  if (++command_of(id).referrals > kMaxReferrals || !connect(importer)) {
    if (importer.why_down && is_final(*importer.why_down))
      return fail_or_retry(id, importer, formatted);
    return retry_later(id, formatted, to_error(reply));
  }
  send_to_node(id, importer, formatted, true);
}

void Router::remember_script(Node& node, const Reply& reply) {
  const auto words = words_of_formatted(node.link->last_answered());
  if (words.size() == 3) options_.scripts.emplace(reply.text(), words[2]);
  node.scripts.insert_or_assign(std::string(reply.text()), node.answered - 1);
}

/// Loads a script that this server has lost or never had. Returns false if it is not known.
bool Router::load_again(const InFlight& refused, Node& node, std::string_view formatted) {
  const auto words = words_of_formatted(formatted);
  if (words.size() < 2) return false;
  const auto script = options_.scripts.find(words[1]);
  if (script == options_.scripts.end()) return false;
  if (++command_of(refused.id).referrals > kMaxReferrals) return false;
  // The first of a pipeline loads it for those that were sent before that.
  const auto load = node.scripts.find(words[1]);
  if (load == node.scripts.end() || load->second < node.answered) {
    node.scripts.insert_or_assign(std::string(words[1]), node.answered + node.in_flight.size());
    append_internal(node, refused.id, {"SCRIPT", "LOAD", script->second});
  }
  send_to_node(refused.id, node, formatted, refused.is_asking);
  return true;
}

void Router::answer(Id id, Reply reply) {
  auto& command = command_of(id);
  if (!command.reply || command.reply->is_error()) command.reply = std::move(reply);
  --command.replies_to_come;
}

bool Router::is_answered() const noexcept {
  return !commands_.empty() && commands_.front().replies_to_come == 0;
}

/// Whether there is nothing to receive but what the server of the first command sends.
bool Router::is_alone() const noexcept {
  if (commands_.empty() || refusal_ || has_resent_ || retries_.is_timer_set()) return false;
  return std::all_of(nodes_.all().begin(), nodes_.all().end(), [&](const auto& node) {
    return (node->link != nullptr) == (node.get() == commands_.front().node);
  });
}

std::optional<Reply> Router::take() {
  if (!is_answered()) return std::nullopt;
  auto reply = std::move(commands_.front().reply);
  commands_.pop();
  if (commands_.empty()) idle_since_ = Clock::now();
  return reply;
}

std::optional<Reply> Router::try_read() {
  if (auto reply = receive_plain()) return reply;
  if (!is_answered()) receive_first();
  if (!is_answered() && !is_alone()) receive(Clock::now());
  return take();
}

Reply Router::read() {
  Deadline until = deadline_after(options_.timeout);
  for (;;) {
    send_some();
    if (auto reply = receive_plain()) return std::move(*reply);
    if (!is_answered()) receive_first();
    if (auto reply = take()) return std::move(*reply);
    if (commands_.empty()) throw Error(Failure::kUsage, "no reply is outstanding");
    receive(until);
    if (is_answered() || Clock::now() < until) continue;
    time_out(options_.timeout);
    until = deadline_after(options_.timeout);
  }
}

std::unique_ptr<Link> Router::release(std::string_view key) {
  Node* node = key.empty() ? &nodes_.any_master() : &node_for(slot_of(key));
  if (key.empty() && !connect(*node)) {
    const auto reached = std::ranges::find_if(
        nodes_.all(), [&](const auto& other) { return other->is_master && connect(*other); });
    if (reached != nodes_.all().end()) node = reached->get();
  }
  if (!connect(*node)) throw Error(*node->why_down);
  return std::move(node->link);
}

// ---- Router: when a server fails ----

void Router::disconnect(Node& node) {
  poller_.remove(node.link->fd());
  node.link.reset();
  node.writes_watched = false;
  node.answered = 0;
  node.scripts.clear();
}

/// Answers what was sent to a server whose connection failed, and keeps what was not.
void Router::on_connection_lost(Node& node, const Error& error) {
  auto unsent = node.link->not_sent_whole();
  disconnect(node);
  nodes_.mark_stale();
  const auto lost = std::exchange(node.in_flight, {});
  const auto sent = lost.size() - unsent.size();
  for (std::size_t i = 0; i < lost.size(); ++i) {
    const auto& [id, purpose, is_asking] = lost[lost.first() + i];
    if (purpose == Purpose::kInternal) continue;
    if (i < sent) {
      answer(id, Reply::failed(error));
    } else if (command_of(id).is_fixed) {
      answer(id, Reply::failed(not_sent(error)));
    } else {
      retry_later(id, std::move(unsent[i - sent]), not_sent(error));
    }
  }
}

/// Takes what has arrived, also what was received with other replies and is not looked at yet.
void Router::receive_all() {
  for (std::size_t i = 0; i < nodes_.all().size(); ++i) {
    if (nodes_.all()[i]->link) receive_from(*nodes_.all()[i]);
  }
}

/// Takes what has arrived, after an interrupt. A reply that refers its command to a server that is
/// not connected yet is taken, too, although that is interrupted.
void Router::receive_last(Node& node) {
  for (auto left = commands_.size(); left > 0; --left) {
    try {
      return receive_from(node);
    } catch (const Interrupted&) {
      continue;
    }
  }
}

void Router::give_up() {
  const Error interrupted(Failure::kUnreachable, "interrupted", {}, kMayHaveRun);
  for (std::size_t i = 0; i < nodes_.all().size(); ++i) receive_last(*nodes_.all()[i]);
  for (const auto& node : nodes_.all()) {
    if (node->link) on_connection_lost(*node, interrupted);
  }
  for (const auto& waiting : retries_.take()) {
    answer(waiting.id, Reply::failed(waiting.why));
  }
  if (refusal_) answer(commands_.first(), std::move(std::exchange(refusal_, std::nullopt)->reply));
  // The commands that were about to be sent, or sent again, when the interrupt came.
  const Error unsent(Failure::kNotSent, "interrupted; the command was not sent");
  for (auto left = commands_.size(), id = commands_.first(); left > 0; --left, ++id) {
    while (command_of(id).replies_to_come > 0) answer(id, Reply::failed(unsent));
  }
}

void Router::time_out(Node& node) {
  try {
    node.link->time_out(options_.timeout);
  } catch (const Error& error) {
    on_connection_lost(node, error);
    // It may go on accepting connections, and what is sent to it would be in doubt, too.
    node.why_down = error;
    node.down_since = Clock::now() - options_.timeout;
    node.next_attempt = Clock::now() + kReconnectPause;
  }
}

void Router::time_out(microseconds timeout) {
  options_.timeout = timeout;
  receive_all();
  const auto late = Clock::now() - timeout;
  for (std::size_t i = 0; i < nodes_.all().size(); ++i) {
    Node& node = *nodes_.all()[i];
    if (node.link && !node.in_flight.empty() && node.last_reply <= late) time_out(node);
  }
}

void Router::set_timeout(microseconds timeout) noexcept {
  options_.timeout = timeout;
  for (const auto& node : nodes_.all()) {
    if (node->link) node->link->set_timeout(timeout);
  }
}

// ---- Router: sending again ----

void Router::retry_later(Id id, std::string formatted, const Error& why) {
  auto& command = command_of(id);
  if (command.give_up == kNoDeadline) command.give_up = deadline_after(options_.timeout);
  retries_.add({.id = id, .formatted = std::move(formatted), .why = why});
}

void Router::retry_due() {
  const auto due = retries_.take();
  if (nodes_.is_stale()) refresh(kUrgentRefreshPause);
  for (const auto& [id, formatted, why] : due) {
    auto& command = command_of(id);
    if (Clock::now() >= command.give_up) {
      answer(id, Reply::failed(why));
      continue;
    }
    command.referrals = 0;
    send_to_node(id, node_for(command.slot), formatted);
  }
}

}  // namespace rlctl::redis
