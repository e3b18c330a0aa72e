#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The virtual clock of other processes: a number in memory that they share, and a library that is
// preloaded into them and makes the number their time. server.h starts a Redis server with it; a
// program gets it if its user wants that.

namespace rlctl::exec {

/// Which of its clocks a process reads from a VirtualClock.
enum class Clocks {
  kWall,    ///< time(), gettimeofday(), clock_gettime(CLOCK_REALTIME)
  kAll,     ///< also CLOCK_MONOTONIC and the like, so that its timers stop
  kServer,  ///< kWall for a Redis server, which then does not count the processor's ticks instead
};

/// A time that processes on this machine share. They see it if they get the variables of
/// environment(), are linked dynamically, and ask the C library for the time.
class VirtualClock {
 public:
  /// Makes its files in a folder that exists; the caller removes it. Throws OutputError.
  VirtualClock(const std::filesystem::path& folder, std::chrono::microseconds since_1970);
  ~VirtualClock();
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  /// Sets the time of every process that shares it, without a system call: whoever is sent
  /// something after this sees the new time when it arrives.
  void set(std::chrono::microseconds since_1970) noexcept { *page_ = since_1970.count(); }
  std::chrono::microseconds now() const noexcept { return std::chrono::microseconds(*page_); }

  /// The file with the time, an int64_t.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// The library to preload.
  const std::filesystem::path& library() const noexcept { return library_; }
  /// The variables ("NAME=value") that make this clock a program's. This process's own LD_PRELOAD
  /// is kept in them.
  std::vector<std::string> environment(Clocks clocks) const;

 private:
  std::filesystem::path path_, library_;
  volatile std::int64_t* page_ = nullptr;
};

}  // namespace rlctl::exec
