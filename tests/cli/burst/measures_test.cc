#include "cli/trial/measures.h"

#include <doctest/doctest.h>

#include <string>

#include "cli/commands/burst/report.h"
#include "support/json_record.h"

namespace rlctl::cli::trial::measures_test {
namespace {

using namespace std::chrono_literals;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string json_of(std::optional<simulation::Pace> pace) {
  Report report{.plan = {.limits = {{.limit = 10, .window = 60s}}, .command = {"rlctl", "burst"}}};
  report.runs.push_back({.name = "gcra"});
  report.runs.front().outcome.pace = pace;
  std::string out;
  JsonWriter json(out);
  burst::write_json(json, report, false);
  return recorded("burst", out + '\n');
}

}  // namespace

TEST_CASE("burst pace: without a real clock nothing is known of the sender") {
  CHECK(holds(json_of({}), R"("bytes_per_key":null,"lag_us":null,"sender_kept_up":null,)"));
}

TEST_CASE("burst pace: a late sender may have kept up") {
  simulation::Pace pace{.lag = 1200us, .span = 1s};
  CHECK(holds(json_of(pace), R"("lag_us":1200,"sender_kept_up":true,)"));
  pace.span = 100ms;
  CHECK(holds(json_of(pace), R"("lag_us":1200,"sender_kept_up":false,)"));
}

}  // namespace rlctl::cli::trial::measures_test
