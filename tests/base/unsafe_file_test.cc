#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/file.h"
#include "support/needs.h"
#include "support/temp_folder.h"

namespace rlctl::unsafe_file_test {
namespace {

namespace fs = std::filesystem;
using enum FileContent;

/// The message and the hint of a refusal; empty if there is none.
struct Refusal {
  std::string message = {}, hint = {};
};

Refusal refusal_of(const fs::path& path, FileContent content) {
  const auto error = unsafe_file(open_file(path), path, "is it", content);
  return error ? Refusal{error->what(), error->hint()} : Refusal{};
}

/// A file of a mode, and of this user and group unless others are given.
struct TestFile {
  explicit TestFile(mode_t mode, std::optional<uid_t> user = {}, std::optional<gid_t> group = {}) {
    const std::ofstream made(path);
    REQUIRE(::chown(path.c_str(), user.value_or(::geteuid()), group.value_or(::getegid())) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  }

  support::TempFolder folder = {};
  fs::path path = folder.path() / "file";
};

/// Who can do what, of a refusal for a mode.
std::string who(const Refusal& refusal) {
  const auto begin = refusal.message.find(", and ");
  if (begin == std::string::npos) return refusal.message;
  return refusal.message.substr(begin + 6, refusal.message.find(" (mode") - begin - 6);
}

bool is_root() {
  return ::geteuid() == 0;
}

constexpr uid_t kOther = 65534;

}  // namespace

TEST_CASE("unsafe file: a secret of this user is for no one else") {
  struct Row {
    mode_t mode;
    const char* refused_for;
  };
  constexpr Row kRows[] = {
      {0600, ""},
      {0400, ""},
      {0700, ""},
      {0000, ""},
      {0640, "its group can read it"},
      {0620, "its group can write it"},
      {0660, "its group can write it"},
      {0604, "any user can read it"},
      {0644, "any user can read it"},
      {0602, "any user can write it"},
      {0666, "any user can write it"},
      {0777, "any user can write it"},
      {0610, ""},
      {0601, ""},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.mode);
    if (row.mode == 0 && !is_root()) continue;
    const TestFile file(row.mode);
    const auto refusal = refusal_of(file.path, kSecret);
    CHECK(who(refusal) == row.refused_for);
    CHECK(refusal.hint == (*row.refused_for != '\0' ? "chmod 600 " + file.path.string() : ""));
    // The group may read what root owns.
    const bool is_shared = is_root() && row.mode == 0640;
    CHECK(who(refusal_of(file.path, kGroupSecret)) == (is_shared ? "" : row.refused_for));
  }
}

TEST_CASE("unsafe file: everyone may read a configuration, and no one else write it") {
  for (const mode_t mode : {0600U, 0644U, 0400U, 0444U, 0755U, 0640U, 0604U}) {
    CAPTURE(mode);
    CHECK(refusal_of(TestFile(mode).path, kConfiguration).message.empty());
  }
  for (const mode_t mode : {0602U, 0646U, 0666U, 0777U, 0622U}) {
    CAPTURE(mode);
    const TestFile file(mode);
    const auto refusal = refusal_of(file.path, kConfiguration);
    CHECK(who(refusal) == "any user can write it");
    CHECK(refusal.hint == "read it, and then: chmod go-w " + file.path.string());
  }
}

TEST_CASE("unsafe file: a group may write a configuration if its owner is alone in it") {
  if (!support::needs_root()) return;
  // Debian's daemon and nogroup: the one is the group of its user alone, the other of several
  // users.
  constexpr gid_t kRoot = 0, kDaemon = 1, kNoGroup = 65534, kUnknown = 54321;
  CHECK(refusal_of(TestFile(0664, 0, kRoot).path, kConfiguration).message.empty());
  for (const gid_t group : {kDaemon, kNoGroup, kUnknown}) {
    CAPTURE(group);
    const TestFile file(0664, 0, group);
    const auto refusal = refusal_of(file.path, kConfiguration);
    CHECK(who(refusal) == "its group can write it");
    CHECK(refusal.message.ends_with("(mode 0664)"));
    CHECK(refusal.hint == "read it, and then: chmod go-w " + file.path.string());
    CHECK(refusal_of(TestFile(0644, 0, group).path, kConfiguration).message.empty());
  }
}

TEST_CASE("unsafe file: a file of another user is refused, whatever its mode") {
  if (!support::needs_root()) return;
  for (const auto content : {kConfiguration, kSecret, kGroupSecret}) {
    const TestFile file(0600, kOther);
    const auto refusal = refusal_of(file.path, content);
    CHECK(refusal.message ==
          file.path.string() + " is it, but belongs to another user (UID 65534)");
    CHECK(refusal.hint.ends_with("chown root " + file.path.string()));
  }
}

TEST_CASE("unsafe file: the file counts that a link leads to, and its folder does not") {
  const TestFile file(0600), open(0666);
  REQUIRE(::chmod(file.folder.path().c_str(), 0777) == 0);
  fs::create_symlink(file.path, open.folder.path() / "safe");
  fs::create_symlink(open.path, file.folder.path() / "unsafe");
  CHECK(refusal_of(open.folder.path() / "safe", kSecret).message.empty());
  CHECK(who(refusal_of(file.folder.path() / "unsafe", kSecret)) == "any user can write it");
}

TEST_CASE("unsafe file: a device and a pipe of this user may be used") {
  for (const auto content : {kConfiguration, kSecret, kGroupSecret}) {
    CHECK(refusal_of("/dev/null", content).message.empty());
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const FileDescriptor reads(ends[0]), writes(ends[1]);
    CHECK_FALSE(unsafe_file(reads, "pipe", "is it", content));
  }
}

}  // namespace rlctl::unsafe_file_test
