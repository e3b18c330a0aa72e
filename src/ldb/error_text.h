#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "ldb/session.h"
#include "redis/reply.h"

namespace rlctl::ldb {

/// Which ending an error reply behind a session is. `stopped`: the script came to a stop before;
/// `aborting`: it was asked to end.
[[nodiscard]] Ending ending_of(std::string_view error_text, bool stopped, bool aborting);

/// What went wrong in a script, in the words a client gets, and where.
struct ScriptError {
  /// Without its place and the script's SHA1, control bytes escaped; the places left in it
  /// ("user_script:3: ", of an error that was passed on) are the source's.
  std::string message = {};
  int line = 0;  ///< of the source; 0 where it is not known
};

struct ErrorPlaces {
  /// The source's line for one of the text that ran; 0 for none.
  std::function<int(int)> line_of = {};
  int last_line = 0;  ///< where the script stopped last; of the source
  std::string_view source = {};
};

/// Puts the source's lines where a text of the server's, or of a probe's, names those of the script
/// that ran: "user_script:7: ..." of an error that the script caught. `lines` as of ProbedScript.
[[nodiscard]] std::string with_source_lines(std::string_view text, const std::vector<int>& lines);

[[nodiscard]] ScriptError explain_error(redis::ReplyView error_reply, const ErrorPlaces& places);

}  // namespace rlctl::ldb
