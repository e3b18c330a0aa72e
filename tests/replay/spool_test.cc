#include "replay/spool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/random.h"
#include "support/temp_folder.h"

namespace rlctl::replay::spool_test {
namespace {

using test::Random;
using Records = std::vector<Record>;

/// Each record's key is its number, so that any wrong order is detected.
Records with_times(const std::vector<std::int64_t>& times) {
  Records records;
  for (const auto time : times) {
    const auto number = static_cast<std::uint32_t>(records.size());
    records.push_back({.at_us = time, .key = number, .cost = number % 7 + 1});
  }
  return records;
}

void fill(Spool& spool, const Records& records) {
  for (const auto& record : records) spool.add(record);
  spool.finish();
}

Records read_back(const Spool& spool) {
  Records records;
  SpoolReader reader(spool);
  for (Record record; reader.next(record);) records.push_back(record);
  Record record;
  CHECK(!reader.next(record));
  return records;
}

Records sorted(Records records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.at_us < b.at_us; });
  return records;
}

}  // namespace

TEST_CASE("a spool returns its records in order of time, and equal times in order of arrival") {
  Random random;
  for (int round = 0; round < 300; ++round) {
    const auto count = random.log_uniform(1, 3'000);
    const auto span = random.log_uniform(1, 10'000);
    const auto late = random.one_of(std::vector<int>{0, 1, 10, 100});
    std::vector<std::int64_t> times;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool in_order = !random.percent(late);
      times.push_back(in_order ? i * span / count : random.uniform(0, span));
    }
    const auto buffered = static_cast<std::size_t>(random.log_uniform(2, 2'000));
    CAPTURE(count);
    CAPTURE(span);
    CAPTURE(buffered);
    const auto records = with_times(times);
    Spool spool(buffered);
    fill(spool, records);
    CHECK(spool.size() == count);
    CHECK(spool.first().count() == *std::min_element(times.begin(), times.end()));
    CHECK(spool.last().count() == *std::max_element(times.begin(), times.end()));
    CHECK(read_back(spool) == sorted(records));
  }
}

TEST_CASE("blocks in any order, like files given in any order, are returned sorted") {
  Random random;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> times;
    for (int block = 0; block < 20; ++block) {
      const auto begin = random.uniform(0, 5) * 1'000;
      for (int i = 0; i < 200; ++i) times.push_back(begin + i / 3);
    }
    const auto records = with_times(times);
    Spool spool(64);
    fill(spool, records);
    CHECK(spool.runs() > 1);
    CHECK(read_back(spool) == sorted(records));
  }
}

TEST_CASE("records in order, or late by less than half a buffer, make a single run") {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 10'000; ++i) times.push_back(i % 10 == 0 && i >= 40 ? i - 40 : i);
  Spool spool(100);
  fill(spool, with_times(times));
  CHECK(spool.runs() == 1);
  CHECK(read_back(spool) == sorted(with_times(times)));

  Spool backwards(100);
  std::reverse(times.begin(), times.end());
  fill(backwards, with_times(times));
  CHECK(backwards.runs() > 100);
  CHECK(read_back(backwards) == sorted(with_times(times)));
}

TEST_CASE("records that fit in the buffer need no file") {
  const support::ScopedVariable nowhere("TMPDIR", "/nonexistent");
  Spool spool(100);
  const auto records = with_times({3, 1, 2, 1});
  fill(spool, records);
  CHECK(spool.runs() == 0);
  CHECK(read_back(spool) == sorted(records));

  Spool empty(100);
  empty.finish();
  CHECK(empty.size() == 0);
  CHECK(read_back(empty).empty());
}

TEST_CASE("readers of one spool are independent of each other") {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 1'000; ++i) times.push_back(i * 7 % 1'000);
  Spool spool(64);
  fill(spool, with_times(times));
  const auto expected = sorted(with_times(times));
  SpoolReader one(spool);
  Record record;
  for (std::size_t i = 0; i < 500; ++i) {
    REQUIRE(one.next(record));
    CHECK(record == expected[i]);
  }
  CHECK(read_back(spool) == expected);
  REQUIRE(one.next(record));
  CHECK(record == expected[500]);
}

TEST_CASE("a spool's file has no name, and an unusable folder is named in the error") {
  const support::TempFolder folder;
  const support::ScopedVariable chosen("TMPDIR", folder.path().string());
  Spool spool(2);
  fill(spool, with_times({1, 2, 3, 4, 5}));
  CHECK(spool.runs() == 1);
  CHECK(std::filesystem::is_empty(folder.path()));

  const support::ScopedVariable nowhere("TMPDIR", "/nonexistent");
  Spool other(2);
  other.add({});
  other.add({});
  CHECK_THROWS_WITH_AS(other.add({}),
                       "cannot make a temporary file in /nonexistent: no such file or directory",
                       InputError);
}

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

}  // namespace rlctl::replay::spool_test
