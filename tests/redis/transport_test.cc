// needs: server
#include "redis/transport.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "redis/error.h"
#include "support/failure.h"
#include "support/needs.h"
#include "support/scripted_server.h"

namespace rlctl::redis::transport_test {

using namespace std::chrono_literals;
using namespace support;

namespace {

Clock::time_point in(std::chrono::milliseconds time) {
  return Clock::now() + time;
}

std::string read_all(Transport& transport, std::size_t size) {
  std::string all;
  std::array<char, 64> piece;
  while (all.size() < size) {
    all.append(piece.data(), transport.read(piece.data(), piece.size(), in(120s)));
  }
  return all;
}

}  // namespace

TEST_CASE("bytes travel both ways, over a unix socket and over TCP") {
  for (const auto scheme : {Scheme::kUnix, Scheme::kTcp}) {
    ScriptedServer server([](Peer& peer) { peer.write("got " + peer.read_until("!")); }, scheme);
    const auto transport = connect(server.url(), in(120s));
    CHECK(transport->write_some("hello!") == 6);
    CHECK(read_all(*transport, 10) == "got hello!");
  }
}

TEST_CASE("all addresses of a name are tried") {
  if (!support::needs_localhost()) return;
  // In most places localhost is also ::1, where this server does not listen.
  ScriptedServer server([](Peer& peer) { peer.write("x"); }, Scheme::kTcp);
  Url url = server.url();
  url.host = "localhost";
  const auto transport = connect(url, in(120s));
  CHECK(read_all(*transport, 1) == "x");
}

TEST_CASE("an unanswered connection attempt ends at the deadline") {
  for (const auto scheme : {Scheme::kUnix, Scheme::kTcp}) {
    const support::TempFolder folder;
    Url url{.scheme = scheme, .path = folder.path() / "s"};
    const auto listener = listen_at(url, 0);
    // No server accepts: once the queue is full, the next client waits.
    std::vector<std::unique_ptr<Transport>> queue;
    const auto error = error_of([&] {
      for (int i = 0; i < 8; ++i) queue.push_back(connect(url, in(50ms)));
    });
    CHECK(error.failure() == Failure::kTimeout);
    CHECK(message_of(error) == "cannot connect to " + display(url) + ": no answer in time");
  }
}

TEST_CASE("a path that is too long and a scheme without a socket are usage errors") {
  const auto error =
      error_of([] { (void)connect(parse_url("unix:///" + std::string(107, 'x')), in(120s)); });
  CHECK(error.failure() == Failure::kUsage);
  CHECK(contains(error.what(), "at most 107 bytes, not 108"));
  CHECK(error_of([] { (void)connect(parse_url("private:"), in(120s)); }).failure() ==
        Failure::kUsage);
}

TEST_CASE("reading waits until its deadline, and polling never waits") {
  ScriptedServer server([](Peer& peer) { peer.read_to_end(); });
  const auto transport = connect(server.url(), in(120s));
  std::array<char, 8> buffer;
  CHECK(transport->read_available(buffer.data(), buffer.size()) == 0);
  const auto started = Clock::now();
  const auto error =
      error_of([&] { (void)transport->read(buffer.data(), buffer.size(), in(30ms)); });
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(Clock::now() - started >= 30ms);
  CHECK(Clock::now() - started < 120s);
}

TEST_CASE(
    "a server that closes the connection is unreachable, and writing to it raises no signal") {
  ScriptedServer server([](Peer& peer) { peer.write("bye"); });
  const auto transport = connect(server.url(), in(120s));
  CHECK(read_all(*transport, 3) == "bye");
  std::array<char, 8> buffer;
  const auto error =
      error_of([&] { (void)transport->read(buffer.data(), buffer.size(), in(120s)); });
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(message_of(error) == display(server.url()) + " closed the connection");
  const auto writing = error_of([&] {
    for (;;) (void)transport->write_some("x");
  });
  CHECK(writing.failure() == Failure::kUnreachable);
}

TEST_CASE("writing stops when the socket is full, and continues after the peer has read") {
  ScriptedServer server([](Peer& peer) {
    peer.read_until("go");
    peer.read_to_end();
  });
  const auto transport = connect(server.url(), in(120s));
  const std::string much(1 << 20, 'x');
  std::size_t sent = 0;
  for (std::size_t count = 1; count > 0; sent += count) count = transport->write_some(much);
  CHECK(sent > 0);
  while (transport->write_some("go") < 2) transport->wait(in(120s));
}

TEST_CASE("a raised interrupt ends every wait") {
  ScriptedServer server([](Peer& peer) { peer.read_to_end(); });
  Interrupt interrupt;
  const auto transport = connect(server.url(), in(120s), &interrupt);
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    interrupt.raise(SIGINT);
  });
  std::array<char, 8> buffer;
  CHECK_THROWS_AS((void)transport->read(buffer.data(), buffer.size(), kNoDeadline), Interrupted);
  later.join();
  CHECK_THROWS_AS((void)transport->write_some("x"), Interrupted);
  CHECK_THROWS_AS((void)connect(server.url(), in(120s), &interrupt), Interrupted);
}

}  // namespace rlctl::redis::transport_test
