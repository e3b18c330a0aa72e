#include "redis/link.h"

#include "base/error.h"
#include "base/numbered_queue.h"
#include "base/text.h"
#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <utility>
#include <vector>

namespace rlctl::redis {

namespace {

// The most bytes received at once, and the most such receptions in one call that must not wait.
constexpr std::size_t kChunk = Transport::kRecordSize;
constexpr int kChunksAtOnce = 64;

// The most bytes of replies that are kept while requests cannot be sent; room() takes thrice as
// much.
constexpr std::size_t kMaxUnread = ReplyReader::kMaxMemory / 4;

// The commands whose first argument is a command in its own right, for messages.
constexpr std::array<std::string_view, 6> kContainers{"SCRIPT", "CONFIG", "OBJECT",
                                                      "MEMORY", "CLIENT", "CLUSTER"};

// How a server begins its answer if it expects TLS: an alert.
constexpr std::string_view kTlsAlert = "\x15\x03";

// Received bytes, in order.
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

  // Room for `size` more bytes; commit() sets how many were written.
  [[nodiscard]] char* room(std::size_t size) {
    if (empty()) begin_ = end_ = 0;
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

// The commands that have no reply yet, in order, sent or not. They stay here until they are
// answered, since a Cluster's node may refer them to another.
class Outbox {
 public:
  [[nodiscard]] std::string_view unsent() const noexcept {
    return std::string_view(bytes_).substr(sent_);
  }
  void sent(std::size_t count) noexcept { sent_ += count; }
  /// `write` appends the command's bytes to a string.
  template <typename Write>
  void append(std::string_view name, Write write) {
    // The bytes of answered commands go when they are the greater part.
    const auto unneeded = std::min(begin_, sent_);
    if (unneeded > bytes_.size() / 2) {
      bytes_.erase(0, unneeded);
      last_ = {};
      begin_ -= unneeded;
      sent_ -= unneeded;
    }
    const auto before = bytes_.size();
    write(bytes_);
    entries_.push({std::string(name), bytes_.size() - before});
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// The oldest command is answered. Returns its name; its bytes stay until the next append().
  std::string answered() {
    auto entry = std::move(entries_.front());
    entries_.pop();
    last_ = {begin_, entry.size};
    begin_ += entry.size;
    return std::move(entry.name);
  }
  [[nodiscard]] std::string_view last_answered() const noexcept {
    return std::string_view(bytes_).substr(last_.first, last_.second);
  }
  /// Those without a reply whose last byte was not sent.
  [[nodiscard]] std::vector<std::string> not_sent_whole() const {
    std::vector<std::string> commands;
    std::size_t at = begin_;
    for (auto left = entries_.size(), number = entries_.first(); left > 0; --left, ++number) {
      const auto size = entries_[number].size;
      if (at + size > sent_) commands.push_back(bytes_.substr(at, size));
      at += size;
    }
    return commands;
  }

 private:
  struct Entry {
    std::string name;
    std::size_t size;
  };
  std::string bytes_;
  std::size_t begin_ = 0;  // of the oldest command without a reply
  std::size_t sent_ = 0;
  std::pair<std::size_t, std::size_t> last_{};  // where, and how long
  NumberedQueue<Entry> entries_;
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
    throw Error(Failure::kTimeout,
                fmt::format("cannot connect to {}: no answer within {}", display(url),
                            format_duration(timeout)),
                error.code(), error.hint());
  }
}

// Replaces each `part` of a text.
void mask(std::string& text, std::string_view part) {
  constexpr std::string_view kMask = "***";
  if (part.empty()) return;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + kMask.size())) {
    text.replace(at, part.size(), kMask);
  }
}

// The error without the password. A server that does not know AUTH repeats its arguments, and cuts
// what is long: "unknown command 'AUTH', with args beginning with: 'secret' ".
Error without_password(const Error& error, const std::string& password) {
  std::string message = error.what();
  message.resize(std::min(message.find(", with args beginning with:"), message.size()));
  auto line = password;
  std::ranges::replace_if(
      line, [](char c) { return c == '\r' || c == '\n'; }, ' ');
  for (const auto& form : {password, escape(password), escape(line)}) mask(message, form);
  const bool is_in_code = !password.empty() && error.code().find(password) != std::string::npos;
  return Error(error.failure(), message, is_in_code ? "" : error.code(), error.hint())
      .from(error.server(), error.command());
}

// "*3\r\n" for a command's words, "$5\r\n" for a word's bytes.
void append_length(std::string& out, char type, std::size_t length) {
  std::array<char, 24> text;
  text[0] = type;
  char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, length).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

// Not redisFormatCommandArgv(), which calls sprintf() for each word: more than a third of the
// instructions of a batch.
void append_formatted_command(std::string& out, std::span<const Arguments> parts) {
  std::size_t words = 0;
  for (const auto& part : parts) words += part.size();
  append_length(out, '*', words);
  for (const auto& part : parts) {
    for (const auto word : part) {
      append_length(out, '$', word.size());
      out.append(word).append("\r\n", 2);
    }
  }
}

}  // namespace

struct Link::State {
  State(std::unique_ptr<Transport> transport_in, std::chrono::microseconds timeout_in)
      : transport(std::move(transport_in)), timeout(timeout_in) {}

  /// One command, from its parts.
  void append(std::string_view name, std::span<const Arguments> parts) {
    outbox.append(name, [&](std::string& to) { append_formatted_command(to, parts); });
  }

  void append(std::initializer_list<std::string_view> words) {
    const Arguments all(words.begin(), words.size());
    append(command_name(all), std::span(&all, 1));
  }

  bool send_some() {
    try {
      while (has_unsent()) {
        const auto count = transport->write_some(outbox.unsent());
        if (count == 0) return false;
        outbox.sent(count);
        sent_unanswered = true;
      }
    } catch (const Error& error) {
      // The server's earlier output may state why it hung up: "max number of clients reached".
      if (error.failure() != Failure::kUnreachable) throw;
      broken = error;
    }
    return true;
  }
  [[nodiscard]] bool has_unsent() const noexcept { return !broken && !outbox.unsent().empty(); }

  // The server stops reading if its replies are not taken, so take them meanwhile.
  void flush(Deadline until) {
    while (!send_some()) {
      if (input.view().size() > kMaxUnread) {
        throw Error(Failure::kProtocol,
                    fmt::format("{}: more than {} bytes of replies came, and the requests could "
                                "not be sent",
                                transport->name(), kMaxUnread));
      }
      // A peer that always has more bytes would never make the transport wait until its deadline.
      if (Clock::now() >= until) throw Error(Failure::kTimeout, "no answer in time");
      try {
        if (!receive_available()) transport->wait(until);
      } catch (const Error& error) {
        if (error.failure() != Failure::kUnreachable) throw;
        broken = error;
      }
    }
  }

  // Returns false if nothing was available.
  bool receive_available() {
    const auto count = transport->read_available(input.room(kChunk), kChunk);
    received(count);
    return count > 0;
  }
  void received(std::size_t count) {
    input.commit(count);
    if (count > 0) last_received = Clock::now();
  }

  // The next reply that has arrived.
  std::optional<Reply> take() {
    const std::size_t unparsed = reader.unparsed();
    auto bytes = input.view();
    std::optional<Reply> reply;
    try {
      reply = reader.next(bytes);
    } catch (const Error& error) {
      if (!error.hint().empty()) {  // it is RESP, but too large
        throw Error(error.failure(), fmt::format("{}: {}", transport->name(), error.what()), {},
                    error.hint());
      }
      throw not_resp(input.view_from_before(unparsed), error.what());
    }
    input.take(input.view().size() - bytes.size());
    if (!reply) return reply;
    // Some commands have several replies (MONITOR, the script debugger).
    if (outbox.size() > 0) reply->set_origin(server, outbox.answered());
    if (outbox.size() == 0) sent_unanswered = false;
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
        received(transport->read(input.room(kChunk), kChunk, until));
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
    while (outbox.size() > 0) {
      const auto reply = read(until);
      if (reply.is_error()) throw log_in_failed(to_error(reply), url.password);
      if (reply.text() != "OK") {
        throw Error(Failure::kProtocol,
                    fmt::format("{}: the answer to AUTH or SELECT is not OK", transport->name()));
      }
    }
    is_logging_in = false;
  }

  // Runs one public call. If it throws, the error states what may have been executed, and the
  // connection cannot be used any more.
  template <typename Call>
  auto guarded(Call call) {
    if (failure) std::rethrow_exception(failure);
    try {
      return call();
    } catch (const Error& error) {
      failure = std::make_exception_ptr(explain(error));
    } catch (...) {
      failure = std::current_exception();
    }
    std::rethrow_exception(failure);
  }

  [[nodiscard]] Deadline deadline() const { return deadline_after(timeout); }
  [[nodiscard]] Error explain(const Error& error) const {
    std::string message = error.what();
    if (error.failure() == Failure::kTimeout) {
      message =
          fmt::format("no answer from {} within {}", transport->name(), format_duration(timeout));
    }
    std::string hint = error.hint();
    const bool is_in_doubt = sent_unanswered && outbox.size() > 0 && !is_logging_in;
    if (is_in_doubt && hint.empty()) hint = kMayHaveRun;
    if (is_in_doubt && hint == kUseTls) hint.append("; ").append(kMayHaveRun);
    return Error(error.failure(), message, error.code(), std::move(hint))
        .from(server, error.command());
  }

  [[nodiscard]] Error not_resp(std::string_view bytes, std::string_view why) const {
    // A server of another kind may repeat what it gets, such as the password.
    const bool shows_bytes = !bytes.empty() && !is_logging_in;
    const std::string shown = shows_bytes ? fmt::format("'{}'", escape(bytes, 40)) : escape(why);
    return {Failure::kProtocol,
            fmt::format("{}: the answer is not RESP: {}", transport->name(), shown),
            {},
            bytes.starts_with(kTlsAlert) ? "the server expects TLS: use rediss://"
                                         : "is it a Redis server?"};
  }

  /// The error with the server's name in front.
  [[nodiscard]] Error named(const Error& error, std::string_view command = {}) const {
    return Error(error.failure(), fmt::format("{}: {}{}", transport->name(), command, error.what()),
                 error.code())
        .from(server, error.command());
  }

  [[nodiscard]] Error log_in_failed(const Error& error, const std::string& password) const {
    const auto shown = without_password(error, password);
    // "AUTH <password> called without any password ..."
    const bool is_named = std::string_view(shown.what()).starts_with(error.command());
    if (is_named || error.failure() == Failure::kNotNow) return named(shown);
    return named(shown, error.command() + ": ");
  }

  std::unique_ptr<Transport> transport;
  std::chrono::microseconds timeout;
  std::shared_ptr<const Endpoint> server;
  ReplyReader reader;
  Outbox outbox;
  Buffer input;  // received, not yet given to the reader
  Clock::time_point last_received{};
  bool is_logging_in = false;
  bool has_replied = false;
  bool sent_unanswered = false;  // bytes were sent that no reply accounts for yet
  // How the connection ended while sending; thrown once the replies that came before are taken.
  std::optional<Error> broken;
  // Every later call throws this again.
  std::exception_ptr failure;
};

Link::Link(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout)
    : state_(std::make_unique<State>(std::move(transport), timeout)) {}
Link::~Link() = default;
Link::Link(Link&&) noexcept = default;
Link& Link::operator=(Link&&) noexcept = default;

Link Link::open(const Url& url, std::chrono::microseconds timeout, const Interrupt* interrupt,
                std::shared_ptr<const Endpoint> server) {
  const Deadline until = deadline_after(timeout);
  Link link(connect_within(url, timeout, until, interrupt), timeout);
  State& state = *link.state_;
  state.server = std::move(server);
  state.guarded([&] { state.log_in(url, until); });
  return link;
}

std::string command_name(Arguments command) {
  std::string name(command.front());
  if (command.size() > 1 && std::ranges::find(kContainers, name) != kContainers.end()) {
    name.append(" ").append(command[1]);
  }
  return name;
}

std::string format_command(std::span<const Arguments> parts) {
  std::string command;
  append_formatted_command(command, parts);
  return command;
}

std::vector<std::string_view> words_of_formatted(std::string_view command) {
  if (command.empty()) return {};
  // *2\r\n$6\r\nEXISTS\r\n$1\r\nk\r\n
  const auto take_number = [&command] {
    std::size_t number = 0;
    const auto end = command.find("\r\n");
    std::from_chars(command.data() + 1, command.data() + end, number);
    command.remove_prefix(end + 2);
    return number;
  };
  std::vector<std::string_view> words(take_number());
  for (auto& word : words) {
    const auto size = take_number();
    word = command.substr(0, size);
    command.remove_prefix(size + 2);
  }
  return words;
}

void Link::append(std::string_view name, std::span<const Arguments> parts) {
  state_->append(name, parts);
}

void Link::append_formatted(std::string_view name, std::string_view command) {
  state_->outbox.append(name, [&](std::string& to) { to += command; });
}

bool Link::has_input() const noexcept {
  return !state_->input.empty() || state_->reader.unparsed() > 0;
}

Clock::time_point Link::last_received() const noexcept {
  return state_->last_received;
}

std::string_view Link::last_answered() const noexcept {
  return state_->outbox.last_answered();
}

std::vector<std::string> Link::not_sent_whole() const {
  return state_->outbox.not_sent_whole();
}

bool Link::send_some() {
  return state_->guarded([&] { return state_->send_some(); });
}

void Link::flush() {
  state_->guarded([&] { state_->flush(state_->deadline()); });
}

Reply Link::read() {
  return state_->guarded([&] { return state_->read(state_->deadline()); });
}

std::optional<Reply> Link::try_read() {
  return state_->guarded([&] { return state_->try_read(); });
}

void Link::set_timeout(std::chrono::microseconds timeout) noexcept {
  state_->timeout = timeout;
}

void Link::time_out(std::chrono::microseconds timeout) {
  state_->timeout = timeout;
  state_->guarded([] { throw Error(Failure::kTimeout, "no answer in time"); });
  std::rethrow_exception(state_->failure);
}

std::size_t Link::outstanding() const noexcept {
  return state_->outbox.size();
}
bool Link::has_unsent() const noexcept {
  return state_->has_unsent();
}
int Link::fd() const noexcept {
  return state_->transport->fd();
}

}  // namespace rlctl::redis
