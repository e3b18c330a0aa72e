#include "cli/terminal/line_editor.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/temp_folder.h"

namespace rlctl::cli::line_history_test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : 0;
}

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

Lines lines_in(const fs::path& path) {
  std::ifstream in(path);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("history: lines are kept in a file private to the user, in folders created for it") {
  const support::TempFolder folder;
  const auto file = folder.path() / "state" / "rlctl" / "history";
  LineHistory history(file);
  CHECK(history.lines().empty());
  CHECK(history.add("step"));
  CHECK(history.add("print a"));
  CHECK(lines_in(file) == Lines{"step", "print a"});
  CHECK(mode_of(file) == 0600);
  CHECK(mode_of(file.parent_path()) == 0700);
  CHECK(mode_of(file.parent_path().parent_path()) == 0700);
  CHECK(LineHistory(file).lines() == Lines{"step", "print a"});
}

TEST_CASE("history: a file that others could read becomes private when a line is added") {
  const support::TempFolder folder;
  const auto file = folder.path() / "history";
  put(file, "one\n");
  fs::permissions(file, fs::perms(0644));
  LineHistory history(file);
  CHECK(history.add("two"));
  CHECK(mode_of(file) == 0600);
  CHECK(lines_in(file) == Lines{"one", "two"});
}

TEST_CASE("history: nothing is written through a link to a pipe, whose mode stays") {
  const support::TempFolder folder;
  const auto pipe = folder.path() / "pipe", link = folder.path() / "history";
  REQUIRE(::mkfifo(pipe.c_str(), 0640) == 0);
  fs::permissions(pipe, fs::perms(0640));
  fs::create_symlink("pipe", link);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  LineHistory history(link);
  CHECK(history.add("a"));
  CHECK(history.lines() == Lines{"a"});
  CHECK(mode_of(pipe) == 0640);
  char byte = 0;
  CHECK(::read(reader.get(), &byte, 1) == -1);
}

TEST_CASE("history: empty and repeated lines are not kept") {
  const support::TempFolder folder;
  const auto file = folder.path() / "history";
  LineHistory history(file);
  CHECK(history.add("a"));
  CHECK_FALSE(history.add("a"));
  CHECK_FALSE(history.add(""));
  CHECK(history.add("b"));
  CHECK(history.add("a"));
  CHECK(history.lines() == Lines{"a", "b", "a"});
  CHECK(lines_in(file) == Lines{"a", "b", "a"});
}

TEST_CASE("history: two histories open at once do not lose each other's lines") {
  const support::TempFolder folder;
  const auto file = folder.path() / "history";
  LineHistory one(file), other(file);
  CHECK(one.add("a"));
  CHECK(other.add("b"));
  CHECK(one.add("c"));
  CHECK(lines_in(file) == Lines{"a", "b", "c"});
}

TEST_CASE("history: a file that is too long keeps its last thousand lines and its mode") {
  const support::TempFolder folder;
  const auto file = folder.path() / "history";
  std::string text;
  for (int i = 1; i <= 1500; ++i) text += "p " + std::to_string(i) + '\n';
  put(file, text);
  const LineHistory history(file);
  REQUIRE(history.lines().size() == LineHistory::kMax);
  CHECK(history.lines().front() == "p 501");
  CHECK(history.lines().back() == "p 1500");
  CHECK(lines_in(file) == history.lines());
  CHECK(mode_of(file) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 1);
}

TEST_CASE("history: if no file can be written, lines are silently kept in memory") {
  const support::TempFolder folder;
  put(folder.path() / "file", "");
  LineHistory in_a_file(folder.path() / "file" / "history");
  CHECK(in_a_file.add("a"));
  CHECK(in_a_file.lines() == Lines{"a"});
  LineHistory is_a_folder(folder.path());
  CHECK(is_a_folder.add("a"));
  LineHistory none("");
  CHECK(none.add("a"));
  CHECK(none.lines() == Lines{"a"});
}

}  // namespace rlctl::cli::line_history_test
