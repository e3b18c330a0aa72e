#include "cli/app/watch.h"

#include <doctest/doctest.h>

#include <string>

namespace rlctl::cli::screen_test {

TEST_CASE("screen: each line is cleared to its end, and so is everything below") {
  CHECK(frame_text("a\nbc\n", 80, 24) == "\033[Ha\033[K\nbc\033[K\n\033[J");
  CHECK(frame_text("", 80, 24) == "\033[H\033[J");
  CHECK(frame_text("a\n\nb\n", 80, 24) == "\033[Ha\033[K\n\033[K\nb\033[K\n\033[J");
}

TEST_CASE("screen: text that does not fit is cut, and nothing scrolls") {
  CHECK(frame_text("abcdef\nb\nc\n", 3, 2) == "\033[Habc\033[K\nb\033[K");
  CHECK(frame_text("a\nb\n", 80, 2) == "\033[Ha\033[K\nb\033[K");
  CHECK(frame_text("\033[31mabcd\033[0m\n", 2, 5) == "\033[H\033[31mab\033[0m\033[K\n\033[J");
}

}  // namespace rlctl::cli::screen_test
