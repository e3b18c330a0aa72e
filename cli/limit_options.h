#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/problem.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::cli {

/// --limit, --algorithm and --burst, as every command that makes decisions takes them.
struct LimitOptions {
  std::vector<std::string> limits;
  std::optional<std::string> algorithm, burst;
};

void add_limit_options(Options& options, LimitOptions& target);
/// The section of --help that lists what --algorithm takes.
[[nodiscard]] std::string algorithm_help();

/// What they say: one algorithm, and at least one limit.
struct Limiter {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits;
};

/// Throws UsageError unless algorithm, limits and cost fit together, so that nothing is asked that
/// a script would only refuse.
[[nodiscard]] Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost);

/// A limit's burst as the script counts it; none where the algorithm has none.
[[nodiscard]] std::optional<std::int64_t> effective_burst(const limiter::Algorithm& algorithm,
                                                          const limiter::Limit& limit);

/// Calls a parser and puts the option's name before what it complains about.
template <typename Parse>
auto parsed(std::string_view option, Parse parse) {
  try {
    return parse();
  } catch (const limiter::UsageError& error) {
    throw UsageError(std::string(option).append(": ").append(error.what()));
  }
}

}  // namespace rlctl::cli
