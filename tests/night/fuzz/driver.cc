#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "night/fuzz/fuzz.h"

namespace fuzz {

void require(bool holds, const char* property, std::string_view shown) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  if (!shown.empty())
    std::fwrite(shown.data(), 1, std::min<std::size_t>(shown.size(), 2000), stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Of the processor, so that other programs do not count. Most inputs take less than 30 ms.
  constexpr std::clock_t kLongest = 2 * CLOCKS_PER_SEC;
  const auto start = std::clock();
  fuzz::targets().front().test({reinterpret_cast<const char*>(data), size});
  fuzz::require(std::clock() - start <= kLongest, "no input takes longer than 2 s");
  return 0;
}
