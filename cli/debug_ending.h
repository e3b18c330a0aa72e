#pragma once

#include <optional>

#include "cli/problem.h"
#include "ldb/trace.h"

namespace rlctl::cli {

/// Of what no script answered for: the server's refusal, or a connection that broke.
[[nodiscard]] std::optional<Problem> problem_of(const ldb::TraceResult& result);

[[nodiscard]] ExitStatus status_of(const ldb::TraceResult& result);

}  // namespace rlctl::cli
