#include "cli/debug/ending.h"

#include "redis/error.h"

namespace rlctl::cli {

using ldb::Ending;

std::optional<Problem> problem_of(const ldb::TraceResult& result) {
  if (result.ending == Ending::kLost) {
    return Problem{
        .status = ExitStatus::kUnreachable, .code = "unreachable", .message = result.message};
  }
  if (result.ending != Ending::kRefused) return std::nullopt;
  if (result.reply && result.reply->is_error()) return describe(redis::to_error(*result.reply));
  return Problem{.status = ExitStatus::kRejected, .code = "rejected", .message = result.message};
}

ExitStatus status_of(const ldb::TraceResult& result) {
  switch (result.ending) {
    case Ending::kReturned:
      // As anywhere else, an error that a script replies is its no.
      return result.reply && result.reply->is_error() ? ExitStatus::kRejected : ExitStatus::kDone;
    case Ending::kCutOff:
      return ExitStatus::kDenied;
    case Ending::kRefused:
    case Ending::kLost:
      return problem_of(result)->status;
    case Ending::kCompileError:
    case Ending::kRunTimeError:
    case Ending::kAborted:
      break;
  }
  return ExitStatus::kRejected;
}

std::string kept_text(ldb::Mode mode, Ending ending) {
  const bool is_cut_off = ending == Ending::kCutOff;
  if (mode == ldb::Mode::kForked) {
    return std::string("in a fork: nothing was kept") +
           (is_cut_off ? "; the fork runs on where the script catches errors" : "");
  }
  return std::string("what was written is kept") +
         (is_cut_off ? "; the script RUNS ON in the server: SCRIPT KILL ends it unless it has "
                       "written, SHUTDOWN NOSAVE does always"
                     : "");
}

}  // namespace rlctl::cli
