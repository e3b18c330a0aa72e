#include "traffic/virtual_ttls.h"

#include <algorithm>

#include "redis/reply.h"

namespace rlctl::traffic {

using std::chrono::milliseconds;

void VirtualTtls::append_ageing(redis::Connection& connection, std::chrono::microseconds now) {
  latest_ = std::max(latest_, now);
  aged_ = 0;
  for (auto& [key, expires] : expire_at_) {
    if (!expires) continue;
    if (*expires > latest_) {
      const auto left = std::chrono::ceil<milliseconds>(*expires - latest_);
      connection.append({"PEXPIRE", key, std::to_string(left.count())});
    } else {
      connection.append({"UNLINK", key});
      expires.reset();
    }
    ++aged_;
  }
}

void VirtualTtls::append_looks(redis::Connection& connection, std::span<const std::string> keys) {
  looked_at_.assign(keys.begin(), keys.end());
  for (const auto& key : looked_at_) connection.append({"PTTL", key});
}

void VirtualTtls::read_ageing(redis::Connection& connection) {
  for (std::size_t i = 0; i < aged_; ++i) static_cast<void>(connection.read());
}

void VirtualTtls::read_looks(redis::Connection& connection, milliseconds late) {
  for (const auto& key : looked_at_) {
    const auto ttl = connection.read();
    auto& expires = expire_at_[key];
    expires.reset();
    if (ttl.type() != redis::ReplyType::kInteger || ttl.integer() < 0) continue;
    expires = latest_ + milliseconds{ttl.integer()} + late;
  }
}

}  // namespace rlctl::traffic
