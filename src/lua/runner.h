#pragma once

// A script, or a library of functions, run in this process as Redis 7 runs it: KEYS and ARGV, the
// table `redis`, the conversion of values and replies, and errors in the words of the server. Its
// commands go to whatever implements Commands: a server, or a keyspace in this process.
//
// Replies pass as RESP2 in both directions, as inside of Redis: a Commands appends the bytes of a
// reply, and so does run(). Nothing else is needed to compare a run with EVAL, byte for byte.
//
// What is not there ends the run by its name: redis.setresp(3), and what Sandbox does not have.
// tests/lua/runner_test.cc lists everything that a script can see here and not on Redis 7, and
// tests/lua/runner_calls_test.cc what other servers do otherwise, which is not a mode.

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lua/frames.h"
#include "lua/sandbox.h"

namespace rlctl::lua {

/// Where a script's commands go.
class Commands {
 public:
  virtual ~Commands() = default;
  /// Runs one command of at least one word, and appends its reply, which may be an error, as RESP2.
  /// `read_only`: the script has the flag no-writes, so that a command that writes is an error. May
  /// throw: the run ends, and Runner::run() throws the same.
  virtual void call(std::span<const std::string_view> words, bool read_only,
                    std::string& reply) = 0;
};

/// A source that is not valid: what() is the server's error, with its code and the line.
class InvalidScript : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A script or a library with a Lua state of its own, which a call leaves as it found it, except
/// for what scripts can keep in Redis, too: the configuration of cjson, and upvalues of functions
/// in a library.
class Runner {
 public:
  /// Compiles a script; runs a library ("#!lua name=…"), which registers its functions. Throws
  /// InvalidScript, and for a library what run() throws.
  explicit Runner(std::string_view source, const Bounds& bounds = {});
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  /// The names of a library's functions, in their order; empty for a script.
  std::vector<std::string> functions() const;

  /// Calls the script, or this function of a library, and appends its reply as RESP2: that of EVAL,
  /// or of FCALL. An error of the script is a reply. Throws RanTooLong, NotImplementedHere,
  /// Interrupted, and what `commands` throws; then nothing is appended.
  void run(std::string_view function, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, Commands& commands, std::string& reply);
  /// From now on run() tells this, which must outlive it, what the script does.
  void observe(Observer& observer);
  /// Within Commands::call(): the line of the source that calls the command, from 1.
  int line() const;
  /// After run() has thrown: the line at which that was; 0 if it is not known.
  int stopped_line() const;
  /// The number that the last run() returned, before it was cut to an integer; std::nullopt if it
  /// returned anything else.
  std::optional<double> returned_number() const;

 private:
  friend struct RunnerFunctions;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlctl::lua
