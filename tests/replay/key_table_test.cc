#include "replay/spool.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "support/random.h"

namespace rlctl::replay::key_table_test {

TEST_CASE("keys are numbered in order of appearance and keep their numbers") {
  KeyTable keys;
  CHECK(keys.number_of("b") == 0);
  CHECK(keys.number_of("a") == 1);
  CHECK(keys.number_of("b") == 0);
  CHECK(keys.number_of("") == 2);
  CHECK(keys.number_of(std::string_view("\0", 1)) == 3);
  CHECK(keys.name(0) == "b");
  CHECK(keys.name(1) == "a");
  CHECK(keys.name(2).empty());
  CHECK(keys.name(3) == std::string_view("\0", 1));
  CHECK(keys.size() == 4);
}

TEST_CASE("names of every size keep their addresses while others are added") {
  test::Random random;
  KeyTable keys;
  std::map<std::string, std::uint32_t> known;
  const auto first = keys.number_of("first");
  const auto name = keys.name(first);
  known["first"] = first;
  for (int i = 0; i < 30'000; ++i) {
    auto key = std::to_string(random.uniform(0, 9'000));
    if (random.percent(1)) key.append(static_cast<std::size_t>(random.uniform(0, 100'000)), 'x');
    const auto number = keys.number_of(key);
    const auto [found, is_new] = known.emplace(key, number);
    CHECK(found->second == number);
    CHECK(number < known.size());
  }
  CHECK(keys.size() == known.size());
  for (const auto& [key, number] : known) CHECK(keys.name(number) == key);
  CHECK(name.data() == keys.name(first).data());
}

}  // namespace rlctl::replay::key_table_test
