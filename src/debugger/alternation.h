#pragma once

#include <exception>
#include <functional>
#include <semaphore>
#include <thread>

namespace rlctl::debugger {

/// A function in a thread of its own that takes turns with its owner: one of the two always waits.
class Alternation {
 public:
  explicit Alternation(std::function<void()> body);
  /// The body must have ended.
  ~Alternation();
  Alternation(const Alternation&) = delete;
  Alternation& operator=(const Alternation&) = delete;

  /// Lets the body run, until it calls hand_over() or ends. Throws what ended it.
  void resume();
  /// Within the body: lets the owner go on, until it calls resume().
  void hand_over();
  bool has_ended() const noexcept { return has_ended_; }

 private:
  void run(const std::function<void()>& body);

  std::binary_semaphore its_turn_{0}, owners_turn_{0};
  bool has_ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace rlctl::debugger
