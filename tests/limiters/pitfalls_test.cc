// needs: server
#include "limiters/corpus.h"

namespace rlctl::limiters_test {

TEST_CASE(
    "examples/pitfalls: each limiter allows what it says, and its counterpart keeps the limit") {
  check_folder(RLCTL_TESTS_DIR "/../examples/pitfalls", 50);
}

}  // namespace rlctl::limiters_test
