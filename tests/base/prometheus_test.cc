#include "base/prometheus.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace rlctl::prometheus_test {
namespace {

using Labels = std::vector<PrometheusLabel>;

}  // namespace

TEST_CASE("each family has its help and its type once, before its samples") {
  std::string out;
  PrometheusWriter metrics(out);
  metrics.family("rlctl_used", "gauge", "Units in use.");
  metrics.sample(Labels{{"policy", "login"}, {"limit", "5/60s"}}, 5);
  metrics.sample(Labels{}, 0.25);
  metrics.family("rlctl_nothing", "gauge", "A family without samples.");
  metrics.family("rlctl_checks_total", "counter", "Checks.");
  metrics.sample(Labels{{"policy", ""}}, 1795263219);
  CHECK(out ==
        "# HELP rlctl_used Units in use.\n"
        "# TYPE rlctl_used gauge\n"
        "rlctl_used{policy=\"login\",limit=\"5/60s\"} 5\n"
        "rlctl_used 0.25\n"
        "# HELP rlctl_checks_total Checks.\n"
        "# TYPE rlctl_checks_total counter\n"
        "rlctl_checks_total 1795263219\n");
}

TEST_CASE("the values of labels are escaped, and bytes that are not UTF-8 become text") {
  std::string out;
  PrometheusWriter metrics(out);
  metrics.family("m", "gauge", "h");
  metrics.sample(Labels{{"key", "a\"b\nd\xff é"}}, 1);
  CHECK(out.ends_with("\nm{key=\"a\\\"b\\nd\\\\xff é\"} 1\n"));
  metrics.sample(Labels{{"key", "\033[2J\a\u009b\u202e"}}, 1);
  CHECK(
      out.ends_with("\nm{key=\""
                    R"(\\x1b[2J\\x07\\xc2\\x9b\\xe2\\x80\\xae)"
                    "\"} 1\n"));
  // A backslash becomes two, as in text output, and each of them is escaped.
  metrics.sample(Labels{{"key", R"(a\xff)"}}, 1);
  CHECK(out.ends_with(R"(m{key="a\\\\xff"} 1)"
                      "\n"));
}

TEST_CASE("the name of a text file ends as node_exporter's collector wants it") {
  CHECK(checked_textfile("/a/b.prom") == "/a/b.prom");
  for (const std::string name : {"", ".prom", "a.prom.tmp", "a.PROM", "prom", "-"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(static_cast<void>(checked_textfile(name)), UsageError);
  }
}

TEST_CASE("a sample is found by its name and all its labels") {
  std::string out;
  PrometheusWriter metrics(out);
  const Labels first{{"file", "a b.prom"}}, second{{"file", "a.prom"}, {"key", "k"}};
  metrics.family("rlctl_last", "gauge", "h");
  metrics.sample(first, 1795263219.521228);
  metrics.sample(second, -3);
  metrics.family("rlctl_last_more", "gauge", "h");
  metrics.sample(Labels{}, 7);
  CHECK(find_prometheus_sample(out, "rlctl_last", first) == 1795263219.521228);
  CHECK(find_prometheus_sample(out, "rlctl_last", second) == -3);
  CHECK(find_prometheus_sample(out, "rlctl_last_more", Labels{}) == 7);
  CHECK_FALSE(find_prometheus_sample(out, "rlctl_last", Labels{}));
  CHECK_FALSE(find_prometheus_sample(out, "rlctl_las", first));
  CHECK_FALSE(find_prometheus_sample("rlctl_last x\nrlctl_last ", "rlctl_last", Labels{}));
  CHECK_FALSE(find_prometheus_sample("", "rlctl_last", Labels{}));
}

}  // namespace rlctl::prometheus_test
