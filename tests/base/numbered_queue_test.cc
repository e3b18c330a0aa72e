#include "base/numbered_queue.h"

#include <doctest/doctest.h>

#include <string>

namespace base_numbered_queue_test {

using rlctl::NumberedQueue;

TEST_CASE("an entry keeps its number while others are added and removed") {
  NumberedQueue<std::string> queue;
  std::uint64_t oldest = 0;
  // It gets longer and longer, so that it grows while it starts in the middle of its memory.
  for (std::uint64_t number = 0; number < 1000; ++number) {
    CHECK(queue.push(std::to_string(number)) == number);
    if (number % 3 == 0) {
      CHECK(queue.front() == std::to_string(oldest++));
      queue.pop();
    }
  }
  REQUIRE(queue.size() == 1000 - oldest);
  for (auto number = oldest; number < 1000; ++number) {
    CHECK(queue[number] == std::to_string(number));
  }
}

TEST_CASE("an empty queue continues its numbers") {
  NumberedQueue<int> queue;
  CHECK(queue.empty());
  CHECK(queue.push(7) == 0);
  queue.pop();
  CHECK(queue.empty());
  CHECK(queue.push(8) == 1);
  CHECK(queue[1] == 8);
}

}  // namespace base_numbered_queue_test
