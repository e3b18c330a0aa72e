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

/// Where a user's value stands, which begins the errors about it.
struct ValueOrigin {
  std::string place = {};  ///< "--limit", "my.lua:3: limit"
  bool is_file = false;    ///< the value stands in a file, and the command line itself is correct

  /// The origin with the value, for errors that do not quote it: "--limit 5/60s".
  ValueOrigin with(std::string_view value) const {
    return {.place = (place + ' ').append(value), .is_file = is_file};
  }
};

/// Throws an error about a value: UsageError, or InputError if the value stands in a file.
[[noreturn]] inline void refuse_value(const ValueOrigin& origin, std::string_view message,
                                      std::string hint = {}) {
  const auto text = (origin.place + ": ").append(message);
  if (origin.is_file) throw InputError(text, std::move(hint));
  throw UsageError(text, std::move(hint));
}

/// Calls a parser, or a check of a value; its error messages begin with the value's origin.
template <typename Parse>
auto parsed(const ValueOrigin& origin, Parse parse) {
  try {
    return parse();
  } catch (const UsageError& error) {
    refuse_value(origin, error.what(), error.hint());
  }
}

/// Calls a parser and prefixes its error messages with the option's name.
template <typename Parse>
auto parsed(std::string_view option, Parse parse) {
  return parsed(ValueOrigin{.place = std::string(option)}, std::move(parse));
}

}  // namespace rlctl
