// needs: server
#include "limiters/corpus.h"

namespace rlctl::limiters_test {

TEST_CASE("libraries: the worst window is the one that follows from the algorithm") {
  check_folder(RLCTL_TESTS_DIR "/limiters/libraries", 100);
}

}  // namespace rlctl::limiters_test
