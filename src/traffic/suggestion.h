#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/wait.h"
#include "traffic/script.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// How many may be denied: at most this share, 0 to 1, of the requests or of the keys.
struct DeniedShare {
  double most = 0;
  bool of_keys = false;
};

/// What a limit would have made of a traffic.
struct LimitTried {
  std::int64_t limit = 0;
  std::int64_t sent = 0, denied = 0;       ///< requests
  std::int64_t keys = 0, keys_denied = 0;  ///< that were asked for; denied at least once

  [[nodiscard]] double share(bool of_keys) const;
};

struct Suggestion {
  std::vector<LimitTried> tried;      ///< around the suggested one, the smallest first
  std::optional<std::size_t> chosen;  ///< in `tried`; none where no limit denies so few
};

/// The traffic anew, from its beginning.
using MakeTraffic = std::function<std::unique_ptr<Traffic>()>;
/// How much of the work is done, 0 to 1, and about which limit it is now.
using OnSuggestionProgress = std::function<void(double share, std::int64_t limit)>;

/// The smallest limit, in the window of the candidate's only one, that would have denied at most
/// such a share of a traffic. It is tried, not estimated: by the models, once for each limit that
/// is tried, some 30 times in all. None of the four limits below it would do; a still smaller one
/// could only where a larger limit happens to deny more, which is rare. Throws redis::Error where
/// the interrupt is raised, and UsageError where the candidate has several limits or one
/// that it cannot be asked with.
[[nodiscard]] Suggestion suggest_limit(const MakeTraffic& make_traffic, const Candidate& candidate,
                                       const DeniedShare& share, const Interrupt& interrupt,
                                       const OnSuggestionProgress& on_progress = {});

}  // namespace rlctl::traffic
