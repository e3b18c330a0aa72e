#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace rlctl::test {

/// A clock that stands until a test moves it, for servers that are started with its environment.
class StandingClock {
 public:
  explicit StandingClock(std::chrono::microseconds time) {
    const int fd = ::open(file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(Numbers)) != 0) throw std::runtime_error(file());
    void* const map = ::mmap(nullptr, sizeof(Numbers), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (map == MAP_FAILED) throw std::runtime_error(file());
    numbers_ = static_cast<Numbers*>(map);
    set(time);
  }
  ~StandingClock() { ::munmap(numbers_, sizeof(Numbers)); }
  StandingClock(const StandingClock&) = delete;
  StandingClock& operator=(const StandingClock&) = delete;

  void set(std::chrono::microseconds time) { (*numbers_)[1] = time.count(); }
  std::chrono::microseconds now() const { return std::chrono::microseconds{(*numbers_)[1]}; }
  std::vector<std::string> environment() const {
    return {"LD_PRELOAD=" RLCTL_FAULTS_CLOCK, "RLCTL_FAULT_CLOCK=" + file()};
  }

 private:
  using Numbers = std::array<long, 2>;  // as in faults/clock.cc
  std::string file() const { return folder_.path() / "clock"; }

  support::TempFolder folder_;
  Numbers* numbers_ = nullptr;
};

}  // namespace rlctl::test
