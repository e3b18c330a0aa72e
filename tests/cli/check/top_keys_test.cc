#include "cli/commands/check/lines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace rlctl::cli::check::top_keys_test {
namespace {

/// "b:2 a:1+1": each key with its count and, if there is one, its error.
std::string text(const TopKeys& keys) {
  std::string out;
  for (const auto& entry : keys.top(10)) {
    out += (out.empty() ? "" : " ") + entry.key + ":" + std::to_string(entry.count);
    if (entry.error > 0) out += "+" + std::to_string(entry.error);
  }
  return out;
}

void add(TopKeys& keys, std::string_view letters) {
  for (std::size_t i = 0; i < letters.size(); ++i) keys.add(letters.substr(i, 1));
}

}  // namespace

TEST_CASE("top keys: a new key takes over the counter of the rarest, and its count as an error") {
  TopKeys keys(2);
  add(keys, "aaab");
  CHECK(text(keys) == "a:3 b:1");
  add(keys, "c");
  CHECK(text(keys) == "a:3 c:2+1");
  add(keys, "b");
  CHECK(text(keys) == "b:3+2 a:3");
  add(keys, "aa");
  CHECK(text(keys) == "a:5 b:3+2");
}

TEST_CASE("top keys: frequent keys are found among many, with counts within their errors") {
  constexpr std::size_t kCounters = 50;
  constexpr int kAdded = 20'000;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    TopKeys keys(kCounters);
    std::map<std::string, std::int64_t> exact;
    for (int i = 0; i < kAdded; ++i) {
      // A few keys are frequent: half of the numbers are below 10, the others below 5000.
      const auto number = random();
      const auto key = std::to_string(number % 2 == 0 ? number / 2 % 10 : number / 2 % 5000);
      ++exact[key];
      keys.add(key);
    }
    const auto all = keys.top(kCounters + 1);
    CHECK(all.size() == kCounters);
    for (const auto& entry : all) {
      CHECK(entry.count >= exact[entry.key]);
      CHECK(entry.count - entry.error <= exact[entry.key]);
      CHECK(entry.error <= kAdded / static_cast<std::int64_t>(kCounters));
    }
    for (const auto& frequent : exact) {
      if (frequent.second <= kAdded / static_cast<std::int64_t>(kCounters)) continue;
      CHECK(std::any_of(all.begin(), all.end(),
                        [&](const auto& entry) { return entry.key == frequent.first; }));
    }
  }
}

TEST_CASE("top keys: a long key is cut, and keys may contain any bytes") {
  TopKeys keys(2);
  const std::string start(TopKeys::kMaxBytes, 'x');
  keys.add(start + "a");
  keys.add(start + "b");
  keys.add(std::string("\0\xff", 2));
  const auto all = keys.top(2);
  CHECK(all[0].key == start);
  CHECK(all[0].count == 2);
  CHECK(all[1].key == std::string("\0\xff", 2));
}

}  // namespace rlctl::cli::check::top_keys_test
