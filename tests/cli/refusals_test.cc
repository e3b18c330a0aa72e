#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "support/in_process.h"
#include "support/random.h"
#include "support/temp_folder.h"

namespace rlctl::cli::refusals_test {
namespace {

using support::contents;
using support::run_rlctl;
using test::is_tried;
using test::scaled;

/// The percentage of rows to try: 25 under a sanitizer.
const auto kShare = scaled(100, 100);

/// The folder in which the commands run, with what they name. There is no server.
class Files {
 public:
  Files() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.path());
    std::filesystem::create_directory("folder");
    write("empty", "");
    write("one.lua", "return 1\n");
    write("two.log", kLog);
    write("-", kLog);
    std::filesystem::create_symlink("two.log", "link");
    write("broken.toml", "url = [\n");
    write("config.toml",
          "[policy.login]\nkey = 'login:%s'\nlimit = '5/60s'\n"
          "[policy.upload]\nkey = 'upload:%s:%s'\nlimit = '10/s'\n"
          "[policy.backup]\nkey = 'backup'\nlimit = '1/h'\n"
          "[policy.mail]\nkey = 'mail:%s'\nalgorithm = 'leaky-bucket'\nlimit = '10/s'\n"
          "[policy.any]\nkey = '%s'\nlimit = ['1/s', '5/min']\n"
          "[script.count]\nfile = 'one.lua'\n");
    std::string many;
    for (int i = 1; i <= 12; ++i) {
      many += "[policy.p" + std::to_string(i) + "]\nkey = 'k'\nlimit = '1/s'\n";
    }
    write("many.toml", many);
    write("empty.lua", "");
    write("lib.lua",
          "#!lua name=limits\nredis.register_function('a', function() return 1 end)\n"
          "redis.register_function('b', function() return 1 end)\n");
    write_script("");
    count_ = std::distance(std::filesystem::directory_iterator("."), {});
  }
  ~Files() { std::filesystem::current_path(before_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// Writes my.lua, which begins with `head`.
  void write_script(const std::string& head) const {
    write("my.lua", std::regex_replace(head + "\nreturn 1\n", std::regex(R"( \\n )"), "\n"));
  }

  /// Whether no command has written or removed a file.
  bool are_unchanged() const {
    const std::filesystem::directory_iterator begin(folder_.path()), end;
    return contents("two.log") == kLog && contents("-") == kLog &&
           std::distance(begin, end) == count_;
  }

 private:
  static constexpr std::string_view kLog = "1767225660.000000 ann 1\n1767225661.000000 ann 1\n";

  static void write(const char* name, std::string_view text) { std::ofstream(name) << text; }

  std::filesystem::path before_;
  support::TempFolder folder_;
  const std::string home_ = folder_.path();
  support::ScopedVariable home_variable_{"HOME", home_};
  support::ScopedVariable config_variable_{"RLCTL_CONFIG", home_ + "/config.toml"};
  support::ScopedVariable url_variable_{"RLCTL_URL", "unix://" + home_ + "/no-server"};
  support::ScopedVariable server_variable_{"RLCTL_REDIS_SERVER", "/nowhere"};
  std::ptrdiff_t count_ = 0;
};

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// A text that ends in "..." is the beginning of the line.
void check_line(std::string_view line, std::string_view expected) {
  if (expected.ends_with("...")) {
    expected.remove_suffix(3);
    line = line.substr(0, expected.size());
  }
  CHECK(line == expected);
}

void check_refusal(const std::vector<std::string>& columns, std::vector<std::string> words,
                   int status, const Files& files) {
  const auto command = words.empty() ? "" : words[0];
  if (columns[0].starts_with("-- rlctl:")) {
    files.write_script(columns[0]);
  } else {
    for (auto& word : shell_words(columns[0])) words.push_back(std::move(word));
  }
  CAPTURE(joined_words(words));
  CAPTURE(columns[0]);
  const auto result = run_rlctl(words, "a\nb\n");
  CHECK(result.status == status);
  CHECK_FALSE(result.has_read_input);
  CHECK(files.are_unchanged());
  const bool is_quota = command == "quota";
  CHECK((is_quota ? result.err : result.out).empty());
  const auto lines = split(is_quota ? result.out : result.err, '\n');

  const std::string hint = columns.size() > 2 ? columns[2] : "";
  if (std::find(words.begin(), words.end(), "--json") != words.end()) {
    const auto end = hint.ends_with("...") ? "" : "\"}}";
    check_line(lines.at(0), R"({"error":{"code":"usage","message":")" + columns.at(1) +
                                R"(","hint":)" + (hint.empty() ? "null}}" : '"' + hint + end));
    return;
  }
  const auto prefix =
      is_quota ? "RATELIMIT UNKNOWN - " : "rlctl: " + (command.empty() ? "" : command + ": ");
  check_line(lines.at(0), prefix + columns.at(1));
  REQUIRE(lines.size() == (hint == "-" ? 2 : 3));
  CHECK(lines.back().empty());
  if (hint.empty()) {
    auto help_of = command.empty() ? "" : command + " ";
    const auto help = run_rlctl({"help", command}).out;
    const auto inner = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return !word.starts_with('-') && run_rlctl({"help", command, word}).out != help;
    });
    if (inner != words.end()) help_of += *inner + " ";
    CHECK(lines[1] == "Try 'rlctl " + help_of + "--help'.");
  } else if (hint != "-") {
    check_line(lines[1], (is_quota ? "hint: " : "  hint: ") + hint);
  }
}

}  // namespace

TEST_CASE("the command line refuses what refusals.tsv lists, with its message and hint") {
  std::ifstream table(RLCTL_TESTS_DIR "/cli/refusals.tsv");
  const Files files;
  std::vector<std::string> first_words;
  int status = 0, cases = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const auto columns = split(line, '\t');
    if (line.starts_with("rlctl")) {
      first_words = shell_words(columns[0].substr(5, columns[0].rfind(" ...") - 5));
      status = columns.size() > 1 ? std::stoi(columns[1]) : 2;
    } else {
      if (!is_tried(++number, kShare)) continue;
      check_refusal(columns, first_words, status, files);
      ++cases;
    }
  }
  CHECK(cases > scaled(400, 400));
}

TEST_CASE("an error has at most two lines, whatever is wrong on the command line") {
  const Files files;
  int options = 0;
  std::size_t number = 0;
  for (const auto& command :
       split(",check,settle,run,inspect,reset,burst,debug,lint,quota,doctor,config", ',')) {
    const auto help = run_rlctl({"help", command.empty() ? "help" : command}).out;
    for (const auto& option : support::options_in(help)) {
      if (!is_tried(++number, kShare)) continue;
      ++options;
      // Few options accept one of these, and there is no server.
      for (const auto* value : {"=", "=-x", ""}) {
        const std::vector<std::string> words{command.empty() ? "check" : command, "k",
                                             option + value};
        CAPTURE(joined_words(words));
        const auto text = run_rlctl(words).err;
        CHECK(std::count(text.begin(), text.end(), '\n') <= 2);
      }
    }
  }
  CHECK(options > scaled(100, 100));
}

}  // namespace rlctl::cli::refusals_test
