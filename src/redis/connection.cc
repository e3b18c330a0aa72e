#include "redis/connection.h"

#include <array>
#include <charconv>
#include <utility>

#include "redis/cluster.h"
#include "redis/error.h"

namespace rlctl::redis {

Connection::Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout) {
  use(std::make_unique<Link>(std::move(transport), timeout));
}
Connection::Connection(RouterOptions options) : options_(std::move(options)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Connection Connection::open(const Url& url, std::chrono::microseconds timeout,
                            const Interrupt* interrupt, std::shared_ptr<const Endpoint> server) {
  Connection connection(
      RouterOptions{.url = url, .timeout = timeout, .interrupt = interrupt, .server = server});
  if (url.scheme == Scheme::kCluster || url.scheme == Scheme::kSentinel) {
    connection.router_ = std::make_unique<Router>(connection.options_);
    connection.pipeline_ = connection.router_.get();
  } else {
    connection.use(Link::open(url, timeout, interrupt, std::move(server)));
    connection.follows_ = true;
  }
  return connection;
}

void Connection::use(std::unique_ptr<Link> link) {
  link_ = std::move(link);
  pipeline_ = link_.get();
}

void Connection::become_router(std::optional<Reply> refusal) {
  router_ = std::make_unique<Router>(options_, std::move(link_), std::move(refusal));
  pipeline_ = router_.get();
}

void Connection::pin_to_server(std::string_view key) {
  follows_ = false;
  if (!router_) return;
  use(router_->release(key));
  router_.reset();
}

void Connection::append(Arguments arguments) {
  if (arguments.empty()) throw Error(Failure::kUsage, "an empty command");
  const auto keys = router_ ? keys_of(arguments) : Arguments();
  pipeline_->append(command_name(arguments), std::span(&arguments, 1), keys, ReplyKind::kAny);
}

void Connection::append_call(std::string_view command, std::string_view script, Arguments keys,
                             Arguments arguments, ReplyKind kind) {
  std::array<char, 20> digits;
  const auto* end = std::to_chars(digits.begin(), digits.end(), keys.size()).ptr;
  const std::string_view count(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::array<std::string_view, 3> begin{command, script, count};
  const std::array<Arguments, 3> parts{begin, keys, arguments};
  pipeline_->append(command, parts, keys, kind);
}

/// Whether CLUSTER SLOTS was refused to the user, by a node of a Cluster.
bool Connection::cluster_slots_refused(const Reply& slots) {
  if (!slots.is_error() || to_error(slots).failure() != Failure::kRefused) return false;
  // Any user may send HELLO, but to Redis 6.0. No node has the keys of two slots at once.
  const auto hello = call({"HELLO", "2"});
  if (!hello.is_error()) return hello_field(hello, "mode") == "cluster";
  return error_code(call({"EXISTS", "a", "b"}).text()) == "CROSSSLOT";
}

std::vector<std::string> Connection::servers() {
  if (follows_ && !router_ && !std::exchange(knows_servers_, true)) {
    const auto reply = call({"CLUSTER", "SLOTS"});
    if (cluster_slots_refused(reply)) throw to_error(reply);
    const bool is_single = reply.type() == ReplyType::kArray && reply.size() <= 1;
    if (!router_ && !reply.is_error() && !is_single) {
      const auto ranges =
          parse_slots(reply, {.host = options_.url.host, .port = options_.url.port});
      become_router(std::nullopt);
      router_->set_masters(ranges);
    }
  }
  return router_ ? router_->masters() : std::vector<std::string>{""};
}

bool Connection::has_slots() const noexcept {
  return router_ != nullptr && options_.url.scheme != Scheme::kSentinel;
}

void Connection::append_to(const std::string& server, Arguments arguments) {
  router_ ? router_->append_to(server, arguments) : append(arguments);
}

bool Connection::is_of_cluster(const Reply& reply) {
  if (!follows_ || !is_cluster_refusal(reply, link_->last_answered())) return false;
  follows_ = may_be_node(options_.url, options_.timeout, options_.interrupt);
  return follows_;
}

/// Other nodes may need the scripts that were loaded into this one.
void Connection::remember_script(const Reply& reply) {
  constexpr std::size_t kSha1Size = 40;
  if (!follows_ || reply.text().size() != kSha1Size) return;
  const auto words = words_of_formatted(link_->last_answered());
  if (words.size() == 3 && command_name(words) == "SCRIPT LOAD") {
    options_.scripts.emplace(reply.text(), words[2]);
  }
}

/// Whether this reply of the one server showed that it is a node of a Cluster: a router has taken
/// it then, and its command.
bool Connection::hands_over(Reply& reply) {
  remember_script(reply);
  if (!is_of_cluster(reply)) return false;
  become_router(std::move(reply));
  return true;
}

Reply Connection::read() {
  auto reply = pipeline_->read();
  if (link_ && hands_over(reply)) return router_->read();
  return reply;
}

std::optional<Reply> Connection::try_read() {
  auto reply = pipeline_->try_read();
  if (link_ && reply && hands_over(*reply)) return router_->try_read();
  return reply;
}

void Connection::set_timeout(std::chrono::microseconds timeout) noexcept {
  options_.timeout = timeout;
  pipeline_->set_timeout(timeout);
}

std::size_t Connection::not_sent() const {
  return link_ ? link_->not_sent_whole().size() : 0;
}

bool Connection::give_up() {
  if (router_) router_->give_up();
  return router_ != nullptr;
}

void Connection::take_all() {
  std::optional<Error> failed;
  while (outstanding() > 0) {
    const auto reply = read();
    if (reply.is_error() && !failed) failed = to_error(reply);
  }
  if (failed) throw Error(*failed);
}

Reply Connection::call(Arguments arguments) {
  append(arguments);
  return read();
}

}  // namespace rlctl::redis
