#include "base/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "support/needs.h"
#include "support/temp_folder.h"

namespace rlctl::output_file_test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void write_output(const fs::path& path, const std::string& text) {
  OutputFile file("-o", path);
  file.write(text);
  file.commit();
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator{});
}

}  // namespace

TEST_CASE("output file: the file appears once it is complete, and nothing else is left") {
  const support::TempFolder folder;
  const auto path = folder.path() / "report.csv";
  {
    OutputFile file("-o", path);
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
    OutputFile file("-o", path);
    file.write("half");
  }
  CHECK(content(path) == "before");
  CHECK(files_in(folder.path()) == 1);
  {
    OutputFile file("-o", path);
    file.commit();
  }
  CHECK(content(path).empty());
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("output file: a symbolic link stays a link, even if its target is missing") {
  const support::TempFolder folder;
  const auto target = folder.path() / "target", inner = folder.path() / "inner";
  put(target, "before");
  fs::create_directory(inner);
  for (const fs::path to : {"target", "inner/missing"}) {
    CAPTURE(to);
    const auto link = folder.path() / ("to-" + to.filename().string());
    fs::create_symlink(to, link);
    write_output(link, "after");
    CHECK(fs::is_symlink(link));
    CHECK(content(folder.path() / to) == "after");
  }
}

TEST_CASE("output file: links are followed from folder to folder") {
  const support::TempFolder folder;
  const auto& root = folder.path();
  fs::create_directories(root / "a/b");
  fs::create_symlink("a/b", root / "relative");
  fs::create_directory_symlink(root / "a", root / "absolute");
  fs::create_symlink("../../absolute/./b//file", root / "a/b/link");
  write_output(root / "relative/../b/link", "after");
  CHECK(content(root / "a/b/file") == "after");
  fs::create_symlink("circle", root / "circle");
  CHECK_THROWS_AS(OutputFile("-o", root / "circle"), const OutputError&);
  CHECK_THROWS_AS(OutputFile("-o", root / "circle/file"), const OutputError&);
  CHECK_THROWS_AS(OutputFile("-o", root / "a/b/file/x"), const OutputError&);
  for (const std::string end : {"/", "/.", "/.."}) {
    CHECK_THROWS_AS(OutputFile("-o", (root / "a").string() + end), const OutputError&);
  }
}

namespace {

constexpr uid_t kStranger = 65534;

/// A world-writable folder, in which another user may have put files.
class SharedFolder {
 public:
  SharedFolder() {
    put(target_, "before");
    fs::create_directory(shared_);
    open();
  }
  void open() const { fs::permissions(shared_, fs::perms(01777)); }
  void close() const { fs::permissions(shared_, fs::perms(0755)); }
  fs::path target() const { return target_; }
  fs::path operator/(const std::string& name) const { return shared_ / name; }
  /// A link in it; returns its path.
  fs::path link(const std::string& name, const fs::path& to, uid_t owner) const {
    fs::create_symlink(to, shared_ / name);
    REQUIRE(::lchown((shared_ / name).c_str(), owner, owner) == 0);
    return shared_ / name;
  }
  void require_refused(const fs::path& path) const {
    CAPTURE(path);
    const auto before = content(target_);
    CHECK_THROWS_AS(OutputFile("-o", path), const OutputError&);
    CHECK(content(target_) == before);
  }

 private:
  support::TempFolder folder_;
  fs::path target_ = folder_.path() / "target", shared_ = folder_.path() / "shared";
};

}  // namespace

TEST_CASE("output file: another user's link in a shared folder is not followed") {
  if (!support::needs_root()) return;
  const SharedFolder shared;
  for (const std::string to : {"../target", "../missing"}) {
    const auto link = shared.link("to-" + to.substr(3), to, kStranger);
    CHECK_THROWS_AS(OutputFile("-o", link), const OutputError&);
    shared.close();
    OutputFile("-o", link).commit();  // nobody else could put it there
    CHECK(fs::is_symlink(link));
    shared.open();
  }
  CHECK(content(shared.target()).empty());
}

TEST_CASE("output file: another user's link in a shared folder is not followed on the way either") {
  if (!support::needs_root()) return;
  const SharedFolder shared;
  const auto folder = shared.link("folder", "..", kStranger);
  shared.require_refused(folder / "target");
  CHECK_THROWS_AS(static_cast<void>(NewFile("--save", folder / "new")), const OutputError&);
  const auto own = shared.target().parent_path() / "own";
  fs::create_symlink(folder / "target", own);
  shared.require_refused(own);
  fs::remove(own);
  fs::create_symlink(shared.link("last", "../target", kStranger), own);
  shared.require_refused(own);
  OutputFile("-o", shared.link("mine", "../target", ::geteuid())).commit();
  CHECK(content(shared.target()).empty());
}

TEST_CASE(
    "output file: another user's file in a shared folder is not replaced, whatever its mode") {
  if (!support::needs_root()) return;
  const SharedFolder shared;
  const auto path = shared / "file";
  put(path, "theirs");
  REQUIRE(::chown(path.c_str(), kStranger, kStranger) == 0);
  REQUIRE(::chmod(path.c_str(), 06777) == 0);
  CHECK_THROWS_AS(OutputFile("-o", path), const OutputError&);
  CHECK(content(path) == "theirs");
  shared.close();
  OutputFile("-o", path).commit();
  CHECK(fs::status(path).permissions() == fs::perms::all);
}

TEST_CASE("output file: a pipe that nobody reads is an error, and not waited for") {
  const support::TempFolder folder;
  const auto path = folder.path() / "x.prom";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(
      OutputFile("--textfile", path),
      ("--textfile: cannot write '" + path.string() + "': nobody reads from this pipe").c_str(),
      OutputError);
  const FileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  write_output(path, "text");
  CHECK(read_all(reader) == "text");
}

TEST_CASE("output file: an open file without a name is written through its link in /dev/fd") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  OutputFile file("-o", "/dev/fd/" + std::to_string(write_end.get()));
  write_end.reset();
  file.write("text");
  file.commit();
  CHECK(read_all(read_end) == "text");
}

TEST_CASE("output file: a file that cannot be written is reported with the option and the name") {
  const support::TempFolder folder;
  const auto missing = (folder.path() / "none" / "x.svg").string();
  CHECK_THROWS_WITH_AS(OutputFile("-o", missing),
                       ("-o: cannot write '" + missing + "': no such file or directory").c_str(),
                       OutputError);
  CHECK_THROWS_AS(OutputFile("-o", folder.path()), OutputError);
  CHECK_THROWS_WITH_AS(OutputFile("-o", ""), "-o: the name of the file is empty", UsageError);
}

TEST_CASE("output file: a device is written in place, and a full disk is an error") {
  write_output("/dev/null", "anything");
  CHECK(fs::is_character_file("/dev/null"));
  OutputFile file("-o", "/dev/full");
  CHECK_THROWS_AS(file.write("anything"), OutputError);
}

}  // namespace rlctl::output_file_test
