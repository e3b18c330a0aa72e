#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "redis/link.h"
#include "redis/reply.h"
#include "redis/transport.h"
#include "redis/url.h"

// The centre of redis/: everything that talks to a server does so through a Connection.
// cli/server/connection.cc opens the one that a user asked for, and passes it to limiter/, stored/,
// traffic/, adversary/ and ldb/. A Connection forwards to a Link, or to a Router if there are
// several servers.

namespace rlctl::redis {

class Router;

/// Commands to one server and their replies, in order. append() queues commands; they are sent when
/// a reply is read or flush() is called, so that any number of them share one round trip.
///
/// The server may be a Cluster, or the master that Sentinels watch over: then each command goes to
/// the server that has its keys, and the replies come in the order of the commands all the same. A
/// plain URL becomes a Cluster's when a node first refers or refuses a command as such. See
/// Router in redis/cluster.h for what is sent again, and when.
///
/// RESP2. Not thread-safe. After an exception other than for the arguments the connection cannot
/// be used any more: unanswered commands may have been executed, and are never sent again. A server
/// of several that fails causes no exception: commands that it did not answer get an error reply
/// instead, of class kUnreachable or kTimeout if they may have been executed.
class Connection {
 public:
  /// `timeout` bounds each read() and flush(): sending what is queued, and the whole reply.
  Connection(std::unique_ptr<Transport> transport, std::chrono::microseconds timeout);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Connects within `timeout`. If the URL has a user, a password or a database, also waits for the
  /// replies to AUTH and SELECT, and throws if one fails: otherwise later commands would run as
  /// another user or in another database. Errors of the connection and of its replies refer to
  /// `server`, which may be null. For a Cluster or Sentinels, asks where the masters are, and
  /// connects to each when it is first needed.
  static Connection open(const Url& url, std::chrono::microseconds timeout,
                         const Interrupt* interrupt = nullptr,
                         std::shared_ptr<const Endpoint> server = nullptr);

  /// Sends all later commands to one server, and returns MOVED like any other reply: for commands
  /// that belong to a connection, such as those of the debugger. Of several servers it is the one
  /// that has this key; if the key is empty, any master. No reply may be outstanding. Throws Error
  /// if that server cannot be reached.
  void pin_to_server(std::string_view key = {});

  /// Queues one command; sends none. With several servers, it may connect to the one that has the
  /// keys, and waits for that. Throws Error(kUsage) for an empty command and, in a Cluster, if the
  /// keys' slots differ; and Interrupted.
  void append(Arguments arguments);
  void append(std::initializer_list<std::string_view> arguments) {
    append(Arguments(arguments.begin(), arguments.size()));
  }
  /// Queues a call of a script or function: EVALSHA, EVALSHA_RO or FCALL. In a Cluster, throws
  /// Error(kUsage) if the keys' slots differ.
  void append_call(std::string_view command, std::string_view script, Arguments keys,
                   Arguments arguments, ReplyKind kind);
  void append_evalsha(std::string_view sha1, Arguments keys, Arguments arguments) {
    append_call("EVALSHA", sha1, keys, arguments, ReplyKind::kAny);
  }
  /// The servers that have keys, for commands about all keys, such as SCAN: the masters of a
  /// Cluster; otherwise one, whose name is empty. Asks the server of a plain URL whether it is a
  /// node of a Cluster; no reply may be outstanding. Throws Error if the masters cannot be found
  /// out.
  std::vector<std::string> servers();
  /// Whether the keys of a command must share a slot, because the server is known to be a Cluster.
  bool has_slots() const noexcept;
  /// Queues a command for one of servers().
  void append_to(const std::string& server, Arguments arguments);

  /// Sends what the socket accepts now, without waiting. Returns true once nothing is left to send.
  bool send_some() { return pipeline_->send_some(); }
  /// Sends everything queued, reading replies meanwhile. Throws Error, except if the server hangs
  /// up: then the next read throws, once the replies that came before are taken.
  void flush() { pipeline_->flush(); }

  /// Sends what is queued and returns the next reply. An error reply is returned, not thrown,
  /// unless it is the first and refuses the connection: then every call throws it, since the server
  /// has executed nothing.
  Reply read();
  /// The next reply if it has already arrived; never waits and never sends, except to follow MOVED
  /// and the like to another server. Of a reply of more than a megabyte, it may take several calls
  /// to receive what has arrived, so that a caller with a deadline keeps it.
  std::optional<Reply> try_read();
  /// Reads all outstanding replies. Throws what read() throws and, once all are taken, the first
  /// that is an error.
  void take_all();
  /// append() and read(). Requires that no other reply is outstanding.
  Reply call(Arguments arguments);
  Reply call(std::initializer_list<std::string_view> arguments) {
    return call(Arguments(arguments.begin(), arguments.size()));
  }

  /// Sets the constructor's `timeout` for all later calls.
  void set_timeout(std::chrono::microseconds timeout) noexcept;

  /// For a caller that waits for many connections with poll(), and had no reply from this one for
  /// `timeout`. Throws what read() throws then, and the connection cannot be used any more; with
  /// several servers, answers the commands of those that are late, so that try_read() returns
  /// errors.
  void time_out(std::chrono::microseconds timeout) { pipeline_->time_out(timeout); }

  /// For the end after an Interrupted: with several servers, answers what is outstanding with
  /// errors, so that try_read() returns the replies that came. Returns false if there is only one
  /// server.
  bool give_up();

  /// The number of appended commands whose replies have not been taken.
  std::size_t outstanding() const noexcept { return pipeline_->outstanding(); }
  /// The number of outstanding commands that the server cannot have executed, since their last byte
  /// was not sent: the last ones. 0 with several servers, where they are answered with kNotSent.
  std::size_t not_sent() const;
  /// Whether bytes are waiting to be sent.
  bool has_unsent() const noexcept { return pipeline_->has_unsent(); }
  /// For poll(): readable if try_read() may have a reply, or, with several servers, if send_some()
  /// can go on. Changes when a plain URL turns out to be a Cluster's.
  int fd() const noexcept { return pipeline_->fd(); }

 private:
  explicit Connection(RouterOptions options);
  void use(std::unique_ptr<Link> link);
  void become_router(std::optional<Reply> refusal);
  void remember_script(const Reply& reply);
  bool is_of_cluster(const Reply& reply);
  bool hands_over(Reply& reply);
  bool cluster_slots_refused(const Reply& slots);

  RouterOptions options_;
  std::unique_ptr<Link> link_;      ///< the connection to the one server; null if there are several
  std::unique_ptr<Router> router_;  ///< the connections to several servers; null if there is one
  Pipeline* pipeline_ = nullptr;    ///< link_ or router_
  bool follows_ = false;            ///< becomes a router if the server turns out to be a Cluster's
  bool knows_servers_ = false;      ///< servers() has asked
};

}  // namespace rlctl::redis
