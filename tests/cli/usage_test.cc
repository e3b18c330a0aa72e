// needs: server
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "support/in_process.h"
#include "support/temp_folder.h"

namespace rlctl::cli::usage_test {
namespace {

using support::run_rlctl;

/// What a command prints that succeeds.
std::string shown(const std::string& command) {
  CAPTURE(command);
  const auto result = run_rlctl(shell_words(command));
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

const std::string kUsage = "Usage: rlctl [connection] check --limit LIMIT [options] [--] KEY\n";

}  // namespace

TEST_CASE("without a command the help is printed on stderr") {
  const auto result = run_rlctl({});
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("Usage: rlctl [connection] COMMAND [options] [--] [KEY...]\n"));
}

TEST_CASE("--help and help print the same text on stdout, whatever else is asked for") {
  const auto help = shown("check --help");
  CHECK(help.starts_with(kUsage));
  CHECK(contains(help, "\nExamples:\n"));
  for (const auto* form : {"help check", "--help check", "check k --limit 5/60s --help",
                           "check -h --help", "check key --help", "check --wait --now 5 --help"}) {
    CHECK(shown(form) == help);
  }
  CHECK(shown("help help") == shown("--help"));
}

TEST_CASE("after a mistake, the help of the innermost command that was named is advised") {
  CHECK(run_rlctl({"burst", "--bogus"}).err.ends_with("Try 'rlctl burst --help'.\n"));
  CHECK(run_rlctl({"scripts", "load", "-z"}).err.ends_with("Try 'rlctl scripts load --help'.\n"));
}

TEST_CASE("-h shows the usage, a dozen options and two examples on one screen") {
  for (const auto* form : {"check -h", "-h check", "check -qh"}) {
    const auto text = shown(form);
    CHECK(text.starts_with(kUsage));
    CHECK(contains(text, "\n  -q, --quiet "));
    CHECK(contains(text, "\nMore: rlctl check --help; connection options: rlctl --help\n"));
    CHECK(!contains(text, "--textfile"));
  }
  for (const auto* command : cli::commands()) {
    const auto& expected = command->text;
    CAPTURE(expected.name);
    const auto text = shown(fmt::format("{} -h", expected.name));
    constexpr std::ptrdiff_t kLines = 24, kOptions = 12;
    CHECK(std::ranges::count(text, '\n') <= kLines);
    std::ptrdiff_t options = 0, examples = 0;
    std::istringstream lines(text.substr(0, text.find("\nExample")));
    for (std::string line; std::getline(lines, line);) {
      CHECK(display_width(line) <= 80);
      options += line.find_first_of('-') < 7;
    }
    CHECK(options <= kOptions);
    if (!expected.brief.empty()) CHECK(options == 1 + std::ranges::count(expected.brief, ' '));
    std::istringstream last(text.substr(text.find("\nExamples:\n") + 11));
    for (std::string line; std::getline(last, line); ++examples) {
      CHECK(line.starts_with("  "));
      CHECK(contains(line, "rlctl "));
      CHECK(!line.ends_with('\\'));
    }
    CHECK(examples == 2);
  }
  CHECK(contains(shown("scripts load -h"), "\nMore: rlctl scripts load --help;"));
}

TEST_CASE("the help of rlctl groups the commands, and has examples before the connection options") {
  for (const auto* form : {"-h", "--help"}) {
    const auto text = shown(form);
    std::size_t at = 0;
    for (const auto* part :
         {"\nCommands that ask a limiter:\n  check ",
          "\n\nCommands that look at what limiters store, or remove it:\n  inspect ",
          "\n\nCommands that test a limiter:\n  burst ",
          "\n\nCommands that set up rlctl:\n  doctor ",
          "\n\nExamples:\n  rlctl check --limit 5/60s login:alice\n  rlctl burst "}) {
      CAPTURE(part);
      at = text.find(part, at);
      REQUIRE(at != text.npos);
    }
  }
  CHECK(contains(shown("-h"), "\nOptions of a command: see rlctl COMMAND -h\n"));
  CHECK(!contains(shown("-h"), "--port"));
  CHECK(shown("--help").find("\nConnection:\n") > shown("--help").find("\nExamples:\n"));
}

TEST_CASE("the help of check lists the algorithms that count requests and marks the default") {
  const auto help = shown("check --help");
  auto at = help.find("\nAlgorithms:\n");
  REQUIRE(at != help.npos);
  for (const std::string name :
       {"fixed-window", "sliding-window-log", "sliding-window-zset", "sliding-window-counter",
        "token-bucket", "gcra", "leaky-bucket", "budget"}) {
    CAPTURE(name);
    at = help.find("\n  " + name + " ", at);
    REQUIRE(at != help.npos);
    const auto end = help.find('\n', at + 1);
    CHECK(help.substr(at, end - at).ends_with(" (default)") == (name == "sliding-window-log"));
  }
  CHECK(!contains(help, "concurrency"));
  CHECK(contains(help, "see below (default: sliding-window-log;"));
}

TEST_CASE("the version has as many forms as its help, as text and as JSON") {
  const auto text = shown("version");
  for (const auto* form : {"--version", "-V", "check --version", "check -V"}) {
    CHECK(shown(form) == text);
  }
  const auto json = shown("version --json");
  for (const auto* form : {"--json version", "--version --json", "check -V --json"}) {
    CHECK(shown(form) == json);
  }
  for (const auto* form : {"help version", "version --help"}) {
    CHECK(shown(form).starts_with("Usage: rlctl "));
  }
}

TEST_CASE("no output has the password of a URL, whatever characters it has") {
  // Without a scheme, it is a URL only as the value of --url.
  const std::vector<std::string> any_place{"redis://ann:a'sekret@h:x", "redis://ann:a sekret@h:x",
                                           "redis://a\nb:\tsekret@h:x", "unix:ann:sekret@",
                                           "unix:a'sekret@"};
  std::vector<std::string> urls{"unix://ann:sekret@/nowhere", "redis://ann:sekret@h/x",
                                "redis://ann:sek%zzsekret@h", "redis://sekret@h:99999",
                                "http://ann:sekret@h",        "ann:sekret@h"};
  urls.insert(urls.end(), any_place.begin(), any_place.end());
  const auto check = [](const std::string& command, const std::string& url) {
    auto words = shell_words(command);
    for (auto& word : words) {
      if (const auto at = word.find("URL"); at != word.npos) word.replace(at, 3, url);
    }
    CAPTURE(joined_words(words));
    const auto result = run_rlctl(words);
    CHECK(result.status >= 2);
    CHECK(!contains(result.out + result.err, "sekret"));
  };
  for (const auto& url : urls) check("-u URL check k --limit 9/60s", url);
  for (const auto& url : any_place) {
    for (const auto* command : {"-u URL check --limit 9/60s --batch --json",
                                "check k URL --limit 9/60s",
                                "check k URL --limit 9/60s --json",
                                "check k --limit URL",
                                "check k --limit 9/60s --algorithm URL",
                                "check k --limit 9/60s --algorithm gcra --burst URL",
                                "check k --limit 9/60s --cost URL",
                                "check k --limit 9/60s --cost URL --peek",
                                "check k --limit 9/60s --now URL",
                                "check k --limit 9/60s --wait=URL",
                                "check k --limit 9/60s --on-error URL",
                                "check k --limit 9/60s --timeout URL",
                                "check k --limit 9/60s -p URL",
                                "check k --limit 9/60s -n URL",
                                "check k --limit 9/60s --batch URL",
                                "check --limit 9/60s --batch=k URL",
                                "check k --limit 9/60s --frobnicateURL",
                                "check k --limit 9/60s --frobnicate=URL",
                                "check k --limit 9/60s --quiet=URL",
                                "URL",
                                "help URL"}) {
      check(command, url);
    }
  }
}

TEST_CASE("no output has a password of the configuration, whatever is wrong with it") {
  const support::TempFolder folder;
  const std::string path = folder.path() / "config.toml";
  const support::ScopedVariable config("RLCTL_CONFIG", path);
  const support::ScopedVariable url("RLCTL_URL", "");
  const std::string policy =
      "url = 'unix:///no-server'\n"
      "[policy.p]\nkey = 'redis://u:geheim@%d'\nalgorithm = 'redis://u:geheim@h'\n"
      "limit = 'redis://u:geheim@h'\nburst = 'redis://u:geheim@h'";
  for (const auto& text :
       std::vector<std::string>{"url = 'redis://u:geheim@h:x'", "url = 'redis:/u:geheim@h'",
                                "url = 'redis://u:geheim@h", "url = redis://u:geheim@h",
                                "url = ['redis://u:geheim@h']", "timeout = 'redis://u:geheim@h'",
                                "urk = 'redis://u:geheim@h'", "url = 'redis://geheim'@h", policy}) {
    CAPTURE(text);
    std::ofstream(path) << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    for (const std::string command :
         {"config check", "config show", "config show --json", "config check --json",
          "check k --limit 5/s", "check --policy p k"}) {
      CAPTURE(command);
      const auto result = run_rlctl(shell_words(command));
      CHECK(result.status >= 2);
      CHECK(!contains(result.out + result.err, "geheim"));
    }
  }
}

TEST_CASE("a password in a part of a URL that rlctl does not know is not shown") {
  const support::TempFolder folder;
  const std::string path = folder.path() / "config.toml";
  for (const std::string url :
       {"redis://h:1?password=hunter2", "redis://h:1/0?password=hunter2", "redis://h:1#hunter2",
        "unix:///x?password=hunter2", "unix:///x?db=0&password=hunter2", "h:1?password=hunter2",
        "redis:h?password=hunter2", "redis:/h?password=hunter2", "redis://h:1/0&password=hunter2",
        "redis+cluster://a,b?password=hunter2", "redis+sentinel://a/m?password=hunter2"}) {
    CAPTURE(url);
    const auto check = [&](std::vector<std::string> words) {
      for (const auto* form : {"", "--json"}) {
        if (*form != '\0') words.emplace_back(form);
        const auto result = run_rlctl(words);
        CHECK(result.status >= 2);
        CHECK(!contains(result.out + result.err, "hunter2"));
      }
    };
    check({"check", "k", "--limit", "5/60s", "-u", url});
    std::ofstream(path) << "url = '" << url << "'\n";
    const support::ScopedVariable config("RLCTL_CONFIG", path);
    {
      const support::ScopedVariable variable("RLCTL_URL", url);
      check({"check", "k", "--limit", "5/60s"});
    }
    const support::ScopedVariable variable("RLCTL_URL", "");
    check({"check", "k", "--limit", "5/60s"});
    check({"config", "check"});
  }
}

}  // namespace rlctl::cli::usage_test
