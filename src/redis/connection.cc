#include "redis/connection.h"

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <new>
#include <utility>
#include <vector>

namespace rlctl::redis {

namespace {

// The most bytes received at once, and the most such receptions in one call that must not wait.
constexpr std::size_t kChunk = std::size_t{16} * 1024;
constexpr int kChunksAtOnce = 64;

// The commands whose first argument is a command in its own right, for messages.
constexpr std::array<std::string_view, 5> kContainers{"SCRIPT", "CONFIG", "OBJECT", "MEMORY",
                                                      "CLIENT"};

// The name under which a message or an ACL rule refers to a command.
std::string name_of(Arguments command) {
  std::string name(command.front());
  if (command.size() > 1 && std::ranges::find(kContainers, name) != kContainers.end()) {
    name.append(" ").append(command[1]);
  }
  return name;
}

// A FIFO of bytes.
class Buffer {
 public:
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::string_view view() const noexcept {
    return {bytes_.data() + begin_, end_ - begin_};
  }
  // view() with up to `count` of the bytes before it, which stay until room() is next called.
  [[nodiscard]] std::string_view view_from_before(std::size_t count) const noexcept {
    const auto known = std::min(count, begin_);
    return {bytes_.data() + begin_ - known, end_ - begin_ + known};
  }
  void take(std::size_t count) noexcept { begin_ += count; }
  void clear() noexcept { begin_ = end_ = 0; }

  // Room for `size` more bytes; commit() sets how many were written.
  [[nodiscard]] char* room(std::size_t size) {
    if (empty()) clear();
    if (begin_ > bytes_.size() / 2) {
      std::copy(bytes_.data() + begin_, bytes_.data() + end_, bytes_.data());
      end_ -= std::exchange(begin_, 0);
    }
    if (bytes_.size() - end_ < size) bytes_.resize(std::max(end_ + size, bytes_.size() * 2));
    return bytes_.data() + end_;
  }
  void commit(std::size_t count) noexcept { end_ += count; }

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

Deadline deadline_after(std::chrono::microseconds timeout) {
  return timeout == timeout.max() ? kNoDeadline : Clock::now() + timeout;
}

// Connects, and names the timeout in errors: a Transport knows only its deadline.
std::unique_ptr<Transport> connect_within(const Url& url, std::chrono::microseconds timeout,
                                          Deadline until, const Interrupt* interrupt) {
  try {
    return connect(url, until, interrupt);
  } catch (const Error& error) {
    if (error.failure() != Failure::kTimeout) throw;
    throw Error(Failure::kTimeout, fmt::format("cannot connect to {}: no answer within {}",
                                               display(url), format_duration(timeout)));
  }
}

struct FreeCommand {
  void operator()(char* command) const noexcept { redisFreeCommand(command); }
};

}  // namespace

struct Connection::State {
  State(std::unique_ptr<Transport> transport_in, std::chrono::microseconds timeout_in)
      : transport(std::move(transport_in)), timeout(timeout_in) {}

  /// One command, from its parts.
  void append(std::string name, std::initializer_list<Arguments> parts) {
    argv.clear();
    argv_sizes.clear();
    for (const auto& part : parts) {
      for (const auto argument : part) {
        argv.push_back(argument.empty() ? "" : argument.data());
        argv_sizes.push_back(argument.size());
      }
    }
    char* command = nullptr;
    const auto size = redisFormatCommandArgv(&command, static_cast<int>(argv.size()), argv.data(),
                                             argv_sizes.data());
    if (size < 0) throw std::bad_alloc();
    const std::unique_ptr<char, FreeCommand> owned(command);
    std::copy_n(command, size, output.room(static_cast<std::size_t>(size)));
    output.commit(static_cast<std::size_t>(size));
    outstanding.push_back(std::move(name));
  }

  void append(Arguments arguments) { append(name_of(arguments), {arguments}); }
  void append(std::initializer_list<std::string_view> arguments) {
    append(Arguments(arguments.begin(), arguments.size()));
  }

  bool send_some() {
    try {
      while (!output.empty()) {
        const auto count = transport->write_some(output.view());
        if (count == 0) return false;
        output.take(count);
        sent_unanswered = true;
      }
    } catch (const Error& error) {
      // The server's earlier output may state why it hung up: "max number of clients reached".
      if (error.failure() != Failure::kUnreachable) throw;
      broken = error;
      output.clear();
    }
    return true;
  }

  // The server stops reading if its replies are not taken, so take them meanwhile.
  void flush(Deadline until) {
    while (!send_some()) {
      // A peer that always has more bytes would never make the transport wait until its deadline.
      if (Clock::now() >= until) throw Error(Failure::kTimeout, "no answer in time");
      try {
        if (!receive_available()) transport->wait(until);
      } catch (const Error& error) {
        if (error.failure() != Failure::kUnreachable) throw;
        broken = error;
        output.clear();
      }
    }
  }

  // Returns false if nothing was available.
  bool receive_available() {
    const auto count = transport->read_available(input.room(kChunk), kChunk);
    input.commit(count);
    return count > 0;
  }

  // The next reply that has arrived.
  std::optional<Reply> take() {
    const std::size_t unparsed = reader.unparsed();
    auto bytes = input.view();
    std::optional<Reply> reply;
    try {
      reply = reader.next(bytes);
    } catch (const Error& error) {
      throw not_resp(input.view_from_before(unparsed), error.what());
    }
    input.take(input.view().size() - bytes.size());
    if (!reply) return reply;
    // Some commands have several replies (MONITOR, the script debugger).
    if (!outstanding.empty()) {
      reply->set_origin(server, std::move(outstanding.front()));
      outstanding.pop_front();
    }
    if (outstanding.empty()) sent_unanswered = false;
    const bool is_first = !std::exchange(has_replied, true);
    if (is_first && refuses_connection(*reply)) {
      sent_unanswered = false;  // the reply is to everything that was sent
      throw named(to_error(*reply));
    }
    return reply;
  }

  std::optional<Reply> try_read() {
    for (int i = 0; i < kChunksAtOnce; ++i) {
      auto reply = take();
      if (reply || !receive_available()) return reply;
    }
    return take();
  }

  Reply read(Deadline until) {
    flush(until);
    for (bool is_late = false;; is_late = Clock::now() >= until) {
      if (auto reply = take()) return std::move(*reply);
      if (is_late) throw Error(Failure::kTimeout, "no answer in time");
      if (!broken) {
        input.commit(transport->read(input.room(kChunk), kChunk, until));
      } else if (!receive_available()) {
        throw Error(*broken);
      }
    }
  }

  // AUTH and SELECT in one round trip; SELECT after a failed AUTH does no harm.
  void log_in(const Url& url, Deadline until) {
    is_logging_in = true;
    if (!url.user.empty()) {
      append({"AUTH", url.user, url.password});
    } else if (!url.password.empty()) {
      append({"AUTH", url.password});
    }
    if (url.database != 0) append({"SELECT", std::to_string(url.database)});
    while (!outstanding.empty()) {
      const auto reply = read(until);
      if (reply.is_error()) throw log_in_failed(to_error(reply));
      if (reply.text() != "OK") {
        throw Error(Failure::kProtocol,
                    fmt::format("{}: the answer to AUTH or SELECT is not OK", transport->name()));
      }
    }
    is_logging_in = false;
  }

  // Runs one public call. If it throws, the error states what may have been executed, and the
  // connection is of no more use.
  template <typename Call>
  auto guarded(Call call) {
    if (failure) throw Error(*failure);
    if (interrupted) throw Interrupted();
    try {
      return call();
    } catch (const Interrupted&) {
      interrupted = true;
      throw;
    } catch (const Error& error) {
      failure = explain(error);
    }
    throw Error(*failure);
  }

  [[nodiscard]] Deadline deadline() const { return deadline_after(timeout); }
  [[nodiscard]] Error explain(const Error& error) const {
    std::string message = error.what();
    if (error.failure() == Failure::kTimeout) {
      message =
          fmt::format("no answer from {} within {}", transport->name(), format_duration(timeout));
    }
    std::string hint = error.hint();
    if (hint.empty() && sent_unanswered && !outstanding.empty() && !is_logging_in)
      hint = kMayHaveRun;
    return Error(error.failure(), message, error.code(), std::move(hint))
        .from(server, error.command());
  }

  [[nodiscard]] Error not_resp(std::string_view bytes, std::string_view why) const {
    const std::string shown = bytes.empty() ? escape(why) : fmt::format("'{}'", escape(bytes, 40));
    return {Failure::kProtocol,
            fmt::format("{}: the answer is not RESP: {}", transport->name(), shown),
            {},
            "is it a Redis server, and without TLS?"};
  }

  /// The error with the server's name in front.
  [[nodiscard]] Error named(const Error& error, std::string_view command = {}) const {
    return Error(error.failure(), fmt::format("{}: {}{}", transport->name(), command, error.what()),
                 error.code())
        .from(server, error.command());
  }

  [[nodiscard]] Error log_in_failed(const Error& error) const {
    // "AUTH <password> called without any password ..."
    const bool is_named = std::string_view(error.what()).starts_with(error.command());
    if (is_named || error.failure() == Failure::kNotNow) return named(error);
    return named(error, error.command() + ": ");
  }

  std::unique_ptr<Transport> transport;
  std::chrono::microseconds timeout;
  std::shared_ptr<const Endpoint> server;
  ReplyReader reader;
  Buffer output;
  Buffer input;                   // received bytes, not yet given to the reader
  std::vector<const char*> argv;  // of the command being formatted
  std::vector<std::size_t> argv_sizes;
  std::deque<std::string> outstanding;  // the names of the commands without a reply so far
  bool is_logging_in = false;
  bool has_replied = false;
  bool sent_unanswered = false;  // bytes were sent that no reply accounts for yet
  // How the connection ended while sending; thrown once the replies that came before are taken.
  std::optional<Error> broken;
  // Every later call throws this again.
  std::optional<Error> failure;
  bool interrupted = false;
};

Connection::Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout)
    : state_(std::make_unique<State>(std::move(transport), timeout)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Connection Connection::open(const Url& url, std::chrono::microseconds timeout,
                            const Interrupt* interrupt, std::shared_ptr<const Endpoint> server) {
  const Deadline until = deadline_after(timeout);
  Connection connection(connect_within(url, timeout, until, interrupt), timeout);
  State& state = *connection.state_;
  state.server = std::move(server);
  state.guarded([&] { state.log_in(url, until); });
  return connection;
}

void Connection::append(Arguments arguments) {
  if (arguments.empty()) throw Error(Failure::kUsage, "an empty command");
  state_->append(arguments);
}

void Connection::append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments) {
  std::array<char, 20> digits;
  const auto* end = std::to_chars(digits.begin(), digits.end(), keys.size()).ptr;
  const std::string_view count(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::array<std::string_view, 3> begin{"EVALSHA", sha1, count};
  state_->append("EVALSHA", {begin, keys, arguments});
}

bool Connection::send_some() {
  return state_->guarded([&] { return state_->send_some(); });
}

void Connection::flush() {
  state_->guarded([&] { state_->flush(state_->deadline()); });
}

Reply Connection::read() {
  return state_->guarded([&] { return state_->read(state_->deadline()); });
}

std::optional<Reply> Connection::try_read() {
  return state_->guarded([&] { return state_->try_read(); });
}

void Connection::set_timeout(std::chrono::microseconds timeout) noexcept {
  state_->timeout = timeout;
}

void Connection::time_out(std::chrono::microseconds timeout) {
  state_->timeout = timeout;
  state_->guarded([] { throw Error(Failure::kTimeout, "no answer in time"); });
  throw Error(*state_->failure);
}

Reply Connection::call(Arguments arguments) {
  append(arguments);
  return read();
}

std::size_t Connection::outstanding() const noexcept {
  return state_->outstanding.size();
}
bool Connection::has_unsent() const noexcept {
  return !state_->output.empty();
}
int Connection::fd() const noexcept {
  return state_->transport->fd();
}

}  // namespace rlctl::redis
