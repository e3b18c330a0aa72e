#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbered_queue.h"
#include "base/wait.h"
#include "redis/reply.h"
#include "redis/transport.h"
#include "redis/url.h"

// One connection to one server: commands are queued and sent, replies are received and parsed. A
// Connection has a Link, or a Router with a Link for each server. This header also has what the
// two have in common, the Pipeline, and what a Connection must know to become a Router.

namespace rlctl::redis {

/// The words of a command, or some of them.
using Arguments = std::span<const std::string_view>;

/// The name under which a message or an ACL rule refers to a command: "EVALSHA", "SCRIPT LOAD".
std::string command_name(Arguments command);
/// A command, given in parts, as it is sent.
std::string format_command(std::span<const Arguments> parts);

/// The words of what format_command() returned, in its memory.
std::vector<std::string_view> words_of_formatted(std::string_view command);

/// How to reach the servers of a Cluster, or those that Sentinels watch over.
struct RouterOptions {
  Url url;
  std::chrono::microseconds timeout{};
  const Interrupt* interrupt = nullptr;    ///< may be null
  std::shared_ptr<const Endpoint> server;  ///< may be null
  /// The scripts that may be called, by SHA1; SCRIPT LOAD adds to them.
  std::map<std::string, std::string, std::less<>> scripts = {};
};

/// Commands and their replies, in order: to one server (Link) or to several (Router). A Connection
/// forwards to it; the header of Connection documents the calls.
class Pipeline {
 public:
  Pipeline() = default;
  virtual ~Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Queues a command, given in parts, with its keys.
  virtual void append(std::string_view name, std::span<const Arguments> parts, Arguments keys,
                      ReplyKind kind) = 0;
  virtual bool send_some() = 0;
  virtual void flush() = 0;
  virtual Reply read() = 0;
  virtual std::optional<Reply> try_read() = 0;
  virtual void set_timeout(std::chrono::microseconds timeout) noexcept = 0;
  virtual void time_out(std::chrono::microseconds timeout) = 0;
  virtual std::size_t outstanding() const noexcept = 0;
  virtual bool has_unsent() const noexcept = 0;
  virtual int fd() const noexcept = 0;
};

/// The commands that have no reply yet, in order, sent or not. They are kept until they are
/// answered, since a Cluster's node may refer them to another.
class Outbox {
 public:
  /// `write` appends the command's bytes to a string.
  template <typename Write>
  void append(std::string_view name, ReplyKind kind, Write write) {
    drop_answered();
    const auto before = bytes_.size();
    write(bytes_);
    entries_.push({std::string(name), bytes_.size() - before, kind});
  }
  std::string_view unsent() const noexcept { return std::string_view(bytes_).substr(sent_); }
  void sent(std::size_t count) noexcept { sent_ += count; }
  /// The number of commands.
  std::size_t size() const noexcept { return entries_.size(); }
  /// The kind of reply that comes next: to the oldest command.
  ReplyKind kind() const noexcept {
    return entries_.size() == 0 ? ReplyKind::kAny : entries_[entries_.first()].kind;
  }
  /// Removes the oldest command, which is answered. Returns its name; its bytes remain until the
  /// next append(), as last_answered().
  std::string pop_answered();
  std::string_view last_answered() const noexcept {
    return std::string_view(bytes_).substr(last_.first, last_.second);
  }
  /// The commands without a reply whose last byte was not sent, in order.
  std::vector<std::string> not_sent_whole() const;

 private:
  struct Entry {
    std::string name;
    std::size_t size;
    ReplyKind kind;
  };
  void drop_answered();

  std::string bytes_;
  std::size_t begin_ = 0;  ///< where the oldest command without a reply begins in bytes_
  std::size_t sent_ = 0;   ///< how many of bytes_ were sent
  /// Where the last answered command begins in bytes_, and its size.
  std::pair<std::size_t, std::size_t> last_{};
  NumberedQueue<Entry> entries_;
};

/// Commands to one server and their replies, over one Transport.
class Link final : public Pipeline {
 public:
  Link(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);

  static std::unique_ptr<Link> open(const Url& url, std::chrono::microseconds timeout,
                                    const Interrupt* interrupt,
                                    std::shared_ptr<const Endpoint> server);

  void append(std::string_view name, std::span<const Arguments> parts, Arguments keys,
              ReplyKind kind) override;
  void append(Arguments command) {
    append(command_name(command), std::span(&command, 1), {}, ReplyKind::kAny);
  }
  void append(std::initializer_list<std::string_view> command) {
    append(Arguments(command.begin(), command.size()));
  }
  /// Queues what format_command() or last_answered() returned.
  void append_formatted(std::string_view name, std::string_view command, ReplyKind kind);
  bool send_some() override;
  void flush() override;
  Reply read() override;
  std::optional<Reply> try_read() override;
  void set_timeout(std::chrono::microseconds timeout) noexcept override { timeout_ = timeout; }
  [[noreturn]] void time_out(std::chrono::microseconds timeout) override;
  std::size_t outstanding() const noexcept override { return outbox_.size() - is_naming_; }
  bool has_unsent() const noexcept override { return !broken_ && !outbox_.unsent().empty(); }
  int fd() const noexcept override { return transport_->fd(); }

  /// When the last bytes were received.
  Clock::time_point last_received() const noexcept { return last_received_; }
  /// The command that the last reply answers. Valid until the next append().
  std::string_view last_answered() const noexcept { return outbox_.last_answered(); }
  /// The unanswered commands whose last byte was never sent, in order: no server has executed them.
  std::vector<std::string> not_sent_whole() const;

 private:
  template <typename Call>
  auto guarded(Call call);
  void log_in(const Url& url, Deadline until);
  void name_itself(std::string_view next_command);
  bool write();
  void write_all(Deadline until);
  Reply read_until(Deadline until);
  std::string_view receive_available();
  std::string_view received(std::size_t count);
  void feed(std::string_view bytes);
  std::optional<Reply> parse();
  std::optional<Reply> take();

  Error explain(const Error& error) const;
  Error not_resp(std::string_view bytes, std::string_view why) const;
  Error named(const Error& error, std::string_view command = {}) const;
  Error log_in_failed(const Error& error, const std::string& password) const;

  std::unique_ptr<Transport> transport_;
  std::chrono::microseconds timeout_;
  std::shared_ptr<const Endpoint> server_;
  ReplyReader reader_;
  Outbox outbox_;
  std::unique_ptr<char[]> chunk_;  ///< the bytes received last
  std::string_view last_fed_;      ///< the bytes that the reader got last; empty if overwritten
  std::string early_;              ///< bytes received while sending
  std::size_t early_fed_ = 0;      ///< how many of early_ the reader has
  Clock::time_point last_received_{};
  bool is_logging_in_ = false;
  bool is_debugging_ = false;  ///< SCRIPT DEBUG was queued
  bool is_named_ = false;
  bool is_naming_ = false;  ///< the oldest command in the outbox is that of name_itself()
  bool has_replied_ = false;
  bool sent_unanswered_ = false;  ///< bytes were sent that no reply accounts for yet
  /// Why the connection broke while sending; thrown once the replies that came before are taken.
  std::optional<Error> broken_;
  /// What a call threw; every later call throws it again.
  std::exception_ptr failure_;
};

}  // namespace rlctl::redis
