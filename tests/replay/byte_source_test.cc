#include "replay/input.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "base/error.h"
#include "support/recordings.h"

namespace rlctl::replay::byte_source_test {
namespace {

using namespace std::chrono_literals;
using test::Logs;

/// The content compressed by the gzip command.
std::string packed(const Logs& logs, const std::string& content) {
  const auto plain = logs.write("plain", content);
  REQUIRE(std::system(("gzip -c '" + plain + "' > '" + plain + ".packed'").c_str()) == 0);
  return test::content_of(plain + ".packed");
}

std::string read_all(const std::string& file) {
  const Interrupt interrupt;
  const auto source = open_input(file, interrupt);
  std::string all;
  char some[1000];
  while (const auto count = source->read(some, sizeof some)) all.append(some, count);
  CHECK(source->read(some, sizeof some) == 0);
  return all;
}

std::string error_of(const Logs& logs, const std::string& content) {
  try {
    (void)read_all(logs.write("log", content));
  } catch (const InputError& error) {
    CHECK(!error.hint().empty());
    return std::string(error.what()).substr(logs.path().string().size() + 1);
  }
  return "none";
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a file yields its bytes, however few") {
  const Logs logs;
  for (const auto* content : {"", "a", "12345", "123456", "1234567"}) {
    CHECK(read_all(logs.write("log", content)) == content);
  }
  const auto text = long_text();
  CHECK(read_all(logs.write("log", text)) == text);
}

TEST_CASE("gzip is recognized by its bytes and unpacked, whatever the file's name") {
  const Logs logs;
  const auto text = long_text();
  const auto gz = packed(logs, text);
  CHECK(gz.size() < text.size());
  CHECK(read_all(logs.write("access.log", gz)) == text);
  CHECK(read_all(logs.write("empty", packed(logs, ""))).empty());
}

TEST_CASE("several gzip members are one content, and zeros after them are ignored") {
  const Logs logs;
  const auto gz = packed(logs, "one\n") + packed(logs, "") + packed(logs, "two\n");
  CHECK(read_all(logs.write("log", gz)) == "one\ntwo\n");
  CHECK(read_all(logs.write("log", gz + std::string(200'000, '\0'))) == "one\ntwo\n");
}

TEST_CASE("truncated gzip data is an error, wherever it ends") {
  const Logs logs;
  const auto gz = packed(logs, "one\ntwo\n");
  for (std::size_t size = 2; size < gz.size(); ++size) {
    CAPTURE(size);
    CHECK(error_of(logs, gz.substr(0, size)) == "log is cut off: its gzip data ends in the middle");
    CHECK(error_of(logs, gz + gz.substr(0, size)) ==
          "log is cut off: its gzip data ends in the middle");
  }
}

TEST_CASE("gzip data that is damaged or followed by something else is an error") {
  const Logs logs;
  auto gz = packed(logs, "one\ntwo\n");
  CHECK(error_of(logs, gz + "x") ==
        "log is damaged: its gzip data is wrong (something else follows it)");
  CHECK(error_of(logs, gz + "\x1fx") ==
        "log is damaged: its gzip data is wrong (incorrect header check)");
  gz[gz.size() - 5] ^= 1;
  CHECK(error_of(logs, gz) == "log is damaged: its gzip data is wrong (incorrect data check)");
}

TEST_CASE("other compression formats are refused, with a hint how to unpack them") {
  const Logs logs;
  const std::pair<std::string, std::string> beginnings[] = {{"\x28\xb5\x2f\xfd", "zstd"},
                                                            {{"\xfd"
                                                              "7zXZ\0",
                                                              6},
                                                             "xz"},
                                                            {"BZh9", "bzip2"},
                                                            {"PK\x03\x04", "zip"}};
  for (const auto& [bytes, program] : beginnings) {
    CHECK(error_of(logs, bytes + "....") ==
          "log is compressed by " + program + "; only gzip is supported");
  }
}

TEST_CASE("a file that cannot be opened is an error with the reason") {
  const Logs logs;
  const Interrupt interrupt;
  const auto missing = (logs.path() / "missing").string();
  CHECK_THROWS_WITH_AS((void)open_input(missing, interrupt),
                       ("cannot open " + missing + ": no such file or directory").c_str(),
                       InputError);
  const auto folder = logs.path().string();
  CHECK_THROWS_WITH_AS((void)open_input(folder, interrupt),
                       (folder + " is a folder, not a file").c_str(), InputError);
}

TEST_CASE("'-' reads standard input, compressed or not") {
  const Logs logs;
  const int kept = ::dup(0);
  for (const auto& content : {std::string("one\ntwo\n"), packed(logs, "one\ntwo\n")}) {
    const int file = ::open(logs.write("log", content).c_str(), O_RDONLY);
    REQUIRE(::dup2(file, 0) == 0);
    ::close(file);
    CHECK(read_all("-") == "one\ntwo\n");
    CHECK(::fcntl(0, F_GETFD) >= 0);
  }
  ::dup2(kept, 0);
  ::close(kept);
  CHECK(input_name("-") == "standard input");
}

TEST_CASE("a pipe is read to its end, and Ctrl-C ends the wait for it") {
  const Logs logs;
  const auto pipe = (logs.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] {
    const int fd = ::open(pipe.c_str(), O_WRONLY);
    for (const auto* part : {"slow", "ly\n", "written\n"}) {
      [[maybe_unused]] const auto written = ::write(fd, part, std::string_view(part).size());
      std::this_thread::sleep_for(20ms);
    }
    ::close(fd);
  });
  CHECK(read_all(pipe) == "slowly\nwritten\n");
  writer.join();

  Interrupt interrupt;
  std::thread raiser([&] {
    std::this_thread::sleep_for(50ms);
    interrupt.raise(SIGINT);
  });
  CHECK_THROWS_AS((void)open_input(pipe, interrupt), Interrupted);
  raiser.join();
}

}  // namespace rlctl::replay::byte_source_test
