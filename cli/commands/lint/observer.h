#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/lint/plan.h"
#include "cli/server/connection.h"
#include "cli/terminal/progress.h"
#include "ldb/trace.h"
#include "lint/observation.h"
#include "redis/connection.h"
#include "traffic/key_aging.h"
#include "traffic/script.h"

namespace rlctl::cli::lint {

using rlctl::lint::EarlyExpiry;
using rlctl::lint::Observation;
using rlctl::lint::Request;

/// Sends traffic to a script on a private server, in virtual time, and records each command that
/// the script calls, by its debugger.
class Observer {
 public:
  /// Starts the server. All arguments must outlive this. Throws what starting throws.
  Observer(const Subject& subject, Connector& connector, const Invocation& invocation,
           Progress& progress);

  /// Throws redis::Error and ProblemError if the script fails or does not end, naming the request,
  /// and Interrupted.
  [[nodiscard]] Observation observe();
  /// What rlctl changed in the script so that the server accepts it, for a warning; may be empty.
  [[nodiscard]] const std::string& change() const noexcept { return change_; }
  /// What could not be tested, and why, for warnings; may be empty.
  [[nodiscard]] const std::vector<std::string>& doubts() const noexcept { return doubts_; }

 private:
  using Index = std::size_t;  ///< of a request

  void observe_once();
  // The phases of observe_once().
  void send_main_traffic();
  void check_replies();
  void test_early_expiry();
  void test_expiry(const EarlyExpiry& first, std::chrono::microseconds from);
  void test_denials();
  void check_limit();
  void not_tested(std::string_view finding, std::string_view why);
  [[nodiscard]] std::string_view why_not_full() const;

  /// Empties the database: the next requests are a run of their own.
  void begin_run();
  Index send(std::chrono::microseconds at, std::uint32_t key = 0);
  /// Sends at one instant until a request is denied, and if none is, one tick apart; returns
  /// whether one was, and sets `filled_`.
  bool fill(std::chrono::microseconds at);
  [[nodiscard]] std::optional<EarlyExpiry> first_expiry() const;
  [[nodiscard]] bool is_denied(Index index) const { return seen_.requests[index].allowed == false; }
  /// Whether the key has expired at this time, to which virtual time passes.
  [[nodiscard]] bool is_gone(const std::string& key, std::chrono::microseconds at);
  void age(std::chrono::microseconds to);
  void protect_keys(std::chrono::microseconds at);
  void finish_aging();
  void forget_ttls();

  [[nodiscard]] ldb::TraceResult trace(const traffic::Arrival& arrival, Request& request);
  [[nodiscard]] std::vector<std::string> keys_of(const std::vector<std::string>& words);
  [[nodiscard]] bool writes(const std::string& command);
  void look_at_keys(Request& request);
  void require_returned(const ldb::TraceResult& result, const traffic::Arrival& arrival);
  [[nodiscard]] redis::Reply ask(const std::vector<std::string>& words);

  const Subject& subject_;
  Connector& connector_;
  const Invocation& invocation_;
  Progress& progress_;
  ldb::Debuggee debuggee_;
  std::string change_;
  std::vector<std::string> doubts_;
  std::unique_ptr<traffic::Traffic> traffic_;
  std::unique_ptr<traffic::Script> script_;
  redis::Connection connection_;
  std::optional<traffic::KeyAging> aging_;
  std::set<std::string> known_;         ///< all keys of this run
  std::map<std::string, bool> writes_;  ///< by command
  std::int64_t number_ = 0;             ///< of the last request, from 1
  int run_ = 0;
  std::int64_t filled_ = 0;  ///< the requests that the last fill() sent before one was denied
  std::optional<std::int64_t> allowed_ = {};  ///< the same for the main traffic, if one was denied
  bool delays_ = false;                       ///< a request was allowed with a delay
  /// Keys may have expired by real time: see traffic::KeyAging::is_late().
  bool is_held_up_ = false;
  std::chrono::microseconds start_{0}, tick_{0};
  Observation seen_;
};

}  // namespace rlctl::cli::lint
