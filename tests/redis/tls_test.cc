// needs: server
#include "redis/tls.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "support/failure.h"
#include "support/needs.h"
#include "support/random.h"
#include "support/refusal.h"
#include "support/scripted_server.h"
#include "support/temp_folder.h"

namespace rlctl::redis::tls_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace support;
using test::scaled;

namespace {

constexpr auto kLong = 120s;

void run(const std::vector<std::string>& command) {
  REQUIRE(std::system(joined_words(command).c_str()) == 0);
}

/// A file that tests/support/make_certificates makes.
std::string file(const std::string& name) {
  struct Certificates {
    Certificates() { run({RLCTL_TESTS_DIR "/support/make_certificates", folder.path()}); }
    TempFolder folder;
  };
  static const Certificates kCertificates;
  return kCertificates.folder.path() / name;
}

/// A server with TLS on a free port of 127.0.0.1.
struct TlsServer {
  PrivateServer server;
  Url url;
};

TlsServer start_tls_server(const std::string& certificate, std::vector<std::string> more = {}) {
  for (int attempt = 0;; ++attempt) {
    Url url{.host = "127.0.0.1", .tls = Tls{.cacert = file("ca.pem")}};
    {
      Url free{.port = 0};
      (void)support::listen_at(free);
      url.port = free.port;
    }
    std::vector<std::string> arguments{
        "--tls-port",     std::to_string(url.port),   "--bind",
        "127.0.0.1",      "--tls-cert-file",          file(certificate + ".pem"),
        "--tls-key-file", file(certificate + ".key"), "--tls-ca-cert-file",
        file("ca.pem"),   "--tls-auth-clients",       "no"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    try {
      return {PrivateServer({.arguments = arguments}), url};
    } catch (const Error&) {
      // Another process may have taken the port meanwhile.
      if (attempt == 20) throw;
    }
  }
}

Connection open(const Url& url, const Interrupt* interrupt = nullptr) {
  return Connection::open(url, kLong, interrupt);
}

/// The error of a PING; a server may refuse a client's certificate only after the handshake.
Error ping_error(const Url& url) {
  return error_of([&] { (void)open(url).call({"PING"}); });
}

Url with_tls(const ScriptedServer& server, const Tls& tls = {}) {
  Url url = server.url();
  url.tls = tls;
  return url;
}

/// Passes bytes on between a client and a server on a TCP port, until one hangs up.
class Proxy {
 public:
  /// What becomes of bytes from the server, of which `before` were sent on already; false: hang up.
  using Change = std::function<bool(std::string& bytes, std::size_t before)>;

  Proxy(const Url& server, Change change)
      : front_([server, change = std::move(change)](Peer& client) { pass(client, server, change); },
               Scheme::kTcp) {}

  /// The server's URL, with the proxy's port.
  Url url(Url server) const {
    server.port = front_.url().port;
    return server;
  }

 private:
  static void pass(Peer& client, Url server, const Change& change) {
    server.tls.reset();
    const auto back = connect(server, Clock::now() + kLong);
    std::array<char, 16384> buffer;
    std::size_t passed = 0;
    try {
      for (;;) {
        std::array<pollfd, 2> ready{{{client.fd(), POLLIN, 0}, {back->fd(), POLLIN, 0}}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[0].revents != 0) {
          auto bytes = client.read_some();
          if (bytes.empty()) return;
          while (!bytes.empty()) {
            bytes.erase(0, back->write_some(bytes));
            if (!bytes.empty()) back->wait(Clock::now() + kLong);
          }
        }
        const auto count = back->read_available(buffer.data(), buffer.size());
        std::string bytes(buffer.data(), count);
        const bool goes_on = change(bytes, passed);
        passed += bytes.size();
        if (!client.write(bytes) || !goes_on) return;
      }
    } catch (const Error&) {
      // The server hung up; so does the proxy.
    }
  }

  ScriptedServer front_;
};

/// Passes on this many bytes from the server, and then hangs up or falls silent.
Proxy::Change cut_after(std::size_t most, bool hangs_up) {
  return [=](std::string& bytes, std::size_t before) {
    bytes.resize(std::min(bytes.size(), most - before));
    return !hangs_up || before + bytes.size() < most;
  };
}

}  // namespace

// All other tests reach it by its address.
TEST_CASE("a server is reached with TLS by the name in its certificate") {
  if (!support::needs_localhost()) return;
  auto server = start_tls_server("server");
  server.url.host = "localhost";
  CHECK(open(server.url).call({"PING"}).text() == "PONG");
}

TEST_CASE("a certificate of another name, another time or an unknown authority is refused") {
  struct Case {
    std::string certificate, cacert, message, hint;
  };
  const Case cases[] = {
      {"elsewhere", "ca.pem", "is not for 127.0.0.1",
       "another server may have answered; ask who runs it for the name to connect to"},
      {"expired", "ca.pem", "has expired", "renew it, unless the clock of this machine is wrong"},
      {"future", "ca.pem", "is not valid yet", "is the clock of this machine right?"},
      {"server", "other-ca.pem",
       "is not trusted: ", file("other-ca.pem") + " has no certificate of it"},
      {"server", "",
       "is not trusted: ", "trust it with --cacert FILE, the authority's certificate"},
      {"self-signed", "ca.pem", "is not trusted: self", ""},
      {"self-signed", "", "is not trusted: self", "trust it with --cacert FILE, a copy of it"}};
  for (const auto& row : cases) {
    CAPTURE(row.certificate);
    CAPTURE(row.cacert);
    const auto server = start_tls_server(row.certificate);
    Url url = server.url;
    url.tls->cacert = row.cacert.empty() ? "" : file(row.cacert);
    const auto error = ping_error(url);
    CHECK(error.failure() == Failure::kUnreachable);
    CHECK(message_of(error).starts_with("cannot connect to " + display(url) + ": its certificate " +
                                        row.message));
    if (!row.hint.empty()) CHECK(error.hint() == row.hint);
  }
}

TEST_CASE("a certificate is accepted for each of its names, and for no others") {
  const auto elsewhere = start_tls_server("elsewhere");
  Url url = elsewhere.url;
  for (const std::string name :
       {"cache.example.com", "a.example.org", "CACHE.example.com.", "a.example.org."}) {
    url.tls->sni = name;
    CHECK(open(url).call({"PING"}).text() == "PONG");
  }
  for (const std::string name :
       {"example.org", "a.b.example.org", "127.0.0.1", "cache.example", "a\x1b[2Jb"}) {
    url.tls->sni = name;
    CHECK(contains(ping_error(url).what(), "its certificate is not for " + escaped_message(name)));
  }
  url.tls->insecure = true;
  CHECK(open(url).call({"PING"}).text() == "PONG");

  const auto self_signed = start_tls_server("self-signed");
  url = self_signed.url;
  url.tls->cacert = file("self-signed.pem");
  CHECK(open(url).call({"PING"}).text() == "PONG");
}

TEST_CASE("a server gets the client certificate that it asks for, and may refuse it") {
  for (const std::string protocol : {"TLSv1.2", "TLSv1.3"}) {
    CAPTURE(protocol);
    auto server =
        start_tls_server("server", {"--tls-auth-clients", "yes", "--tls-protocols", protocol});
    Url url = server.url;
    auto error = ping_error(url);
    CHECK(error.failure() == Failure::kUnreachable);
    CHECK(message_of(error) ==
          "cannot connect to " + display(url) + ": the server requires a client certificate");
    CHECK(error.hint() == "pass it with --cert FILE and --key FILE");

    url.tls->cert = file("stranger.pem");
    url.tls->key = file("stranger.key");
    error = ping_error(url);
    CHECK(error.failure() == Failure::kUnreachable);
    CHECK(contains(error.what(),
                   "the server refuses the client certificate " + file("stranger.pem") + ": "));

    url.tls->cert = file("client.pem");
    url.tls->key = file("client.key");
    CHECK(open(url).call({"PING"}).text() == "PONG");
  }
}

TEST_CASE("a failure that is not a common one is told in OpenSSL's words") {
  auto server = start_tls_server(
      "server", {"--tls-protocols", "TLSv1.1", "--tls-ciphers", "ALL:@SECLEVEL=0"});
  const auto error = ping_error(server.url);
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(contains(error.what(), ": TLS failed: "));
  CHECK(contains(error.what(), "protocol"));
}

TEST_CASE("a name that is too long for a certificate is a mistake of the caller") {
  ScriptedServer server([](Peer& peer) { (void)peer.read_to_end(); }, Scheme::kTcp);
  const auto error = ping_error(with_tls(server, {.sni = std::string(256, 'a')}));
  CHECK(error.failure() == Failure::kUsage);
}

TEST_CASE("a server that answers without TLS, or hangs up at once, may have no TLS") {
  for (const std::string sent : {"-ERR unknown command\r\n", ""}) {
    CAPTURE(sent);
    ScriptedServer server(
        [&](Peer& peer) {
          if (sent.empty()) return;
          (void)peer.read_some();
          peer.write(sent);
          peer.read_to_end();
        },
        Scheme::kTcp);
    const auto error = ping_error(with_tls(server));
    CHECK(error.failure() == Failure::kUnreachable);
    CHECK(contains(error.what(), sent.empty() ? "the connection ended during the TLS handshake"
                                              : "the answer is not TLS: '-ERR "));
    CHECK(error.hint() == "use redis:// if the server has no TLS at that port");
  }
}

TEST_CASE("without TLS, a server that expects it is recognized") {
  auto server = start_tls_server("server");
  Url url = server.url;
  url.tls.reset();
  const auto error = ping_error(url);
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(error.hint() ==
        "use rediss:// if the server expects TLS at that port; what was sent may have been "
        "executed");

  ScriptedServer alerts([](Peer& peer) { peer.write("\x15\x03\x01\x00\x02\x02\x46"); },
                        Scheme::kTcp);
  CHECK(ping_error(alerts.url()).hint() == "the server expects TLS: use rediss://");
}

TEST_CASE("the handshake ends at the deadline") {
  ScriptedServer server([](Peer& peer) { peer.read_to_end(); }, Scheme::kTcp);
  const auto url = with_tls(server);
  const auto error = error_of([&] { (void)Connection::open(url, 500ms); });
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(message_of(error) == "cannot connect to " + display(url) + ": no answer within 500ms");
  CHECK(error.hint() == "use redis:// if the server has no TLS at that port");
}

TEST_CASE("an interrupt ends the handshake") {
  Interrupt interrupt;
  ScriptedServer server(
      [&](Peer& peer) {
        (void)peer.read_some();
        interrupt.raise(SIGINT);
        peer.read_to_end();
      },
      Scheme::kTcp);
  CHECK_THROWS_AS((void)open(with_tls(server), &interrupt), Interrupted);
}

TEST_CASE("a connection that ends after any byte of the server is unreachable") {
  auto server = start_tls_server("server");
  std::size_t most = 0;
  for (bool is_whole = false; !is_whole; most += static_cast<std::size_t>(scaled(7, 1))) {
    CAPTURE(most);
    const Proxy proxy(server.url, cut_after(most, true));
    try {
      is_whole = open(proxy.url(server.url)).call({"PING"}).text() == "PONG";
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::kUnreachable);
    }
  }
  CHECK(most > 500);
}

TEST_CASE("a server that falls silent after any byte times out") {
  auto server = start_tls_server("server");
  for (std::size_t most = 0; most < 500; most += 37) {
    CAPTURE(most);
    const Proxy proxy(server.url, cut_after(most, false));
    const auto error = error_of([&] { (void)Connection::open(proxy.url(server.url), 30ms); });
    CHECK(error.failure() == Failure::kTimeout);
  }
}

TEST_CASE("a handshake with any wrong byte fails or succeeds, in time") {
  auto server = start_tls_server("server");
  int failed = 0;
  for (std::size_t at = 0; at < 800; at += static_cast<std::size_t>(scaled(7, 1))) {
    CAPTURE(at);
    const Proxy proxy(server.url, [at](std::string& bytes, std::size_t before) {
      if (at >= before && at < before + bytes.size()) bytes[at - before] ^= '\x21';
      return true;
    });
    try {
      (void)Connection::open(proxy.url(server.url), 200ms).call({"PING"});
    } catch (const Error& error) {
      const bool is_of_server =
          error.failure() == Failure::kUnreachable || error.failure() == Failure::kTimeout;
      CHECK(is_of_server);
      ++failed;
    }
  }
  CHECK(failed > 50);
}

TEST_CASE("replies of megabytes arrive, and poll() sees all that has not been read") {
  auto server = start_tls_server("server");
  std::string value;
  for (int i = 0; value.size() < 3'000'000; ++i) value += std::to_string(i);
  auto connection = open(server.url);
  CHECK(connection.call({"SET", "k", value}).text() == "OK");
  for (int i = 0; i < 3; ++i) connection.append({"GET", "k"});
  connection.flush();
  int replies = 0;
  while (replies < 3) {
    pollfd readable{connection.fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 120'000) == 1);
    while (const auto reply = connection.try_read()) {
      CHECK(reply->text() == value);
      ++replies;
    }
  }
}

TEST_CASE("many commands share a connection with TLS") {
  auto server = start_tls_server("server");
  const int commands = static_cast<int>(scaled(20'000, 100'000));
  // The proxy's small reads and writes make the client's stop at any byte.
  const Proxy proxy(server.url, [](std::string&, std::size_t) { return true; });
  auto connection = open(proxy.url(server.url));
  for (int i = 0; i < commands; ++i) connection.append({"ECHO", std::to_string(i)});
  int wrong = 0;
  for (int i = 0; i < commands; ++i) {
    if (connection.read().text() != std::to_string(i)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what was not sent remains to be sent") {
  auto server = start_tls_server("server");
  std::string value;
  value.resize(32'000'000, 'v');
  auto connection = open(server.url);
  ::kill(server.server.pid(), SIGSTOP);
  connection.append({"SET", "k", value});
  CHECK_FALSE(connection.send_some());
  CHECK(connection.has_unsent());
  CHECK_FALSE(connection.send_some());
  ::kill(server.server.pid(), SIGCONT);
  CHECK(connection.read().text() == "OK");
  CHECK_FALSE(connection.has_unsent());
  CHECK(connection.call({"STRLEN", "k"}).integer() == 32'000'000);
}

TEST_CASE("a file that cannot be used for TLS is an input error that names it") {
  const TempFolder folder;
  const std::string path = folder.path(), text = path + "/text", none = path + "/none",
                    encrypted = path + "/encrypted.key";
  std::ofstream(text) << "text\n";
  fs::permissions(text, fs::perms::owner_read);
  run({"openssl", "pkey", "-aes128", "-passout", "pass:secret", "-in", file("client.key"), "-out",
       encrypted});
  const auto cert = file("client.pem");
  const std::pair<Tls, std::string> cases[] = {
      {{.cacert = none}, "TLS certificate authorities " + none + ": no such file or directory"},
      {{.cacert = path}, "TLS certificate authorities " + path + ": it is not a regular file"},
      {{.cacert = text}, "cannot use the TLS certificate authorities " + text},
      {{.cert = text, .key = file("client.key")}, "cannot use the client certificate " + text},
      {{.cert = cert, .key = text}, "cannot use the private key " + text},
      {{.cert = cert, .key = file("server.key")},
       "the private key " + file("server.key") + " does not belong to the client certificate"},
      {{.cert = cert, .key = encrypted}, "it has a passphrase"}};
  for (const auto& row : cases) {
    const auto& [tls, message] = row;
    CAPTURE(row.second);
    CHECK(contains(test::refusal_of([&tls = tls] { return make_tls_context(Url{.tls = tls}); }),
                   message));
  }
}

}  // namespace rlctl::redis::tls_test
