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
#include "exactness/cases.h"
#include "limiter/algorithm.h"
#include "redis/connection.h"
#include "redis/url.h"
#include "traffic/key_aging.h"

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
  /// Loads the algorithm's script. Both must outlive this. Throws redis::Error.
  Lane(redis::Connection connection, const limiter::Algorithm& algorithm);

  struct Outcome {
    std::int64_t decisions = 0, wrong = 0;
    std::optional<Difference> first = {};
  };
  /// Queues the calls of a case; only the first `steps` of them if there are more.
  void queue(Case asked, std::size_t steps);
  /// Reads the answers to the oldest case that was queued. An end that differs (which keys exist,
  /// and for how long) makes the last decision wrong.
  [[nodiscard]] Outcome take();
  /// Removes keys; if `expire`, by a TTL of a millisecond.
  void remove(const std::vector<Case::Key>& keys, bool expire);

  [[nodiscard]] redis::Connection& connection() { return connection_; }
  [[nodiscard]] bool has_queued() const { return !pending_.empty(); }

 private:
  enum class Answer : char { kNothing, kAging, kDecision, kTtl };
  struct Pending {
    Case asked;
    std::vector<Answer> answers;
    Clock::time_point queued;
  };

  void append(const Case& asked, const Case::Step& step, std::vector<Answer>& answers);

  redis::Connection connection_;
  const limiter::Algorithm& algorithm_;
  traffic::KeyAging aging_;
  std::string sha1_, sha1_of_virtual_clock_;
  std::vector<Answer> removals_;
  std::deque<Pending> pending_;
};

struct Comparison {
  std::int64_t decisions = 0, wrong = 0;
  double seconds = 0;
  std::optional<Difference> first = {};  ///< the first difference
};

/// Compares this many decisions of an algorithm's script with its model's, beginning with the case
/// of this seed; `add` is called now and then with what there is. A difference in a case that
/// depends on TTLs counts if it is there each time that the case is asked again: the server may
/// have been held up, so that keys expired early. `done` keeps what was compared if this throws.
/// Throws redis::Error and Interrupted.
void compare(const redis::Url& server, const limiter::Algorithm& algorithm, std::uint64_t seed,
             std::int64_t decisions, const Interrupt& interrupt, Comparison& done,
             const std::function<void()>& progress);

}  // namespace rlctl::test
