// needs: server
#include "redis/server.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "support/failure.h"
#include "support/fake_cluster.h"
#include "support/temp_folder.h"

namespace rlctl::redis::private_server_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace support;

namespace {

bool answers(const Url& url) {
  try {
    return Connection::open(url, 120s).call({"PING"}).text() == "PONG";
  } catch (const Error&) {
    return false;
  }
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void write_file(const fs::path& path, const std::string& text, fs::perms mode) {
  std::ofstream(path) << text;
  fs::permissions(path, mode);
}

// Starts a server in a child process, then kills the child; returns the server's URL.
Url orphan() {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const FileDescriptor from(pipe[0]);
  FileDescriptor to(pipe[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const PrivateServer server;
      const auto& path = server.url().path;
      if (::write(to.get(), path.data(), path.size()) > 0) {
        to.reset();
        for (;;) ::pause();
      }
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(1);
  }
  to.reset();
  std::array<char, 256> buffer;
  const auto size = ::read(from.get(), buffer.data(), buffer.size());
  REQUIRE(size > 0);
  Url url;
  url.scheme = Scheme::kUnix;
  url.path.assign(buffer.data(), static_cast<std::size_t>(size));
  CHECK(answers(url));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return url;
}

}  // namespace

TEST_CASE("a private server answers on a socket that only its user can reach, with its options") {
  const PrivateServer server({.arguments = {"--maxmemory", "64mb"}});
  CHECK(answers(server.url()));
  struct stat status {};
  REQUIRE(::stat(server.folder().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(status.st_uid == ::geteuid());
  auto connection = Connection::open(server.url(), 120s);
  const char* const options[][2] = {
      {"port", "0"}, {"save", ""}, {"appendonly", "no"}, {"maxmemory", "67108864"}};
  for (const auto& row : options) {
    const auto& [option, value] = row;
    CAPTURE(row[0]);
    CHECK(connection.call({"CONFIG", "GET", option})[1].text() == value);
  }
  // The terminal's Ctrl-C does not reach it.
  CHECK(::getsid(server.pid()) == server.pid());
}

TEST_CASE("a private server that goes out of scope leaves nothing behind") {
  const TempFolder folder;
  const ScopedVariable tmpdir("TMPDIR", folder.path().string());
  pid_t pid = 0;
  {
    const PrivateServer server;
    pid = server.pid();
    CHECK(server.folder().parent_path() == folder.path());
    CHECK(entries(folder.path()) == 1);
  }
  CHECK(entries(folder.path()) == 0);
  CHECK(::kill(pid, 0) == -1);
  CHECK(errno == ESRCH);
}

TEST_CASE("a private server is emptied, in every database") {
  PrivateServer server;
  auto connection = Connection::open(server.url(), 120s);
  for (int round = 0; round < 2; ++round) {
    CHECK(support::answers(connection, "SELECT 0; SET k 1; SELECT 3; SET k 1") == "OK; OK; OK; OK");
    server.remove_keys();
    for (const auto* database : {"0", "3"}) {
      static_cast<void>(connection.call({"SELECT", database}));
      CHECK(connection.call({"DBSIZE"}).integer() == 0);
    }
  }
}

TEST_CASE("a private server can be moved") {
  std::optional<PrivateServer> first(std::in_place), second(std::in_place);
  const Url gone = second->url();
  const Url stays = first->url();
  *second = std::move(*first);
  CHECK_FALSE(answers(gone));
  CHECK(answers(stays));
  PrivateServer third = std::move(*second);
  second.reset();
  first.reset();
  CHECK(third.url() == stays);
  CHECK(answers(stays));
}

TEST_CASE("a private server dies with its process, even after kill -9") {
  const TempFolder folder;
  const ScopedVariable tmpdir("TMPDIR", folder.path().string());
  const Url url = orphan();
  for (int i = 0; i < 24'000 && answers(url); ++i) ::poll(nullptr, 0, 5);
  CHECK_FALSE(answers(url));
}

TEST_CASE("if a server does not start, its message is quoted and no folder is left") {
  const TempFolder folder;
  const ScopedVariable tmpdir("TMPDIR", folder.path().string());
  const auto error = error_of([] {
    const PrivateServer server({.arguments = {"--maxmemory", "much"}});
  });
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(contains(error.what(), "did not start: "));
  CHECK(contains(error.what(), "argument must be a memory value"));
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("if no server is installed, the error names the packages that have one") {
  const TempFolder empty;
  const ScopedVariable binary("RLCTL_REDIS_SERVER", std::nullopt);
  const ScopedVariable path("PATH", empty.path().string());
  const auto error = error_of([] { const PrivateServer server; });
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(contains(error.what(), "no redis-server"));
  CHECK(contains(error.hint(), "redis-tools"));

  const ScopedVariable missing("RLCTL_REDIS_SERVER", "/no/such/server");
  CHECK(contains(error_of([] { const PrivateServer server; }).what(), "'/no/such/server'"));
}

TEST_CASE("a server is found in PATH under any of its names, and started under a server's name") {
  const TempFolder bin;
  const ScopedVariable binary("RLCTL_REDIS_SERVER", std::nullopt);
  const ScopedVariable path("PATH", "/no/such/folder:" + bin.path().string());
  for (const char* name :
       {"valkey-check-rdb", "redis-check-rdb", "valkey-server", "redis-server"}) {
    write_file(bin.path() / name, std::string("#!/bin/sh\necho this is ") + name + "\nexit 1\n",
               fs::perms::owner_all);
    CHECK(contains(error_of([] { const PrivateServer server; }).what(),
                   std::string("this is ") + name));
  }
}

TEST_CASE("a program that is no server and a temporary folder that cannot be used are named") {
  const TempFolder folder;
  const auto deep = folder.path() / std::string(100, 'd');
  fs::create_directory(deep);
  struct Case {
    std::string tmpdir;
    Failure failure;
    const char *message, *hint;
  };
  const Case cases[] = {
      {folder.path(), Failure::kUnreachable, "did not start: it said nothing", ""},
      {deep, Failure::kUsage, "too long for a unix socket", "TMPDIR"},
      {"/no/such/folder", Failure::kUnreachable,
       "cannot make a folder in /no/such/folder: no such file", ""}};
  const ScopedVariable binary("RLCTL_REDIS_SERVER", "/bin/true");
  for (const auto& each : cases) {
    CAPTURE(each.tmpdir);
    const ScopedVariable tmpdir("TMPDIR", each.tmpdir);
    const auto error = error_of([] { const PrivateServer server; });
    CHECK(error.failure() == each.failure);
    CHECK(contains(error.what(), each.message));
    CHECK(contains(error.hint(), each.hint));
  }
  CHECK(fs::is_empty(deep));
}

}  // namespace rlctl::redis::private_server_test
