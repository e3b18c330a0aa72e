#include "replay/line_splitter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "support/random.h"

namespace rlctl::replay::line_splitter_test {
namespace {

using Lines = std::vector<std::string>;

/// Returns its bytes a few at a time, like a pipe.
class Drops final : public ByteSource {
 public:
  Drops(std::string_view bytes, std::size_t most) : bytes_(bytes), most_(most) {}
  std::size_t read(char* to, std::size_t size) override {
    return bytes_.read(to, std::min(size, most_));
  }
  std::int64_t file_bytes() const override { return bytes_.file_bytes(); }

 private:
  MemorySource bytes_;
  std::size_t most_;
};

Lines lines_of(std::string_view bytes, std::size_t at_a_time = 1'000'000) {
  Drops source(bytes, at_a_time);
  LineSplitter reader(source, "log");
  Lines lines;
  for (LineSplitter::Line line; reader.next(line);) {
    lines.emplace_back(line.text);
    CHECK(line.number == lines.size());
    CHECK(!line.too_long);
  }
  CHECK(reader.lines() == static_cast<std::int64_t>(lines.size()));
  LineSplitter::Line line;
  CHECK(!reader.next(line));
  return lines;
}

}  // namespace

TEST_CASE("lines end at newlines, without a carriage return before them") {
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
  CHECK(lines_of("a\nb") == Lines{"a", "b"});
  CHECK(lines_of("a\r\n\r\nb\r") == Lines{"a", "", "b"});
  CHECK(lines_of("a\r\r\n\rb\n") == Lines{"a\r", "\rb"});
  CHECK(lines_of(std::string_view("a\0b\n\0", 5)) == Lines{{"a\0b", 3}, {"\0", 1}});
}

TEST_CASE("a UTF-8 byte order mark is skipped, at the beginning only") {
  CHECK(lines_of("\xef\xbb\xbf"
                 "a\n\xef\xbb\xbf"
                 "b\n") == Lines{"a",
                                 "\xef\xbb\xbf"
                                 "b"});
  CHECK(lines_of("\xef\xbb\xbf", 1).empty());
  CHECK(lines_of("\xef\xbb", 1) == Lines{"\xef\xbb"});
}

TEST_CASE("UTF-16 is refused, with or without a byte order mark") {
  using namespace std::string_view_literals;
  for (const auto bytes : {"\xff\xfe"
                           "a\0"sv,
                           "\xfe\xff\0a"sv, "\xff\xfe"sv, "1\0 \0a\0\n\0"sv,
                           "\0"
                           "1\0 "sv}) {
    for (const std::size_t at_a_time : {1U, 100U}) {
      CHECK_THROWS_WITH_AS(lines_of(bytes, at_a_time), "log is text in UTF-16; convert it to UTF-8",
                           InputError);
    }
  }
  CHECK(lines_of("a\0\0b\n"sv).size() == 1);
  CHECK(lines_of("\0\0\0\0\n"sv).size() == 1);
}

TEST_CASE("lines are the same however few bytes are read at a time") {
  test::Random random;
  for (int round = 0; round < 100; ++round) {
    std::string bytes;
    Lines expected;
    for (auto count = random.uniform(1, 50); count > 0; --count) {
      const auto most = random.percent(5) ? 400'000 : 20;
      expected.emplace_back(static_cast<std::size_t>(random.uniform(0, most)),
                            static_cast<char>(random.uniform('a', 'z')));
      bytes += expected.back() + (random.percent(50) ? "\n" : "\r\n");
    }
    CHECK(lines_of(bytes, static_cast<std::size_t>(random.log_uniform(7, 1'000'000))) == expected);
  }
}

TEST_CASE("a line of 16 MB is accepted, and a longer one is skipped and marked") {
  const std::string longest(LineSplitter::kMaxLine, 'x');
  const auto bytes = "a\n" + longest + "\nb\n" + longest + longest + "x\nc\n" + longest + "x";
  for (const std::size_t at_a_time : {65'537U, 100'000'000U}) {
    Drops source(bytes, at_a_time);
    LineSplitter reader(source, "log");
    for (const auto& text : {std::string("a"), longest, std::string("b"), longest + "...",
                             std::string("c"), longest + "..."}) {
      LineSplitter::Line line;
      REQUIRE(reader.next(line));
      CHECK((std::string(line.text) + (line.too_long ? "..." : "") == text));
      CHECK(line.number == static_cast<std::size_t>(reader.lines()));
    }
    LineSplitter::Line line;
    CHECK(!reader.next(line));
    CHECK(reader.lines() == 6);
  }
}

TEST_CASE("a line can be seen together with those that follow, without taking them") {
  for (const std::size_t at_a_time : {1U, 5U, 1'000U}) {
    Drops source("one\r\n \ntwo\n\nthree", at_a_time);
    LineSplitter reader(source, "log");
    LineSplitter::Line line;
    REQUIRE(reader.next(line));
    CHECK(reader.with_following(line, 1, 100) == "one\r\n");
    CHECK(reader.with_following(line, 2, 100) == "one\r\n \ntwo\n");
    CHECK(reader.with_following(line, 3, 100) == "one\r\n \ntwo\n\nthree");
    CHECK(reader.with_following(line, 9, 100) == "one\r\n \ntwo\n\nthree");
    CHECK(reader.with_following(line, 9, 1) == "one\r\n");
    CHECK(reader.with_following(line, 9, 6) == "one\r\n \n");
    CHECK(line.text == "one");
    CHECK(reader.lines() == 1);
    REQUIRE(reader.next(line));
    REQUIRE(reader.next(line));
    CHECK(line.text == "two");
    CHECK(line.number == 3);
    CHECK(reader.with_following(line, 2, 100) == "two\n\nthree");
    REQUIRE(reader.next(line));
    REQUIRE(reader.next(line));
    CHECK(reader.with_following(line, 9, 100) == "three");
    CHECK(line.text == "three");
  }
}

TEST_CASE("a line that is too long ends what is seen together with a line") {
  const auto bytes = "one\n" + std::string(LineSplitter::kMaxLine + 1, 'x') + "\ntwo\n";
  Drops source(bytes, 100'000'000);
  LineSplitter reader(source, "log");
  LineSplitter::Line line;
  REQUIRE(reader.next(line));
  CHECK(reader.with_following(line, 9, 100) == "one\n");
  REQUIRE(reader.next(line));
  CHECK(line.too_long);
}

}  // namespace rlctl::replay::line_splitter_test
