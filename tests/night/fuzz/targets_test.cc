// Every target of tests/night/fuzz on its corpus, and on mutations of it: what libFuzzer found once
// is found by every compiler and under each sanitizer.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "night/fuzz/fuzz.h"
#include "support/random.h"

void fuzz::require(bool holds, const char* property, std::string_view shown) {
  if (holds) return;
  FAIL("does not hold: ", std::string(property), "\n", shown);
}

namespace fuzz_targets_test {
namespace {

std::vector<std::string> corpus_of(const fuzz::Target& target) {
  const auto folder = std::filesystem::path(RLCTL_TESTS_DIR) / "night/fuzz/corpus" / target.name;
  std::vector<std::filesystem::path> files{std::filesystem::directory_iterator(folder), {}};
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const auto& file : files) inputs.push_back(rlctl::read_all(rlctl::open_file(file)));
  return inputs;
}

/// Changes, inserts, repeats or removes bytes of an input, or joins it with another one.
std::string mutated(const std::vector<std::string>& inputs, rlctl::test::Random& random) {
  std::string text = random.one_of(inputs);
  for (auto changes = random.uniform(1, 4); changes > 0; --changes) {
    const auto size = static_cast<std::int64_t>(text.size());
    const auto at = static_cast<std::size_t>(random.uniform(0, size));
    const auto count =
        static_cast<std::size_t>(random.log_uniform(1, std::max<std::int64_t>(size, 1)));
    const auto& other = random.one_of(inputs);
    switch (random.uniform(0, 4)) {
      case 0:
        text.insert(at, 1, static_cast<char>(random.uniform(0, 255)));
        break;
      case 1:
        text.replace(at, 1, 1, static_cast<char>(random.uniform(0, 255)));
        break;
      case 2:
        text.insert(at, text.substr(at, count));
        break;
      case 3:
        text.erase(at, count);
        break;
      default:
        text.replace(at, text.npos, other.substr(std::min(at, other.size())));
        break;
    }
  }
  return text;
}

/// An input in which a few bytes, or an opening bracket, are repeated: a long one, or a deep one.
std::string stretched(const std::vector<std::string>& inputs, rlctl::test::Random& random) {
  static const std::vector<std::string> kOpenings{"[",       "{",        "(",   "[[",
                                                  "{\"a\":", "[{\"a\":", "not "};
  constexpr std::int64_t kLongest = 100'000, kLongestPart = 8;
  std::string text = random.one_of(inputs);
  const auto at = static_cast<std::size_t>(random.uniform(0, std::ssize(text)));
  const auto size = static_cast<std::size_t>(random.uniform(1, kLongestPart));
  auto part = random.uniform(0, 1) == 0 ? random.one_of(kOpenings) : text.substr(at, size);
  if (part.empty()) part = "[";
  std::string repeated;
  for (auto left = kLongest / std::ssize(part); left > 0; --left) repeated += part;
  return text.insert(at, repeated);
}

}  // namespace

TEST_CASE("each property of a parser holds for its corpus and for mutations of it") {
  CHECK(fuzz::targets().size() == 16);
  for (const auto& target : fuzz::targets()) {
    SUBCASE(target.name) {
      rlctl::test::Random random;
      const auto inputs = corpus_of(target);
      REQUIRE_FALSE(inputs.empty());
      const auto test = [&](const std::string& input) {
        CAPTURE(rlctl::to_base64(input));
        target.test(input);
      };
      for (const auto& input : inputs) test(input);
      for (auto left = rlctl::test::scaled(300, 10'000); left > 0; --left) {
        test(mutated(inputs, random));
      }
      for (auto left = rlctl::test::scaled(1, 300); left > 0; --left) {
        test(stretched(inputs, random));
      }
    }
  }
}

}  // namespace fuzz_targets_test
