#include "cli/options/exec_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/shell.h"
#include "cli/options/completions.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kExec = "--exec";

/// A value of --exec-clock.
struct ClocksRow {
  std::string_view name;
  std::optional<exec::Clocks> clocks;
};
constexpr std::array<ClocksRow, 3> kClocks{
    {{"none", std::nullopt}, {"wall", exec::Clocks::kWall}, {"all", exec::Clocks::kAll}}};

/// "limiter.py" for python3 ./limiter.py --verbose.
std::string name_of_program(const std::vector<std::string>& words) {
  const auto is_file = [](const std::string& word) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(word, ignored);
  };
  const auto file = std::ranges::find_if(words, is_file);
  return std::filesystem::path(file == words.end() ? words.front() : *file).filename().string();
}

}  // namespace

void add_exec_options(Options& options, ExecOptions& target) {
  options
      .list(std::string(kExec), "COMMAND", target.programs,
            "ask this program, with lines of JSON (it answers each with one; see rlctl-exec(7))")
      .completes(complete_file);
  options
      .value("--exec-clock", "CLOCKS",
             into(target.clocks,
                  [](const std::string& text) {
                    return find_named(kClocks, text, "--exec-clock: unknown clocks").clocks;
                  }),
             "clocks of the program that follow the virtual time: none, wall (the time of day), or "
             "all (its timers stop; default: none)")
      .completes(
          [](const CompletionContext&) { return to_completions(kClocks, &ClocksRow::name); });
}

void require_programs(const Options& options, bool has_programs) {
  if (!has_programs && options.is_given("--exec-clock")) {
    throw UsageError("--exec-clock requires --exec");
  }
}

script::ProgramLimiter parse_program(const std::string& text) {
  auto words = shell_words(text);
  if (words.empty() || words.front().empty()) throw UsageError("the command is empty");
  auto name = name_of_program(words);
  return {.name = std::move(name), .words = std::move(words)};
}

std::vector<script::ProgramLimiter> parse_programs(const ExecOptions& options) {
  std::vector<script::ProgramLimiter> programs;
  std::vector<std::string> typed;
  for (const auto& text : options.programs) {
    if (std::ranges::find(typed, text) != typed.end()) continue;
    typed.push_back(text);
    programs.push_back(parsed(kExec, [&] { return parse_program(text); }));
  }
  make_names_differ(programs, typed);
  return programs;
}

}  // namespace rlctl::cli
