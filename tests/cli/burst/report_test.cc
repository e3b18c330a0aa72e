// needs: server
#include "cli/commands/burst/report.h"

#include <doctest/doctest.h>

#include <string>

#include "base/shell.h"
#include "cli/commands/burst/measures.h"

namespace rlctl::cli::burst::report_test {
namespace {

using namespace std::chrono_literals;

Run run_with(std::chrono::nanoseconds lag, std::chrono::nanoseconds service, int count) {
  Run run{.name = "gcra"};
  auto& timing = run.outcome.timing.emplace();
  for (int i = 0; i < count; ++i) {
    timing.lag.add(lag);
    timing.service.add(service);
    timing.response.add(lag + service);
  }
  return run;
}

}  // namespace

TEST_CASE("text in XML has no character that XML does not allow") {
  CHECK(xml("a<b>&\"\n\x1b") == "a&lt;b&gt;&amp;&quot;\\n\\x1b");
  CHECK(xml("\uFFFE\uFFFF\uFFFD\U0001FFFF") == "\\xef\\xbf\\xbe\\xef\\xbf\\xbf\uFFFD\U0001FFFF");
  CHECK(xml("\xef\xbf") == "\\xef\\xbf");
}

TEST_CASE("burst report: a ratio is shown as 1.00 only if it is exactly 1") {
  CHECK(ratio_text(1) == "1.00");
  CHECK(ratio_text(2) == "2.00");
  CHECK(ratio_text(1.5244) == "1.52");
  CHECK(ratio_text(1.01) == "1.01");
  CHECK(ratio_text(1.001) == "1.001");
  CHECK(ratio_text(0.9999) == "0.9999");
  CHECK(ratio_text(0.5) == "0.50");
  CHECK(ratio_text(1.000000001) == "1.000000001");
  CHECK(ratio_text(100) == "100.00");
  CHECK(ratio_text(10.001) == "10.00");
}

TEST_CASE("burst report: words that a shell would change are quoted") {
  CHECK(shell_quoted("boundary") == "boundary");
  CHECK(shell_quoted("1000/60s") == "1000/60s");
  CHECK(shell_quoted("worst<=1") == "'worst<=1'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("").size() == 2);
  CHECK(command_line({"rlctl", "burst", "a b"}) == "rlctl burst 'a b'");
}

TEST_CASE("burst report: a percentile needs ten longer durations") {
  for (const double percent : {50.0, 75.0, 90.0, 95.0, 99.0, 99.9}) {
    traffic::Histogram histogram;
    for (int i = 1; i < answers_needed(percent); ++i) histogram.add(1us);
    CHECK(!histogram.percentile(percent));
    histogram.add(1us);
    CHECK(histogram.percentile(percent));
  }
}

TEST_CASE("burst report: the reason why a run is invalid includes the numbers") {
  CHECK(why_invalid(run_with(1us, 1ms, 2000)) == std::nullopt);
  CHECK(why_invalid(Run{}) == std::nullopt);
  CHECK(why_invalid(run_with(1200us, 100us, 2000)) ==
        "gcra: the sender fell behind: lag p99 1.20 ms, service p99 100 µs; the times are not "
        "reliable");
  CHECK(why_invalid(run_with(1200us, 100us, 20)) ==
        "gcra: the sender fell behind: lag at most 1.20 ms, service at most 100 µs; the times are "
        "not reliable");
  auto slow = run_with(1us, 1ms, 2000);
  slow.outcome.timing->offered_per_second = 1000;
  slow.outcome.timing->sent_per_second = 812;
  CHECK(why_invalid(slow) ==
        "gcra: the sender fell behind: lag p99 1.00 µs, service p99 1.00 ms, 812/s of 1000/s sent; "
        "the times are not reliable");
}

TEST_CASE(
    "burst report: callers wait for the response, or for the service if there is no schedule") {
  auto run = run_with(1ms, 1ms, 1);
  CHECK(waited_for(*run.outcome.timing).max() == 2ms);
  run.outcome.timing->response = {};
  CHECK(waited_for(*run.outcome.timing).max() == 1ms);
}

}  // namespace rlctl::cli::burst::report_test
