#include "cli/burst/timing_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace rlctl::cli::timing_data_test {
namespace {

using namespace std::chrono_literals;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string json_of(const std::optional<traffic::Timing>& timing) {
  std::string out;
  append_timing_json(out, timing);
  return out;
}

}  // namespace

TEST_CASE("burst timing: without a real clock all is null") {
  CHECK(json_of({}) ==
        R"("server_us_per_call":null,"offered_per_second":null,"achieved_per_second":null,)"
        R"("valid":null,"latency_us":null)");
}

TEST_CASE("burst timing: microseconds have three decimals at most, and what too few say is null") {
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

TEST_CASE("burst timing: of no answer nothing is known") {
  CHECK(holds(json_of(traffic::Timing{}), R"("service":{"n":0,"min":null,"p50":null,)"));
}

TEST_CASE("burst timing: a row of CSV has as many columns as there are names") {
  std::string names, row;
  append_timing_csv_names(names);
  const auto commas = [](const std::string& text) {
    return std::count(text.begin(), text.end(), ',');
  };
  append_timing_csv(row, {}, {});
  CHECK(commas(row) == commas(names));
  CHECK(row.starts_with(",virtual,,,"));
  CHECK(row.find_first_of("0123456789") == row.npos);
  row.clear();
  BurstReport report;
  report.real = {.clients = 3, .pipeline = 4};
  BurstRun run;
  run.outcome.timing.emplace().service.add(2ms);
  append_timing_csv(row, report, run);
  CHECK(commas(row) == commas(names));
  CHECK(row.starts_with(",real,3,4,,,,true,1,2000,,,,,,,2000,2000,0,"));
}

}  // namespace rlctl::cli::timing_data_test
