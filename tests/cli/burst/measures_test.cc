#include "cli/commands/burst/measures.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "support/json_record.h"
namespace rlctl::cli::burst::measures_test {
namespace {

using namespace std::chrono_literals;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Report report_of(std::optional<traffic::Timing> timing) {
  Report report{.plan = {.limits = {{.limit = 10, .window = 60s}}, .command = {"rlctl", "burst"}}};
  report.runs.push_back({.name = "gcra"});
  report.runs.front().outcome.timing = std::move(timing);
  return report;
}

std::string json_of(std::optional<traffic::Timing> timing) {
  std::string out;
  append_json(out, report_of(std::move(timing)));
  return recorded("burst", std::move(out));
}

}  // namespace

TEST_CASE("burst timing: without a real clock every value is null") {
  CHECK(holds(json_of({}),
              R"("bytes_per_key":null,"server_us_per_call":null,"offered_per_second":null,)"
              R"("achieved_per_second":null,"valid":null,"latency_us":null,"first_denial_us":)"));
}

TEST_CASE(
    "burst timing: microseconds have at most three decimals, and values from too few samples are "
    "null") {
  traffic::Timing timing;
  timing.achieved_per_second = 1234.56789;
  timing.server_us_per_call = 1.0 / 3;
  for (int i = 0; i < 30; ++i) timing.service.add(1234ns);
  const auto json = json_of(timing);
  CHECK(holds(json, R"("server_us_per_call":0.333,)"));
  CHECK(holds(json, R"("offered_per_second":null,"achieved_per_second":1234.568,"valid":true)"));
  CHECK(holds(json, R"("service":{"n":30,"min":1.234,"p50":1.234,"p75":null,)"));
  CHECK(holds(json, R"("max":1.234,"mean":1.234,"stdev":0},"response":null,"lag":null})"));
}

TEST_CASE("burst timing: without an answer every latency is null") {
  CHECK(holds(json_of(traffic::Timing{}), R"("service":{"n":0,"min":null,"p50":null,)"));
}

}  // namespace rlctl::cli::burst::measures_test
