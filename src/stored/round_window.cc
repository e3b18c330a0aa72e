#include "stored/round_window.h"

#include <array>

namespace rlctl::stored {
namespace {

constexpr auto kSteps = [] {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  using std::chrono::milliseconds;
  return std::array<microseconds, 32>{
      days{30},          days{7},           days{1},           hours{12},         hours{6},
      hours{2},          hours{1},          minutes{30},       minutes{15},       minutes{10},
      minutes{5},        minutes{2},        minutes{1},        seconds{30},       seconds{20},
      seconds{15},       seconds{10},       seconds{5},        seconds{2},        seconds{1},
      milliseconds{500}, milliseconds{250}, milliseconds{200}, milliseconds{100}, milliseconds{50},
      milliseconds{20},  milliseconds{10},  milliseconds{5},   milliseconds{1},   microseconds{100},
      microseconds{10},  microseconds{1}};
}();

}  // namespace

microseconds roundest_window(const WindowRange& range) {
  for (const auto step : kSteps) {
    const auto multiple = range.most - range.most % step;
    if (multiple >= range.least - kTtlError && multiple.count() > 0) return multiple;
  }
  return range.most;
}

bool is_round_window(microseconds window) {
  constexpr int kFew = 5;
  for (const auto step : kSteps) {
    if (window % step == microseconds{0}) return window / step <= kFew;
  }
  return false;
}

}  // namespace rlctl::stored
