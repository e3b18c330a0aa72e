// Runs the tests of a transcript (transcript.h), each command in this process, and prints TAP:
//
//   rlctl_transcripts [--accept] FILE [HEADING]
//
// --accept writes the output that the commands have into the file, to be read in the diff. It never
// writes a status: a command that ends otherwise has failed all the same.
//
// Besides rlctl, there are a few commands:
//
//   redis WORD…       a command to the server, and its reply
//   write FILE        its standard input, to a file in the test's folder; makes the file's folder
//   copy FILE         a file of the project, to the test's folder
//   cat FILE
//   chmod MODE FILE   with an octal mode
//   env NAME=VALUE…   variables for the rest of the test; rlctl takes an empty one for none
//   without-server    for the rest of the test, rlctl finds no server that it could start
//   keys              a line for each key of the server: NAME TYPE expires|persistent CONTENTS
//   each NAME WORD…   as the first command: runs the rest of the test once for each WORD, which
//                     stands for NAME in commands, their input and their output
//
// In a command, its input and its output, the word FOLDER is the test's folder, and SERVER the
// server's URL.

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/number.h"
#include "base/shell.h"
#include "redis/server.h"
#include "support/in_process.h"
#include "support/temp_folder.h"
#include "transcripts/transcript.h"

namespace rlctl::transcripts {
namespace {

namespace fs = std::filesystem;
using support::Result;
using Words = std::vector<std::string>;

/// Seconds: $RLCTL_TEST_COMMAND_SECONDS, or 60.
unsigned longest_command() {
  const char* given = std::getenv("RLCTL_TEST_COMMAND_SECONDS");
  return given != nullptr ? to_number<unsigned>(given).value_or(60) : 60;
}

/// What the process was like before a command, which may have changed it.
class Surroundings {
 public:
  Surroundings() {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment_.emplace_back(*variable);
    }
  }
  void restore(const fs::path& folder) const {
    ::clearenv();
    for (const auto& variable : environment_) {
      const auto end = variable.find('=');
      ::setenv(variable.substr(0, end).c_str(), variable.substr(end + 1).c_str(), 1);
    }
    fs::current_path(folder);
    ::umask(022);
    std::setlocale(LC_ALL, "C");
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP}) {
      std::signal(number, SIG_DFL);
    }
  }

 private:
  Words environment_;
};

/// What the alarm says, since a handler cannot format it, and to where: a command has another
/// standard error.
std::string hang;
int own_error = -1;

extern "C" void on_alarm(int /*signal*/) {
  [[maybe_unused]] const auto written = ::write(own_error, hang.data(), hang.size());
  ::_exit(1);
}

/// Keeps JSON for tests/schema/validate.
void record(const Words& words, const std::string& out) {
  static int number = 0;
  const char* folder = std::getenv("RLCTL_TEST_JSON");
  if (folder == nullptr || std::ranges::find(words, "--json") == words.end()) return;
  const auto name = fmt::format("{}/transcript-{}-{}", folder, ::getpid(), ++number);
  std::ofstream arguments(name + ".arguments", std::ios::binary);
  arguments << "rlctl" << '\0';
  for (const auto& word : words) arguments << word << '\0';
  std::ofstream(name + ".1", std::ios::binary) << out;
}

std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case redis::ReplyType::kInteger:
      return fmt::format("{}\n", reply.integer());
    case redis::ReplyType::kNil:
      return "(nil)\n";
    case redis::ReplyType::kError:
      return fmt::format("(error) {}\n", reply.text());
    case redis::ReplyType::kArray:
      break;
    default:
      return fmt::format("{}\n", reply.text());
  }
  if (reply.size() == 0) return "(empty)\n";
  std::string text;
  for (std::size_t i = 0; i < reply.size(); ++i) text += reply_text(reply[i]);
  return text;
}

/// Ends the process if a command does not end.
class Alarm {
 public:
  Alarm() { ::alarm(longest_command()); }
  ~Alarm() { ::alarm(0); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Replaces a name where it is a whole word: not the one in RLCTL_REDIS_SERVER.
std::string with_value(std::string text, std::string_view name, std::string_view value) {
  const auto is_of_word = [&](std::size_t at) {
    return at < text.size() &&
           (text[at] == '_' || std::isalnum(static_cast<unsigned char>(text[at])) != 0);
  };
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at)) {
    const auto end = at + name.size();
    if (is_of_word(at - 1) || is_of_word(end)) {
      at = end;
    } else {
      text.replace(at, name.size(), value);
      at += value.size();
    }
  }
  return text;
}

/// How the contents of a type are read and shown: elements, or NAME=VALUE for each two of them.
struct Reading {
  Words before, after = {};  ///< the words of the command, before and after the key
  std::size_t group = 1;
  bool is_sorted = true;
};
const std::map<std::string_view, Reading> kReadings = {
    {"string", {.before = {"GET"}}},
    {"list", {.before = {"LRANGE"}, .after = {"0", "-1"}, .is_sorted = false}},
    {"set", {.before = {"SMEMBERS"}}},
    {"hash", {.before = {"HGETALL"}, .group = 2}},
    {"zset", {.before = {"ZRANGE"}, .after = {"0", "-1", "WITHSCORES"}, .group = 2}},
};

redis::Reply call(redis::Connection& connection, const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return connection.call(redis::Arguments(views));
}

std::string contents_of(redis::Connection& connection, const std::string& key,
                        const std::string& type) {
  if (!kReadings.contains(type)) return "?";
  const auto& reading = kReadings.at(type);
  auto words = reading.before;
  words.push_back(key);
  words.insert(words.end(), reading.after.begin(), reading.after.end());
  const auto reply = call(connection, words);
  if (type == "string") return std::string(reply.text());
  Words elements;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const std::string text(reply[i].text());
    if (i % reading.group == 0) {
      elements.push_back(text);
    } else {
      elements.back() += "=" + text;
    }
  }
  if (reading.is_sorted) std::ranges::sort(elements);
  return fmt::format("{}", fmt::join(elements, " "));
}

std::string text_of_keys(redis::Connection& connection) {
  const auto keys = connection.call({"KEYS", "*"});
  Words names;
  for (std::size_t i = 0; i < keys.size(); ++i) names.emplace_back(keys[i].text());
  std::ranges::sort(names);
  std::string text;
  for (const auto& name : names) {
    const auto type = std::string(connection.call({"TYPE", name}).text());
    const bool expires = connection.call({"PTTL", name}).integer() >= 0;
    text += fmt::format("{} {} {} {}\n", name, type, expires ? "expires" : "persistent",
                        contents_of(connection, name, type));
  }
  return text;
}

/// Whether a command changes what the emptying of a server for the next test would leave.
bool changes_server(const Words& words) {
  static const std::vector<Words> kCommands = {
      {"CONFIG", "SET"}, {"ACL", "SETUSER"}, {"ACL", "DELUSER"}, {"FUNCTION", "LOAD"}};
  return std::ranges::any_of(kCommands, [&](const Words& command) {
    return words.size() >= 2 && std::ranges::equal(command, std::span(words).first(2));
  });
}

/// Runs the tests of one file.
class Runner {
 public:
  Runner(fs::path file, bool accepts)
      : file_(std::move(file)), accepts_(accepts), may_accept_(accepts) {
    std::ofstream(configuration_.path() / "rlctl.toml")
        << "timeout = '120s'\n";  // for slow machines
  }

  /// Returns whether all tests passed.
  bool run(std::string_view only) {
    auto transcript = read_transcript(file_);
    const auto is_chosen = [&](const Test& test) {
      return test.heading.find(only) != test.heading.npos;
    };
    if (std::ranges::none_of(transcript.tests, is_chosen)) {
      throw std::runtime_error(fmt::format("{}: no heading contains '{}'", file_.string(), only));
    }
    std::cout << "1.." << std::ranges::count_if(transcript.tests, is_chosen) << std::endl;
    bool passed = true;
    int number = 0;
    for (auto& test : transcript.tests) {
      if (!is_chosen(test)) continue;
      ++number;
      problems_.clear();
      try {
        run_each(test);
      } catch (const std::exception& error) {
        problems_ += fmt::format("{}:{}: {}\n", file_.string(), test.line, error.what());
      }
      const bool is_good = problems_.empty();
      passed = passed && is_good;
      std::cout << (is_good ? "ok " : "not ok ") << number << ' ' << test.heading << '\n'
                << problems_ << std::flush;
    }
    if (accepts_ && changed_) std::ofstream(file_, std::ios::binary) << text_of(transcript);
    return passed;
  }

 private:
  struct Server {
    redis::PrivateServer server;
    redis::Connection connection;
  };

  /// Runs a test once, or for each word of its first command.
  void run_each(Test& test) {
    name_.clear();
    may_accept_ = accepts_;
    const auto words = shell_words(test.commands.front().text);
    const bool is_repeated = !words.empty() && words.front() == "each";
    if (!is_repeated) return run(test.has_own_server(), test.commands);
    if (words.size() < 3 || std::ranges::find(words, "") != words.end()) {
      throw std::runtime_error("each takes NAME WORD…, and no empty word");
    }
    name_ = words[1];
    for (auto word = words.begin() + 2; word != words.end(); ++word) {
      word_ = *word;
      may_accept_ = accepts_ && word == words.begin() + 2;
      run(test.has_own_server(), std::span(test.commands).subspan(1));
    }
  }

  void run(bool has_own_server, std::span<Command> commands) {
    const support::TempFolder folder;
    folder_ = folder.path();
    std::optional<Server> own;
    if (has_own_server) own.emplace(start());
    if (!own && !shared_) shared_.emplace(start());
    server_ = own ? &*own : &*shared_;
    if (!own) server_->connection.call({"FLUSHALL"});
    environment_ = {{"RLCTL_URL", redis::display(server_->server.url())},
                    {"RLCTL_CONFIG", configuration_.path() / "rlctl.toml"},
                    {"HOME", folder_.string()},
                    {"TZ", "UTC"},
                    {"LC_ALL", "C.UTF-8"},
                    {"TERM", "dumb"}};
    for (auto& command : commands) {
      try {
        run(command);
      } catch (const std::exception& error) {
        problems_ += fmt::format("{}:{}: {}\n", file_.string(), command.line, error.what());
        break;
      }
    }
    surroundings_.restore(root_);
  }

  /// A text of the transcript, as a command has it.
  std::string with_values(const std::string& text) const {
    auto value = name_.empty() ? text : replaced(text, name_, word_);
    value = with_value(std::move(value), "FOLDER", folder_.string());
    return with_value(std::move(value), "SERVER", redis::display(server_->server.url()));
  }

  /// The reverse, except for the word of `each`.
  std::string with_names(const std::string& text) const {
    return replaced(replaced(text, folder_.string(), "FOLDER"),
                    redis::display(server_->server.url()), "SERVER");
  }

  void run(Command& command) {
    hang = fmt::format("{}:{}: does not end: {}\n", file_.string(), command.line, command.text);
    surroundings_.restore(folder_);
    for (const auto& [name, value] : environment_) ::setenv(name.c_str(), value.c_str(), 1);
    Result result;
    {
      const Alarm alarm;
      result = result_of(shell_words(with_values(command.text)), with_values(command.input));
    }
    auto output = lines_of(with_names(result.out), with_names(result.err));
    auto expected = command.output;
    if (!name_.empty()) {
      for (auto& line : expected) line = replaced(line, name_, word_);
    }
    const bool is_same = match(expected, output);
    if (result.status != command.status || (!is_same && !may_accept_)) {
      problems_ += fmt::format("{}:{}: $ {}\n", file_.string(), command.line, command.text);
      if (!name_.empty()) problems_ += fmt::format("  {} is {}\n", name_, word_);
      if (result.status != command.status) {
        problems_ += fmt::format("  its status is {}, not {}\n", result.status, command.status);
      }
      if (!is_same || result.status != command.status) {
        for (const auto& line : expected) problems_ += "  -" + line + "\n";
        for (const auto& line : output) problems_ += "  +" + line + "\n";
      }
    }
    if (may_accept_ && !is_same) {
      if (!name_.empty()) {
        for (auto& line : output) line = replaced(line, word_, name_);
      }
      command.output = accepted(command.output, output);
      changed_ = true;
    }
  }

  Result result_of(Words words, const std::string& input) {
    if (words.empty()) throw std::runtime_error("a command has no words");
    const auto name = words.front();
    words.erase(words.begin());
    if (name == "rlctl") {
      auto result = support::run_rlctl(words, input);
      record(words, result.out);
      return result;
    }
    if (name == "redis") {
      if (shared_ && server_ == &*shared_ && changes_server(words)) {
        throw std::runtime_error(words[0] + " " + words[1] +
                                 " needs a heading that ends with (own server)");
      }
      const auto reply = call(server_->connection, words);
      return {reply.is_error() ? 1 : 0, reply_text(reply), ""};
    }
    if (name == "keys") return {0, text_of_keys(server_->connection), ""};
    if (name == "write" && words.size() == 1) {
      if (const fs::path file = words.front(); file.has_parent_path()) {
        fs::create_directories(file.parent_path());
      }
      std::ofstream(words.front(), std::ios::binary) << input;
      return {};
    }
    if (name == "copy" && words.size() == 1) {
      const fs::path file = words.front();
      fs::copy_file(fs::path(RLCTL_TESTS_DIR).parent_path() / file, file.filename());
      return {};
    }
    if (name == "cat" && words.size() == 1) {
      if (!fs::exists(words.front())) return {1, "", "cat: " + words.front() + ": no such file\n"};
      return {0, support::contents(words.front()), ""};
    }
    if (name == "chmod" && words.size() == 2) {
      const auto mode = to_number<unsigned>(words[0], 8);
      if (!mode) throw std::runtime_error("chmod takes an octal mode, not " + words[0]);
      fs::permissions(words[1], fs::perms(*mode));
      return {};
    }
    if (name == "env") {
      for (const auto& word : words) {
        const auto end = word.find('=');
        if (end == word.npos) throw std::runtime_error("env takes NAME=VALUE, not " + word);
        environment_[word.substr(0, end)] = word.substr(end + 1);
      }
      return {};
    }
    if (name == "without-server" && words.empty()) {
      environment_["PATH"] = "/nowhere";
      environment_["RLCTL_REDIS_SERVER"] = "";
      return {};
    }
    throw std::runtime_error("there is no command " + name);
  }

  static Server start() {
    // A report breaks a long line: the server's URL must have the same length everywhere.
    const support::ScopedVariable folder("TMPDIR", "/tmp");
    redis::PrivateServer server{redis::PrivateServer::Options()};
    auto connection = redis::Connection::open(server.url(), std::chrono::seconds(30));
    return {std::move(server), std::move(connection)};
  }

  const fs::path root_ = fs::current_path();
  fs::path file_;
  bool accepts_;
  Surroundings surroundings_;
  support::TempFolder configuration_;
  std::optional<Server> shared_;
  Server* server_ = nullptr;
  fs::path folder_;
  std::map<std::string, std::string> environment_;
  std::string name_, word_;  ///< of `each`; the name is empty outside of one
  std::string problems_;
  bool may_accept_;       ///< the words of `each` after the first must have the output of the first
  bool changed_ = false;  ///< whether the file must be written
};

}  // namespace
}  // namespace rlctl::transcripts

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const bool accepts = !words.empty() && words.front() == "--accept";
  const std::size_t at = accepts ? 1 : 0;
  if (words.size() <= at || words.size() > at + 2 || words[at].starts_with('-')) {
    std::cerr << "usage: rlctl_transcripts [--accept] FILE [HEADING]\n";
    return 2;
  }
  rlctl::transcripts::own_error = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  std::signal(SIGALRM, rlctl::transcripts::on_alarm);
  try {
    rlctl::transcripts::Runner runner(std::filesystem::absolute(words[at]), accepts);
    return runner.run(words.size() > at + 1 ? words[at + 1] : "") ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
