#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "limiter/algorithm.h"
#include "night/exactness/cases.h"
#include "redis/connection.h"
#include "redis/url.h"
#include "script/key_aging.h"

namespace rlctl::test {

/// Where a script first differs from its model in a case.
struct Difference {
  std::uint64_t seed = 0;
  std::size_t step = 0;  ///< its index
  std::string model, script;
};

/// Asks cases on one connection and compares the answers, in order.
class Lane {
 public:
  /// Loads the algorithm's script, which must outlive this. Lanes of one server have different
  /// names. Throws redis::Error, and UsageError for a script that is not valid Lua.
  Lane(redis::Connection connection, const limiter::Algorithm& algorithm, const std::string& name);

  struct Outcome {
    std::int64_t decisions = 0, wrong = 0;
    std::optional<Difference> first = {};
    /// Whether the server was held up before that, so that keys may have expired by real time.
    bool is_late = false;
  };
  /// Queues the calls of a case; only the first `steps` of them if there are more.
  void queue(Case asked, std::size_t steps);
  /// Reads the answers to the oldest case that was queued. An end that differs (which keys exist,
  /// and for how long) makes the last decision wrong.
  Outcome take();
  /// Removes keys; if `expire`, by a TTL of a millisecond.
  void remove(const std::vector<Case::Key>& keys, bool expire);

  redis::Connection& connection() { return connection_; }
  bool has_queued() const { return !pending_.empty(); }

 private:
  enum class Answer : char { kNothing, kAging, kDecision, kTime, kTtl };
  struct Pending {
    Case asked;
    std::vector<Answer> answers;
    Clock::time_point queued;
  };

  void append(const Case& asked, const Case::Step& step, std::vector<Answer>& answers);

  redis::Connection connection_;
  const limiter::Algorithm& algorithm_;
  script::KeyAging aging_;
  std::string sha1_, sha1_of_virtual_clock_;
  std::vector<Answer> removals_;
  std::deque<Pending> pending_;
};

struct Comparison {
  std::int64_t decisions = 0, wrong = 0;
  /// Differences that were not there again, but only while the server was held up.
  std::int64_t undecided = 0;
  double seconds = 0;
  std::optional<Difference> first = {};  ///< the first difference
};

struct Range {
  std::uint64_t seed = 1;            ///< of the first case; the next one has the next
  std::int64_t decisions = 0;        ///< in all
  bool alternates = false;           ///< each call takes one of a few limits
  bool ends_at_first = false;        ///< a difference ends the comparison
  std::string prefix = {};           ///< of the keys; another one for each comparison on a server
  std::chrono::seconds timeout{60};  ///< for each answer
};

/// Compares decisions of an algorithm's script with its model's; `progress` is called now and then.
/// A difference counts if it is there each time that the case is asked again and the server is not
/// held up, in which time keys may expire. `done` keeps what was compared if this throws. Throws
/// redis::Error, UsageError for a script that is not valid Lua, and Interrupted.
void compare(const redis::Url& server, const limiter::Algorithm& algorithm, const Range& range,
             const Interrupt& interrupt, Comparison& done, const std::function<void()>& progress);

}  // namespace rlctl::test
