#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The virtual clock of other processes: a number in memory that they share, and a library that is
// preloaded into them and makes the number their time. server.h starts a Redis server with it; a
// program gets it if its user wants that. Not every program can be given it (a static one cannot),
// and the dynamic linker goes on without a library that it cannot load, so program.cc asks whether
// the program follows the clock before it believes an answer.

namespace rlctl::exec {

/// Which of its clocks a process reads from a VirtualClock.
enum class Clocks {
  kWall,    ///< those of the time of day; rlctl-exec(7) lists the functions
  kAll,     ///< also CLOCK_MONOTONIC and the like, so that its timers stop
  kServer,  ///< kWall for a Redis server, which then does not count the processor's ticks instead
};

/// A time that processes on this machine share. They see it if they get the variables of
/// environment(), are linked dynamically, run as this user, and ask the C library for the time.
class VirtualClock {
 public:
  /// Makes its files in a folder that exists; the caller removes it. Throws UsageError if no
  /// library can be preloaded from a folder of this name, and OutputError.
  VirtualClock(const std::filesystem::path& folder, std::chrono::microseconds since_1970);
  ~VirtualClock();
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  /// Sets the time of every process that shares it, without a system call: whoever is sent
  /// something after this sees the new time when it arrives.
  void set(std::chrono::microseconds since_1970) noexcept { page_->now_us = since_1970.count(); }
  std::chrono::microseconds now() const noexcept {
    return std::chrono::microseconds(page_->now_us);
  }

  /// Forgets which programs have loaded the library.
  void expect_program() noexcept { page_->is_followed = 0; }
  /// Whether a program follows the clock, as far as can be told, once it has answered: the library
  /// has been loaded since expect_program(); each process of the program that has its output, a
  /// pipe of which this process has the other end, has loaded it (a shell may have, and the static
  /// program that it becomes or starts not); and `said`, its standard error, does not say that it
  /// cannot be loaded. A process that has ended counts as one that follows. May wait for a second.
  bool is_followed_by(pid_t process, int output, std::string_view said) const;

  /// The file with the time, a Page.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// The library to preload.
  const std::filesystem::path& library() const noexcept { return library_; }
  /// The variables ("NAME=value") that make this clock a program's. This process's own LD_PRELOAD
  /// is kept in them.
  std::vector<std::string> environment(Clocks clocks) const;

 private:
  /// The file's contents. The library sets `is_followed` to 1 when it is loaded.
  struct Page {
    std::int64_t now_us, is_followed;
  };

  std::filesystem::path path_, library_, server_library_;
  volatile Page* page_ = nullptr;
};

}  // namespace rlctl::exec
