#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/wait.h"
#include "redis/error.h"

namespace rlctl::redis {

/// Commands that wait to be sent again, and the timer that says when: kPause after the first of
/// them came. A caller that polls only the poller's descriptor is woken by it.
class ParkedCommands {
 public:
  static constexpr std::chrono::milliseconds kPause{50};

  struct Command {
    std::uint64_t id = 0;
    std::string formatted;
    Error why;  ///< the answer if time runs out
  };

  /// Adds the timer to the poller, which must outlive this. Throws std::system_error.
  ParkedCommands(Poller& poller, std::size_t timer_id);

  void add(Command command);
  [[nodiscard]] bool empty() const noexcept { return commands_.empty(); }
  /// When they are to be sent, unless there are none.
  [[nodiscard]] Clock::time_point due() const noexcept { return due_; }
  /// Removes all, and stops the timer. They are sorted by their ids.
  [[nodiscard]] std::vector<Command> take();

  /// Makes the timer expire at once, for a caller whom nothing else would wake.
  void wake();
  /// For when the poller reports the timer: it is set again as long as there are commands.
  void expired();
  /// Whether the timer runs, or has expired and expired() was not called.
  [[nodiscard]] bool is_timer_set() const noexcept { return is_timer_set_; }

 private:
  void set_timer(std::chrono::nanoseconds time);

  std::vector<Command> commands_;
  Clock::time_point due_{};
  FileDescriptor timer_;
  bool is_timer_set_ = false;
};

}  // namespace rlctl::redis
