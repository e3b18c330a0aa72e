#include "redis/link.h"

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rlctl::redis {

namespace {

// The most bytes received at once, and the most such receptions in one call that must not wait.
constexpr std::size_t kChunk = Transport::kRecordSize;
constexpr int kChunksAtOnce = 64;

// The most bytes of replies that are kept while requests cannot be sent.
constexpr std::size_t kMaxUnread = ReplyBounds{}.bytes / 4;

// The commands whose first argument is a command in its own right, for messages.
constexpr std::array<std::string_view, 7> kContainers{"SCRIPT", "CONFIG",  "OBJECT", "MEMORY",
                                                      "CLIENT", "CLUSTER", "COMMAND"};

// How a server begins its answer if it expects TLS: an alert.
constexpr std::string_view kTlsAlert = "\x15\x03";

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

// ---- Outbox ----

// The bytes of answered commands go when they are the greater part.
void Outbox::drop_answered() {
  const auto unneeded = std::min(begin_, sent_);
  if (unneeded <= bytes_.size() / 2) return;
  bytes_.erase(0, unneeded);
  last_ = {};
  begin_ -= unneeded;
  sent_ -= unneeded;
}

std::string Outbox::pop_answered() {
  auto entry = std::move(entries_.front());
  entries_.pop();
  last_ = {begin_, entry.size};
  begin_ += entry.size;
  return std::move(entry.name);
}

std::vector<std::string> Outbox::not_sent_whole() const {
  std::vector<std::string> commands;
  std::size_t at = begin_;
  for (auto left = entries_.size(), number = entries_.first(); left > 0; --left, ++number) {
    const auto size = entries_[number].size;
    if (at + size > sent_) commands.push_back(bytes_.substr(at, size));
    at += size;
  }
  return commands;
}

// ---- Link: the calls ----

// Runs one public call. If it throws, the error states what may have been executed, and the
// connection cannot be used any more.
template <typename Call>
auto Link::guarded(Call call) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    return call();
  } catch (const Error& error) {
    failure_ = std::make_exception_ptr(explain(error));
  } catch (...) {
    failure_ = std::current_exception();
  }
  std::rethrow_exception(failure_);
}

Link::Link(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout)
    : transport_(std::move(transport)),
      timeout_(timeout),
      chunk_(std::make_unique_for_overwrite<char[]>(kChunk)) {}

std::unique_ptr<Link> Link::open(const Url& url, std::chrono::microseconds timeout,
                                 const Interrupt* interrupt,
                                 std::shared_ptr<const Endpoint> server) {
  const Deadline until = deadline_after(timeout);
  auto link = std::make_unique<Link>(connect_within(url, timeout, until, interrupt), timeout);
  link->server_ = std::move(server);
  link->guarded([&] { link->log_in(url, until); });
  return link;
}

void Link::append(std::string_view name, std::span<const Arguments> parts, Arguments /*keys*/,
                  ReplyKind kind) {
  name_itself(name);
  outbox_.append(name, kind, [&](std::string& to) { append_formatted_command(to, parts); });
}

void Link::append_formatted(std::string_view name, std::string_view command, ReplyKind kind) {
  name_itself(name);
  outbox_.append(name, kind, [&](std::string& to) { to += command; });
}

bool Link::send_some() {
  return guarded([&] { return write(); });
}

void Link::flush() {
  guarded([&] { write_all(deadline_after(timeout_)); });
}

Reply Link::read() {
  return guarded([&] { return read_until(deadline_after(timeout_)); });
}

std::optional<Reply> Link::try_read() {
  return guarded([&]() -> std::optional<Reply> {
    for (int i = 0; i < kChunksAtOnce; ++i) {
      if (auto reply = take()) return reply;
      const auto bytes = receive_available();
      if (bytes.empty()) return std::nullopt;
      feed(bytes);
    }
    return take();
  });
}

void Link::time_out(std::chrono::microseconds timeout) {
  timeout_ = timeout;
  guarded([] { throw Error(Failure::kTimeout, "no answer in time"); });
  std::rethrow_exception(failure_);
}

// AUTH and SELECT in one round trip; SELECT after a failed AUTH does no harm.
void Link::log_in(const Url& url, Deadline until) {
  is_logging_in_ = true;
  if (!url.user.empty()) {
    append({"AUTH", url.user, url.password});
  } else if (!url.password.empty()) {
    append({"AUTH", url.password});
  }
  if (url.database != 0) append({"SELECT", std::to_string(url.database)});
  while (outbox_.size() > 0) {
    const auto reply = read_until(until);
    if (reply.is_error()) throw log_in_failed(to_error(reply), url.password);
    if (reply.text() != "OK") {
      throw Error(Failure::kProtocol,
                  fmt::format("{}: the answer to AUTH or SELECT is not OK", transport_->name()));
    }
  }
  is_logging_in_ = false;
}

// So that CLIENT LIST shows whose connection this is. Sent along with the first command after a
// reply, so that a single check does not pay for it, and only while no reply is outstanding: never
// between ASKING and its command, or within a MULTI that is sent at once; nor on a connection that
// the script debugger uses, which would take it for a command of its own. The reply is passed over:
// the user may not be allowed to send it.
void Link::name_itself(std::string_view next_command) {
  if (next_command == "SCRIPT DEBUG") is_named_ = is_debugging_ = true;
  if (!server_ || !server_->sets_name) return;
  if (is_named_ || !has_replied_ || is_logging_in_ || outbox_.size() > 0) return;
  is_named_ = is_naming_ = true;
  constexpr std::array<std::string_view, 3> kCommand{"CLIENT", "SETNAME", "rlctl"};
  const Arguments command(kCommand);
  outbox_.append("CLIENT SETNAME", ReplyKind::kAny,
                 [&](std::string& to) { append_formatted_command(to, std::span(&command, 1)); });
}

std::vector<std::string> Link::not_sent_whole() const {
  auto commands = outbox_.not_sent_whole();
  if (is_naming_ && commands.size() == outbox_.size()) commands.erase(commands.begin());
  return commands;
}

// ---- Link: sending and receiving ----

// Sends what the transport accepts now. Returns false if more is left.
bool Link::write() {
  try {
    while (has_unsent()) {
      const auto count = transport_->write_some(outbox_.unsent());
      if (count == 0) return false;
      outbox_.sent(count);
      sent_unanswered_ = true;
    }
  } catch (const Error& error) {
    // The server's earlier output may state why it hung up: "max number of clients reached".
    if (error.failure() != Failure::kUnreachable) throw;
    broken_ = error;
  }
  return true;
}

// The server stops reading if its replies are not taken, so take them meanwhile. They wait outside
// the reader, which would move all of them for every KiB that it parses.
void Link::write_all(Deadline until) {
  while (!write()) {
    if (early_.size() - early_fed_ > kMaxUnread) {
      throw Error(Failure::kProtocol,
                  fmt::format("{}: more than {} bytes of replies came, and the requests could "
                              "not be sent",
                              transport_->name(), kMaxUnread));
    }
    // A peer that always has more bytes would never make the transport wait until its deadline.
    if (Clock::now() >= until) throw Error(Failure::kTimeout, "no answer in time");
    try {
      last_fed_ = {};
      const auto bytes = receive_available();
      if (bytes.empty()) transport_->wait(until);
      early_.erase(0, std::exchange(early_fed_, 0));
      early_ += bytes;
    } catch (const Error& error) {
      if (error.failure() != Failure::kUnreachable) throw;
      broken_ = error;
    }
  }
}

Reply Link::read_until(Deadline until) {
  write_all(until);
  for (bool is_late = false;; is_late = Clock::now() >= until) {
    if (auto reply = take()) return std::move(*reply);
    if (is_late) throw Error(Failure::kTimeout, "no answer in time");
    if (!broken_) {
      feed(received(transport_->read(chunk_.get(), kChunk, until)));
      continue;
    }
    const auto bytes = receive_available();
    if (bytes.empty()) throw Error(*broken_);
    feed(bytes);
  }
}

std::string_view Link::receive_available() {
  return received(transport_->read_available(chunk_.get(), kChunk));
}

std::string_view Link::received(std::size_t count) {
  if (count > 0) last_received_ = Clock::now();
  return {chunk_.get(), count};
}

void Link::feed(std::string_view bytes) {
  reader_.feed(bytes);
  last_fed_ = bytes;
}

std::optional<Reply> Link::parse() {
  const auto unparsed = reader_.unparsed();
  try {
    return reader_.next(bounds_of(is_debugging_ ? ReplyKind::kDebugger : outbox_.kind()));
  } catch (const ReplyTooLarge& error) {
    throw Error(error.failure(),
                fmt::format("{}: the answer {}", transport_->name(), error.what()));
  } catch (const Error& error) {
    const auto known = std::min(unparsed, last_fed_.size());
    throw not_resp(last_fed_.substr(last_fed_.size() - known), error.what());
  }
}

// The next reply that has arrived.
std::optional<Reply> Link::take() {
  auto reply = parse();
  while (!reply && early_fed_ < early_.size()) {
    feed(std::string_view(early_).substr(early_fed_, kChunk));
    early_fed_ += last_fed_.size();
    reply = parse();
  }
  if (!reply) return reply;
  // Some commands have several replies (MONITOR, the script debugger).
  if (outbox_.size() > 0) reply->set_origin(server_, outbox_.pop_answered());
  if (outbox_.size() == 0) sent_unanswered_ = false;
  const bool is_first = !std::exchange(has_replied_, true);
  if (is_first && refuses_connection(*reply)) {
    sent_unanswered_ = false;  // the reply is to everything that was sent
    throw named(to_error(*reply));
  }
  if (std::exchange(is_naming_, false)) return take();
  return reply;
}

// ---- Link: errors ----

Error Link::explain(const Error& error) const {
  std::string message = error.what();
  if (error.failure() == Failure::kTimeout) {
    message =
        fmt::format("no answer from {} within {}", transport_->name(), format_duration(timeout_));
  }
  std::string hint = error.hint();
  const bool is_in_doubt = sent_unanswered_ && outstanding() > 0 && !is_logging_in_;
  if (is_in_doubt && hint.empty()) hint = kMayHaveRun;
  if (is_in_doubt && hint == kUseTls) hint.append("; ").append(kMayHaveRun);
  return Error(error.failure(), message, error.code(), std::move(hint))
      .from(server_, error.command());
}

Error Link::not_resp(std::string_view bytes, std::string_view why) const {
  // A server of another kind may repeat what it gets, such as the password.
  const bool shows_bytes = !bytes.empty() && !is_logging_in_;
  const std::string shown = shows_bytes ? fmt::format("'{}'", escape(bytes, 40)) : escape(why);
  return {Failure::kProtocol,
          fmt::format("{}: the answer is not RESP: {}", transport_->name(), shown),
          {},
          bytes.starts_with(kTlsAlert) ? "the server expects TLS: use rediss://"
                                       : "is it a Redis server?"};
}

/// The error with the server's name in front.
Error Link::named(const Error& error, std::string_view command) const {
  return Error(error.failure(), fmt::format("{}: {}{}", transport_->name(), command, error.what()),
               error.code())
      .from(server_, error.command());
}

Error Link::log_in_failed(const Error& error, const std::string& password) const {
  const auto shown = without_password(error, password);
  // "AUTH <password> called without any password ..."
  const bool is_named = std::string_view(shown.what()).starts_with(error.command());
  if (is_named || error.failure() == Failure::kNotNow) return named(shown);
  return named(shown, error.command() + ": ");
}

}  // namespace rlctl::redis
