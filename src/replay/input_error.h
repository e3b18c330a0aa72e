#pragma once

#include <string>
#include <utility>

#include "limiter/limit.h"

namespace rlctl::replay {

/// A file that cannot be read, or is not what it was said to be, where the command line itself is
/// as it should be. what() is one line, raw, and names the file; hint() says what to do about it,
/// and may be empty.
class InputError : public limiter::UsageError {
 public:
  explicit InputError(const std::string& message, std::string hint = {})
      : limiter::UsageError(message), hint_(std::move(hint)) {}
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

}  // namespace rlctl::replay
