#include "cli/trial/report.h"

#include <doctest/doctest.h>

#include <string>

#include "base/shell.h"
#include "cli/trial/document.h"

namespace rlctl::cli::trial::report_test {
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

TEST_CASE("burst report: why a sender fell behind is said with its numbers") {
  using namespace std::chrono_literals;
  Run run{.name = "gcra"};
  CHECK(why_late(run) == std::nullopt);
  run.outcome.pace = simulation::Pace{.lag = 1200us, .span = 100ms};
  CHECK(why_late(run) == "gcra: the sender fell behind: requests were sent up to 1.20 ms late");
  run.outcome.pace->span = 120ms;
  CHECK(why_late(run) == std::nullopt);
}

}  // namespace rlctl::cli::trial::report_test
