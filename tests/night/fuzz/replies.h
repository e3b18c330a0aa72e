#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "night/fuzz/fuzz.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "redis/transport.h"

namespace fuzz {

/// All that a reply holds, on one line.
inline void append_content(std::string& out, rlctl::redis::ReplyView reply) {
  out += std::to_string(static_cast<int>(reply.type()));
  out += '(';
  out += std::to_string(reply.integer()) + " " + std::to_string(reply.text().size()) + " ";
  out += reply.text();
  for (std::size_t i = 0; i < reply.size(); ++i) append_content(out, reply[i]);
  out += ')';
}

/// The number of a reply's elements, those within them included.
inline std::size_t elements_of(rlctl::redis::ReplyView reply) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < reply.size(); ++i) count += elements_of(reply[i]);
  return count;
}

/// The first reply in RESP; none if there is none.
inline std::optional<rlctl::redis::Reply> first_reply(std::string_view bytes) {
  rlctl::redis::ReplyReader reader;
  reader.feed(bytes);
  return accepted<rlctl::redis::Error>([&] { return reader.next(); }, 1000).value_or(std::nullopt);
}

/// A server that answers with these bytes, whatever it is sent, some at a time, and hangs up. The
/// bytes must outlive it.
class FixedServer final : public rlctl::redis::Transport {
 public:
  FixedServer(std::string_view bytes, std::size_t at_once) : bytes_(bytes), at_once_(at_once) {}

  std::size_t read(char* buffer, std::size_t size, rlctl::Deadline deadline) override {
    static_cast<void>(deadline);
    if (const auto count = read_available(buffer, size); count > 0) return count;
    throw rlctl::redis::Error(rlctl::redis::Failure::kUnreachable, "the server hung up");
  }
  std::size_t read_available(char* buffer, std::size_t size) override {
    const auto count = std::min({size, at_once_, bytes_.size()});
    std::copy_n(bytes_.data(), count, buffer);
    bytes_.remove_prefix(count);
    return count;
  }
  std::size_t write_some(std::string_view bytes) override { return bytes.size(); }
  void wait(rlctl::Deadline deadline) override { static_cast<void>(deadline); }
  const std::string& name() const noexcept override { return name_; }
  int fd() const noexcept override { return -1; }

 private:
  std::string_view bytes_;
  std::size_t at_once_;
  std::string name_ = "a server";
};

}  // namespace fuzz
