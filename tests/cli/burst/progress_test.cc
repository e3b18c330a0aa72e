#include "cli/trial/progress.h"

#include <doctest/doctest.h>

#include <string>

#include "base/text.h"

namespace rlctl::cli::trial::progress_test {
using namespace std::chrono_literals;

TEST_CASE("burst progress: the line shows the progress, the results and the time left") {
  const traffic::RealProgress progress{
      .sent = 1000, .allowed = 812, .denied = 188, .seconds = 12.04};
  const RunInProgress run{.name = "gcra", .seconds = 30};
  CHECK(real_progress_text(run, progress, 100) ==
        "gcra  12.0/30.0s  812 allowed  188 denied  eta 18s  Ctrl-C stops");
}

TEST_CASE(
    "burst progress: with several runs the current one is named, and the time left covers all") {
  const traffic::RealProgress progress{.seconds = 10};
  const RunInProgress run{.name = "gcra", .number = 1, .of = 3, .seconds = 30};
  CHECK(real_progress_text(run, progress, 200) ==
        "2/3  gcra  10.0/30.0s  0 allowed  0 denied  eta 50s  Ctrl-C stops");
}

TEST_CASE("burst progress: a narrow line omits the least important parts") {
  const traffic::RealProgress progress{.sent = 1000, .allowed = 812, .denied = 188, .seconds = 12};
  const RunInProgress run{.name = "sliding-window-counter", .number = 0, .of = 2, .seconds = 30};
  CHECK(real_progress_text(run, progress, 75) ==
        "1/2  sliding-window-counter  12.0/30.0s  812 allowed  188 denied  eta 48s");
  CHECK(real_progress_text(run, progress, 40) == "1/2  12.0/30.0s  812 allowed  eta 48s");
  for (std::size_t columns = 10; columns < 120; ++columns) {
    CHECK(display_width(real_progress_text(run, progress, columns)) <= columns);
  }
  CHECK(real_progress_text(run, progress, 1) == "12.0/30.0s");
}

TEST_CASE("burst progress: a run limited by its requests shows their share") {
  const traffic::RealProgress progress{.sent = 250, .seconds = 2};
  const RunInProgress run{.name = "gcra", .requests = 1000};
  CHECK(real_progress_text(run, progress, 30) == "2.0/8.0s  0 allowed  eta 6s");
}

TEST_CASE("burst progress: the wait for the edge of a window is shown") {
  const traffic::RealProgress progress{.until_first = 42'300ms};
  const RunInProgress run{.name = "fixed-window", .number = 0, .of = 2};
  CHECK(real_progress_text(run, progress, 79) ==
        "1/2  fixed-window  waiting 43 s for the edge of a window  Ctrl-C stops");
  CHECK(real_progress_text(run, progress, 40) == "waiting 43 s for the edge of a window");
}

TEST_CASE("burst progress: a search shows what it tried, the rate, and the time left") {
  SearchInProgress search{.name = "my.lua",
                          .number = 1,
                          .of = 3,
                          .tried = "12,000 of 50,000 requests",
                          .count = 12'000,
                          .share = 0.24,
                          .worst = 10,
                          .seconds = 6};
  CHECK(search_progress_text(search, 100) ==
        "2/3  my.lua  24%  12,000 of 50,000 requests  2000/s  worst 10  eta 44s  Ctrl-C stops");
  CHECK(search_progress_text(search, 60) == "2/3  24%  12,000 of 50,000 requests  2000/s  eta 44s");
  search.share = 1;
  CHECK(search_progress_text(search, 80) ==
        "2/3  my.lua  12,000 of 50,000 requests  worst 10  making findings small");
}

}  // namespace rlctl::cli::trial::progress_test
