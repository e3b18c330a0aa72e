#include "exec/clock.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "support/failure.h"
#include "support/temp_folder.h"

namespace exec_clock_test {

namespace fs = std::filesystem;
using namespace rlctl;
using namespace rlctl::exec;
using namespace support;

namespace {

constexpr microseconds kStart{1'767'225'600'123'456};

/// What a command of the shell writes, with a clock's variables.
std::string output_of(const VirtualClock& clock, Clocks clocks, const std::string& command) {
  std::string line = "env -u LD_PRELOAD";
  for (const auto& variable : clock.environment(clocks)) line += " '" + variable + "'";
  line += " " + command;
  FILE* pipe = ::popen(line.c_str(), "r");
  std::string text;
  for (int byte = 0; (byte = std::fgetc(pipe)) != EOF;) text += static_cast<char>(byte);
  ::pclose(pipe);
  return text;
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

}  // namespace

TEST_CASE("only its owner may read a virtual clock, and no file of it is written twice") {
  const TempFolder folder;
  const VirtualClock clock(folder.path(), kStart);
  CHECK(mode_of(clock.path()) == 0600);
  CHECK(fs::file_size(clock.path()) == 16);
  CHECK(mode_of(clock.library()) == 0500);
  CHECK_THROWS_AS(VirtualClock(folder.path(), kStart), OutputError);
  CHECK_THROWS_AS(VirtualClock("/no/such/folder", kStart), OutputError);
}

TEST_CASE("/proc/cpuinfo is hidden from a server, which reads and writes other files as without") {
  const TempFolder folder;
  const VirtualClock clock(folder.path(), kStart);
  const auto read = (folder.path() / "read").string(),
             written = (folder.path() / "written").string();
  // sed opens files with fopen().
  const auto sed = "sh -c 'printf \"one\\ntwo\\n\" >" + read + "; sed -n \"w " + written + "\" " +
                   read + "; sed p " + written +
                   "; sed p /proc/cpuinfo 2>/dev/null || echo hidden'";
  CHECK(output_of(clock, Clocks::kServer, sed) == "one\none\ntwo\ntwo\nhidden\n");
}

TEST_CASE(
    "a clock is followed once its library has been loaded, until the next program is expected") {
  const TempFolder folder;
  VirtualClock clock(folder.path(), kStart);
  // A process that has ended.
  const pid_t none = 0;
  const auto follows = [&](std::string_view said) { return clock.is_followed_by(none, -1, said); };
  CHECK_FALSE(follows(""));
  static_cast<void>(output_of(clock, Clocks::kWall, "true"));
  CHECK(follows("LD_PRELOAD=" + clock.library().string()));
  CHECK_FALSE(follows("ERROR: ld.so: object '" + clock.library().string() +
                      "' from LD_PRELOAD cannot be preloaded (cannot open shared object file): "
                      "ignored."));
  clock.expect_program();
  CHECK_FALSE(follows(""));
}

TEST_CASE("no library is preloaded from a folder whose name would be split") {
  const TempFolder folder;
  for (const std::string letter : {" ", "\t", "\n", ":", ";", "$"}) {
    CAPTURE(letter);
    const auto odd = folder.path() / ("a" + letter + "b");
    fs::create_directory(odd);
    CHECK_THROWS_AS(VirtualClock(odd, kStart), UsageError);
    CHECK(fs::is_empty(odd));
  }
}

TEST_CASE("a library that is preloaded already stays so") {
  const TempFolder folder;
  const VirtualClock clock(folder.path(), kStart);
  const ScopedVariable preload("LD_PRELOAD", "/other.so");
  CHECK(clock.environment(Clocks::kWall).front() ==
        "LD_PRELOAD=" + clock.library().string() + ":/other.so");
}

}  // namespace exec_clock_test
