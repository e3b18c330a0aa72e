#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rlctl::lint {

/// A command that a script called, and what the server said about it.
struct Call {
  int line = 0;  ///< of the source
  std::vector<std::string> words = {};
  /// As Redis' debugger writes it: 5, "abc", NULL. None if the call failed.
  std::optional<std::string> reply = {};
  std::vector<std::string> keys = {};  ///< those among its words, by the server
  bool writes = false;                 ///< the server counts the command as a write
};

/// A key that a request wrote, as the script left it.
struct LeftKey {
  std::string key = {};
  bool expires = false;
};

/// One request, which ran without an error.
struct Request {
  int run = 0;  ///< requests of other runs found an empty database
  int client = 0;
  std::chrono::microseconds at{0};  ///< since 1970
  std::vector<std::string> keys = {}, arguments = {};
  std::vector<Call> calls = {};
  std::optional<bool> allowed = {};  ///< none if the reply cannot be relied on
  std::vector<LeftKey> left = {};    ///< only those that exist
};

/// A key of which the last TTL ended while it still counted: a request was then allowed that was
/// denied with the key kept.
struct EarlyExpiry {
  std::size_t request = 0;  ///< that set the TTL: an index of Observation::requests
  std::string key = {};
  std::chrono::microseconds ttl{0};
  std::chrono::microseconds end{0};   ///< since 1970
  std::chrono::microseconds unit{0};  ///< of the command that set it
};

/// A script, and what it did under traffic.
struct Observation {
  std::string source = {};  ///< as its author wrote it
  std::int64_t limit = 1;
  std::chrono::microseconds window{1};
  std::vector<Request> requests = {};  ///< in the order in which they ran, each once

  std::optional<EarlyExpiry> early_expiry = {};
  /// A request, a window after the last one that was allowed, that was denied only because others
  /// had been denied meanwhile: this is one of those, an index of `requests`.
  std::optional<std::size_t> counted_denial = {};
  /// The first request after so long that nothing may count was denied.
  bool is_denied_for_ever = false;
};

}  // namespace rlctl::lint
