#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/wait.h"

namespace rlctl::replay {

/// A source of bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads what is available, at most `size` bytes (at least 1); 0 at the end. May wait. Throws
  /// InputError, and Interrupted on Ctrl-C.
  [[nodiscard]] virtual std::size_t read(char* to, std::size_t size) = 0;
  /// How much of the file has been read: its own bytes, before they are unpacked.
  [[nodiscard]] virtual std::int64_t file_bytes() const = 0;
};

/// A file, or standard input, as it is.
class FileSource final : public ByteSource {
 public:
  /// `interrupt` must outlive it. "-" is standard input. Throws InputError where it cannot be
  /// opened.
  FileSource(const std::string& file, const Interrupt& interrupt);

  std::size_t read(char* to, std::size_t size) override;
  std::int64_t file_bytes() const override { return file_bytes_; }

 private:
  std::string name_;
  const Interrupt& interrupt_;
  FileDescriptor opened_;  ///< none for standard input
  int fd_ = -1;
  bool may_wait_ = true;
  std::int64_t file_bytes_ = 0;
};

/// Bytes in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(char* to, std::size_t size) override;
  std::int64_t file_bytes() const override { return file_bytes_; }

 private:
  std::string_view bytes_;
  std::int64_t file_bytes_ = 0;
};

/// Whether a file that begins like this is gzip.
[[nodiscard]] bool is_gzip(std::string_view head) noexcept;
/// Unpacks gzip: one member or several in a row, perhaps followed by zero bytes. Its read() throws
/// InputError if the data is damaged, cut off, or followed by something else. `name` is the file's,
/// for messages.
[[nodiscard]] std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed,
                                                      std::string name);

/// The name of a file in messages: "-" is "standard input".
[[nodiscard]] std::string input_name(const std::string& file);

/// A file, unpacked if its first bytes say that it is gzip, whatever its name. Throws InputError,
/// also for a file that is packed in another way.
[[nodiscard]] std::unique_ptr<ByteSource> open_input(const std::string& file,
                                                     const Interrupt& interrupt);

}  // namespace rlctl::replay
