#pragma once

#include <optional>
#include <string>

namespace rlctl::cli {

/// A file whose first line is the password.
struct PasswordFile {
  std::string path;
  bool is_credential = false;  ///< from systemd
};

/// Keeps the memory of this process, which will hold a password, from core files and from other
/// processes of its user, on Linux.
void keep_memory_private() noexcept;

/// The file rlctl.password in the folder $CREDENTIALS_DIRECTORY, which systemd sets; none if it
/// does not exist.
[[nodiscard]] std::optional<PasswordFile> find_credential();

/// Reads the password. Throws InputError that names the file if it cannot be read, if others may
/// read or write it, or if it holds no password; Interrupted if a signal ends the wait for a pipe.
[[nodiscard]] std::string read_password(const PasswordFile& file);

}  // namespace rlctl::cli
