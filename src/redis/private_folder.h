#pragma once

#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace rlctl::redis {

/// A folder of mode 0700 under $TMPDIR (else /tmp) that goes with its owner. A lock in it says that
/// the owner lives: what was left behind by processes that were killed is swept by the next one
/// that makes such a folder.
class PrivateFolder {
 public:
  /// Sweeps, and makes one in which a unix socket of the name `socket_name` fits into its address.
  /// Throws Error with what to do about it.
  explicit PrivateFolder(std::string_view socket_name);
  /// Removes it with all that is in it.
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;

  /// Absolute.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void remove() noexcept;

  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace rlctl::redis
