#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// From the least to the most.
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

/// Collects findings; of each kind, the first of the most severe for a line.
class Flaws {
 public:
  void add(Finding finding) {
    const std::pair place(finding.line, finding.name);
    const auto found = found_.find(place);
    if (found == found_.end()) {
      found_.emplace(place, std::move(finding));
    } else if (found->second.severity < finding.severity) {
      found->second = std::move(finding);
    }
  }
  bool has(int line, std::string_view name) const { return found_.count({line, name}) > 0; }
  std::vector<Finding> take() {
    std::vector<Finding> all;
    for (auto& [place, finding] : found_) all.push_back(std::move(finding));
    return all;
  }

 private:
  std::map<std::pair<int, std::string_view>, Finding> found_;
};

/// Calls a function for each call of each request.
template <typename Each>
void for_each_call(const Observation& observation, Each each) {
  for (const auto& request : observation.requests) {
    for (const auto& call : request.calls) each(request, call);
  }
}

inline bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// ---- times.cc ----

/// mixed-units, coarse-time
void find_units(const Observation& observation, Flaws& flaws);
/// number-as-text
void find_lost_digits(const Observation& observation, Flaws& flaws);

// ---- counting.cc ----

/// non-unique-member, denied-write, late-pruning
void find_miscounts(const Observation& observation, Flaws& flaws);

}  // namespace rlctl::lint
