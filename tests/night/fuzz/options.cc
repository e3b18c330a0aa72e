// Any words are parsed or refused with a message; what is accepted is accepted again as the command
// line that repeats the run, and means the same; a line being typed is never an error.
#include "cli/options/options.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options/command_line.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::options {

using rlctl::UsageError;
using namespace rlctl::cli;

constexpr CommandText kCheck{.name = "check"};
constexpr CommandText kTwice{.name = "twice"};

struct Line {
  bool json = false, help = false, quiet = false, now = false;
  std::optional<std::string> port, rate;
  std::vector<std::string> limits;
  bool waits = false;
  std::optional<std::string> wait;
  CommandLine line;

  Line() {
    line.set_general([this](Options& general) {
      general.flag("--json", json, "JSON");
      general.flag("-h", help, "help");
      general.value("-p,--port", "PORT", port, "port").once("give one");
    });
    line.add_command(kCheck, [this](Options& options) {
      options.flag("-q,--quiet", quiet, "quiet").excludes("--json", "of the output");
      options.value("--rate", "RATE", rate, "rate").needs("--limit");
      options.list("--limit", "LIMIT", limits, "limit").splits_at_commas();
      options.optional_value("--wait", "TIME", waits, into(wait), "wait");
      options.subcommand(kTwice, [this](Options& twice) { twice.flag("--now", now, "now"); });
    });
  }
};

// A word on each line.
void test(std::string_view input) {
  Parts parts(input);
  std::vector<std::string> words;
  while (!parts.done()) words.emplace_back(parts.until('\n'));
  const auto longest = 4 * input.size() + 500;

  Line typed;
  typed.line.parse_unfinished(words);
  (void)typed.line.options_to_follow();
  (void)typed.line.awaited_value();
  for (const auto& word : words) {
    (void)accepted<UsageError>([&] { return parse_between(word, "--n", 1, 100); }, longest);
    (void)accepted<UsageError>([&] { return parse_duration_of(word, "--time"); }, longest);
    (void)accepted<UsageError>([&] { return parse_now(word); }, longest);
  }
  Line line;
  const auto is_accepted =
      accepted<UsageError>([&] { return (line.line.parse(words), true); }, longest);
  if (!is_accepted || line.line.command() == nullptr) return;
  const auto operands = line.line.operands();
  require(operands.size() <= words.size(), "operands are among the words");

  std::vector<std::string> again{"check"};
  if (line.line.innermost_command() == &kTwice) again.emplace_back("twice");
  for (auto& word : line.line.options().repeated({}, true)) again.push_back(std::move(word));
  again.emplace_back("--");
  again.insert(again.end(), operands.begin(), operands.end());
  Line same;
  same.line.parse(again);
  require(same.line.operands() == operands, "the operands are the same");
  require(same.json == line.json && same.quiet == line.quiet && same.now == line.now &&
              same.port == line.port && same.rate == line.rate && same.limits == line.limits,
          "the options are the same");
}

const Target kTarget("options", test);

}  // namespace fuzz::options
