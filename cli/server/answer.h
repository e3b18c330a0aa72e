#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "cli/errors/failure.h"
#include "cli/options/limits.h"
#include "limiter/check.h"
#include "limiter/limit.h"

namespace rlctl::cli {

/// An answer to show: of `check`, or the denial of `run`.
struct Answer {
  std::string_view key = {};                     ///< as the user gave it
  std::span<const std::string> redis_keys = {};  ///< one for each limit
  std::int64_t cost = 1;
  const limiter::ReservationCall* reservation = nullptr;  ///< set: `cost` units are reserved
  limiter::Decision decision = {};
  bool peek = false;                  ///< nothing was recorded; retry_after is 0 or kNever
  const Problem* on_error = nullptr;  ///< no answer: --on-error set `decision.allowed`
  bool shadow = false;                ///< the request passes even if it is denied
  std::vector<std::string> holders =
      {};  ///< of the leases that deny a run, as far as they are known
};

/// Whether it is the answer to a request that the server recorded.
inline bool is_counted(const Answer& answer) {
  return answer.decision.allowed && answer.cost != 0 && !answer.peek && answer.on_error == nullptr;
}
/// Whether the caller is told to let the request pass.
inline bool passes(const Answer& answer) {
  return answer.decision.allowed || answer.shadow;
}
inline ExitStatus status_of(const Answer& answer) {
  return passes(answer) ? ExitStatus::kDone : ExitStatus::kDenied;
}

/// What check writes as JSON: an answer, or a line of a batch that has none. run writes answers.
struct AnswerOfLimiter;
struct WrongLine;
extern const JsonObject<AnswerOfLimiter> kAnswerJson;
extern const JsonObject<WrongLine> kWrongLineJson;

/// Formats the answers of one limiter, which must outlive this: `word key=value` lines, or one JSON
/// object per line. Formats the words that all answers share only once.
class AnswerFormat {
 public:
  AnswerFormat(const Limiter& limiter, bool json, bool colour = false);

  /// Appends one line.
  void append(std::string& out, const Answer& answer) const;
  /// Appends an error line for a line of a batch that has no answer.
  void append_error(std::string& out, std::size_t line, const Problem& problem) const;

 private:
  void append_text(std::string& out, const Answer& answer) const;

  const Limiter& limiter_;
  bool json_;
  std::string allowed_, denied_;  ///< text: the first word
  std::string settings_;          ///< text: limit=10/1s algorithm=gcra burst=20
};

}  // namespace rlctl::cli
