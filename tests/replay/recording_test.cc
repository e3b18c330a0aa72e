#include "replay/recording.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/random.h"
#include "support/recordings.h"

namespace rlctl::replay::recording_test {
namespace {

using test::all_of;
using test::Came;
using test::Logs;
using test::record;
using test::record_text;
using AllCame = std::vector<Came>;

/// The message of a refused recording, without the file's name, and its hint.
struct Refusal {
  std::string message, hint;
  bool of_input = false;  ///< not of the command line
};

Refusal refusal(std::string_view content, ReplayOptions options = {}) {
  const Logs logs;
  options.files = {logs.write("log", content)};
  try {
    (void)record(options);
  } catch (const UsageError& error) {
    std::string message = error.what();
    const auto folder = logs.path().string() + "/";
    for (auto at = message.find(folder); at != message.npos; at = message.find(folder)) {
      message.erase(at, folder.size());
    }
    const auto* input = dynamic_cast<const InputError*>(&error);
    return {message, input == nullptr ? "" : input->hint(), input != nullptr};
  }
  return {"nothing was thrown", ""};
}

ReplayOptions with_key(std::string key) {
  return {.fields = {.key = std::move(key)}};
}

std::string format_of(std::string_view content, const FieldOptions& fields = {}) {
  const auto* format = recognize(content, fields);
  return format == nullptr ? "none" : std::string(format->name);
}

constexpr const char* kHint = "pass --format; --time-field and --key-field name the fields";

/// A line of an access log with every field.
constexpr std::string_view kLine =
    "192.0.2.1 - ann [10/Oct/2000:20:55:36 +0000] \"GET /a b?c=d e HTTP/1.1\" 200 2326 "
    "\"http://example.com/\" \"agent \\\"x\\\" y\"\n";

}  // namespace

TEST_CASE("formats are recognized by what can be read from their first lines") {
  CHECK(format_of(kLine) == "combined");
  CHECK(format_of("{\"ts\":1,\"ip\":\"a\"}") == "jsonl");
  CHECK(format_of("ts,ip\n1,a\n") == "csv");
  CHECK(format_of("ts,ip\n") == "csv");
  CHECK(format_of("1 a\n") == "epoch");
  CHECK(format_of("# nothing yet\n") == "epoch");
  CHECK(format_of("junk\n{\"ts\":1,\"ip\":\"a\"}\nmore junk\n") == "jsonl");
  CHECK(format_of("1 a\n2 b\n{\"ts\":1,\"ip\":\"a\"}\n") == "epoch");
  CHECK(format_of("{\"when\":1,\"ip\":\"a\"}", {.time = "when"}) == "jsonl");
  CHECK(format_of("when,ip\n1,a\n", {.time = "when"}) == "csv");
  CHECK(format_of("ts,ip\n1,a\n", {.time = "when"}) == "csv");
  CHECK(format_of(kLine, {.time = "when"}) == "combined");
  CHECK(format_of("when,ip\n1,a\n") == "none");
  CHECK(format_of("two words\n") == "none");
  CHECK(format_of("\n\n") == "none");
}

TEST_CASE("a log in an unknown format is an error that shows its first line and the formats") {
  const auto said = refusal("\n\nJan  1 00:00:00 host sshd[1]: hello\n");
  CHECK(said.message ==
        "log:3: this is in none of the known formats (combined, jsonl, csv, epoch): "
        "'Jan  1 00:00:00 host sshd[1]: hello'");
  CHECK(said.hint == kHint);
  CHECK(said.of_input);
  CHECK(refusal(std::string(300, 'x')).message ==
        "log:1: this is in none of the known formats (combined, jsonl, csv, epoch): '" +
            std::string(200, 'x') + "...'");
}

TEST_CASE("a named format is not guessed, and an unknown format is refused") {
  // 20 lines of something else, which is as far as the recognition looks.
  std::string log;
  for (int i = 0; i < 20; ++i) log += "banner\n";
  log += "1 a\n";
  CHECK(refusal(log).message.find("log:1: this is in none") == 0);
  CHECK(record_text(log, {.format = "epoch"}).counts().bad == 20);
  const auto said = refusal(log, {.format = "xml"});
  CHECK(said.message == "unknown log format 'xml'; known formats: combined, jsonl, csv, epoch");
  CHECK(!said.of_input);
}

TEST_CASE("a log without a request is an error with the reason") {
  CHECK(refusal("").message == "no request in log: it is empty");
  CHECK(refusal("\n \n").message == "no request in log: it is empty");
  CHECK(refusal("", {.format = "csv"}).message == "no request in log: it is empty");
  CHECK(refusal("# x\n").message == "no request in log: nothing but headers or comments");
  CHECK(refusal("ts,ip\n").message == "no request in log: nothing but headers or comments");
  const auto said = refusal("a\nb\n\n", {.format = "epoch"});
  CHECK(said.message ==
        "no request in log: 2 of 3 lines are bad, the first: log:1: the time 'a' cannot be read: "
        "'a'");
  CHECK(said.hint == kHint);
}

TEST_CASE("bad lines are counted and the first is kept; in strict mode it is an error") {
  const Logs logs;
  const auto good = logs.write("good", "1 a\n");
  const auto worse = logs.write("worse", "2 a\nrubbish\nmore rubbish\n3 a\n");
  const auto recording = record({.files = {good, worse}});
  CHECK(recording.counts() == LineCounts{.lines = 5, .requests = 3, .bad = 2});
  REQUIRE(recording.first_bad());
  CHECK(recording.first_bad()->file == worse);
  CHECK(recording.first_bad()->line == 2);
  CHECK(recording.first_bad()->why == "the time 'rubbish' cannot be read");
  CHECK(recording.first_bad()->text == "rubbish");
  CHECK(recording.files().at(0).counts == LineCounts{.lines = 1, .requests = 1});
  CHECK(recording.files().at(1).counts == LineCounts{.lines = 4, .requests = 2, .bad = 2});

  CHECK_THROWS_WITH_AS((void)record({.files = {good, worse}, .strict = true}),
                       (worse + ":2: the time 'rubbish' cannot be read: 'rubbish'").c_str(),
                       InputError);
  CHECK(record({.files = {good}, .strict = true}).counts().requests == 1);
}

TEST_CASE("a recording knows its first and last instant and its number of keys") {
  const auto recording = record_text("5 b\n3 a\n4 b\n");
  CHECK(recording.first() == std::chrono::seconds{3});
  CHECK(recording.last() == std::chrono::seconds{5});
  CHECK(recording.keys() == 2);
  CHECK(recording.traffic()->size() == 3);
}

TEST_CASE("other fields of an access log can be the key") {
  const auto key = [](const char* field) {
    return all_of(record_text(kLine, with_key(field))).at(0).key;
  };
  CHECK(key("address") == "192.0.2.1");
  CHECK(key("user") == "ann");
  CHECK(key("method") == "GET");
  CHECK(key("path") == "/a b");
  CHECK(key("referer") == "http://example.com/");
  CHECK(key("useragent") == "agent \\\"x\\\" y");
  const auto said = refusal(kLine, with_key("status"));
  CHECK(said.message ==
        "key field 'status' is not one of a combined log; it has: address, user, method, path, "
        "referer, useragent");
  CHECK(!said.of_input);
}

TEST_CASE("a line of an access log without the chosen field is bad") {
  const std::string common = "192.0.2.1 - ann [10/Oct/2000:20:55:36 +0000] \"-\" 200 1\n";
  const auto why = [&](const char* field, const std::string& line) {
    const auto recording = record_text(std::string(kLine) + line, with_key(field));
    CHECK(recording.counts().bad == 1);
    return recording.first_bad()->why;
  };
  CHECK(why("path", common) == "it has no path");
  CHECK(why("referer", common) == "it has no referer");
  CHECK(why("useragent", common) == "it has no useragent");
  CHECK(why("method", "192.0.2.1 - - [10/Oct/2000:20:55:36 +0000]\n") == "it has no method");
  CHECK(why("user", "192.0.2.1 [10/Oct/2000:20:55:36 +0000]\n") == "it has no user");
}

TEST_CASE("the user in an access log may be quoted, contain blanks, and follow a host") {
  const auto user = [](std::string head) {
    return all_of(record_text(head + " [10/Oct/2000:20:55:36 +0000]", with_key("user"))).at(0).key;
  };
  CHECK(user("192.0.2.1 - -") == "-");
  CHECK(user("192.0.2.1 - \"a [b]\"") == "a [b]");
  CHECK(user("192.0.2.1 - ann b") == "ann b");
  CHECK(user("example.com:80 192.0.2.1 - ann") == "ann");
}

TEST_CASE("a field that the format does not have is refused") {
  CHECK(refusal(kLine, {.fields = {.time = "t"}}).message ==
        "time field 't' cannot be chosen: a combined log has its time in one place");
  CHECK(refusal(kLine, {.fields = {.cost = "c"}}).message ==
        "cost field 'c' cannot be chosen: a combined log has no costs");
  CHECK(refusal("1 a\n", with_key("k")).message ==
        "field 'k' cannot be chosen: the lines of an epoch log are 'time key [cost]'");
  CHECK(refusal("ts,ip\n1,a\n", with_key("user")).message ==
        "log:1: the header has no field 'user': 'ts,ip'");
  CHECK(refusal("ts,ip\n1,a\n", with_key("user")).hint ==
        "the first line names the fields; --key-field says which of them it is");
  CHECK(refusal("ts,ip\n1,a\n", {.fields = {.cost = "c"}}).message ==
        "log:1: the header has no field 'c': 'ts,ip'");
  CHECK(refusal("a,b\n", {.format = "csv"}).message ==
        "log:1: the header has no field for the time: 'a,b'");
  CHECK(refusal("{\"ts\":1,\"ip\":\"a\"}\n", with_key("user")).message ==
        "no request in log: 1 of 1 lines are bad, the first: log:1: it has no field 'user', "
        "but ts, ip: '{\"ts\":1,\"ip\":\"a\"}'");
}

TEST_CASE("named fields are used, and no others") {
  const std::string json =
      "{\"ts\":1,\"ip\":\"a\",\"cost\":9,\"t_ms\":5,\"r\":{\"who\":{\"id\":7}},\"n\":2}\n";
  CHECK(all_of(record_text(json)) == AllCame{{1'000'000, "a", 9}});
  CHECK(all_of(record_text(json, {.fields = {.time = "t_ms", .key = "r.who.id", .cost = "n"}})) ==
        AllCame{{5'000, "7", 2}});
  CHECK(all_of(record_text(json, {.fields = {.cost = ""}})) == AllCame{{1'000'000, "a", 1}});
  CHECK(refusal(json, with_key("IP")).message.find("it has no field 'IP'") != std::string::npos);
  // A name with a dot in it, at the top level.
  CHECK(all_of(record_text("{\"ts\":1,\"r.ip\":\"a\"}", with_key("r.ip"))) ==
        AllCame{{1'000'000, "a"}});
  const std::string csv = "ts,ip,cost,t_ms,n\n1,a,9,5,2\n";
  CHECK(all_of(record_text(csv)) == AllCame{{1'000'000, "a", 9}});
  CHECK(all_of(record_text(csv, {.fields = {.time = "t_ms", .key = "n", .cost = "n"}})) ==
        AllCame{{5'000, "2", 2}});
  CHECK(all_of(record_text(csv, {.fields = {.cost = ""}})) == AllCame{{1'000'000, "a", 1}});
}

TEST_CASE("the fields are fixed by the first line with a readable time and key") {
  const auto recording = record_text(
      "{\"ip\":\"z\"}\n{\"ts\":\"?\",\"user\":\"z\"}\n{\"time\":1,\"ip\":\"a\",\"user\":\"u\"}\n"
      "{\"ts\":2,\"ip\":\"b\"}\n{\"time\":3,\"user\":\"c\"}\n{\"TIME\":3,\"ip\":\"c\"}\n"
      "{\"time\":4,\"ip\":\"d\",\"remote_addr\":\"e\"}\n");
  CHECK(all_of(recording) == AllCame{{1'000'000, "a"}, {4'000'000, "d"}});
  CHECK(recording.counts().bad == 5);
  CHECK(recording.first_bad()->why == "it has no field for the time, but ip");
}

TEST_CASE("keys and costs have limits, and lines beyond them are bad") {
  const std::string longest(LineParser::kMaxKey, 'k');
  const auto recording = record_text("1 " + longest + " 1000000000\n2 " + longest + "k\n");
  CHECK(all_of(recording) == AllCame{{1'000'000, longest, 1'000'000'000}});
  CHECK(recording.first_bad()->why == "its key is longer than 64 KB");
  CHECK(record_text("1 a\n1 a 1000000001\n").first_bad()->why ==
        "its cost is not from 1 to 1000000000");
  CHECK(record_text("1 a\n1 a 0\n").first_bad()->why == "its cost is not from 1 to 1000000000");
  CHECK(record_text("1 a\n1 a x\n").first_bad()->why ==
        "the cost 'x' is not a whole number above 0");
  CHECK(record_text("ts,ip\n1,a\n1,\"\"\n").first_bad()->why == "its key is empty");
}

TEST_CASE("lines of 1 MB are accepted, and one of 17 MB is bad") {
  const std::string huge(1'000'000, 'x');
  std::string log;
  for (int i = 0; i < 8; ++i) {
    log += "192.0.2." + std::to_string(i) + " - - [10/Oct/2000:20:55:36 +0000] \"" + huge + "\"\n";
  }
  CHECK(record_text(log).counts() == LineCounts{.lines = 8, .requests = 8});
  const auto recording = record_text(log + std::string(17 << 20, 'x') + "\n" + log);
  CHECK(recording.counts() == LineCounts{.lines = 17, .requests = 16, .bad = 1});
  CHECK(recording.first_bad()->line == 9);
  CHECK(recording.first_bad()->why == "it is longer than 16 MB");
  CHECK(recording.first_bad()->text == std::string(200, 'x') + "...");
}

TEST_CASE("a file that begins with a line of 17 MB is read, and the line is bad") {
  const auto log = std::string(17 << 20, 'x') + "\n1 a\n2 a\n";
  for (const auto& format : {std::optional<std::string>(), std::optional<std::string>("epoch")}) {
    const auto recording = record_text(log, {.format = format});
    CHECK(recording.files().at(0).format->name == "epoch");
    CHECK(recording.counts() == LineCounts{.lines = 3, .requests = 2, .bad = 1});
    CHECK(recording.first_bad()->line == 1);
  }
  CHECK(refusal(log, {.strict = true}).message ==
        "log:1: it is longer than 16 MB: '" + std::string(200, 'x') + "...'");
  CHECK(refusal(log.substr(0, log.find('\n'))).message ==
        "no request in log: 1 of 1 lines are bad, the first: log:1: it is longer than 16 MB: '" +
            std::string(200, 'x') + "...'");
  // The beginning that is kept for messages is blank, but the line is not.
  CHECK(record_text(std::string(17 << 20, ' ') + "x\n1 a\n").counts() ==
        LineCounts{.lines = 2, .requests = 1, .bad = 1});
}

TEST_CASE("a file that begins with many blank lines is read") {
  const auto recording = record_text(std::string(5 << 20, '\n') + "1 a\n");
  CHECK(recording.files().at(0).format->name == "epoch");
  CHECK(recording.counts() == LineCounts{.lines = (5 << 20) + 1, .requests = 1, .blank = 5 << 20});
}

TEST_CASE("an unclosed quote in CSV costs only the line in which it is opened") {
  std::string log = "ts,ip,note\n";
  for (int i = 0; i < 500; ++i) {
    log += std::to_string(i) + ",a," + (i == 7 || i == 480 ? "\"open" : "x") + "\n";
  }
  const auto recording = record_text(log);
  CHECK(recording.counts() == LineCounts{.lines = 501, .requests = 498, .bad = 2, .other = 1});
  CHECK(recording.first_bad()->line == 9);
  CHECK(recording.first_bad()->why == "its quotes are not closed");
  CHECK(recording.first_bad()->text == "7,a,\"open");
}

TEST_CASE("the lines of a multi-line record are counted, even at the end") {
  const auto recording = record_text("ts,ip,note\n1,a,\"x\ny\"\n2,b,\"x\n\ny\"");
  CHECK(recording.counts() == LineCounts{.lines = 6, .requests = 2, .other = 1});
}

TEST_CASE("several files, plain and compressed, are one recording in order of time") {
  const Logs logs;
  const auto newer = logs.write("access.log", "5 a\n3 b\n");
  const auto older =
      logs.write("access.log.1", "{\"ts\":4,\"ip\":\"a\"}\n{\"ts\":1,\"ip\":\"c\"}\n");
  REQUIRE(std::system(("gzip '" + older + "'").c_str()) == 0);
  const auto empty = logs.write("empty", "");
  const auto recording = record({.files = {newer, empty, older + ".gz"}});
  CHECK(all_of(recording) ==
        AllCame{{1'000'000, "c"}, {3'000'000, "b"}, {4'000'000, "a"}, {5'000'000, "a"}});
  CHECK(recording.files().at(0).format->name == "epoch");
  CHECK(recording.files().at(1).format == nullptr);
  CHECK(recording.files().at(2).format->name == "jsonl");
}

TEST_CASE("requests at the same time keep the order of the files and lines") {
  const Logs logs;
  const auto one = logs.write("one", "1 a\n2 b\n1 c\n");
  const auto two = logs.write("two", "1 d\n2 e\n1 a\n");
  CHECK(all_of(record({.files = {two, one}})) == AllCame{{1'000'000, "d"},
                                                         {1'000'000, "a"},
                                                         {1'000'000, "a"},
                                                         {1'000'000, "c"},
                                                         {2'000'000, "e"},
                                                         {2'000'000, "b"}});
}

TEST_CASE(
    "missing files are reported before anything is read, and standard input counts as a file") {
  const Logs logs;
  const auto pipe = logs.write("log", "1 a\n");
  const auto missing = (logs.path() / "missing").string();
  CHECK_THROWS_WITH_AS((void)record({.files = {"-", missing}}),
                       ("cannot open " + missing + ": no such file or directory").c_str(),
                       InputError);
  CHECK_THROWS_WITH_AS((void)record({.files = {"-", pipe, "-"}}),
                       "standard input can be read only once, but '-' is given more than once",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)record({.files = {}}), "no file to replay", UsageError);
}

TEST_CASE("traffic may outlive its recording, and several traffics can be read at a time") {
  std::unique_ptr<traffic::Traffic> one, two;
  {
    const auto recording = record_text("1 a\n2 b\n");
    one = recording.traffic();
    two = recording.traffic();
  }
  traffic::Arrival arrival;
  REQUIRE(one->next(arrival));
  CHECK(all_of(*two) == AllCame{{1'000'000, "a"}, {2'000'000, "b"}});
  CHECK(all_of(*one) == AllCame{{2'000'000, "b"}});
}

TEST_CASE("many records are returned in order") {
  test::Random random;
  constexpr std::int64_t kCount = 100'000;
  std::vector<std::pair<std::int64_t, std::string>> expected;
  std::string log;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto late = random.percent(1) ? random.uniform(0, kCount) : 0;
    const auto at = 2'000'000 + i - late;
    auto key = std::to_string(i % 1'000);
    log += std::to_string(at) + " " + key + "\n";
    expected.emplace_back(at * 1'000'000, std::move(key));
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto recording = record_text(log);
  const auto traffic = recording.traffic();
  traffic::Arrival arrival;
  std::size_t wrong = 0;
  for (const auto& [at_us, key] : expected) {
    REQUIRE(traffic->next(arrival));
    if (arrival.at.count() != at_us || traffic->key_name(arrival.key) != key) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(!traffic->next(arrival));
}

TEST_CASE("progress is reported, and Ctrl-C ends the reading") {
  const Logs logs;
  std::string log;
  for (int i = 0; i < 300'000; ++i) log += std::to_string(i) + " a\n";
  const auto file = logs.write("log", log);
  const auto size = static_cast<std::int64_t>(log.size());
  Interrupt interrupt;
  std::int64_t last = 0;
  const OnProgress follow = [&](std::int64_t done, std::int64_t total) {
    CHECK(done >= last);
    CHECK(done <= size);
    CHECK(total == size);
    last = done;
  };
  (void)Recording({.files = {file}}, interrupt, follow);
  CHECK(last > 0);

  const OnProgress end = [&](std::int64_t, std::int64_t) { interrupt.raise(SIGINT); };
  const auto read = [&] { (void)Recording({.files = {file}}, interrupt, end); };
  CHECK_THROWS_AS(read(), Interrupted);
}

TEST_CASE("Ctrl-C ends the reading of records of several lines") {
  const Logs logs;
  std::string log = "ts,ip,note\n";
  for (int i = 0; i < 5'000; ++i) log += std::to_string(i) + ",a,\"1\n2\n3\n4\"\n";
  const auto file = logs.write("log", log);
  Interrupt interrupt;
  const OnProgress end = [&](std::int64_t, std::int64_t) { interrupt.raise(SIGINT); };
  const auto read = [&] { (void)Recording({.files = {file}}, interrupt, end); };
  CHECK_THROWS_AS(read(), Interrupted);
}

TEST_CASE("the recording knows its largest cost") {
  CHECK(record_text("1 a\n2 b 7\n3 a 3\n").max_cost() == 7);
  CHECK(record_text("1 a\n2 b\n").max_cost() == 1);
  CHECK(record_text("1 a 0\n2 b\n3 c 2000000000\n").max_cost() == 1);
}

}  // namespace rlctl::replay::recording_test
