#include "replay/recording.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/check_each.h"
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
  try {
    const auto recording = record_text(content, {.fields = fields});
    const auto& file = recording.files().at(0);
    return file.prefix + (file.prefix.empty() ? "" : " ") + file.format;
  } catch (const InputError& error) {
    return "none";
  }
}

/// The keys of the requests, in order.
std::vector<std::string> keys_of(std::string_view content, const ReplayOptions& options = {}) {
  std::vector<std::string> keys;
  for (const auto& came : all_of(record_text(content, options))) keys.push_back(came.key);
  return keys;
}

/// A line of an access log with every field.
constexpr std::string_view kLine =
    "192.0.2.1 - ann [10/Oct/2000:20:55:36 +0000] \"GET /a b?c=d e HTTP/1.1\" 200 2326 "
    "\"http://example.com/\" \"agent \\\"x\\\" y\"\n";

}  // namespace

TEST_CASE("formats are recognized by what can be read from their first lines") {
  CHECK(format_of(kLine) == "combined");
  CHECK(format_of("{\"ts\":1795155070,\"ip\":\"192.0.2.1\"}") == "jsonl");
  CHECK(format_of("ts,ip\n1795155070,192.0.2.1\n") == "csv");
  CHECK(format_of("1 a\n") == "epoch");
  CHECK(format_of("{\"when\":1795155070,\"ip\":\"192.0.2.1\"}", {.time = "when"}) == "jsonl");
  CHECK(format_of("when,ip\n1795155070,192.0.2.1\n", {.time = "when"}) == "csv");
  CHECK(format_of("when,ip\n1795155070,192.0.2.1\n") == "none");
  CHECK(format_of("two words\n") == "none");
  CHECK(format_of("\n\n") == "none");
}

TEST_CASE("a format must read nine of ten lines") {
  const std::string line = "192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] \"GET /\" 200 1\n";
  std::string log;
  for (int i = 0; i < 9; ++i) log += line;
  CHECK(format_of("junk\n" + log) == "common");
  CHECK(format_of("junk\njunk\n" + log) == "none");
  const auto said = refusal(log + "junk\n\njunk\n");
  CHECK(said.message ==
        "log:10: this is in none of the known formats; common is nearest and reads 9 of 11 lines, "
        "but it has no ' - ' after remote_addr: 'junk'");
  CHECK(said.hint == "--format common leaves out what it does not read");
  CHECK(record_text(log + "junk\njunk\n", {.format = "common"}).counts().bad == 2);
}

TEST_CASE("a format is recognized only with an address as the key and a time as the time") {
  const std::string rest = " - - [10/Oct/2000:20:55:36 +0000] \"GET /\" 200 1\n";
  const auto said = refusal("host.example" + rest);
  CHECK(
      said.message ==
      "log:1: this is in none of the known formats; common is nearest, but the key 'host.example' "
      "is not an address: 'host.example" +
          rest.substr(0, rest.size() - 1) + "'");
  CHECK(said.hint == "--format common takes the keys as they are");
  CHECK(keys_of("host.example" + rest, {.format = "common"}) ==
        std::vector<std::string>{"host.example"});
  CHECK(format_of("-" + rest) == "none");
  CHECK(format_of("192.0.2.1 - - [today] \"GET /\" 200 1\n") == "none");
  // A duration that is called time.
  CHECK(format_of("{\"time\":0.003,\"ip\":\"192.0.2.1\"}") == "none");
  CHECK(format_of("{\"ts\":1795155070,\"user\":\"ann\"}") == "none");
  CHECK(format_of("{\"ts\":1795155070,\"user\":\"ann\"}", {.key = "user"}) == "jsonl");
  CHECK(format_of("{\"ts\":1795155070,\"key\":\"ann\"}") == "jsonl");
}

TEST_CASE("a line that two formats read differently is in neither") {
  const std::string line =
      "{\"ts\":1795155070,\"ip\":\"192.0.2.1\",\"request\":{\"client_ip\":\"192.0.2.2\"}}";
  const auto said = refusal(line);
  CHECK(said.message ==
        "log:1: this may be in the format caddy or jsonl, which take different keys from it: '" +
            line + "'");
  CHECK(said.hint == "--format caddy, or --format jsonl");
  CHECK(keys_of(line, {.format = "jsonl"}) == std::vector<std::string>{"192.0.2.1"});
  // Which of two addresses is the client's, nothing says.
  CHECK(format_of("198.51.100.1 192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] \"GET /\" 200 1\n") ==
        "none");
}

TEST_CASE("a log in an unknown format is an error with the nearest format") {
  const auto hint_of = [](std::string_view line) { return refusal(line).hint; };
  CHECK(refusal("\n\nJan  1 00:00:00 host sshd[1]: hello\n").message ==
        "log:3: this is in none of the known formats: 'Jan  1 00:00:00 host sshd[1]: hello'");
  CHECK(refusal(std::string(300, 'x')).message ==
        "log:1: this is in none of the known formats: '" + std::string(200, 'x') + "...'");
  CHECK(hint_of("hello").find("--format takes nginx's log_format") == 0);
  CHECK(hint_of(std::string(400'000, '"')).size() < 10'000);
  CHECK(hint_of(
            "\"Time (UTC)\",\"Client\",\"Units\"\r\n\"2026-11-20 08:00:00\",\"cleo\",\"3\"\r\n") ==
        "for a CSV: --format csv --fields 'time=Time (UTC),key=NAME'");
  CHECK(hint_of("units;h1;at\n3;200;2026-11-20T08:00:00Z\n") ==
        "for a CSV: --format csv --fields time=at,key=NAME");
  CHECK(hint_of("x'$(id)',ip\n2026-01-01T00:00:00Z,1.2.3.4\n") ==
        "for a CSV: --format csv --fields 'time=x'\\''$(id)'\\'',key=NAME'");
  CHECK(hint_of("what,who\n3,x\n") == "for a CSV: --format csv --fields time=NAME,key=NAME");
  CHECK(hint_of("status,h1\n200,3\n").find("--format takes") == 0);
  CHECK(hint_of("a," + std::string(400'000, ',') + "\n1\n").find("for a CSV") == 0);
  // What goes on after all that a format has.
  const auto said = refusal(std::string(kLine.substr(0, kLine.size() - 1)) + " a=1 b=2 c=3");
  CHECK(said.message.find("; combined is nearest, but it goes on after http_user_agent: '") !=
        std::string::npos);
  CHECK(said.hint.find("--format takes nginx's log_format, such as '$remote_addr [") == 0);
}

TEST_CASE("a named format is not guessed, and an unknown format is refused") {
  std::string log;
  for (int i = 0; i < 20; ++i) log += "banner\n";
  log += "1 a\n";
  CHECK(refusal(log).message.find("log:1: this is in none") == 0);
  CHECK(record_text(log, {.format = "epoch"}).counts().bad == 20);
  const auto said = refusal(log, {.format = "combind"});
  CHECK(said.message == "unknown format 'combind'; did you mean 'combined'?");
  CHECK(!said.of_input);
  CHECK(refusal(log, {.format = "cri"}).message ==
        "'cri' is what comes before each line of another format");
}

TEST_CASE("a log without a request is an error with the reason") {
  CHECK(refusal("").message == "no request in log: it is empty");
  CHECK(refusal("\n \n").message == "no request in log: it is empty");
  CHECK(refusal("", {.format = "csv"}).message == "no request in log: it is empty");
  CHECK(refusal("# x\n").message == "no request in log: nothing but headers or comments");
  CHECK(refusal("ts,ip\n").message == "no request in log: nothing but headers or comments");
  const auto said = refusal("a\nb\n\n", {.format = "epoch"});
  CHECK(
      said.message ==
      "no request in log: 2 of 3 lines are bad, the first: log:1: it has no ' ' after epoch: 'a'");
  CHECK(said.hint == "--format says what the lines have; --fields time=NAME,key=NAME names fields");
}

TEST_CASE("bad lines are counted and the first is kept; in strict mode it is an error") {
  const Logs logs;
  const auto good = logs.write("good", "1 a\n");
  const auto worse = logs.write("worse", "2 a\nrubbish\nmore rubbish\n3 a\n");
  const auto recording = record({.files = {good, worse}, .format = "epoch"});
  CHECK(recording.counts() == LineCounts{.lines = 5, .requests = 3, .bad = 2});
  REQUIRE(recording.first_bad());
  CHECK(recording.first_bad()->file == worse);
  CHECK(recording.first_bad()->line == 2);
  CHECK(recording.first_bad()->why == "it has no ' ' after epoch");
  CHECK(recording.first_bad()->text == "rubbish");
  CHECK(recording.files().at(0).counts == LineCounts{.lines = 1, .requests = 1});
  CHECK(recording.files().at(1).counts == LineCounts{.lines = 4, .requests = 2, .bad = 2});

  CHECK_THROWS_WITH_AS((void)record({.files = {good, worse}, .format = "epoch", .strict = true}),
                       (worse + ":2: it has no ' ' after epoch: 'rubbish'").c_str(), InputError);
  CHECK(record({.files = {good}, .strict = true}).counts().requests == 1);
}

TEST_CASE("a recording knows its first and last instant, its keys and its largest cost") {
  const auto recording = record_text("5 b\n3 a\n4 b 7\n");
  CHECK(recording.first() == std::chrono::seconds{3});
  CHECK(recording.last() == std::chrono::seconds{5});
  CHECK(recording.keys() == 2);
  CHECK(recording.max_cost() == 7);
  CHECK(recording.traffic()->size() == 3);
  CHECK(record_text("1 a 0\n2 b\n3 c 2000000000\n", {.format = "epoch"}).max_cost() == 1);
}

TEST_CASE("a recording knows what is out of order in a file, but not between files") {
  const auto recording = record_text("3 a\n5 b\n3.5 a\n5 c\n4 b\n");
  CHECK(recording.out_of_order() == 2);
  CHECK(recording.out_of_order_by() == std::chrono::milliseconds{1500});
  const Logs logs;
  const auto newer = logs.write("access.log", "5 a\n6 b\n");
  const auto older = logs.write("access.log.1", "1 a\n2 b\n");
  CHECK(record({.files = {newer, older}}).out_of_order() == 0);
}

TEST_CASE("other fields of an access log can be the key") {
  test::check_each({{"address", "192.0.2.1"},
                    {"remote_addr", "192.0.2.1"},
                    {"user", "ann"},
                    {"method", "GET"},
                    {"path", "/a b"},
                    {"request", "GET /a b?c=d e HTTP/1.1"},
                    {"status", "200"},
                    {"referer", "http://example.com/"},
                    {"useragent", "agent \\\"x\\\" y"}},
                   [](const auto& field) { return keys_of(kLine, with_key(field)).at(0); });
  const auto said = refusal(kLine, with_key("color"));
  CHECK(said.message ==
        "no field 'color': the format has remote_addr, remote_user, time_local, request, "
        "status, body_bytes_sent, http_referer, http_user_agent");
  CHECK(!said.of_input);
}

TEST_CASE("a line of an access log without the chosen field is bad") {
  const auto recording = record_text(
      std::string(kLine) + "192.0.2.1 - ann [10/Oct/2000:20:55:36 +0000] \"-\" 200 1 \"-\" \"-\"\n",
      {.format = "combined", .fields = {.key = "path"}});
  CHECK(recording.counts().bad == 1);
  CHECK(recording.first_bad()->why == "it has no path");
}

TEST_CASE("the user in an access log may be quoted and contain blanks") {
  const auto user = [](const std::string& head) {
    return keys_of(head + " [10/Oct/2000:20:55:36 +0000] \"GET /\" 200 1\n", with_key("user"))
        .at(0);
  };
  CHECK(user("192.0.2.1 - -") == "-");
  CHECK(user("192.0.2.1 - \"a b\"") == "\"a b\"");
  CHECK(user("192.0.2.1 - ann b") == "ann b");
  CHECK(user("example.com:80 192.0.2.1 - ann") == "ann");
  CHECK(user("192.0.2.1 ident ann") == "ann");
}

TEST_CASE("an address is the key in one spelling, without its port, of a list the first") {
  const auto key = [](const std::string& address) {
    return keys_of(address + " - - [10/Oct/2000:20:55:36 +0000] \"GET /\" 200 1\n").at(0);
  };
  CHECK(key("192.0.2.1") == "192.0.2.1");
  CHECK(key("192.0.2.1:51234") == "192.0.2.1");
  CHECK(key("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(key("[::FFFF:192.0.2.1]:443") == "192.0.2.1");
  CHECK(key("2001:db8::1") == "2001:db8::1");
  CHECK(key("[2001:db8::1]:443") == "2001:db8::1");
  CHECK(key("fe80::1%eth0") == "fe80::1");
  CHECK(key("198.51.100.7, 10.0.0.1, 10.0.0.2") == "198.51.100.7");
  CHECK(key("2001:db8::1, 10.0.0.1") == "2001:db8::1");
  // The fields of other formats likewise, but one that is called key.
  const auto csv = [](const std::string& name, const std::string& value) {
    return keys_of("ts," + name + "\n1795155070,\"" + value + "\"\n", with_key(name)).at(0);
  };
  CHECK(csv("who", "192.0.2.1:80") == "192.0.2.1");
  CHECK(csv("who", "192.0.2.1, 10.0.0.1") == "192.0.2.1");
  CHECK(csv("who", "login:80") == "login:80");
  CHECK(csv("who", "a, b") == "a, b");
  CHECK(csv("key", "192.0.2.1:80") == "192.0.2.1:80");
}

TEST_CASE("a field that the format does not have is refused") {
  CHECK(refusal(kLine, {.fields = {.time = "t"}}).message.starts_with("no field 't': the format "));
  CHECK(refusal(kLine, {.fields = {.cost = "c"}}).message.starts_with("no field 'c': the format "));
  CHECK(refusal("1 a\n", with_key("k")).message == "no field 'k': the format has epoch, key, cost");
  const std::string csv = "ts,ip\n1795155070,192.0.2.1\n";
  CHECK(refusal(csv, with_key("user")).message == "log:1: the header has no field 'user': 'ts,ip'");
  CHECK(refusal(csv, with_key("user")).hint == "--fields key=NAME says which of them it is");
  CHECK(refusal(csv, {.fields = {.cost = "c"}}).message ==
        "log:1: the header has no field 'c': 'ts,ip'");
  CHECK(refusal("a,b\n", {.format = "csv"}).message ==
        "log:1: the header has no field for the time: 'a,b'");
  CHECK(refusal("{\"ts\":1795155070,\"ip\":\"192.0.2.1\"}\n", with_key("user")).message ==
        "no request in log: 1 of 1 lines are bad, the first: log:1: it has no field 'user', "
        "but ts, ip: '{\"ts\":1795155070,\"ip\":\"192.0.2.1\"}'");
}

TEST_CASE("the client's address is the key, whatever else is like one") {
  const std::string at = " [25/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n";
  const std::string haproxy =
      " [25/Nov/2026:12:00:00.1] in web/srv1 0/0/1/1/2 200 5 - - ---- 1/1/1/1/0 0/0 \"GET /\"\n";
  const std::string w3c = "#Fields: date time cs(User-Agent) c-ip\n2026-11-25 12:00:00 ";
  const test::Cases logs{
      // The second field of lighttpd is the name of a server, not a client behind a proxy.
      {"192.0.2.7 www.example.com -" + at, "192.0.2.7"},
      {"10.0.0.1 192.0.2.7 -" + at, "refused"},
      {"10.0.0.1 - 192.0.2.7 - ann" + at, "refused"},
      {"10.0.0.1 - -" + at.substr(0, at.size() - 1) + " 192.0.2.7\n", "refused"},
      {"192.0.2.7 - [25/Nov/2026:12:00:00 +0000] 10.0.0.1:80 GET / HTTP/1.1 200 5\n", "refused"},
      {"192.0.2.7:8000" + haproxy, "192.0.2.7"},
      {"2001:db8::1:8000" + haproxy, "2001:db8::1"},
      {"2001:DB8:0::1 - -" + at, "2001:db8::1"},
      {"web-1  |   192.0.2.7 - -" + at, "192.0.2.7"},
      {w3c + "\"a b\" 192.0.2.7\n", "192.0.2.7"},
      {"{\"ts\":1795608000,\"remote_addr\":\"10.0.0.1:80\",\"client_ip\":\"192.0.2.7\"}\n",
       "192.0.2.7"},
      {"{\"ts\":1795608000,\"ip\":\"192.0.2.7\",\"ua\":\"a \\x22b\\x22 \xe4\"}\n", "192.0.2.7"},
  };
  test::check_each(logs, [](const auto& log) {
    return format_of(log) == "none" ? "refused" : keys_of(log).at(0);
  });
  // A list between blanks is one field.
  CHECK(keys_of("10.0.0.8:80, 10.0.0.9:80 192.0.2.7 1795608000\n",
                {.format = "$upstream_addr $remote_addr $msec"}) ==
        std::vector<std::string>{"192.0.2.7"});
}

TEST_CASE("variants of a format may share a file") {
  const std::string start =
      "79a5 web [25/Nov/2026:12:00:00 +0000] 192.0.2.7 - 3E57 REST.GET.OBJECT a.png ";
  std::string log = start + "- 200 - 113 113 7 6 \"-\" \"-\" -\n";
  for (int i = 0; i < 19; ++i) log += start + "\"GET / HTTP/1.1\" 200 - 1 1 7 6 \"-\" \"-\" -\n";
  CHECK(record_text(log).counts() == LineCounts{.lines = 20, .requests = 20});
}

TEST_CASE("requests that nginx's limit_req denied or delayed are read from its error log") {
  const std::string start = "2026/11/25 12:00:00 [";
  const std::string end =
      " by zone \"perip\", client: 192.0.2.7, server: _, request: \"GET / HTTP/1.1\", host: "
      "\"a\"\n";
  const auto recording =
      record_text(start + "error] 7#7: *1 limiting requests, excess: 20.500" + end + start +
                  "error] 7#7: *1 limiting requests, dry run, excess: 20.500" + end + start +
                  "warn] 7#7: *2 delaying request, excess: 0.500," + end);
  CHECK(recording.files().at(0).format == "nginx-error");
  CHECK(recording.counts() == LineCounts{.lines = 3, .requests = 3});
  CHECK(all_of(recording).at(2) == Came{1'795'608'000'000'000, "192.0.2.7"});
  CHECK(record_text(start + "error] 7#7: *1 open() failed\n" + start +
                        "error] 7#7: *1 limiting requests, excess: 20.500" + end,
                    {.format = "nginx-error"})
            .counts() == LineCounts{.lines = 2, .requests = 1, .bad = 1});
}

TEST_CASE("a format of the user is nginx's log_format or Apache's LogFormat") {
  const auto key = [](std::string format, std::string_view line = kLine) {
    return keys_of(line, {.format = std::move(format)}).at(0);
  };
  CHECK(key("$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "
            "\"$http_referer\" \"$http_user_agent\"") == "192.0.2.1");
  // As they stand in the servers' files.
  CHECK(key("$remote_addr - ${remote_user} [$time_local] \\\"$request\\\" $any") == "192.0.2.1");
  CHECK(key("%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\"") ==
        "192.0.2.1");
  CHECK(key("%h %l %u [%{%d/%b/%Y:%T %z}t] \"%r\" %400,501>s %b \"%{Referer}i\" "
            "\"%{User-agent}i\"") == "192.0.2.1");
  CHECK(key("%{sec}t.%{usec_frac}t%% %a", "1795155070.123456% 192.0.2.7\n") == "192.0.2.7");
  CHECK(key("$msec\\t$remote_addr\\t$request_uri", "1795155070.1\t192.0.2.7\t/a b\n") ==
        "192.0.2.7");
  CHECK(key("$msec $scheme://$host$request_uri $remote_addr",
            "1795155070 http://x/a 192.0.2.7\n") == "192.0.2.7");
  CHECK(key("$date $time $http_x_forwarded_for", "2026-11-25 12:00:00 192.0.2.7, 10.0.0.1\n") ==
        "192.0.2.7");
  CHECK(key("$remote_addr:$remote_port $msec", "2001:db8::1:4711 1795155070\n") == "2001:db8::1");
  // The first of several addresses is that of the connection, if it is there.
  CHECK(key("$http_x_forwarded_for $remote_addr $msec", "192.0.2.8 192.0.2.7 1795155070\n") ==
        "192.0.2.7");
  // JSON, in nginx's spelling: the order does not matter, and numbers have no quotes.
  CHECK(key("{\"at\": $msec, \"x\": {\"a\": \"$remote_addr\"}, \"s\": $status}",
            "{\"s\": 200, \"x\": {\"a\": \"192.0.2.7\"}, \"at\": 1795155070}\n") == "192.0.2.7");
}

TEST_CASE("a format of the user that is wrong is refused, with the variable") {
  const auto why = [](const char* format) { return refusal(kLine, {.format = format}).message; };
  CHECK(why("$remote_adr [$time_local]") ==
        "no field for the key: the format has remote_adr, time_local");
  CHECK(why("%{Host}i %t %D") == "no field for the key: the format has http_host, time_local, D");
  CHECK(why("[$time_local] $status") == "no field for the key: the format has time_local, status");
  CHECK(why("{\"t\":\"$time_local\"}") == "no field for the key: the format has t");
  CHECK(why("$") == "it has no variables");
}

TEST_CASE("named fields are used, and no others") {
  const std::string json =
      "{\"ts\":1795155070,\"ip\":\"192.0.2.1\",\"cost\":9,\"t_ms\":5,\"r\":{\"who\":{\"id\":7}},"
      "\"n\":2}\n";
  const std::int64_t at = 1'795'155'070'000'000;
  CHECK(all_of(record_text(json)) == AllCame{{at, "192.0.2.1", 9}});
  CHECK(all_of(record_text(json, {.fields = {.time = "t_ms", .key = "r.who.id", .cost = "n"}})) ==
        AllCame{{5'000, "7", 2}});
  CHECK(refusal(json, with_key("IP")).message.find("it has no field 'IP'") != std::string::npos);
  // A name with a dot in it, at the top level.
  CHECK(all_of(record_text("{\"ts\":1795155070,\"r.ip\":\"a\"}", with_key("r.ip"))) ==
        AllCame{{at, "a"}});
  const std::string csv = "ts,ip,cost,t_ms,n\n1795155070,192.0.2.1,9,5,2\n";
  CHECK(all_of(record_text(csv)) == AllCame{{at, "192.0.2.1", 9}});
  CHECK(all_of(record_text(csv, {.fields = {.time = "t_ms", .key = "n", .cost = "n"}})) ==
        AllCame{{5'000, "2", 2}});
}

TEST_CASE("the usual names of fields are found in any spelling, the most telling first") {
  const auto key = [](const std::string& fields) {
    return keys_of("{\"ts\":1795155070," + fields + "}").at(0);
  };
  for (const auto* name : {"clientIP", "client-ip", "Client IP", "x_forwarded_for", "RemoteAddr"}) {
    CAPTURE(name);
    CHECK(key("\"" + std::string(name) + "\":\"192.0.2.7\"") == "192.0.2.7");
  }
  CHECK(key("\"x_forwarded_for\":\"192.0.2.9\",\"remote_addr\":\"192.0.2.7\"") == "192.0.2.7");
  // A date and a time of day belong together.
  const std::int64_t at = 1'795'608'000'000'000;
  CHECK(all_of(record_text("date,time,c-ip\n2026-11-25,12:00:00,192.0.2.7\n")) ==
        AllCame{{at, "192.0.2.7"}});
}

TEST_CASE("the fields are fixed by the first line with a readable time and key") {
  const auto recording = record_text(
      "{\"ip\":\"z\"}\n{\"ts\":\"?\",\"ip\":\"z\"}\n{\"time\":1,\"ip\":\"a\",\"user\":\"u\"}\n"
      "{\"ts\":2,\"ip\":\"b\"}\n{\"time\":3,\"user\":\"c\"}\n{\"TIME\":3,\"ip\":\"c\"}\n"
      "{\"time\":4,\"ip\":\"d\",\"remote_addr\":\"e\"}\n",
      {.format = "jsonl"});
  CHECK(all_of(recording) == AllCame{{1'000'000, "a"}, {4'000'000, "d"}});
  CHECK(recording.counts().bad == 5);
  CHECK(recording.first_bad()->why == "it has no time");
}

TEST_CASE("keys and costs have limits, and lines beyond them are bad") {
  const std::string longest(LogReader::kMaxKey, 'k');
  const auto of_epoch = [](const std::string& text) {
    return record_text(text, {.format = "epoch"});
  };
  const auto recording = of_epoch("1 " + longest + " 1000000000\n2 " + longest + "k\n");
  CHECK(all_of(recording) == AllCame{{1'000'000, longest, 1'000'000'000}});
  CHECK(recording.first_bad()->why == "its key is longer than 64 KB");
  for (const auto* cost : {"1000000001", "0", "x", "99999999999999999999"}) {
    CAPTURE(cost);
    CHECK(of_epoch(std::string("1 a\n1 a ") + cost + "\n").first_bad()->why ==
          "the cost '" + std::string(cost) + "' is not a whole number from 1 to 1000000000");
  }
  CHECK(record_text("ts,ip\n1,a\n1,\"\"\n", {.format = "csv"}).first_bad()->why ==
        "its key is empty");
}

TEST_CASE("lines of 1 MB are accepted, and one of 17 MB is bad, even as the first of a file") {
  const auto huge =
      "192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] \"" + std::string(1'000'000, 'x') + "\" 200 1\n";
  CHECK(record_text(huge + huge).counts() == LineCounts{.lines = 2, .requests = 2});
  const auto log = std::string(17 << 20, 'x') + "\n1 a\n2 a\n";
  for (const auto& format : {std::optional<std::string>(), std::optional<std::string>("epoch")}) {
    const auto recording = record_text(log, {.format = format});
    CHECK(recording.files().at(0).format == "epoch");
    CHECK(recording.counts() == LineCounts{.lines = 3, .requests = 2, .bad = 1});
    CHECK(recording.first_bad()->line == 1);
    CHECK(recording.first_bad()->why == "it is longer than 16 MB");
    CHECK(recording.first_bad()->text == std::string(200, 'x') + "...");
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
  CHECK(recording.files().at(0).format == "epoch");
  CHECK(recording.counts() == LineCounts{.lines = (5 << 20) + 1, .requests = 1, .blank = 5 << 20});
}

TEST_CASE("an unclosed quote in CSV costs only its line, if it is before the fields that count") {
  std::string log = "note,ts,ip,more\n";
  for (int i = 0; i < 500; ++i) {
    log += std::string(i == 7 || i == 480 ? "\"open" : "x") + "," +
           std::to_string(1'795'155'000 + i) + ",192.0.2.1," + (i == 9 ? "\"open" : "x") + "\n";
  }
  const auto recording = record_text(log);
  CHECK(recording.counts() == LineCounts{.lines = 501, .requests = 498, .bad = 2, .other = 1});
  CHECK(recording.first_bad()->line == 9);
  CHECK(recording.first_bad()->why == "its quotes are wrong");
}

TEST_CASE("several files, plain and compressed, are one recording in order of time") {
  const Logs logs;
  const auto newer = logs.write("access.log", "5 a\n3 b\n");
  const auto older =
      logs.write("access.log.1", "{\"ts\":4,\"key\":\"a\"}\n{\"ts\":1,\"key\":\"c\"}\n");
  REQUIRE(std::system(("gzip '" + older + "'").c_str()) == 0);
  const auto empty = logs.write("empty", "");
  const auto recording = record({.files = {newer, empty, older + ".gz"}});
  CHECK(all_of(recording) ==
        AllCame{{1'000'000, "c"}, {3'000'000, "b"}, {4'000'000, "a"}, {5'000'000, "a"}});
  CHECK(recording.files().at(0).format == "epoch");
  CHECK(recording.files().at(1).format.empty());
  CHECK(recording.files().at(2).format == "jsonl");
}

TEST_CASE("requests at the same time keep the order of the files and lines") {
  const Logs logs;
  const auto one = logs.write("one", "1 a\n2 b\n1 c\n");
  const auto two = logs.write("two", "1 d\n2 e\n1 a\n");
  std::string keys;
  for (const auto& came : all_of(record({.files = {two, one}}))) keys += came.key;
  CHECK(keys == "daaceb");
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

}  // namespace rlctl::replay::recording_test
