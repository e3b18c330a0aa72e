#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/text.h"

namespace rlctl {
namespace {

constexpr auto kUnlimited = std::numeric_limits<std::int64_t>::max();

/// The text after `label` in a file of the kernel; empty if the file or the label is missing.
std::string text_after(std::string_view label, const std::string& path) {
  try {
    const auto text = read_all(open_file(path));
    const auto at = text.find(label);
    return at == text.npos ? "" : text.substr(at + label.size());
  } catch (const std::system_error&) {
    return {};
  }
}

/// The number at the front of a text, after blanks, times `unit`.
std::optional<std::int64_t> bytes_of(std::string_view text, std::int64_t unit = 1) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto number = to_number<std::int64_t>(take_digits(text));
  if (!number || *number > kUnlimited / unit) return std::nullopt;
  return *number * unit;
}

/// The lowest limit of this process's cgroup and those above it.
std::int64_t cgroup_limit() {
  auto group = text_after("0::", "/proc/self/cgroup");
  group.erase(std::min(group.find('\n'), group.size()));
  auto lowest = kUnlimited;
  for (;;) {
    const auto limit = bytes_of(text_after("", "/sys/fs/cgroup" + group + "/memory.max"));
    lowest = std::min(lowest, limit.value_or(kUnlimited));
    const auto slash = group.rfind('/');
    if (slash == group.npos) return lowest;
    group.erase(slash);
  }
}

std::int64_t left_of_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const auto used = bytes_of(text_after("", "/proc/self/statm"), ::sysconf(_SC_PAGESIZE));
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - used.value_or(0), 0);
}

}  // namespace

std::int64_t available_memory() {
  constexpr std::int64_t kUnit = 1024;  // "MemAvailable:   12345678 kB"
  const auto of_system = bytes_of(text_after("MemAvailable:", "/proc/meminfo"), kUnit);
  return std::min({of_system.value_or(kUnlimited), cgroup_limit(), left_of_address_space()});
}

}  // namespace rlctl
