#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl::cli::debug::dap {

/// The messages of a client of the Debug Adapter Protocol, whose bytes come in pieces:
///
///     Content-Length: 119\r\n
///     \r\n
///     {"seq":1,"type":"request","command":"initialize",...}
class Messages {
 public:
  /// What one message, or the lines before it, may have.
  static constexpr std::size_t kLargestBody = std::size_t{16} << 20, kLargestHeader = 4096;

  void add(std::string_view bytes) { bytes_ += bytes; }
  /// Takes the next message's JSON, which was not parsed; std::nullopt if it is not complete.
  /// Throws UsageError for lines that tell no length, or too large a one: what follows cannot be
  /// read.
  std::optional<std::string> next();

 private:
  std::string bytes_;
};

/// A message as it is sent.
std::string framed(std::string_view json);

}  // namespace rlctl::cli::debug::dap
