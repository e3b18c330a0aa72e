// The `rlctl` that is first in PATH while tests/run records JSON. It becomes the real one, in the
// same process, so that signals, descriptors and the exit status are the real ones. If --json is
// given, the real one loads preload.cc. Neither takes part in the product.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

bool asks_for_json(char** arguments) {
  for (; *arguments != nullptr; ++arguments) {
    const std::string_view argument = *arguments;
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool records = argc > 0 && std::getenv("RLCTL_TEST_JSON") != nullptr;
  if (records && asks_for_json(argv + 1)) setenv("LD_PRELOAD", RLCTL_PRELOAD, 1);
  execv(RLCTL_BINARY, argv);
  std::perror(RLCTL_BINARY);
  return 127;
}
