// Says which mutants the comparison of scripts and models notices. tests/night/mutation/run starts
// this program, linked with the models or with a mutant of them:
//
//   rlctl_mutants DECISIONS ALGORITHM…
//       compares each script with its model; status 1 if they differ
//   rlctl_mutants DECISIONS ALGORITHM -
//       for each file named on standard input, a mutant of the algorithm's script, prints
//       "FILE killed" or "FILE survived"
//
// Status 2 if something else failed.

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"
#include "limiter/algorithm.h"
#include "night/exactness/comparison.h"
#include "redis/error.h"
#include "redis/server.h"

namespace rlctl::test {
namespace {

using limiter::Algorithm;

/// The server's CPU time so far.
double cpu_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  double nanoseconds = 0;
  file >> nanoseconds;
  return nanoseconds / 1e9;
}

/// Compares an algorithm's script on a server that is started again after a script that hangs.
class Judge {
 public:
  explicit Judge(std::int64_t decisions) : decisions_(decisions) {}

  bool differs(const Algorithm& algorithm) {
    for (auto patience = std::chrono::seconds{4};; patience *= 2) {
      if (!server_) server_.emplace();
      const auto before = cpu_seconds(server_->pid());
      Comparison result;
      try {
        compare(server_->url(), algorithm,
                {.seed = 1,
                 .decisions = decisions_,
                 .ends_at_first = true,
                 .prefix = std::to_string(++comparisons_) + ":",
                 .timeout = patience},
                interrupt_, result, [] {});
        return result.first.has_value();
      } catch (const redis::Error& error) {
        const bool hangs = cpu_seconds(server_->pid()) - before > 2;
        const bool is_late = error.failure() == redis::Failure::kTimeout;
        server_.reset();
        // A busy machine is not a reason to call a mutant killed.
        if (!is_late || hangs || patience > std::chrono::minutes{2}) return true;
      } catch (const UsageError&) {
        return true;  // not valid Lua
      }
    }
  }

 private:
  std::int64_t decisions_;
  std::int64_t comparisons_ = 0;
  Interrupt interrupt_;
  std::optional<redis::PrivateServer> server_;
};

void judge_files(Judge& judge, const Algorithm& original) {
  for (std::string path; std::getline(std::cin, path);) {
    const std::string text = read_all(open_file(path));
    Algorithm algorithm = original;
    algorithm.script = text;
    std::cout << path << (judge.differs(algorithm) ? " killed" : " survived") << std::endl;
  }
}

const Algorithm& named(const std::string& name) {
  const auto* found = limiter::find_algorithm(name);
  if (found == nullptr) throw UsageError("no algorithm " + name);
  return *found;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) throw UsageError("expected DECISIONS ALGORITHM...");
  Judge judge(parse_whole(words[0], "DECISIONS"));
  if (words.back() == "-") {
    judge_files(judge, named(words[1]));
    return 0;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (judge.differs(named(words[i]))) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rlctl::test

int main(int argc, char** argv) {
  try {
    return rlctl::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "rlctl_mutants: " << error.what() << '\n';
    return 2;
  }
}
