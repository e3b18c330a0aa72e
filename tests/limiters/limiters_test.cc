// needs: server
#include "limiters/corpus.h"

namespace rlctl::limiters_test {

TEST_CASE("limiters: what is said of them is found, and nothing else") {
  check_folder(RLCTL_TESTS_DIR "/limiters", 40);
}

}  // namespace rlctl::limiters_test
