#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/shell.h"
#include "support/in_process.h"
#include "support/temp_folder.h"

namespace rlctl::cli::words_test {
namespace {

using support::options_in;
using support::run_rlctl;

std::string completion_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"completion", "words", "--"});
  const auto result = run_rlctl(words);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

/// What may stand in place of the last word, in one line without descriptions; what kind of words
/// they are comes first.
std::string words_for(const std::string& typed) {
  std::istringstream text(completion_of(shell_words(typed)));
  std::string words;
  for (std::string line; std::getline(text, line);) {
    words += (words.empty() ? "" : " ") + line.substr(0, line.find('\t'));
  }
  return words;
}

/// A configuration file with two policies and a script.
class Configuration {
 public:
  Configuration() {
    std::ofstream(path_) << "[policy.login]\nkey = 'login:{}'\nlimit = ['5/60s', '20/h']\n"
                            "[policy.api]\nkey = 'api:{}'\nlimit = '100/60s'\n"
                            "[script.counter]\nfile = 'counter.lua'\n";
    std::ofstream(folder_.path() / "counter.lua") << "return 1\n";
  }
  const std::string& path() const { return path_; }

 private:
  support::TempFolder folder_;
  std::string path_ = folder_.path() / "config.toml";
};

}  // namespace

TEST_CASE("completion: commands, before and after general options") {
  const auto help = run_rlctl({"--help"}).out;
  std::istringstream commands(help.substr(help.find("\nCommands ")));
  std::string names = "words";
  for (std::string line; std::getline(commands, line) && line != "Examples:";) {
    if (line.starts_with("  ") && line[2] != ' ') names += line.substr(1, line.find(' ', 2) - 1);
  }
  for (const auto* typed : {"''", "--json ''", "-p 7000 --tls ''", "help ''"}) {
    CAPTURE(typed);
    CHECK(words_for(typed) == names);
  }
}

TEST_CASE("completion: every option that --help shows, at its command") {
  const auto general = options_in(run_rlctl({"--help"}).out);
  std::istringstream commands(words_for("''"));
  for (std::string command; commands >> command;) {
    if (command == "words" || command == "help" || command == "version") continue;
    CAPTURE(command);
    auto expected = options_in(run_rlctl({command, "--help"}).out);
    expected.insert(expected.end(), general.begin(), general.end());
    const auto offered = completion_of({command, "--"});
    for (const auto& option : expected) {
      CAPTURE(option);
      CHECK(offered.find("\n" + option + "\t") != offered.npos);
    }
  }
}

TEST_CASE("completion: the words that words.tsv lists, with their descriptions") {
  const Configuration configuration;
  const support::ScopedVariable variable("RLCTL_CONFIG", configuration.path());
  std::ifstream table(RLCTL_TESTS_DIR "/cli/completion/words.tsv");
  int cases = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    CAPTURE(line);
    const auto tab = line.find('\t');
    CHECK(words_for(line.substr(0, tab)) == line.substr(tab + 1));
    ++cases;
  }
  CHECK(cases > 45);
  CHECK(completion_of({"check", "--algorithm", "gc"}).starts_with("words\ngcra\t"));
  CHECK(completion_of({"check", "--policy", "lo"}) == "words\nlogin\t5/60s,20/1h\n");
}

TEST_CASE("completion: the names come from the file of --config, and from none that has mistakes") {
  const Configuration configuration;
  const support::TempFolder folder;
  const std::string wrong = folder.path() / "wrong.toml";
  std::ofstream(wrong) << "[policy\n";
  const support::ScopedVariable variable("RLCTL_CONFIG", wrong);
  CHECK(words_for("check --policy ''") == "words");
  CHECK(words_for("debug gc") == "files gcra");
  CHECK(words_for("burst x") == "files");
  CHECK(words_for("--config " + configuration.path() + " check --policy ''") == "words login api");
  CHECK(words_for("check --config=" + configuration.path() + " --policy a") == "words api");
}

}  // namespace rlctl::cli::words_test
