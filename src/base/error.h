#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// What rlctl throws besides redis::Error: a value, a file or an output that cannot be used, and
// Ctrl-C. Each error is thrown where the problem is known; cli/errors/failure.cc turns it into a
// message on stderr and an exit status.

namespace rlctl {

/// A message whose what() is whole: a NUL, which would end it, is written as escaped_message()
/// does.
inline std::string without_nul(std::string message) {
  for (auto at = message.find('\0'); at != message.npos; at = message.find('\0', at)) {
    message.replace(at, 1, "\\x00");
  }
  return message;
}

/// A user's value that cannot be used. what() is one line, raw, that names the value and states
/// what is accepted. The caller escapes it.
class [[nodiscard]] UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, std::string hint = {})
      : std::runtime_error(without_nul(message)), hint_(std::move(hint)) {}
  /// What the user can do; may be empty.
  const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

/// A file that cannot be read, or does not contain what it should, although the command line itself
/// is correct. what() names the file.
class [[nodiscard]] InputError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Output that cannot be written: a full disk, a missing folder. what() names the file and, if that
/// is the reason, the folder.
class [[nodiscard]] OutputError : public std::runtime_error {
 public:
  explicit OutputError(const std::string& message) : std::runtime_error(without_nul(message)) {}
};

/// An Interrupt was raised (Ctrl-C).
class [[nodiscard]] Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Calls a parser and prefixes its error messages with the option's name.
template <typename Parse>
auto parsed(std::string_view option, Parse parse) {
  try {
    return parse();
  } catch (const UsageError& error) {
    throw UsageError(std::string(option).append(": ").append(error.what()), error.hint());
  }
}

}  // namespace rlctl
