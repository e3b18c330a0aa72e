// Compares each algorithm's script with its model, decision by decision, on each of some servers.
// tests/night/exactness/run builds and starts this program, and has the manual.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "limiter/algorithm.h"
#include "night/exactness/cases.h"
#include "night/exactness/comparison.h"
#include "redis/error.h"
#include "redis/server.h"
#include "support/schedule.h"

namespace rlctl::test {
namespace {

using limiter::Algorithm;

struct Server {
  std::string name, binary;  ///< both empty: the installed one
};

struct Options {
  std::int64_t decisions = 10'000'000;
  std::uint64_t seed = 1;
  bool alternates = false;
  std::vector<const Algorithm*> algorithms;
  std::optional<std::string> script;  ///< instead of the algorithm's own
  std::vector<Server> servers;
};

/// One algorithm on one server.
struct Row {
  std::string server, version;
  const Algorithm* algorithm = nullptr;
  Comparison result = {};
};

std::string file_text(const std::string& path) try {
  return read_all(open_file(path));
} catch (const std::system_error& error) {
  throw UsageError(fmt::format("cannot read {}: {}", path, error.code().message()));
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) throw UsageError(word + " takes a value");
      return words[++i];
    };
    if (word == "-n") {
      options.decisions = parse_whole(value(), word);
      if (options.decisions < 1) throw UsageError("-n must be at least 1");
    } else if (word == "--seed") {
      const auto seed = parse_whole(value(), word);
      if (seed < 0) throw UsageError("--seed must be at least 0");
      options.seed = static_cast<std::uint64_t>(seed);
    } else if (word == "--alternate") {
      options.alternates = true;
    } else if (word == "--algorithm") {
      const auto* found = limiter::find_algorithm(value());
      if (found == nullptr) throw UsageError("no algorithm '" + words[i] + "'");
      options.algorithms.push_back(found);
    } else if (word == "--script") {
      options.script = file_text(value());
    } else if (const auto equals = word.find('='); equals != word.npos) {
      options.servers.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else {
      throw UsageError(fmt::format("unexpected argument '{}'", word));
    }
  }
  if (options.script && options.algorithms.size() != 1) {
    throw UsageError("--script requires the one --algorithm that it replaces");
  }
  if (options.algorithms.empty()) {
    for (const auto& algorithm : limiter::algorithms()) options.algorithms.push_back(&algorithm);
  }
  if (options.servers.empty()) options.servers.emplace_back();
  return options;
}

/// The calls of a case up to a difference, for a shell; of many, the last.
std::string to_commands(const Case& asked, const Algorithm& algorithm, std::size_t last) {
  constexpr std::size_t kMax = 30;
  const auto begin = last < kMax ? 0 : last - kMax;
  std::string text = begin > 0 ? fmt::format("\n    ({} calls before these)", begin) : "";
  for (auto i = begin; i <= last; ++i) {
    text += fmt::format("\n    redis-cli --eval lua/{}.lua", algorithm.name);
    for (const auto& key : asked.steps[i].keys) text += " " + key;
    text += " ,";
    for (const auto& argument : asked.steps[i].arguments) {
      text += " " + (argument.empty() ? "''" : argument);
    }
    if (asked.clocks != Clocks::kCallers) {
      text += fmt::format("   # server's clock: {}", asked.steps[i].servers_clock.count());
    }
  }
  return text;
}

std::string explain(const Algorithm& algorithm, const Difference& difference, bool alternates) {
  if (const auto schedule = schedule_of_case(algorithm, difference.seed, alternates)) {
    TestServer server;
    Differ differ(server, algorithm);
    if (differ.differs(*schedule)) return differ.explain(*schedule);
  }
  const Case asked = make_case(algorithm, difference.seed, "", alternates);
  return to_commands(asked, algorithm, difference.step) + "\n  model:  " + difference.model +
         "\n  script: " + difference.script;
}

std::int64_t rate(const Comparison& result) {
  return result.seconds > 0
             ? static_cast<std::int64_t>(static_cast<double>(result.decisions) / result.seconds)
             : 0;
}

/// The head of a Markdown table.
std::string table_head() {
  return fmt::format("| {:<14} | {:<14} | {:<22} | {:>12} | {:>8} | {:>11} |\n", "server",
                     "version", "algorithm", "decisions", "wrong", "decisions/s") +
         fmt::format("| :{:-<13} | :{:-<13} | :{:-<21} | {:->11}: | {:->7}: | {:->10}: |\n", "", "",
                     "", "", "", "");
}

std::string to_line(const Row& row) {
  return fmt::format("| {:<14} | {:<14} | {:<22} | {:>12} | {:>8} | {:>11} |\n", row.server,
                     row.version, row.algorithm->name, row.result.decisions, row.result.wrong,
                     rate(row.result));
}

/// Runs everything and prints what was done, each row as soon as it is complete.
class Runner {
 public:
  Runner(const Options& options, const Interrupt& interrupt)
      : options_(options), interrupt_(interrupt), progress_(cli::may_draw(STDERR_FILENO)) {}

  void run() {
    std::cout << table_head() << std::flush;
    for (const auto& server : options_.servers) run_on(server);
  }
  /// Prints the row that was begun and not completed, and the sums.
  void finish() {
    if (row_) print();
    std::cout << fmt::format("\n{} decisions, {} wrong\n", decisions_, wrong_);
    std::cout << std::flush;
    if (undecided_ == 0) return;
    std::cerr << fmt::format(
        "tests/night/exactness: {} differences came only while the server was held "
        "up, when keys expire early; run it again on an idle machine\n",
        undecided_);
  }
  std::int64_t wrong() const { return wrong_; }

 private:
  void print() {
    progress_.clear();
    std::cout << to_line(*row_) << std::flush;
    decisions_ += row_->result.decisions;
    undecided_ += row_->result.undecided;
    wrong_ += row_->result.wrong;
    row_.reset();
  }

  void run_on(const Server& server) {
    if (!server.binary.empty()) ::setenv("RLCTL_REDIS_SERVER", server.binary.c_str(), 1);
    const redis::PrivateServer started({.arguments = {}, .interrupt = &interrupt_});
    auto connection = redis::Connection::open(started.url(), std::chrono::minutes{1}, &interrupt_);
    const auto version = redis::version_of(connection);
    const auto shown = version ? redis::display(*version) : "unknown";
    for (const auto* listed : options_.algorithms) {
      Algorithm algorithm = *listed;
      std::string sha1;
      if (options_.script) {
        algorithm.script = *options_.script;
        sha1 = connection.call({"SCRIPT", "LOAD", algorithm.script}).text();
        algorithm.sha1 = sha1;
      }
      row_ = Row{.server = server.name.empty() ? shown : server.name,
                 .version = shown,
                 .algorithm = listed};
      compare(started.url(), algorithm,
              {.seed = options_.seed,
               .decisions = options_.decisions,
               .alternates = options_.alternates},
              interrupt_, row_->result, [&] {
                if (row_->result.first && !explained_) explain_first(algorithm);
                show_progress(*row_);
              });
      print();
      (void)connection.call({"FLUSHALL"});
    }
  }

  /// Shows the first difference at once.
  void explain_first(const Algorithm& algorithm) {
    explained_ = true;
    const auto& first = *row_->result.first;
    auto repeat =
        fmt::format("--algorithm {} --seed {} -n {}", algorithm.name, first.seed, first.step + 1);
    if (options_.alternates) repeat += " --alternate";
    if (options_.script) repeat += " --script FILE";
    if (!options_.servers.front().name.empty()) repeat += " " + row_->server;
    const auto calls = explain(algorithm, first, options_.alternates);
    progress_.clear();
    std::cerr << fmt::format(
        "{} on {}: script and model differ:{}\nTo repeat it: tests/night/exactness/run {}\n",
        algorithm.name, row_->server, calls, repeat);
  }

  void show_progress(const Row& row) {
    if (!progress_.enabled()) return;
    progress_.update(fmt::format(
        "{} on {}: {} %, {}/s, {} wrong; Ctrl-C stops", row.algorithm->name, row.server,
        100 * row.result.decisions / options_.decisions, rate(row.result), row.result.wrong));
  }

  const Options& options_;
  const Interrupt& interrupt_;
  cli::Progress progress_;
  std::int64_t decisions_ = 0, wrong_ = 0, undecided_ = 0;  ///< of the rows that were printed
  std::optional<Row> row_;
  bool explained_ = false;
};

int run(const Options& options) {
  cli::Signals signals;
  Runner runner(options, signals.interrupt());
  int signal = 0;
  std::string failure;
  try {
    runner.run();
  } catch (const Interrupted&) {
    signal = signals.interrupt().signal();
  } catch (const redis::Error& error) {
    failure = error.what();
  }
  runner.finish();
  if (!failure.empty()) std::cerr << "tests/night/exactness: " << failure << '\n';
  if (signal != 0) {
    std::cerr << "tests/night/exactness: interrupted; the figures are of what was done\n";
    cli::die_by(signal);
  }
  return runner.wrong() > 0 || !failure.empty() ? 1 : 0;
}

}  // namespace
}  // namespace rlctl::test

int main(int argc, char** argv) {
  try {
    return rlctl::test::run(rlctl::test::read_options({argv + 1, argv + argc}));
  } catch (const rlctl::UsageError& error) {
    std::cerr << "tests/night/exactness: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "tests/night/exactness: " << error.what() << '\n';
    return 1;
  }
}
