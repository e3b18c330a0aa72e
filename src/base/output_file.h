#pragma once

#include <string>
#include <string_view>

namespace rlctl {

/// A file that is there whole or not at all: what is written goes to another name beside it, which
/// commit() makes its own. Without commit() what was there before stays. What is no regular file
/// (a pipe, /dev/null) is written to as it is.
class OutputFile {
 public:
  /// Throws OutputError where it cannot be written.
  OutputFile(std::string_view option, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws OutputError (a full disk).
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::string option_, path_;
  std::string temporary_;  ///< empty where there is none
  int fd_ = -1;
};

}  // namespace rlctl
