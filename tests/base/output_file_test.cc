#include "base/file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "support/temp_folder.h"

namespace rlctl::cli::output_file_test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator{});
}

}  // namespace

TEST_CASE("output file: the file appears once it is complete, and nothing else is left") {
  const support::TempFolder folder;
  const auto path = folder.path() / "report.csv";
  {
    OutputFile file("--csv", path);
    file.write("a,b\n");
    CHECK(!fs::exists(path));
    file.write("1,2\n");
    file.commit();
  }
  CHECK(content(path) == "a,b\n1,2\n");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("output file: the old file is kept unless the new one is complete") {
  const support::TempFolder folder;
  const auto path = folder.path() / "report.csv";
  put(path, "before");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  {
    OutputFile file("--csv", path);
    file.write("half");
  }
  CHECK(content(path) == "before");
  CHECK(files_in(folder.path()) == 1);
  {
    OutputFile file("--csv", path);
    file.commit();
  }
  CHECK(content(path).empty());
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("output file: a symbolic link stays a link") {
  const support::TempFolder folder;
  const auto target = folder.path() / "target", link = folder.path() / "link";
  put(target, "before");
  fs::create_symlink("target", link);
  OutputFile file("--svg", link);
  file.write("after");
  file.commit();
  CHECK(fs::is_symlink(link));
  CHECK(content(target) == "after");
}

TEST_CASE("output file: a symbolic link to a file that does not exist yet makes that file") {
  const support::TempFolder folder;
  const auto target = folder.path() / "below" / "target", link = folder.path() / "link";
  fs::create_directory(folder.path() / "below");
  fs::create_symlink("below/next", link);
  fs::create_symlink("target", folder.path() / "below" / "next");
  OutputFile file("--svg", link);
  file.write("new");
  file.commit();
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_symlink(folder.path() / "below" / "next"));
  CHECK(content(target) == "new");
  CHECK(files_in(folder.path() / "below") == 2);
}

TEST_CASE("output file: symbolic links that lead in a circle are an error, and stay") {
  const support::TempFolder folder;
  const auto link = folder.path() / "link";
  fs::create_symlink("other", link);
  fs::create_symlink("link", folder.path() / "other");
  CHECK_THROWS_AS(OutputFile("--svg", link), const OutputError&);
  CHECK(fs::is_symlink(link));
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("output file: another user's link in a shared folder is not followed") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make the link of another user");
    return;
  }
  const support::TempFolder folder;
  const auto shared = folder.path() / "shared", target = folder.path() / "target",
             link = shared / "link";
  put(target, "before");
  fs::create_directory(shared);
  for (const std::string to : {"../target", "../missing"}) {
    fs::remove(link);
    fs::create_symlink(to, link);
    REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
    fs::permissions(shared, fs::perms(01777));
    CHECK_THROWS_AS(OutputFile("--svg", link), const OutputError&);
    // Nor if a link of one's own leads to it.
    const auto own = folder.path() / "own";
    fs::create_symlink("shared/link", own);
    CHECK_THROWS_AS(OutputFile("--svg", own), const OutputError&);
    fs::remove(own);
    fs::permissions(shared, fs::perms(0755));
    if (to == "../target") OutputFile("--svg", link).commit();  // nobody else could put it there
  }
  CHECK(fs::is_symlink(link));
  CHECK(content(target).empty());
  CHECK_FALSE(fs::exists(folder.path() / "missing"));
}

TEST_CASE("output file: a file that is not a regular file is written in place") {
  OutputFile file("--svg", "/dev/null");
  file.write("anything");
  file.commit();
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("output file: a file that cannot be written is reported with the option and the name") {
  const support::TempFolder folder;
  const auto missing = (folder.path() / "none" / "x.svg").string();
  CHECK_THROWS_WITH_AS(OutputFile("--svg", missing),
                       ("--svg: cannot write '" + missing + "': no such file or directory").c_str(),
                       OutputError);
  CHECK_THROWS_AS(OutputFile("--svg", folder.path()), OutputError);
  CHECK_THROWS_WITH_AS(OutputFile("--svg", ""), "--svg: the name of the file is empty", UsageError);
}

TEST_CASE("output file: a full disk is an error") {
  OutputFile file("--csv", "/dev/full");
  CHECK_THROWS_AS(file.write("anything"), OutputError);
}

}  // namespace rlctl::cli::output_file_test
