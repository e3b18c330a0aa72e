#include "cli/server/password.h"

#include <fmt/format.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kMaxBytes = 4096;

/// Who else can do what with a file of this mode; empty if nobody can.
std::string access_of_others(const struct stat& status, bool is_credential) {
  // systemd gives the service's user an access control list, which shows as rights of the group.
  const bool ignores_group = is_credential && status.st_uid == 0;
  const auto can = [&](mode_t read, mode_t write) -> std::string {
    if ((status.st_mode & write) != 0) return " can write it";
    return (status.st_mode & read) != 0 ? " can read it" : "";
  };
  if (const auto all = can(S_IROTH, S_IWOTH); !all.empty()) return "everybody" + all;
  const auto group = can(ignores_group ? 0 : S_IRGRP, S_IWGRP);
  return group.empty() ? group : "its group" + group;
}

void require_private_file(const PasswordFile& file, const FileDescriptor& opened) {
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) throw std::system_error(errno, std::generic_category());
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw InputError(
        fmt::format("the password file {} is not a regular file or a pipe", file.path));
  }
  const auto who = access_of_others(status, file.is_credential);
  const bool is_own = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (who.empty() && !is_own) {
    throw InputError(fmt::format("{} holds a password, but belongs to another user", file.path),
                     "chown it to the user who runs this");
  }
  if (who.empty()) return;
  throw InputError(fmt::format("{} holds a password, and {} (mode {:04o})", file.path, who,
                               status.st_mode & 07777U),
                   "chmod 600 " + shell_quoted(file.path));
}

}  // namespace

void keep_memory_private() noexcept {
#ifdef __linux__
  // Not a limit on the size of cores, which the commands of `run` would inherit; nor does a limit
  // apply to a program that takes the cores.
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

std::optional<PasswordFile> find_credential() {
  const auto folder = environment("CREDENTIALS_DIRECTORY");
  if (!folder) return std::nullopt;
  PasswordFile file{.path = *folder + "/rlctl.password", .is_credential = true};
  // A file that cannot be examined counts as existing: reading it gives the reason.
  const bool is_missing = ::access(file.path.c_str(), F_OK) != 0 && errno == ENOENT;
  return is_missing ? std::nullopt : std::optional(std::move(file));
}

std::string read_password(const PasswordFile& file) {
  std::string text;
  try {
    const auto opened = open_file(file.path);
    require_private_file(file, opened);
    text = read_all(opened, kMaxBytes + 1);
  } catch (const std::system_error& error) {
    throw InputError(fmt::format("cannot read the password file {}: {}", file.path,
                                 errno_text(error.code().value())));
  }
  const auto end = text.find('\n');
  const bool is_cut = end == text.npos && text.size() > kMaxBytes;
  text.resize(std::min(end, text.size()));
  if (end != text.npos && text.ends_with('\r')) text.pop_back();
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("the first line of the password file {} {}", file.path, why));
  };
  if (is_cut) refuse(fmt::format("has more than {} bytes", kMaxBytes));
  if (text.empty()) refuse("is empty");
  if (text.find('\0') != text.npos) refuse("contains a NUL byte");
  return text;
}

}  // namespace rlctl::cli
