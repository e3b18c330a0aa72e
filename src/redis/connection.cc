#include "redis/connection.h"

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <utility>
#include <vector>

namespace rlctl::redis {

namespace {

// hiredis moves the rest of its buffer down after every 1,024 bytes it has read, so feed it little
// at a time: with all replies of a long pipeline in its buffer, the moving would be quadratic.
constexpr std::size_t kChunk = std::size_t{16} * 1024;

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
                                          const Interrupt* interrupt) {
  try {
    return connect(url, deadline_after(timeout), interrupt);
  } catch (const Error& error) {
    if (error.failure() != Failure::kTimeout) throw;
    throw Error(Failure::kTimeout, fmt::format("cannot connect to {}: no answer within {}",
                                               display(url), format_duration(timeout)));
  }
}

struct FreeReader {
  void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
};
using Reader = std::unique_ptr<redisReader, FreeReader>;

struct FreeCommand {
  void operator()(char* command) const noexcept { redisFreeCommand(command); }
};

}  // namespace

struct Connection::State {
  State(std::unique_ptr<Transport> transport_in, std::chrono::microseconds timeout_in)
      : transport(std::move(transport_in)), timeout(timeout_in), reader(redisReaderCreate()) {
    if (!reader) throw std::bad_alloc();
  }

  /// One command, from its parts.
  void append(std::initializer_list<Arguments> parts) {
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
  }

  void queue_setup(std::initializer_list<std::string_view> arguments) {
    append({Arguments(arguments.begin(), arguments.size())});
    setup.emplace_back(*arguments.begin());
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
  void flush() {
    while (!send_some()) {
      try {
        if (!receive_available()) transport->wait(deadline());
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

  // The next reply that has arrived, including those to AUTH and SELECT.
  std::optional<Reply> parse() {
    for (;;) {
      const std::size_t unparsed = reader->len - reader->pos;
      void* reply = nullptr;
      if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK) {
        throw not_resp(input.view_from_before(unparsed));
      }
      if (reply != nullptr) return Reply(static_cast<redisReply*>(reply));
      if (input.empty()) return std::nullopt;
      const auto bytes = input.view().substr(0, kChunk);
      if (redisReaderFeed(reader.get(), bytes.data(), bytes.size()) != REDIS_OK) {
        throw std::bad_alloc();
      }
      input.take(bytes.size());
    }
  }

  void take_setup_replies() {
    while (!setup.empty()) {
      const auto reply = parse();
      if (!reply) return;
      if (reply->is_error()) throw setup_failed(*reply);
      setup.erase(setup.begin());
    }
    if (outstanding == 0 && output.empty()) sent_unanswered = false;
  }

  // The next reply that has arrived to a command of the caller.
  std::optional<Reply> take() {
    if (!setup.empty()) take_setup_replies();
    if (!setup.empty()) return std::nullopt;
    auto reply = parse();
    if (reply) {
      // Some commands have several replies (MONITOR, the script debugger).
      if (outstanding > 0) --outstanding;
      if (outstanding == 0) sent_unanswered = false;
    }
    return reply;
  }

  std::optional<Reply> try_read() {
    for (;;) {
      auto reply = take();
      if (reply || !receive_available()) return reply;
    }
  }

  Reply read() {
    flush();
    const Deadline until = deadline();
    for (;;) {
      if (auto reply = take()) return std::move(*reply);
      if (!broken) {
        receive(until);
      } else if (!receive_available()) {
        throw Error(*broken);
      }
    }
  }

  // Waits until AUTH and SELECT are answered.
  void settle() {
    flush();
    const Deadline until = deadline();
    for (take_setup_replies(); !setup.empty(); take_setup_replies()) receive(until);
  }

  template <typename Call>
  // Runs one public call. If it throws, the error states what may have been executed, and the
  // connection is of no more use.
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
  void receive(Deadline until) { input.commit(transport->read(input.room(kChunk), kChunk, until)); }
  [[nodiscard]] Error explain(const Error& error) const {
    std::string message = error.what();
    if (error.failure() == Failure::kTimeout) {
      message =
          fmt::format("no answer from {} within {}", transport->name(), format_duration(timeout));
    }
    std::string hint = error.hint();
    if (hint.empty() && sent_unanswered && outstanding > 0) hint = kMayHaveRun;
    return {error.failure(), message, error.code(), std::move(hint)};
  }

  [[nodiscard]] Error not_resp(std::string_view bytes) const {
    const std::string shown =
        bytes.empty() ? escape(reader->errstr) : fmt::format("'{}'", escape(bytes, 40));
    return {Failure::kProtocol,
            fmt::format("{}: the answer is not RESP: {}", transport->name(), shown),
            {},
            "is it a Redis server, and without TLS?"};
  }

  [[nodiscard]] Error setup_failed(ReplyView reply) const {
    const Error error = to_error(reply);
    const bool others_ran = sent_unanswered && outstanding > 0 && setup.front() == "SELECT";
    return {error.failure(),
            fmt::format("{}: {}: {}", transport->name(), setup.front(), error.what()), error.code(),
            others_ran ? kMayHaveRunElsewhere : ""};
  }

  std::unique_ptr<Transport> transport;
  std::chrono::microseconds timeout;
  Reader reader;
  Buffer output;
  Buffer input;                   // received bytes, not yet fed to the reader
  std::vector<const char*> argv;  // of the command being formatted
  std::vector<std::size_t> argv_sizes;
  // AUTH and SELECT while their replies are outstanding, before all others.
  std::vector<std::string> setup;
  std::size_t outstanding = 0;
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
                            const Interrupt* interrupt) {
  // Servers have 16 databases by default.
  constexpr int kSafeDatabase = 15;
  Connection connection(connect_within(url, timeout, interrupt), timeout);
  State& state = *connection.state_;
  if (!url.user.empty()) {
    state.queue_setup({"AUTH", url.user, url.password});
  } else if (!url.password.empty()) {
    state.queue_setup({"AUTH", url.password});
  }
  if (url.database != 0) state.queue_setup({"SELECT", std::to_string(url.database)});
  if (url.database > kSafeDatabase) state.guarded([&] { state.settle(); });
  return connection;
}

void Connection::append(Arguments arguments) {
  if (arguments.empty()) throw Error(Failure::kUsage, "an empty command");
  state_->append({arguments});
  ++state_->outstanding;
}

void Connection::append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments) {
  std::array<char, 20> digits;
  const auto* end = std::to_chars(digits.begin(), digits.end(), keys.size()).ptr;
  const std::string_view count(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::array<std::string_view, 3> begin{"EVALSHA", sha1, count};
  state_->append({begin, keys, arguments});
  ++state_->outstanding;
}

bool Connection::send_some() {
  return state_->guarded([&] { return state_->send_some(); });
}

void Connection::flush() {
  state_->guarded([&] { state_->flush(); });
}

Reply Connection::read() {
  return state_->guarded([&] { return state_->read(); });
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
  return state_->outstanding;
}
bool Connection::has_unsent() const noexcept {
  return !state_->output.empty();
}
int Connection::fd() const noexcept {
  return state_->transport->fd();
}

}  // namespace rlctl::redis
