#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lua/runner.h"
#include "redis/connection.h"

namespace rlctl::test {

/// The bytes of a reply, in RESP2.
std::string to_resp(redis::ReplyView reply);

/// Sends a script's commands to a server one by one, and refuses those that a script may not send
/// in the words of Redis 7.
class ForwardedCommands final : public lua::Commands {
 public:
  explicit ForwardedCommands(redis::Connection& connection) : connection_(connection) {}
  void call(std::span<const std::string_view> words, bool read_only, std::string& reply) override;
  /// Whether a word was a fraction of 17 digits. Redis 8 and Valkey 8 write as few as it needs, for
  /// 0.10000000000000001, or an exponent: 2.1678208243290502e+8.
  bool has_long_number() const { return has_long_number_; }

 private:
  /// Why a script may not send it: an error in RESP2; empty if it may.
  std::string_view refusal(std::span<const std::string_view> words, bool read_only);

  struct Command {
    bool is_known = false, writes = false, is_for_scripts = false;
    std::int64_t arity = 0;  ///< as COMMAND INFO has it
  };
  redis::Connection& connection_;
  bool has_long_number_ = false;
  std::map<std::string, Command, std::less<>> commands_;  ///< by their names, as written
};

}  // namespace rlctl::test
