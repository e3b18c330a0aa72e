#include "replay/recording.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "replay/input_error.h"
#include "support/temp_folder.h"

namespace rlctl::replay {
namespace {

/// A request as it comes back.
struct Came {
  std::int64_t at_us = 0;
  std::string key;
  std::int64_t cost = 1;
  bool operator==(const Came&) const = default;
};

std::string write_file(const support::TempFolder& folder, const std::string& name,
                       std::string_view content) {
  const auto path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

Recording record(std::vector<std::string> files) {
  const redis::Interrupt interrupt;
  return Recording({.files = std::move(files), .format = {}, .fields = {}}, interrupt);
}

std::vector<Came> all_of(const Recording& recording) {
  std::vector<Came> came;
  const auto traffic = recording.traffic();
  traffic::Arrival arrival;
  while (traffic->next(arrival)) {
    came.push_back({arrival.at.count(), std::string(traffic->key_name(arrival.key)), arrival.cost});
  }
  CHECK(traffic->size() == static_cast<std::int64_t>(came.size()));
  return came;
}

}  // namespace

TEST_CASE("recording: an access log is requests of its addresses") {
  const support::TempFolder folder;
  const auto file = write_file(
      folder, "access.log",
      "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326\n"
      "2001:db8::1 - - [10/Oct/2000:20:55:35 +0000] \"GET / HTTP/1.0\" 200 1\n"
      "rubbish\n"
      "\n"
      "h.example.com - - [10/Oct/2000:22:55:37 +0200]");
  const auto recording = record({file});
  CHECK(all_of(recording) == std::vector<Came>{{971211335000000, "2001:db8::1"},
                                               {971211336000000, "127.0.0.1"},
                                               {971211337000000, "h.example.com"}});
  CHECK(recording.counts() == LineCounts{.lines = 5, .requests = 3, .blank = 1, .bad = 1});
  REQUIRE(recording.first_bad());
  CHECK(recording.first_bad()->line == 3);
}

TEST_CASE("recording: lines of time, key and cost") {
  const support::TempFolder folder;
  const auto file =
      write_file(folder, "schedule", "# made by hand\n1700000000.25 alice\n1700000000 bob 3\n");
  CHECK(all_of(record({file})) ==
        std::vector<Came>{{1700000000000000, "bob", 3}, {1700000000250000, "alice", 1}});
}

}  // namespace rlctl::replay
