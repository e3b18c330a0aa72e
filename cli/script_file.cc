#include "cli/script_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "cli/failure.h"

namespace rlctl::cli {
namespace {

UsageError unreadable(std::string_view option, const std::string& path, int error) {
  const auto message = "cannot read " + in_quotes(path) + ": " + errno_text(error);
  return UsageError(option.empty() ? message : std::string(option) + ": " + message);
}

}  // namespace

std::string read_script_file(std::string_view option, const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) throw unreadable(option, path, errno);
  std::string contents;
  std::array<char, 65536> piece{};
  while (true) {
    const auto size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw unreadable(option, path, errno);
    if (size == 0) return contents;
    contents.append(piece.data(), static_cast<std::size_t>(size));
  }
}

std::string script_name(const std::string& path) {
  const auto name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

}  // namespace rlctl::cli
