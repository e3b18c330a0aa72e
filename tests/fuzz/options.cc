// Any words are parsed or refused with a message; what is accepted is accepted again as the command
// line that repeats the run, and means the same; a line being typed is never an error.
#include "cli/options/options.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options/completions.h"
#include "fuzz/fuzz.h"

namespace fuzz::options {

using rlctl::UsageError;
using namespace rlctl::cli;

struct Line {
  bool json = false, quiet = false, now = false;
  std::optional<std::string> port, rate;
  std::vector<std::string> limits;
  OptionalValue wait;
  Options options;

  Line() {
    options.group("Options");
    options.flag("--json", json, "JSON").repeats();
    options.flag("-q,--quiet", quiet, "quiet").repeats().excludes("--json", "of the output");
    options.value("-p,--port", "PORT", port, "port").repeats().once("give one");
    options.value("--rate", "RATE", rate, "rate").repeats().needs("--limit").unless("--json");
    options.list("--limit", "LIMIT", limits, "limit").repeats().comma_separated();
    options.optional_value("--wait", "TIME", wait, "wait").mistakable(is_duration);
    options.flag("--now", now, "now").repeats().excludes("--rate max").needs("check");
  }
};

// A word on each line.
void test(std::string_view input) {
  Parts parts(input);
  std::vector<std::string> words;
  while (!parts.done()) words.emplace_back(parts.until('\n'));
  const auto longest = 4 * input.size() + 500;

  Line line;
  const auto operands = accepted<UsageError>([&] { return line.options.parse(words); }, longest);
  (void)accepted<UsageError>([&] { return Line().options.find_operand(words); }, longest);
  Line typed;
  const auto unfinished = typed.options.parse_unfinished(words);
  require(unfinished.first_operand <= words.size(), "an operand is one of the words");
  (void)typed.options.completions(unfinished.operands);
  for (const auto& word : words) {
    (void)accepted<UsageError>([&] { return parse_between(word, "--n", 1, 100); }, longest);
    (void)accepted<UsageError>([&] { return parse_duration_of(word, "--time"); }, longest);
    (void)accepted<UsageError>([&] { return parse_now(word); }, longest);
  }
  if (!operands) return;
  require(operands->size() <= words.size(), "operands are among the words");
  const auto is_consistent = accepted<UsageError>(
      [&] { return (line.options.require_consistent(*operands), true); }, longest);
  if (!is_consistent) return;

  auto again = line.options.repeated({}, true);
  again.emplace_back("--");
  again.insert(again.end(), operands->begin(), operands->end());
  Line same;
  require(same.options.parse(again) == *operands, "the operands are the same");
  require(same.json == line.json && same.quiet == line.quiet && same.now == line.now &&
              same.port == line.port && same.rate == line.rate && same.limits == line.limits,
          "the options are the same");
}

const Target kTarget("options", test);

}  // namespace fuzz::options
