#include "cli/burst/report.h"
#include "base/shell.h"

#include <doctest/doctest.h>

#include <string>

namespace rlctl::cli::report_test {

TEST_CASE("burst report: a ratio reads 1.00 only where it is 1") {
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

}  // namespace rlctl::cli::report_test
