#include "cli/options/options.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options/command_line.h"

namespace rlctl::cli::options_test {
namespace {

using Words = std::vector<std::string>;

constexpr CommandText kCheck{.name = "check", .summary = "ask", .synopsis = "check KEY"};
constexpr CommandText kList{.name = "list", .summary = "list", .synopsis = "list"};
constexpr CommandText kTwice{.name = "twice", .summary = "twice", .synopsis = "check twice"};

struct Line {
  bool json = false, quiet = false, verbose = false, version = false, model = false, now = false;
  std::optional<std::string> port, user, rate, clock, skip, title;
  std::vector<std::string> limits;
  bool waits = false;
  std::optional<std::string> wait;
  CommandLine line;

  Line() {
    line.set_general([this](Options& general) {
      general.group(kConnectionGroup);
      general.value("-p,--port", "PORT", port, "port");
      general.group(kConnectionGroup, Repeats::kNo);
      general.value("--user", "NAME", user, "user");
      general.group("General", Repeats::kNo);
      general.flag("--json", json, "JSON");
      general.flag("-h", quiet, "short help");
      general.flag("-v", version, "version");
    });
    line.add_command(kCheck, [this](Options& options) {
      options.flag("-q,--quiet", quiet, "quiet");
      options.flag("-v,--verbose", verbose, "verbose");
      options.value("--rate", "RATE", rate, "rate").excludes("--model", "no server");
      options.value("--skip", "NUMBER", skip, "skip").needs("--clock", "it is the clock's");
      options.value("--clock", "CLOCK", clock, "clock").once("one is enough");
      options.flag("--model", model, "model");
      options.list("--limit", "LIMIT", limits, "limit").splits_at_commas();
      options.optional_value("--wait", "TIME", waits, into(wait),
                             "a text that must be broken because it does not fit into the line");
      options.group("Options", Repeats::kNo);
      options.value("--args", "TEXT", title, "title");
      options.subcommand(kTwice, [this](Options& twice) { twice.flag("--now", now, "now"); });
    });
    line.add_command(kList, [](Options&) {});
  }

  /// The operands after `check`.
  Words parse(Words arguments) {
    arguments.insert(arguments.begin(), "check");
    line.parse(arguments);
    return line.operands();
  }
};

std::string refusal(const Words& arguments) {
  try {
    Line line;
    line.line.parse(arguments);
    line.line.require_command();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options: a value may look like anything") {
  for (const std::string value : {"", "--json", "-", "[a]", "a=b", "check"}) {
    Line line;
    CHECK(line.parse({"--limit", value}).empty());
    CHECK(line.limits == Words{value});
    CHECK_FALSE(line.json);
  }
  Line several;
  several.parse({"--limit", "[a,b]", "--limit=c,"});
  CHECK(several.limits == Words{"[a", "b]", "c", ""});
}

TEST_CASE("options: a value that is empty is refused after '='") {
  CHECK(refusal({"check", "--limit=", "next"}) == "option '--limit' has an empty value");
}

TEST_CASE("options: operands are kept in order, between options and after --") {
  Line line;
  CHECK(line.parse({"a", "--json", "-", "", "[x,y]", "{}", "list", "--", "--quiet", "++"}) ==
        Words{"a", "-", "", "[x,y]", "{}", "list", "--quiet", "++"});
  CHECK(line.json);
  CHECK_FALSE(line.quiet);
  CHECK(line.line.after_separator() == Words{"--quiet", "++"});
  CHECK(refusal({"check", "++"}) == "unexpected argument '++'");
}

TEST_CASE("options: a command may give a general short option another meaning") {
  Line line;
  line.parse({"-v"});
  CHECK(line.line.options().is_given("--verbose"));
  CHECK_FALSE(line.version);
}

TEST_CASE("options: the first mistake is an unknown name") {
  CHECK(refusal({"check", "--skip", "1", "--limti", "5"}) ==
        "unknown option '--limti'; did you mean '--limit'?");
  CHECK(refusal({"check", "-limit", "5"}) == "unknown option '-limit'; did you mean '--limit'?");
  CHECK(refusal({"check", "-qx"}) == "unknown option '-x'");
  CHECK(refusal({"chekc", "k"}) == "unknown command 'chekc'; did you mean 'check'?");
  CHECK(refusal({"k", "check"}) == "unknown command 'k'");
  CHECK(refusal({"--model", "check"}).starts_with("unknown option '--model'"));
}

TEST_CASE("options: the rules of the options are checked") {
  CHECK(refusal({"check", "--model", "--rate", "9/s"}) ==
        "--rate and --model cannot be combined: no server");
  CHECK(refusal({"check", "--skip", "1"}) == "--skip requires --clock: it is the clock's");
  CHECK(refusal({"check", "--skip", "1", "--clock", "real"}).empty());
  CHECK(refusal({"check", "--clock", "a", "--clock=b"}) ==
        "--clock may be given only once, but 'b' follows 'a'");
  CHECK(refusal({"check", "--limit"}) == "option '--limit' needs a value: --limit LIMIT");
  CHECK(refusal({"check", "--json=x"}) == "option '--json' takes no value");
}

TEST_CASE("options: the words that repeat a run are collected") {
  Line line;
  line.parse({"-p1", "--user", "ann", "--limit=-x", "--limit", "-", "--rate", "1", "--rate", "",
              "--wait=5s", "-q", "--args", "t", "twice", "--now"});
  CHECK(line.line.innermost_command() == &kTwice);
  const auto options = line.line.options();
  CHECK(options.repeated({{"--skip", {"7"}}}, false) == Words{"--quiet", "--rate", "", "--skip",
                                                              "7", "--limit=-x", "--limit", "-",
                                                              "--wait=5s", "--now"});
  CHECK(options.repeated({{"--rate", {}}, {"--limit", {"y"}}, {"--quiet", {}}}, true) ==
        Words{"--limit", "y", "--wait=5s", "--now", "--port", "1"});
}

TEST_CASE("options: what may be given is declared, and everything if that is not enough") {
  const auto parse = [](Line& line, const Words& words) {
    line.line.parse(
        words, [] { return false; }, CommandLine::Declares::kWhatMayBeGiven);
  };
  Line line;
  parse(line, {"check", "-qp1", "k", "--limit=5", "--wait"});
  CHECK(line.quiet);
  CHECK(line.port == "1");
  CHECK(line.limits == Words{"5"});
  CHECK(line.waits);
  CHECK(line.line.operands() == Words{"k"});
  CHECK(line.line.options().repeated({{"--rate", {"1"}}}, false) ==
        Words{"--quiet", "--limit", "5", "--wait"});
  const auto refused = [&](const Words& words, const char* message) {
    Line refusing;
    CHECK_THROWS_WITH_AS(parse(refusing, words), message, UsageError);
  };
  refused({"check", "--limti", "5"}, "unknown option '--limti'; did you mean '--limit'?");
  refused({"check", "--skip", "1"}, "--skip requires --clock: it is the clock's");
  refused({"check", "--limit"}, "option '--limit' needs a value: --limit LIMIT");
}

TEST_CASE("options: help fits 80 columns, and a command of a command has its own") {
  Line line;
  line.parse({});
  const auto help = line.line.help(HelpExtent::kAll);
  std::size_t start = 0;
  for (auto end = help.find('\n'); end != help.npos; end = help.find('\n', start)) {
    CHECK(end - start <= 80);
    start = end + 1;
  }
  CHECK(help.find("      --wait[=TIME]") != help.npos);
  CHECK(help.find("--now") == help.npos);
  line.parse({"twice"});
  CHECK(line.line.help(HelpExtent::kShort).find("--now") != help.npos);
}

TEST_CASE("options: what may follow a line that is still being typed") {
  const auto follow = [](const Words& words) {
    Line line;
    line.line.parse_unfinished(words);
    std::string names;
    for (const auto& option : line.line.options_to_follow()) names += option.word + " ";
    return names;
  };
  CHECK(follow({"check", "--rate", "1", "--clock", "real", "--limit", "5"}) ==
        "--quiet --verbose --skip --limit --wait --args --port --user --json -h -v ");
  Line line;
  line.line.parse_unfinished(Words{"check", "--unknown", "--limit"});
  REQUIRE(line.line.awaited_value());
  CHECK(line.line.awaited_value()->comma_separated);
}

}  // namespace rlctl::cli::options_test
