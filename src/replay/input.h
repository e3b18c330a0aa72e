#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/wait.h"

namespace rlctl::replay {

/// A source of bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads what is available, at most `size` bytes (at least 1); 0 at the end. May wait. Throws
  /// InputError, and Interrupted on Ctrl-C.
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// The bytes of the file read so far, before unpacking.
  virtual std::int64_t file_bytes() const = 0;
};

/// Bytes in memory, which must outlive this.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(char* to, std::size_t size) override;
  std::int64_t file_bytes() const override { return file_bytes_; }

 private:
  std::string_view bytes_;
  std::int64_t file_bytes_ = 0;
};

/// A file's name for messages: "-" is "standard input".
std::string input_name(const std::string& file);

/// Opens a file, unpacking it if its first bytes are gzip's, whatever its name. Throws InputError,
/// also for a file that is packed in another way.
std::unique_ptr<ByteSource> open_input(const std::string& file, const Interrupt& interrupt);

}  // namespace rlctl::replay
