#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/worker.h"

// Files. A FileDescriptor closes itself. cli/ writes reports, metrics and exported scripts to an
// OutputFile, which never leaves half a file behind; stored/backup.cc writes a backup to a NewFile.
// A LineReader reads what a user pipes in, types or saved, line by line; replay/ splits logs, which
// may be compressed, with a LineBuffer.

namespace rlctl {

/// Owns a file descriptor, or none, which is -1.
class [[nodiscard]] FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// ---- Whole files ----

/// Opens a file for reading. Throws std::system_error, whose code() is the reason, and Interrupted
/// if a signal ended the wait (for a FIFO's writer).
FileDescriptor open_file(const std::string& path);
/// Reads the rest of a file, or its next `most` bytes. Throws as open_file() does.
std::string read_all(const FileDescriptor& file, std::size_t most = static_cast<std::size_t>(-1));

/// The kind of a file that is read, which decides what users other than its owner may do with it.
enum class FileContent {
  kConfiguration,  ///< all may read it; its group may write it if the owner is alone in the group
  kSecret,         ///< no one else may read or write it
  kGroupSecret,    ///< the same, but the group may read a file that root owns
};

/// Why an open file must not be used, if root or this user does not own it, or its mode lets others
/// do more than its content allows; the hint has the command that corrects this. `what` follows the
/// path in the message: "holds a password". std::nullopt if it may be used. As in ssh, links that
/// led to the file, and its folder, do not matter. Devices such as /dev/null may always be used.
/// Throws std::system_error.
std::optional<InputError> unsafe_file(const FileDescriptor& file, const std::string& path,
                                      std::string_view what, FileContent content);

/// Writes all bytes; returns false, with errno set, if that fails.
bool write_all(int fd, std::string_view bytes) noexcept;
/// $TMPDIR, or /tmp.
std::string temporary_folder();

/// A new folder of mode 0700 in temporary_folder(), which is removed with all that is in it. A
/// process that is killed leaves it: the next one removes it, if it is this user's and an hour old.
/// A lock on a file in it shows whether its process still runs.
class [[nodiscard]] TemporaryFolder {
 public:
  /// Throws OutputError.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Absolute.
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  worker::Leftover leftover_;
  FileDescriptor lock_;
};

// ---- Files that are written ----

/// A file that appears whole or not at all: it is written under another name in the same folder,
/// and commit() renames it. Without commit() the previous contents stay. A path that is not a
/// regular file (a pipe that somebody reads, /dev/null) is written directly. A symbolic link stays
/// one, even if its target does not exist. In a world-writable folder, another user's link is not
/// followed, and another user's file not replaced. A file that exists keeps its permissions.
class OutputFile {
 public:
  /// Throws UsageError if the path is empty, OutputError if it cannot be written.
  OutputFile(std::string_view option, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws OutputError (a full disk).
  void write(std::string_view text);
  /// Gives the file its name. Throws OutputError. Nothing may be called after this.
  void commit();

 private:
  void open_temporary(mode_t mode);
  [[noreturn]] void fail(int error) const;

  std::string option_, path_;
  FileDescriptor folder_;  ///< the file's folder, opened once; empty for a file written directly
  std::string name_, temporary_;  ///< names in the folder; `temporary_` is empty once it is renamed
  worker::Leftover leftover_;
  FileDescriptor file_;
};

/// A file that must not exist yet and that only its owner may read, to which records are added that
/// must not be lost. Links on the way to it are followed as by OutputFile. It is removed unless
/// keep() was called.
class [[nodiscard]] NewFile {
 public:
  /// Throws UsageError if the path is empty or the file exists, OutputError if it cannot be
  /// created.
  NewFile(std::string_view option, const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Adds the whole text, or nothing of it and throws OutputError (a full disk).
  void add(std::string_view text);
  /// Returns once everything added is on the disk, and the file's name too. Throws OutputError.
  void sync();
  /// Does not remove the file.
  void keep() noexcept { keep_ = true; }

 private:
  [[noreturn]] void fail(int error) const;

  std::string option_, path_;
  FileDescriptor folder_;
  std::string name_;  ///< the file's name in the folder
  FileDescriptor file_;
  off_t size_ = 0;
  bool is_name_synced_ = false;  ///< the folder's entry is on the disk
  bool keep_ = false;
};

// ---- Lines ----

/// Splits bytes into lines without copying them. A line ends at a newline; a carriage return before
/// it belongs to the line end; the last line needs no newline. All other bytes are kept unchanged.
class LineBuffer {
 public:
  struct Line {
    std::string_view text;    ///< valid until space() is called
    std::size_t number = 0;   ///< from 1
    bool too_long = false;    ///< `text` is only its beginning
    bool has_newline = true;  ///< its newline was read: else it is the last line, or too long
  };

  /// The text of a longer line is cut to `longest` bytes.
  explicit LineBuffer(std::size_t longest) : longest_(longest) {}

  /// Room for the bytes that are read next. Drops the bytes before the mark.
  std::span<char> space();
  /// Adds the first `count` bytes of space(); 0 marks the end of the file.
  void add(std::size_t count);

  /// The next line; std::nullopt if it is not complete: add more bytes, unless ended().
  std::optional<Line> next();
  /// True if nothing is left to read or to take.
  bool ended() const noexcept { return end_of_file_ && begin_ == end_; }
  bool end_of_file() const noexcept { return end_of_file_; }
  std::string_view not_taken() const {
    return std::string_view(buffer_).substr(begin_, end_ - begin_);
  }
  /// Drops some of not_taken(), and the mark.
  void skip(std::size_t bytes) noexcept { skip_to(begin_ + bytes); }
  std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  /// The number of lines that next() returned.
  std::size_t lines() const noexcept { return lines_; }

  /// Keeps the bytes from here on, so that since_mark() shows them and rewind() returns to them.
  void mark() noexcept { mark_ = begin_; }
  /// What was taken since the mark, with all line ends.
  std::string_view since_mark() const {
    return std::string_view(buffer_).substr(mark_, begin_ - mark_);
  }
  struct Position {
    std::size_t bytes = 0, lines = 0;
  };
  /// Valid until the next mark.
  Position position() const noexcept { return {begin_ - mark_, lines_}; }
  /// What was taken after this position is taken again.
  void rewind(const Position& position);

 private:
  Line take(std::size_t size, bool has_newline);
  void skip_to(std::size_t end) noexcept { begin_ = searched_ = mark_ = end; }

  std::size_t longest_;
  std::string buffer_;
  std::size_t mark_ = 0;
  std::size_t begin_ = 0, end_ = 0;  ///< of the bytes that next() has not returned
  std::size_t searched_ = 0;         ///< the bytes before this contain no newline
  bool end_of_file_ = false;
  bool skipping_ = false;  ///< in the rest of a line that was too long
  std::size_t taken_bytes_ = 0, lines_ = 0;
};

/// Reads lines of a file or of standard input as they arrive.
class LineReader : public LineBuffer {
 public:
  /// The text of a longer line is cut to this length, so that no input can exhaust memory, unless
  /// the caller gives another length.
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  /// "-" is standard input. Lines are cut to `longest` bytes. Throws InputError if it cannot be
  /// opened.
  explicit LineReader(const std::string& file, std::size_t longest = kMaxLine);

  /// Reads once, waiting if nothing is available. Throws InputError, after which it has ended().
  void fill();

  int fd() const noexcept { return fd_; }
  /// The size of a regular file; 0 for anything else.
  std::size_t total_bytes() const noexcept { return total_bytes_; }

 private:
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string name_;
  FileDescriptor opened_;  ///< empty for standard input
  int fd_ = STDIN_FILENO;
  std::size_t total_bytes_ = 0;
};

}  // namespace rlctl
