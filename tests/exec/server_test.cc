// needs: server
#include "exec/server.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

#include "base/time.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "redis/url.h"
#include "support/failure.h"
#include "support/random.h"
#include "support/temp_folder.h"

namespace exec_server_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::exec;
using namespace support;
using rlctl::redis::Connection;
using rlctl::redis::Failure;

namespace {

constexpr microseconds kStart{1'767'225'600'000'000};

bool has_key_in_last_ms(ClockedServer& server) {
  return std::ranges::any_of(server.ttls(), [](const auto ttl) { return ttl.count() == 0; });
}

/// A server under a virtual clock, and a client's connection to it.
struct Rig {
  Rig() : clock(folder.path(), kStart), server(&clock) {}

  std::string text(std::initializer_list<std::string_view> command) {
    return std::string(client.call(command).text());
  }
  std::int64_t integer(std::initializer_list<std::string_view> command) {
    return client.call(command).integer();
  }
  microseconds time(std::initializer_list<std::string_view> command) {
    return redis::server_time(client.call(command));
  }

  TempFolder folder;
  VirtualClock clock;
  ClockedServer server;
  Connection client = Connection::open(redis::parse_url(server.url()), 120s);
};

/// A program that starts the same server as this test's others.
std::string server_program(const TempFolder& folder, const redis::PrivateServer& running) {
  if (const char* chosen = std::getenv("RLCTL_REDIS_SERVER")) return chosen;
  // The name matters to programs that are servers under a server's name only.
  auto link = folder.path() / "redis-server";
  fs::create_symlink(fs::read_symlink("/proc/" + std::to_string(running.pid()) + "/exe"), link);
  return link;
}

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

}  // namespace

TEST_CASE("a server's time, a script's time, TTLs and the end of keys follow the virtual clock") {
  Rig rig;
  rig.server.verify();
  CHECK(rig.clock.now() == kStart);
  CHECK(rig.integer({"DBSIZE"}) == 0);

  rlctl::test::Random random;
  auto now = kStart;
  int wrong = 0;
  for (int step = 0; step < 400; ++step) {
    CAPTURE(step);
    // The last hundred go back.
    const microseconds by(random.uniform(0, 10'000'000));
    now += step < 300 ? by : -by;
    rig.clock.set(now);
    if (rig.time({"TIME"}) != now) ++wrong;
    if (rig.time({"EVAL", "return redis.call('TIME')", "0"}) != now) ++wrong;
    // A key lives through the millisecond in which it ends.
    const std::chrono::milliseconds ttl(random.uniform(2, 5'000));
    rig.text({"SET", "k", "v", "PX", std::to_string(ttl.count())});
    const auto set_at = std::chrono::floor<std::chrono::milliseconds>(now);
    const std::chrono::milliseconds passed(random.uniform(1, ttl.count() - 1));
    rig.clock.set(set_at + passed);
    if (rig.integer({"PTTL", "k"}) != (ttl - passed).count()) ++wrong;
    if (has_key_in_last_ms(rig.server)) ++wrong;
    rig.clock.set(set_at + ttl + 999us);
    if (rig.text({"GET", "k"}) != "v") ++wrong;
    if (!has_key_in_last_ms(rig.server)) ++wrong;
    rig.clock.set(set_at + ttl + 1ms);
    if (!rig.client.call({"GET", "k"}).is_nil()) ++wrong;
    if (has_key_in_last_ms(rig.server)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a server removes no key by itself, so a clock that goes back finds it again") {
  Rig rig;
  rig.text({"CONFIG", "SET", "hz", "500"});
  rig.text({"SET", "k", "v", "PX", "1"});
  rig.clock.set(kStart + 1h);
  // Long enough for a server that would.
  ::poll(nullptr, 0, 100);
  rig.clock.set(kStart);
  CHECK(rig.text({"GET", "k"}) == "v");
}

TEST_CASE("programs connect with the server's password alone, and are counted") {
  Rig rig;
  CHECK(rig.server.other_connections() == 1);
  rig.text({"SET", "k", "v"});
  CHECK_FALSE(has_key_in_last_ms(rig.server));
  rig.server.remove_keys();
  CHECK(rig.integer({"DBSIZE"}) == 0);
  CHECK(rig.server.other_connections() == 1);

  auto url = redis::parse_url(rig.server.url());
  CHECK(url.host == "127.0.0.1");
  CHECK(url.password.size() == 32);
  auto socket = rig.server.process().url();
  CHECK(socket.path == rig.server.socket());
  CHECK(Connection::open(socket, 120s).call({"PING"}).text() == "PONG");
  CHECK(rig.server.other_connections() == 2);
  for (auto* without : {&url, &socket}) {
    without->user.clear();
    without->password.clear();
    CHECK(redis::to_error(Connection::open(*without, 120s).call({"PING"})).code() == "NOAUTH");
  }
  // Nor does another user see it in the command line.
  std::ifstream file("/proc/" + std::to_string(rig.server.process().pid()) + "/cmdline");
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  CHECK_FALSE(contains(line, rig.server.process().tcp_url().password));
}

TEST_CASE("a server with the real clock needs no library") {
  ClockedServer server(nullptr);
  server.verify();
  auto client = Connection::open(redis::parse_url(server.url()), 120s);
  const auto before = system_time();
  const auto now = redis::server_time(client.call({"TIME"}));
  CHECK(now >= before);
  CHECK(now <= system_time());
}

TEST_CASE("a server whose port another process has taken gets another one") {
  const redis::PrivateServer found;
  const TempFolder folder;
  const auto program = server_program(folder, found);
  const auto ports = folder.path() / "ports";
  // At its first start, it has the port of a server that runs.
  ClockedServer first(nullptr);
  write_program(folder.path() / "late", "#!/bin/sh\necho x >>'" + ports.string() +
                                            "'\nif [ $(wc -l <'" + ports.string() +
                                            "') = 1 ]; then set -- \"$@\" --port " +
                                            std::to_string(first.process().tcp_url().port) +
                                            "; fi\nexec '" + program + "' \"$@\"\n");
  const ScopedVariable wrapper("RLCTL_REDIS_SERVER", (folder.path() / "late").string());
  const ClockedServer second(nullptr);
  CHECK(Connection::open(redis::parse_url(second.url()), 120s).call({"PING"}).text() == "PONG");
  CHECK(fs::file_size(ports) == 4);
}

TEST_CASE("a server under a virtual clock dies with its process, even after kill -9") {
  const TempFolder folder;
  const ScopedVariable tmpdir("TMPDIR", folder.path().string());
  std::array<int, 2> ends;
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    VirtualClock clock(folder.path(), kStart);
    const ClockedServer server(&clock);
    const pid_t pid = server.process().pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  pid_t server = -1;
  REQUIRE(::read(ends[0], &server, sizeof server) == sizeof server);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  // It is reaped by another process: what ends with it is its command line.
  const auto is_running = [&] {
    std::ifstream file("/proc/" + std::to_string(server) + "/cmdline");
    return file.get() != EOF;
  };
  for (int i = 0; i < 6'000 && is_running(); ++i) ::poll(nullptr, 0, 5);
  CHECK_FALSE(is_running());
}

}  // namespace exec_server_test
