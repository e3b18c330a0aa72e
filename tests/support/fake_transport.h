#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/transport.h"

namespace support {

/// The state shared by the two ends of a FakeTransport.
struct Wire {
  std::string sent = {};
  std::deque<std::string> to_read = {};  ///< one for each read
  std::size_t room = std::string::npos;
  bool never_ends = false;  ///< then bytes come for ever, one each millisecond
  int late_reads = 0;       ///< that began after their deadline
};

/// A server that consists of its answers. It accepts `room` bytes after each wait.
class FakeTransport final : public rlctl::redis::Transport {
 public:
  explicit FakeTransport(Wire& wire) : wire_(wire), room_(wire.room) {}

  std::size_t read(char* buffer, std::size_t size, rlctl::Deadline deadline) override {
    if (rlctl::Clock::now() >= deadline) ++wire_.late_reads;
    const auto count = read_available(buffer, size);
    if (count == 0) throw rlctl::redis::Error(rlctl::redis::Failure::kTimeout, "in time");
    return count;
  }
  std::size_t read_available(char* buffer, std::size_t size) override {
    if (wire_.to_read.empty() && wire_.never_ends) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      wire_.to_read = {"x"};
    }
    if (wire_.to_read.empty()) return 0;
    auto& piece = wire_.to_read.front();
    const auto count = piece.copy(buffer, size);
    piece.erase(0, count);
    if (piece.empty()) wire_.to_read.pop_front();
    return count;
  }
  std::size_t write_some(std::string_view bytes) override {
    const auto count = std::min(bytes.size(), room_);
    wire_.sent += bytes.substr(0, count);
    room_ -= count;
    return count;
  }
  void wait(rlctl::Deadline /*deadline*/) override { room_ = wire_.room; }
  const std::string& name() const noexcept override { return name_; }
  int fd() const noexcept override { return -1; }

 private:
  Wire& wire_;
  std::size_t room_;
  std::string name_ = "redis://fake";
};

/// A connection to the other end of the wire, which must outlive it.
inline rlctl::redis::Connection over(Wire& wire,
                                     std::chrono::microseconds timeout = std::chrono::seconds(30)) {
  return {std::make_unique<FakeTransport>(wire), timeout};
}

}  // namespace support
