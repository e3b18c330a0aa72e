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

struct Case {
  const char* typed;
  const char* expected;
};

void check(const std::vector<Case>& cases) {
  for (const auto& one : cases) {
    CAPTURE(one.typed);
    CHECK(words_for(one.typed) == one.expected);
  }
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
  std::istringstream commands(help.substr(help.find("\nCommands:\n") + 11));
  std::string names = "words";
  for (std::string line; std::getline(commands, line) && !line.empty();) {
    if (line.starts_with("  ") && line[2] != ' ') names += line.substr(1, line.find(' ', 2) - 1);
  }
  check({{"''", names.c_str()},
         {"--json ''", names.c_str()},
         {"-p 7000 --tls ''", names.c_str()},
         {"help ''", names.c_str()},
         {"che", "words check"},
         {"-n 2 che", "words check"},
         {"help check ''", "words"},
         {"nothing ''", "words"},
         {"version ''", "words"}});
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

TEST_CASE("completion: an option is not offered again, nor one that it excludes") {
  check({{"check --algorithm gcra --a", "words --askpass"},
         {"check --policy login --li", "words"},
         {"check --limit 5/60s --pol", "words"},
         // A list may go on.
         {"check --limit 5/60s --li", "words --limit"},
         {"burst steady --cl", "words --clock --clients"}});
}

TEST_CASE("completion: values, also after = and after a comma") {
  check({{"check --algorithm g", "words gcra"},
         {"check --algorithm=g", "words --algorithm=gcra"},
         {"burst --algorithm gcra,le", "words gcra,leaky-bucket"},
         {"burst --algorithm=gcra,le", "words --algorithm=gcra,leaky-bucket"},
         {"burst --algorithm al", "words all"},
         {"burst --clock ''", "words virtual real"},
         {"burst --exec ./limiter --exec-clock ''", "words none wall all"},
         {"burst --exec ''", "files"},
         {"run --on-error ''", "words fail allow deny"},
         {"list --sort ''", "words used ratio ttl bytes key"},
         {"burst --replay x --format c", "words combined common caddy cloudfront csv"},
         {"check --limit ''", "words"},
         {"check --cacert ''", "files"},
         {"-s ''", "files"},
         {"--config=x", "files"}});
  CHECK(completion_of({"check", "--algorithm", "gc"}).starts_with("words\ngcra\t"));
}

TEST_CASE("completion: an algorithm that the command refuses is not offered, nor a given one") {
  check({{"check --algorithm c", "words"},
         {"run --algorithm c", "words"},
         {"inspect --algorithm c", "words"},
         {"reset --algorithm c", "words"},
         {"quota --algorithm c", "words"},
         {"burst --algorithm c", "words"},
         {"burst --concurrency 5 --algorithm c", "words concurrency"},
         {"list --algorithm c", "words concurrency"},
         {"burst --algorithm gcra,g", "words"}});
}

TEST_CASE("completion: operands, and what the shell completes") {
  check({{"burst b", "words boundary"},
         {"burst adv", "words adversary"},
         {"burst steady ''", "words"},
         {"burst --replay a.log ''", "files adversary"},
         {"debug gc", "files gcra"},
         {"debug gcra ''", "words"},
         {"lint gc", "files gcra"},
         {"config ''", "words check show path"},
         {"scripts ''", "words list show load export call"},
         {"scripts show gc", "words gcra"},
         {"scripts export ''", "files"},
         {"completion f", "words fish"},
         {"check -- --", "words"},
         // The command after rlctl run KEY --.
         {"run k --limit 5/s -- ''", "program 5"},
         {"--json run k --limit 5/s -- ls --al", "program 6"},
         {"run k --limit 5/s --co", "words --cost --concurrency --config --color"}});
}

TEST_CASE("completion: policies and scripts of the configuration, also of the one in --config") {
  const Configuration configuration;
  {
    const support::ScopedVariable variable("RLCTL_CONFIG", configuration.path());
    check({{"check --policy ''", "words login api"},
           {"config show ''", "words login api counter"},
           {"burst --script co", "files counter"},
           {"debug co", "files concurrency counter"}});
    CHECK(completion_of({"check", "--policy", "lo"}) == "words\nlogin\t5/60s,20/1h\n");
  }
  const support::ScopedVariable variable("RLCTL_CONFIG", "/dev/null");
  const auto named = "--config " + configuration.path();
  check({{"check --policy ''", "words"},
         {(named + " check --policy ''").c_str(), "words login api"},
         {("check --config=" + configuration.path() + " --policy a").c_str(), "words api"}});
}

TEST_CASE("completion: with a wrong configuration, what does not come from it") {
  const support::TempFolder folder;
  const std::string path = folder.path() / "wrong.toml";
  std::ofstream(path) << "[policy\n";
  const support::ScopedVariable variable("RLCTL_CONFIG", path);
  check(
      {{"check --policy ''", "words"}, {"debug gc", "files gcra"}, {"burst --script x", "files"}});
}

}  // namespace rlctl::cli::words_test
