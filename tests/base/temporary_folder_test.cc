#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "support/needs.h"
#include "support/temp_folder.h"

namespace rlctl::temporary_folder_test {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator{});
}

/// A folder for temporary folders.
struct Temporary {
  support::TempFolder folder = {};
  support::ScopedVariable variable{"TMPDIR", folder.path().string()};

  const fs::path& path() const { return folder.path(); }
};

/// Makes a temporary folder, with a file and a link in it, in a process that is killed. Returns its
/// path.
fs::path leave_folder(const fs::path& link_to) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const FileDescriptor reads(ends[0]);
  FileDescriptor writes(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder;
    const std::ofstream file(folder.path() / "file");
    fs::create_symlink(link_to, folder.path() / "link");
    write_all(writes.get(), folder.path().native());
    ::raise(SIGKILL);
  }
  writes.reset();
  fs::path path = read_all(reads);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  REQUIRE(fs::exists(path / "link"));
  return path;
}

void make_old(const fs::path& path, int seconds = 3700) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

}  // namespace

TEST_CASE("temporary folder: it is this user's alone, and removed with all that is in it") {
  const Temporary temporary;
  {
    const TemporaryFolder folder;
    CHECK(folder.path().parent_path() == temporary.path());
    CHECK(fs::status(folder.path()).permissions() == fs::perms::owner_all);
    fs::create_directories(folder.path() / "a" / "b");
  }
  CHECK(files_in(temporary.path()) == 0);
}

TEST_CASE(
    "temporary folder: the next one removes what a process left that was killed an hour ago") {
  const Temporary temporary;
  const support::TempFolder other;
  const std::ofstream kept(other.path() / "kept");
  const auto left = leave_folder(other.path()), young = leave_folder(other.path());
  make_old(left);
  make_old(young, 3500);
  const TemporaryFolder folder;
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(young / "file"));
  CHECK(files_in(other.path()) == 1);
}

TEST_CASE("temporary folder: one in use is kept, however old it is") {
  const Temporary temporary;
  const TemporaryFolder used;
  make_old(used.path(), 1'000'000);
  const TemporaryFolder folder;
  CHECK(fs::exists(used.path() / "rlctl.lock"));
}

TEST_CASE("temporary folder: only what such a folder looks like is removed") {
  const Temporary temporary;
  const support::TempFolder other;
  // A folder of the user's own with a name of this form, one with a longer name, one that others
  // may read, a file, and links.
  const auto own = temporary.path() / "rlctl-backup", longer = temporary.path() / "rlctl-abcdefg",
             shared = temporary.path() / "rlctl-shared", file = temporary.path() / "rlctl-afile";
  for (const auto& each : {own, longer, shared}) fs::create_directory(each);
  for (const auto& each : {longer, shared}) const std::ofstream lock(each / "rlctl.lock");
  for (const auto& each : {own, longer}) fs::permissions(each, fs::perms::owner_all);
  fs::permissions(shared, fs::perms::owner_all | fs::perms::others_read);
  const std::ofstream made(own / "file"), alone(file);
  const auto left = leave_folder(other.path());
  fs::create_directory(other.path() / "linked");
  fs::rename(left, other.path() / "linked" / "left");
  fs::create_directory_symlink(other.path() / "linked" / "left", temporary.path() / "rlctl-linked");
  for (const auto& each : {own, longer, shared, file, other.path() / "linked" / "left"}) {
    make_old(each);
  }
  const auto before = files_in(temporary.path());
  const TemporaryFolder folder;
  CHECK(files_in(temporary.path()) == before + 1);
  CHECK(fs::exists(own / "file"));
  CHECK(fs::exists(other.path() / "linked" / "left" / "file"));
}

TEST_CASE("temporary folder: a folder that another user left is not touched") {
  if (!support::needs_root()) return;
  const Temporary temporary;
  const auto left = leave_folder(temporary.path());
  REQUIRE(::chown(left.c_str(), 65534, 65534) == 0);
  make_old(left);
  const TemporaryFolder folder;
  CHECK(fs::exists(left / "file"));
}

TEST_CASE("temporary folder: a folder that cannot be made is named") {
  const support::ScopedVariable variable("TMPDIR", "/no/such/folder");
  CHECK_THROWS_WITH_AS(static_cast<void>(TemporaryFolder()),
                       "cannot make a folder in /no/such/folder: no such file or directory",
                       OutputError);
}

}  // namespace rlctl::temporary_folder_test
