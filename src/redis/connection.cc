#include "redis/connection.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "redis/error.h"
#include "redis/router.h"
#include "redis/topology.h"

namespace rlctl::redis {

/// Either a link or a router.
struct Connection::State {
  std::optional<Link> link;
  std::unique_ptr<Router> router;
  bool follows = false;        ///< becomes a router when the server turns out to be a Cluster's
  bool knows_servers = false;  ///< servers() has asked
  Router::Options options = {};

  void append(std::string_view name, std::span<const Arguments> parts, Arguments keys) {
    if (router) return router->append(name, parts, keys);
    link->append(name, parts);
  }

  [[nodiscard]] bool is_of_cluster(const Reply& reply) {
    if (!follows || !is_cluster_refusal(reply, link->last_answered())) return false;
    follows = may_be_node(options.url, options.timeout, options.interrupt);
    return follows;
  }

  /// Other nodes may need the scripts that were loaded into this one.
  void remember_script(const Reply& reply) {
    constexpr std::size_t kSha1Size = 40;
    if (!follows || reply.text().size() != kSha1Size) return;
    const auto words = words_of_formatted(link->last_answered());
    if (words.size() == 3 && command_name(words) == "SCRIPT LOAD") {
      options.scripts.emplace(reply.text(), words[2]);
    }
  }

  void become_router(std::optional<Reply> refusal) {
    router = std::make_unique<Router>(options, std::move(*link), std::move(refusal));
    link.reset();
  }
};

Connection::Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout)
    : state_(std::make_unique<State>()) {
  state_->link.emplace(std::move(transport), timeout);
}
Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Connection Connection::open(const Url& url, std::chrono::microseconds timeout,
                            const Interrupt* interrupt, std::shared_ptr<const Endpoint> server) {
  auto state = std::make_unique<State>();
  state->options = {.url = url, .timeout = timeout, .interrupt = interrupt, .server = server};
  if (url.scheme == Scheme::kCluster || url.scheme == Scheme::kSentinel) {
    state->router = std::make_unique<Router>(state->options);
  } else {
    state->link = Link::open(url, timeout, interrupt, std::move(server));
    state->follows = true;
  }
  return Connection(std::move(state));
}

void Connection::stay(std::string_view key) {
  state_->follows = false;
  if (!state_->router) return;
  state_->link = state_->router->release(key);
  state_->router.reset();
}

void Connection::append(Arguments arguments) {
  if (arguments.empty()) throw Error(Failure::kUsage, "an empty command");
  const auto keys = state_->router ? keys_of(arguments) : Arguments();
  state_->append(command_name(arguments), std::span(&arguments, 1), keys);
}

void Connection::append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments) {
  append_script("EVALSHA", sha1, keys, arguments);
}

void Connection::append_fcall(std::string_view function, Arguments keys, Arguments arguments) {
  append_script("FCALL", function, keys, arguments);
}

void Connection::append_script(std::string_view command, std::string_view script, Arguments keys,
                               Arguments arguments) {
  std::array<char, 20> digits;
  const auto* end = std::to_chars(digits.begin(), digits.end(), keys.size()).ptr;
  const std::string_view count(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::array<std::string_view, 3> begin{command, script, count};
  const std::array<Arguments, 3> parts{begin, keys, arguments};
  state_->append(command, parts, keys);
}

/// Whether CLUSTER SLOTS was refused to the user, by a node of a Cluster.
bool Connection::may_not_know_servers(const Reply& slots) {
  if (!slots.is_error() || to_error(slots).failure() != Failure::kRefused) return false;
  // Any user may send HELLO, but to Redis 6.0. No node has the keys of two slots at once.
  const auto hello = call({"HELLO", "2"});
  if (!hello.is_error()) return hello_field(hello, "mode") == "cluster";
  return error_code(call({"EXISTS", "a", "b"}).text()) == "CROSSSLOT";
}

std::vector<std::string> Connection::servers() {
  if (!state_->router && state_->follows && !std::exchange(state_->knows_servers, true)) {
    const auto reply = call({"CLUSTER", "SLOTS"});
    if (may_not_know_servers(reply)) throw to_error(reply);
    if (!state_->router && reply.size() > 1) {
      const auto& url = state_->options.url;
      state_->become_router(std::nullopt);
      state_->router->set_masters(parse_slots(reply, {.host = url.host, .port = url.port}));
    }
  }
  return state_->router ? state_->router->masters() : std::vector<std::string>{""};
}

bool Connection::has_slots() const noexcept {
  return state_->router != nullptr && state_->options.url.scheme != Scheme::kSentinel;
}

void Connection::append_to(const std::string& server, Arguments arguments) {
  if (state_->router) return state_->router->append_to(server, arguments);
  append(arguments);
}

bool Connection::send_some() {
  return state_->router ? state_->router->send_some() : state_->link->send_some();
}

void Connection::flush() {
  state_->router ? state_->router->flush() : state_->link->flush();
}

Reply Connection::read() {
  if (!state_->router) {
    auto reply = state_->link->read();
    state_->remember_script(reply);
    if (!state_->is_of_cluster(reply)) return reply;
    state_->become_router(std::move(reply));
  }
  return state_->router->read();
}

std::optional<Reply> Connection::try_read() {
  if (!state_->router) {
    auto reply = state_->link->try_read();
    if (reply) state_->remember_script(*reply);
    if (!reply || !state_->is_of_cluster(*reply)) return reply;
    state_->become_router(std::move(reply));
  }
  return state_->router->try_read();
}

void Connection::set_timeout(std::chrono::microseconds timeout) noexcept {
  state_->options.timeout = timeout;
  state_->router ? state_->router->set_timeout(timeout) : state_->link->set_timeout(timeout);
}

void Connection::time_out(std::chrono::microseconds timeout) {
  state_->router ? state_->router->time_out(timeout) : state_->link->time_out(timeout);
}

bool Connection::give_up() {
  if (state_->router) state_->router->give_up();
  return state_->router != nullptr;
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

std::size_t Connection::outstanding() const noexcept {
  return state_->router ? state_->router->outstanding() : state_->link->outstanding();
}
bool Connection::has_unsent() const noexcept {
  return state_->router ? state_->router->has_unsent() : state_->link->has_unsent();
}
int Connection::fd() const noexcept {
  return state_->router ? state_->router->fd() : state_->link->fd();
}

}  // namespace rlctl::redis
