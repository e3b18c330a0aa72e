// A limit that is accepted is within the bounds of the contract, and reads the same when written;
// so does a duration, and the keys of several limits differ.
#include "limiter/limit.h"

#include "base/time.h"
#include "limiter/algorithm.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::limit {

using rlctl::UsageError;
using namespace rlctl::limiter;

void test_duration(std::string_view text) {
  const auto duration =
      accepted<UsageError>([&] { return rlctl::parse_duration(text); }, 300 + 4 * text.size());
  if (!duration) return;
  require(duration->count() >= 0 && *duration <= rlctl::kLongestDuration,
          "a duration is within bounds");
  const auto written = rlctl::format_duration(*duration);
  require(rlctl::parse_duration(written) == *duration, "it reads the same", written);
}

void test_instant(std::string_view text) {
  const auto instant =
      accepted<UsageError>([&] { return rlctl::parse_instant(text); }, 300 + 4 * text.size());
  if (!instant) return;
  require(instant->count() >= 0 && *instant <= rlctl::kLatestInstant,
          "an instant is within bounds");
  for (const auto& written : {rlctl::format_instant(*instant), rlctl::instant_text(*instant)}) {
    require(rlctl::parse_instant(written) == *instant, "it reads the same", written);
  }
}

// A limit, a further one, and a key, each on a line.
void test(std::string_view input) {
  Parts parts(input);
  const auto first = parts.until('\n'), second = parts.until('\n'), key = parts.rest();
  test_duration(first);
  test_instant(first);
  std::vector<Limit> limits;
  for (const auto text : {first, second}) {
    // A refusal quotes the text, and once more the part of it that is wrong.
    const auto limit =
        accepted<UsageError>([&] { return parse_limit(text); }, 300 + 8 * text.size());
    if (!limit) continue;
    require(limit->limit >= 1 && limit->limit <= kLargestLimit, "a limit is within bounds");
    require(limit->window >= kShortestWindow && limit->window <= kLongestWindow, "and its window");
    require(!limit->burst, "it has no burst");
    const auto written = format_limit(*limit);
    require(parse_limit(written) == *limit, "it reads the same", written);
    for (const auto& algorithm : algorithms()) {
      (void)accepted<UsageError>([&] { return (require_usable(algorithm, *limit), true); }, 1000);
    }
    limits.push_back(*limit);
  }
  const auto keys = accepted<UsageError>([&] { return redis_keys(key, limits); },
                                         300 + 4 * (key.size() + input.size()));
  if (!keys) return;
  require(keys->size() == limits.size(), "each limit has a key");
  if (keys->size() < 2) return;
  require((*keys)[0] != (*keys)[1], "the keys differ");
  for (std::size_t i = 0; i < keys->size(); ++i) {
    bool is_found = false;
    for (const auto base : base_keys((*keys)[i], limits[i])) is_found = is_found || base == key;
    require(is_found, "the key is found again", (*keys)[i]);
  }
}

const Target kTarget("limit", test);

}  // namespace fuzz::limit
