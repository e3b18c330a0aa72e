#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "limiter/limit.h"
#include "support/recordings.h"

namespace rlctl::replay::corpus_test {
namespace {

namespace fs = std::filesystem;
using test::record;

/// The format of the .expected files: the requests, the line counts, and the first bad line.
std::string rendered(const Recording& recording) {
  std::string out;
  for (const auto& came : test::all_of(recording)) {
    out += format_instant(microseconds{came.at_us}) + ' ' + std::to_string(came.cost) + ' ' +
           came.key + '\n';
  }
  const auto& counts = recording.counts();
  out += recording.files().at(0).format + ": ";
  out += std::to_string(counts.lines) + " lines, ";
  out += std::to_string(counts.requests) + " requests, ";
  out += std::to_string(counts.blank) + " blank, ";
  out += std::to_string(counts.other) + " other, ";
  out += std::to_string(counts.bad) + " bad\n";
  if (const auto& bad = recording.first_bad()) {
    out += "bad " + std::to_string(bad->line) + ": " + bad->why + ": '" + bad->text + "'\n";
  }
  return out;
}

/// Whether a format takes the last line of a log as a request of the address that is in it.
bool reads(const LogFormat& format, std::string_view log) {
  LogReader reader(format, {}, {});
  Entry entry;
  auto kind = LineKind::kOther;
  try {
    while (!log.empty()) {
      const auto line = log.substr(0, log.find('\n'));
      log.remove_prefix(std::min(line.size() + 1, log.size()));
      kind = reader.read(line, entry);
    }
  } catch (const InputError&) {
    return false;
  }
  return kind == LineKind::kRequest && reader.is_plausible(entry);
}

std::vector<fs::path> logs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(RLCTL_TESTS_DIR) / "replay/logs")) {
    if (entry.path().extension() != ".expected") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// A log that is too broken to be recognized is called like its format.
std::optional<std::string> format_of(const fs::path& log) {
  const auto name = log.stem().string();
  const auto end = name.find("-broken");
  return end == name.npos ? std::nullopt : std::optional(name.substr(0, end));
}

fs::path expected_of(const fs::path& log) {
  return fs::path(log).replace_extension(".expected");
}

}  // namespace

TEST_CASE("each log of the corpus is recognized and read as its .expected file says") {
  const auto all = logs();
  CHECK(all.size() == 11);
  for (const auto& log : all) {
    CAPTURE(log.filename().string());
    CHECK(rendered(record({.files = {log.string()}, .format = format_of(log)})) ==
          test::content_of(expected_of(log)));
  }
}

TEST_CASE("each format of the table reads its example, and no other format does") {
  for (const auto& row : log_formats()) {
    CAPTURE(row.name);
    CAPTURE(row.format);
    const auto recording = test::record_text(row.example);
    const auto& file = recording.files().at(0);
    CHECK((row.is_prefix() ? file.prefix : file.format) == row.name);
    const auto came = test::all_of(recording);
    REQUIRE(came.size() == 1);
    CHECK(came[0].key == (row.name == "epoch" ? "login:ann" : "192.0.2.7"));
    CHECK(came[0].at_us / 1'000'000 == 1'795'608'000);
    if (row.is_prefix()) continue;
    for (const auto& other : log_formats()) {
      if (other.name == row.name || other.is_prefix()) continue;
      CAPTURE(other.name);
      CAPTURE(other.format);
      CHECK(!reads(other, row.example));
    }
  }
}

TEST_CASE("a log of the corpus is read the same if its format is named") {
  for (const auto& log : logs()) {
    CAPTURE(log.filename().string());
    if (format_of(log)) continue;
    const auto recognized = record({.files = {log.string()}});
    const auto format = recognized.files().at(0).format;
    CHECK(rendered(record({.files = {log.string()}, .format = format})) == rendered(recognized));
  }
}

}  // namespace rlctl::replay::corpus_test
