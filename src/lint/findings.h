#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The flaws of a script, judged without a server from the calls that it made under traffic.
// cli/commands/lint/observer.cc sends the traffic and fills in an Observation; find_flaws() turns
// that into findings, which cli/commands/lint/command.cc reports. There is a finding only if the
// observation shows the flaw.

namespace rlctl::lint {

/// A command that a script called, and what the server said about it.
struct Call {
  int line = 0;  ///< in the source
  std::vector<std::string> words = {};
  /// As Redis's debugger writes it: 5, "abc", NULL; std::nullopt if the call failed.
  std::optional<std::string> reply = {};
  std::vector<std::string> keys = {};  ///< the keys among its words, as the server finds them
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
  std::optional<bool> allowed = {};  ///< std::nullopt if the reply cannot be relied on
  std::vector<LeftKey> left = {};    ///< the keys that it wrote and that exist
};

/// A key that expired while it still counted: a request was allowed then that was denied when the
/// key was kept.
struct EarlyExpiry {
  std::size_t request = 0;  ///< the request that set the TTL, by its index in Observation
  std::string key = {};
  std::chrono::microseconds ttl{0};
  std::chrono::microseconds end{0};   ///< since 1970
  std::chrono::microseconds unit{0};  ///< in which the command that set the TTL counts
};

/// A script, and what it did under traffic.
struct Observation {
  std::string source = {};  ///< as its author wrote it
  std::int64_t limit = 1;
  std::chrono::microseconds window{1};
  std::vector<Request> requests = {};  ///< in the order in which they ran, each once

  std::optional<EarlyExpiry> early_expiry = {};
  /// A denied request that counted, as an index of `requests`: another one, a window after the last
  /// allowed one, was denied only because of such requests.
  std::optional<std::size_t> counted_denial = {};
  /// The first request after so long that nothing may count was denied.
  bool is_denied_for_ever = false;
};

/// How bad a finding is, the least first.
enum class Severity {
  kNote,      ///< nothing fails today
  kWarning,   ///< memory is wasted, or something is at risk
  kCritical,  ///< requests are let in or locked out
};

/// A flaw of a script, at a line of its source.
struct Finding {
  std::string_view name;  ///< a row of finding_kinds(): "no-ttl"
  int line = 0;
  Severity severity = Severity::kWarning;
  std::string what = {};    ///< the call as observed, or the flag
  std::string detail = {};  ///< why it hurts
  std::string fix = {};     ///< what to do
};

/// The names of the findings with what they mean, in a few words.
struct FindingKind {
  std::string_view name, summary;
};
std::span<const FindingKind> finding_kinds();

/// The flaws that the observation shows, by line; of each kind, one for a line.
std::vector<Finding> find_flaws(const Observation& observation);

}  // namespace rlctl::lint
