// needs: server
#include "redis/connection.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/error.h"
#include "support/failure.h"
#include "support/fake_transport.h"
#include "support/scripted_server.h"
#include "support/temp_folder.h"

namespace rlctl::redis::faulty_server_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace support;

constexpr auto kLong = 120s;
constexpr auto kShort = 50ms;

TEST_CASE("connecting times out, and the error names the timeout") {
  const support::TempFolder folder;
  Url url = parse_url("unix://" + (folder.path() / "s").string());
  const auto listener = support::listen_at(url, 0);
  // No server accepts: once the queue is full, the next client waits.
  const auto first = Connection::open(url, kLong);
  const auto error = error_of([&] {
    const auto second = Connection::open(url, kShort);
    const auto third = Connection::open(url, kShort);
  });
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(message_of(error) == "cannot connect to " + display(url) + ": no answer within 50ms");
  CHECK(error.hint().empty());
}

TEST_CASE("a caller with its own poll loop can report a timeout like a read") {
  Wire wire;
  auto connection = over(wire);
  connection.append({"PING"});
  connection.send_some();
  const auto error = error_of([&] { connection.time_out(250ms); });
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(contains(message_of(error), "no answer from "));
  CHECK(contains(message_of(error), " within 250ms"));
  CHECK(contains(error.hint(), "may have been executed"));
  wire.to_read = {"+PONG\r\n"};
  CHECK(message_of(error_of([&] { static_cast<void>(connection.read()); })) == message_of(error));
}

namespace {

std::deque<std::string> in_pieces(const std::string& bytes) {
  constexpr std::size_t kPiece = 10'000;
  std::deque<std::string> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    pieces.push_back(bytes.substr(at, kPiece));
  }
  return pieces;
}

}  // namespace

TEST_CASE("a reply that never ends is not read beyond its deadline, whatever it claims to be") {
  for (const char* start : {"$", "$1", "+", "-ERR ", ":", "*", "$1000000000\r\n",
                            "*2147483647\r\n+", "*2\r\n$1000000000\r\n"}) {
    CAPTURE(start);
    for (const bool accepts : {true, false}) {
      Wire wire{.to_read = {start}, .room = accepts ? std::string::npos : 0, .never_ends = true};
      auto connection = over(wire, 20ms);
      const auto error = error_of([&] { (void)connection.call({"PING"}); });
      CHECK(error.failure() == Failure::kTimeout);
      CHECK(wire.late_reads <= 1);  // one read may have been about to begin
    }
  }
}

namespace {

// VmPeak: the most address space that this process has had, in KiB.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmPeak:")) return std::stol(line.substr(7));
  }
  return 0;
}

}  // namespace

TEST_CASE("a length costs no memory until its bytes arrive") {
  constexpr long kMaxKib = 64L * 1024;
  std::string nested;
  for (int depth = 0; depth < 7; ++depth) nested += "*2147483647\r\n";
  const std::string claims[] = {"*2147483647\r\n",
                                "*2147483646\r\n:1\r\n:2\r\n",
                                "*2\r\n*2147483647\r\n$-1\r\n",
                                "*1000000\r\n*1000000\r\n*1000000\r\n:1\r\n",
                                nested,
                                "$2147483647\r\nx",
                                "$9223372036854775807\r\nx",
                                "*1\r\n$9223372036854775806\r\n",
                                "+" + std::string(100, 'x'),
                                ":123456789012345678901234567890"};
  for (const auto& claim : claims) {
    CAPTURE(claim);
    Wire wire{.to_read = {claim}};
    auto connection = over(wire);
    const auto before = peak_kib();
    const auto error = error_of([&] { (void)connection.call({"PING"}); });
    CHECK(error.failure() == Failure::kTimeout);
    CHECK(peak_kib() - before < kMaxKib);
  }
}

TEST_CASE("arrays and texts as large as real ones are read whole") {
  constexpr std::size_t kElements = 300'000;
  constexpr std::size_t kBytes = std::size_t{40} << 20U;
  std::string reply = "*" + std::to_string(kElements + 1) + "\r\n";
  for (std::size_t i = 0; i < kElements; ++i) reply += "*2\r\n$3\r\nkey\r\n:7\r\n";
  reply += "$" + std::to_string(kBytes) + "\r\n" + std::string(kBytes, 'x') + "\r\n";
  Wire wire{.to_read = in_pieces(reply)};
  auto connection = over(wire);
  const auto array = connection.call({"KEYS"});
  REQUIRE(array.size() == kElements + 1);
  CHECK(array[0][0].text() == "key");
  CHECK(array[kElements - 1][1].integer() == 7);
  CHECK(array[kElements].text() == std::string(kBytes, 'x'));
}

TEST_CASE("polling for a huge reply returns often, so that its caller can give up") {
  Wire wire{.to_read = in_pieces("$5000000\r\n" + std::string(5'000'000, 'x') + "\r\n")};
  auto connection = over(wire);
  connection.append({"GET"});
  connection.flush();
  int calls = 1;
  for (; !connection.try_read() && calls < 1000; ++calls) continue;
  CHECK(calls > 1);
  CHECK(calls < 1000);
}

TEST_CASE("if nothing was sent, the error does not say that the command may have been executed") {
  ScriptedServer server([](Peer&) {});
  auto connection = Connection::open(server.url(), kLong);
  const auto error = error_of([&] { (void)connection.read(); });
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(error.hint().empty());
}

TEST_CASE("a reply sent before the server closed the connection is still read") {
  ScriptedServer server([](Peer& peer) { peer.write("-ERR idle for too long\r\n"); });
  auto connection = Connection::open(server.url(), kLong);
  // Wait until the server has closed the connection, so that sending fails.
  pollfd hung_up{connection.fd(), 0, 0};
  CHECK(::poll(&hung_up, 1, 120'000) == 1);
  CHECK(connection.call({"PING"}).text() == "ERR idle for too long");
  CHECK(error_of([&] { (void)connection.call({"PING"}); }).failure() == Failure::kUnreachable);
}

TEST_CASE("a server that refuses the connection has executed nothing of what was sent") {
  const std::pair<std::string, Failure> refusals[] = {
      {"ERR max number of clients reached", Failure::kNotNow},
      {"ERR max number of clients + cluster connections reached", Failure::kNotNow},
      {"DENIED Redis is running in protected mode", Failure::kRefused}};
  for (const auto& row : refusals) {
    const auto& [text, failure] = row;
    CAPTURE(row.first);
    const auto message = text.starts_with("ERR ") ? text.substr(4) : text;
    ScriptedServer server([sent = "-" + text + "\r\n"](Peer& peer) {
      peer.read_until("PING\r\n");
      peer.write(sent);
    });
    auto connection = Connection::open(server.url(), kLong);
    for (int i = 0; i < 3; ++i) connection.append({"PING"});
    for (int i = 0; i < 3; ++i) {
      const auto error = error_of([&] { (void)connection.read(); });
      CHECK(error.failure() == failure);
      CHECK(message_of(error) == display(server.url()) + ": " + message);
      CHECK(error.hint().empty());
    }
  }
}

TEST_CASE("the same words after another reply answer one command only") {
  ScriptedServer server([](Peer& peer) {
    peer.read_until("PING\r\n");
    peer.write("+PONG\r\n-ERR max number of clients reached\r\n");
  });
  auto connection = Connection::open(server.url(), kLong);
  for (int i = 0; i < 3; ++i) connection.append({"PING"});
  CHECK(connection.read().text() == "PONG");
  CHECK(connection.read().is_error());
  const auto error = error_of([&] { (void)connection.read(); });
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(contains(error.hint(), "may have been executed"));
}

TEST_CASE("an answer that is not RESP is shown shortened and escaped") {
  const std::pair<const char*, const char*> answers[] = {
      {"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n",
       "'HTTP/1.1 400 Bad Request\\r\\nContent-Type: ...'"},
      {"\x15\x03\x01", "'\\x15\\x03\\x01'"}};
  for (const auto& [answer, shown] : answers) {
    Wire wire{.to_read = {"+OK\r\n", answer}};
    auto connection = over(wire);
    CHECK(connection.call({"PING"}).text() == "OK");
    const auto error = error_of([&] { (void)connection.call({"PING"}); });
    CHECK(error.failure() == Failure::kProtocol);
    CHECK(message_of(error) == std::string("redis://fake: the answer is not RESP: ") + shown);
  }
}

}  // namespace rlctl::redis::faulty_server_test
