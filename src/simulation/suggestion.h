#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/wait.h"
#include "script/script.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// `burst --suggest`: the smallest limit that would have denied few enough of the requests.
// cli/commands/burst/runs.cc calls suggest_limit() for each algorithm.

namespace rlctl::simulation {

/// The largest share, 0 to 1, of the requests or of the keys that may be denied.
struct DeniedShare {
  double most = 0;
  bool of_keys = false;
};

/// How a limit would have treated the traffic.
struct LimitTried {
  std::int64_t limit = 0;
  std::int64_t sent = 0, denied = 0;       ///< requests
  std::int64_t keys = 0, keys_denied = 0;  ///< requested; denied at least once

  double share(bool of_keys) const;
};

struct Suggestion {
  std::vector<LimitTried> tried;  ///< around the suggested limit, the smallest first
  /// The suggested limit's index in `tried`; std::nullopt if no limit denies that few.
  std::optional<std::size_t> chosen;
};

/// Makes the traffic again, from its beginning.
using MakeTraffic = std::function<std::unique_ptr<traffic::Traffic>()>;
/// Makes a limiter that has decided nothing yet; both must outlive it. By default, a model.
using MakeDecider =
    std::function<std::unique_ptr<Decider>(const script::Candidate&, const traffic::Traffic&)>;
/// The share of the work done, 0 to 1, and the limit being tried.
using OnSuggestionProgress = std::function<void(double share, std::int64_t limit)>;

/// The smallest limit, in the window of the candidate's only limit, that would have denied at most
/// this share of the traffic. Limits are tried, not estimated: the limiter decides the whole
/// traffic for each, some 30 times in all. None of the four limits below the result is enough; a
/// still smaller one is enough only if a larger limit happens to deny more, which is rare. Throws
/// Interrupted if the interrupt is raised, and UsageError if the candidate has several limits or
/// does not support its limit.
Suggestion suggest_limit(const MakeTraffic& make_traffic, const script::Candidate& candidate,
                         const DeniedShare& share, const Interrupt& interrupt,
                         const OnSuggestionProgress& on_progress = {},
                         const MakeDecider& make_decider = {});

}  // namespace rlctl::simulation
