#include "cli/options/options.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/errors/failure.h"

namespace rlctl::cli::options_test {
namespace {

using Words = std::vector<std::string>;

struct Line {
  bool json = false, quiet = false;
  std::optional<std::string> port;
  std::vector<std::string> limits;
  OptionalValue wait;
  Options options;

  Line() {
    options.group("Options");
    options.flag("--json", json, "JSON");
    options.flag("-q,--quiet", quiet, "quiet");
    options.value("-p,--port", "PORT", port, "port");
    options.list("--limit", "LIMIT", limits, "limit");
    options.optional_value("--wait", "TIME", wait, "wait");
  }

  Words parse(const Words& arguments) { return options.parse(arguments); }
};

}  // namespace

TEST_CASE("options: every spelling of a value is accepted") {
  for (const Words& words : std::vector<Words>{
           {"-p", "1"}, {"-p1"}, {"--port", "1"}, {"--port=1"}, {"-qp1"}, {"-p2", "-p1"}}) {
    Line line;
    CHECK(line.parse(words).empty());
    CHECK(line.port == "1");
  }
}

TEST_CASE("options: a value may look like anything") {
  for (const std::string value : {"", "--json", "--", "-", "[a,b]", "a=b", "++"}) {
    Line line;
    CHECK(line.parse({"--limit", value, "--limit=" + value}).empty());
    CHECK(line.limits == Words{value, value});
    CHECK_FALSE(line.json);
  }
}

TEST_CASE("options: operands are kept in order, between options and after --") {
  Line line;
  CHECK(line.parse({"a", "--json", "-", "++", "[x,y]", "--", "--quiet", "--"}) ==
        Words{"a", "-", "++", "[x,y]", "--quiet", "--"});
  CHECK(line.json);
  CHECK_FALSE(line.quiet);
}

TEST_CASE("options: an optional value binds only with =") {
  Line bare;
  CHECK(bare.parse({"--wait", "5s"}) == Words{"5s"});
  CHECK(bare.wait.given);
  CHECK_FALSE(bare.wait.value);
  Line tied;
  CHECK(tied.parse({"--wait=5s"}).empty());
  CHECK(tied.wait.value == "5s");
  Line empty;
  CHECK(empty.parse({"--wait="}).empty());
  CHECK(empty.wait.value == "");
}

TEST_CASE("options: the first operand is found before the other options are known") {
  Line line;
  CHECK(line.options.find_operand(Words{"-p", "1", "check", "--unknown"}).at == 2);
  CHECK(line.options.find_operand(Words{"-q", "--", "check"}).at == 2);
  CHECK(line.options.find_operand(Words{"-q"}).at == 1);
  CHECK(line.options.find_operand(Words{"-q", "--", "check"}).after_separator);
  // Here -- is the value of -p.
  const auto found = line.options.find_operand(Words{"-p", "--", "check"});
  CHECK(found.at == 2);
  CHECK(!found.after_separator);
}

TEST_CASE("options: a later row takes a name over from an earlier one") {
  Line line;
  bool verbose = false;
  line.options.flag("-q,--verbose", verbose, "verbose");
  CHECK(line.parse({"-q"}).empty());
  CHECK(verbose);
  CHECK_FALSE(line.quiet);
}

TEST_CASE("options: the rules of the options are checked") {
  const auto refusal = [](const Words& arguments) -> std::string {
    Options options;
    std::optional<std::string> rate, clock, skip;
    bool model = false;
    options.value("--rate", "RATE", rate, "rate")
        .excludes("--model", "no server")
        .unless("--rate 5/s")
        .excludes("search", "it finds the times");
    options.value("--skip", "NUMBER", skip, "skip").needs("--clock real").unless("--rate max");
    options.value("--clock", "CLOCK", clock, "clock").once("one is enough");
    options.flag("--model", model, "model");
    try {
      options.require_consistent(options.parse(arguments));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal({"--model", "--rate", "9/s"}) ==
        "--rate and --model cannot be combined: no server");
  CHECK(refusal({"--model", "--rate", "9/s", "--rate", "5/s"}).empty());
  CHECK(refusal({"search", "--rate=1/s"}) ==
        "--rate and search cannot be combined: it finds the times");
  CHECK(refusal({"search", "more", "--rate=1/s"}) ==
        "--rate and search cannot be combined: it finds the times");
  CHECK(refusal({"more", "search", "--rate=1/s"}).empty());
  CHECK(refusal({"--skip", "1", "--clock", "virtual"}) == "--skip requires --clock real");
  CHECK(refusal({"--skip", "1", "--clock", "real"}).empty());
  CHECK(refusal({"--skip", "1", "--rate", "max"}).empty());
  CHECK(refusal({"--skip", "1", "--model", "--rate", "1/s"}) ==
        "--rate and --model cannot be combined: no server");
  CHECK(refusal({"--clock", "a", "--clock=b"}) ==
        "--clock may be given only once, but 'b' follows 'a'");
}

TEST_CASE("options: the words that repeat a run are collected") {
  Options options;
  std::optional<std::string> port, rate, seed, quiet;
  std::vector<std::string> files;
  bool strict = false, tls = false;
  options.value("-p,--port", "PORT", port, "port").repeats(Repeats::kWithServer);
  options.flag("--tls", tls, "tls").repeats(Repeats::kWithServer);
  options.list("--file", "FILE", files, "file").repeats();
  options.flag("--strict", strict, "strict").repeats();
  options.value("--rate", "RATE", rate, "rate").repeats();
  options.value("--seed", "NUMBER", seed, "seed").repeats();
  options.value("--quiet", "", quiet, "quiet");
  options.parse(Words{"-p1", "--tls", "--file=-x", "--strict", "--file", "-", "--rate", "1",
                      "--quiet", "1", "--rate", ""});
  CHECK(options.repeated({{"--seed", {"7"}}}, false) ==
        Words{"--file=-x", "--file", "-", "--strict", "--rate", "", "--seed", "7"});
  CHECK(options.repeated({{"--rate", {}}, {"--file", {"y"}}}, true) ==
        Words{"--file", "y", "--strict", "--port", "1", "--tls"});
}

TEST_CASE("options: help fits 80 columns") {
  Line line;
  bool more = false;
  line.options.flag("--an-option-of-uncommon-length", more,
                    "a text that must be broken because it would not fit into the line at all");
  const auto help = line.options.help();
  std::size_t start = 0;
  for (auto end = help.find('\n'); end != help.npos; end = help.find('\n', start)) {
    CHECK(end - start <= 80);
    start = end + 1;
  }
  CHECK(help.find("      --wait[=TIME]") != help.npos);
}

}  // namespace rlctl::cli::options_test
