// A time zone file is never read beyond its end; one that is accepted is whole: neither a part of
// it is accepted, nor the file with anything after it.
#include <string>

#include "limiter/calendar.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::zone {

using rlctl::limiter::is_zone_data;

void test(std::string_view input) {
  if (!is_zone_data(input)) return;
  for (std::size_t size = 0; size < input.size(); size += 1 + input.size() / 100) {
    require(!is_zone_data(input.substr(0, size)), "a part of a file is refused");
  }
  require(!is_zone_data(std::string(input) + '\n'), "a file with more after it is refused");
}

const Target kTarget("zone", test);

}  // namespace fuzz::zone
