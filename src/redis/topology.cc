#include "redis/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/address.h"
#include "base/text.h"
#include "base/time.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "redis/slots.h"

namespace rlctl::redis {
namespace {

Reply ask(Link& link, std::initializer_list<std::string_view> words) {
  const Arguments all(words.begin(), words.size());
  link.append(all);
  return link.read();
}

/// The link's errors refer to the server, so that they come with advice.
std::unique_ptr<Link> open(const Url& url, std::chrono::microseconds timeout,
                           const Interrupt* interrupt) {
  return Link::open(url, timeout, interrupt,
                    std::make_shared<const Endpoint>(
                        Endpoint{.url = url, .timeout = timeout, .interrupt = interrupt}));
}

Reply ask_for_slots(const Url& url, std::chrono::microseconds timeout, const Interrupt* interrupt) {
  auto link = open(url, timeout, interrupt);
  return ask(*link, {"CLUSTER", "SLOTS"});
}

/// Whether this reply to CLUSTER SLOTS shows that the server is not in a Cluster.
bool shows_no_cluster(const Reply& slots) {
  return slots.is_error() && to_error(slots).code() == "ERR";
}

std::vector<SlotRange> ask_node(const TopologyRequest& request, const HostPort& node,
                                std::chrono::microseconds timeout) {
  const auto reply = ask_for_slots(url_of(request.url, node), timeout, request.interrupt);
  if (!reply.is_error()) return parse_slots(reply, node);
  const auto error = to_error(reply);
  if (!shows_no_cluster(reply)) {
    throw Error(error.failure(), fmt::format("{}: {}", display(node), error.what()), error.code())
        .from(error.server(), "CLUSTER SLOTS");
  }
  const bool may_be_sentinel = std::string_view(error.what()).starts_with("unknown command");
  throw Error(
      Failure::kUsage,
      fmt::format("{} is not a node of a Cluster: {}", display(node), error.what()), {},
      may_be_sentinel
          ? "if it is a Sentinel, write redis+sentinel://" + display(node) + "/MASTER"
          : "write " + display(Url{.host = node.host, .port = node.port, .tls = request.url.tls}));
}

/// A share of a timeout, for messages.
std::chrono::microseconds whole_ms(std::chrono::microseconds share) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(share);
  return whole.count() > 0 ? whole : share;
}

std::unique_ptr<Link> open_sentinel(const TopologyRequest& request, const HostPort& sentinel,
                                    std::chrono::microseconds timeout, bool logs_in) {
  Url url = url_of(request.url, sentinel);
  url.database = 0;
  if (!logs_in) {
    url.user.clear();
    url.password.clear();
  }
  return open(url, timeout, request.interrupt);
}

std::vector<SlotRange> ask_sentinel(const TopologyRequest& request, const HostPort& sentinel,
                                    std::chrono::microseconds timeout) {
  const auto ask_for_master = [&](bool logs_in) {
    auto link = open_sentinel(request, sentinel, timeout, logs_in);
    return ask(*link, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", request.url.master});
  };
  auto reply = ask_for_master(false);
  const bool has_login = !request.url.password.empty();
  if (reply.is_error() && to_error(reply).failure() == Failure::kRefused && has_login) {
    reply = ask_for_master(true);
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
                            escape(request.url.master, 80)),
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

}  // namespace

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

bool is_replica_refusal(ReplyView reply) {
  return reply.is_error() && error_code(reply.text()) == "READONLY" &&
         reply.text().find("READONLY You can't write against a read only ") != std::string::npos;
}

bool may_be_node(const Url& url, std::chrono::microseconds timeout, const Interrupt* interrupt) {
  try {
    return !shows_no_cluster(ask_for_slots(url, timeout, interrupt));
  } catch (const Error&) {
    return true;
  }
}

std::vector<SlotRange> parse_slots(ReplyView reply, const HostPort& asked) {
  // [[first, last, [host, port, ...], replicas...], ...]
  std::vector<SlotRange> ranges;
  if (reply.size() > kSlots) {
    throw Error(Failure::kProtocol,
                fmt::format("{}: the answer to CLUSTER SLOTS has more ranges than there are slots",
                            display(asked)));
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
  const auto slot_at = text.find(' ') + 1, host_at = text.find(' ', slot_at) + 1;
  const auto colon = text.rfind(':');
  if (slot_at == 0 || host_at == 0 || colon == text.npos || colon < host_at) return std::nullopt;
  const auto host = text.substr(host_at, colon - host_at);
  referral.slot = to_number<int>(text.substr(slot_at, host_at - 1 - slot_at)).value_or(-1);
  referral.server.port = to_number<int>(text.substr(colon + 1)).value_or(0);
  if (referral.slot < 0 || referral.slot >= kSlots || !is_port(referral.server.port)) {
    return std::nullopt;
  }
  if (!host.empty() && host != "?") referral.server.host = host;
  return referral;
}

std::vector<HostPort> hosts_of(const Url& url) {
  std::vector<HostPort> hosts{{.host = url.host, .port = url.port}};
  hosts.insert(hosts.end(), url.more_hosts.begin(), url.more_hosts.end());
  return hosts;
}

Url url_of(const Url& whole, const HostPort& server) {
  Url url = whole;
  const auto named = hosts_of(whole);
  url.is_referred = std::ranges::none_of(named, [&](const HostPort& host) {
    return host.host == server.host || is_link_local(host.host);
  });
  url.scheme = Scheme::kTcp;
  url.host = server.host;
  url.port = server.port;
  url.path.clear();
  url.more_hosts.clear();
  url.master.clear();
  return url;
}

std::vector<SlotRange> find_masters(const TopologyRequest& request) {
  const bool is_sentinel = request.url.scheme == Scheme::kSentinel;
  const auto started = Clock::now();
  std::optional<Error> failed;
  auto left = std::ssize(request.candidates);
  for (const auto& candidate : request.candidates) {
    const auto used = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started);
    // One that hangs must leave time for those after it.
    const auto timeout = whole_ms((request.timeout - used) / left--);
    if (timeout.count() <= 0) break;
    try {
      return is_sentinel ? ask_sentinel(request, candidate, timeout)
                         : ask_node(request, candidate, timeout);
    } catch (const Error& error) {
      // What a candidate says tells more than that another is not there.
      const bool tells_more = !failed || failed->failure() == Failure::kUnreachable ||
                              failed->failure() == Failure::kTimeout;
      if (tells_more) failed = error;
    }
  }
  if (!failed) {
    throw Error(Failure::kTimeout, fmt::format("no answer from {} within {}", display(request.url),
                                               format_duration(request.timeout)));
  }
  if (request.candidates.size() == 1) throw Error(*failed);
  throw Error(failed->failure(),
              fmt::format("no {} of {} can be asked: {}", is_sentinel ? "Sentinel" : "node",
                          display(request.url), failed->what()),
              failed->code(), failed->hint())
      .from(failed->server(), failed->command());
}

}  // namespace rlctl::redis
