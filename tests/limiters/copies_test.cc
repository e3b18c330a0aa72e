// needs: server
#include <doctest/doctest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limiter/algorithm.h"
#include "support/in_process.h"
#include "support/random.h"
#include "support/temp_folder.h"

// An edited copy of a bundled script is no longer the script that rlctl knows, so it is called and
// read as its head says. It must then get the decisions and the figures of the original.

namespace {

/// The source with a statement that changes nothing, after the head.
std::string edited(std::string source) {
  const auto end_of_head = source.find("\n\n");
  REQUIRE(end_of_head != source.npos);
  return source.insert(end_of_head + 1, "local edited = true\n");
}

std::string replaced(std::string source, const std::string& old, const std::string& text) {
  const auto at = source.find(old);
  REQUIRE(at != source.npos);
  REQUIRE(source.find(old, at + 1) == source.npos);
  return source.replace(at, old.size(), text);
}

/// A script of this source, under a name that no bundled script has.
class Copy {
 public:
  explicit Copy(const std::string& source) : path_((folder_.path() / "copy.lua").string()) {
    const auto configuration = (folder_.path() / "config.toml").string();
    std::ofstream(configuration) << "timeout = '120s'\n";
    configuration_variable_.emplace("RLCTL_CONFIG", configuration);
    std::ofstream(path_) << source;
  }

  /// What `rlctl COMMAND copy.lua WORD…` does.
  support::Result run(const std::string& command, std::vector<std::string> words) const {
    words.insert(words.begin(), {command, path_});
    return support::run_rlctl(std::move(words));
  }

  const std::string& path() const { return path_; }

 private:
  support::TempFolder folder_;
  std::string path_;
  std::optional<support::ScopedVariable> configuration_variable_ = {};
};

/// The parts of a text from these words to those after them.
std::vector<std::string> parts(const std::string& text, const std::string& first,
                               const std::string& last) {
  std::vector<std::string> found;
  for (auto at = text.find(first); at != text.npos; at = text.find(first, at + 1)) {
    found.push_back(text.substr(at, text.find(last, at + first.size()) - at));
  }
  return found;
}

/// Both limiters of a report have the same of these.
void check_same(const std::string& report, const std::string& first, const std::string& last) {
  const auto both = parts(report, first, last);
  CAPTURE(report);
  REQUIRE(both.size() == 2);
  CHECK(both[0] == both[1]);
}

TEST_CASE("an edited copy of each bundled script is called and read as its head says") {
  for (const auto& algorithm : rlctl::limiter::algorithms()) {
    const std::string name(algorithm.name);
    SUBCASE(name.c_str()) {
      CAPTURE(name);
      const Copy copy(edited(std::string(algorithm.script)));
      const bool counts = rlctl::limiter::counts_requests(algorithm);

      if (counts) {
        const auto report =
            copy.run("burst", {"poisson", "--compare", name, "--limit", "5/10s", "--rate", "2/s",
                               "--duration", "60s", "--keys", "2", "--json"});
        CHECK(report.status == 0);
        check_same(report.out, "\"retry_after\":{\"compared\":", ",\"top_denied\"");
        check_same(report.out, "\"remaining\":{\"compared\":", ",\"top_denied\"");
        check_same(report.out, "\"longest_delay_us\":", ",");
      } else {
        const auto report =
            copy.run("burst", {name, "--concurrency", "2", "--crash", "10%", "--json"});
        CHECK(report.status == 0);
        check_same(report.out, "\"sent\":", ",\"refused_while_held\"");
      }

      // lint asks a script that is told of leases for two.
      const auto lint = counts ? copy.run("lint", {"--limit", "1/20s"}) : copy.run("lint", {});
      CHECK(lint.status == 0);
      CHECK(lint.out.starts_with("no findings in 1 script"));
      CHECK(lint.out.ends_with(counts ? " --limit 1/20s\n" : " --concurrency 2\n"));

      const std::string option = counts ? "--limit" : "--concurrency",
                        limit = counts ? "1/20s" : "2";
      CHECK(copy.run("adversary", {option, limit, "--tries", "100", "-q"}).status == 0);

      const auto trace = copy.run("debug", {"-u", "private:", "--trace", "-q"});
      CHECK(trace.status == 0);
      const auto reading = parts(trace.out, "\nreads as allowed, ", "\n");
      REQUIRE(reading.size() == 1);
      const auto remaining = name == "leaky-bucket" ? "remaining 5" : "remaining 4";
      CHECK(reading[0].find(remaining) != std::string::npos);
      CHECK(reading[0].find("reset_after ") != std::string::npos);
    }
  }
}

TEST_CASE("an edited copy of budget is asked for reservations if options say how") {
  const Copy copy(edited(std::string(rlctl::limiter::find_algorithm("budget")->script)));
  const auto report = copy.run(
      "burst",
      {"budget", "--limit", "1000/60s", "--reserve", "100", "--hold", "5s", "--actual", "50..150",
       "--settle-after", "2s~", "--crash", "5%", "--args",
       "{limit} {window_us} '' {cost} '' {event} {reservation} {hold_us}", "--head",
       "settle " + copy.path() + " {limit} {window_us} '' {actual} '' settle {reservation}",
       "--json"});
  CHECK(report.status == 0);
  check_same(report.out, "\"sent\":", ",\"refused\"");
}

TEST_CASE("lint judges the figures of an edited copy") {
  const std::string gcra(rlctl::limiter::find_algorithm("gcra")->script);
  const auto finds = [](const std::string& source, const std::string& finding) {
    const auto lint = Copy(source).run("lint", {"--limit", "2/20s"});
    CAPTURE(lint.out);
    CHECK(lint.out.find("copy.lua: " + finding) != lint.out.npos);
  };
  SUBCASE("remaining") {
    finds(replaced(gcra, "remaining - cost or remaining", "remaining - cost + 1 or remaining"),
          "warning: wrong-remaining: remaining is too high");
  }
  SUBCASE("retry_after") {
    finds(replaced(gcra, "return {0, remaining, retry_after,",
                   "return {0, remaining, retry_after + 1e6,"),
          "note: wrong-wait: A denial's retry_after_us is too long");
  }
}

}  // namespace
