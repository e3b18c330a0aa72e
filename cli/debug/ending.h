#pragma once

#include <optional>
#include <string>

#include "cli/failure.h"
#include "ldb/session.h"
#include "ldb/trace.h"

namespace rlctl::cli {

/// Of what no script answered for: the server's refusal, or a connection that broke.
[[nodiscard]] std::optional<Problem> problem_of(const ldb::TraceResult& result);

[[nodiscard]] ExitStatus status_of(const ldb::TraceResult& result);

/// What became of what a script did on someone's server. Nobody can end one that catches the error
/// by which it is to end, or stands in a single long call.
[[nodiscard]] std::string kept_text(ldb::Mode mode, ldb::Ending ending);

}  // namespace rlctl::cli
