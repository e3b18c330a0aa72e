#include "limiter/configuration.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace limiter_configuration_test {

using rlctl::UsageError;

using namespace std::chrono_literals;
using namespace rlctl::limiter;

namespace {

using Words = std::vector<std::string>;

/// The mistakes in the text, each with its line: "5: ...".
Words mistakes_in(std::string_view text) {
  constexpr std::string_view kFile = "f.toml:";
  try {
    require_correct(parse_configuration(text, "f.toml"));
  } catch (const ConfigurationError& error) {
    CHECK(error.what() == error.mistakes().front().message);
    Words mistakes;
    for (const auto& mistake : error.mistakes()) {
      REQUIRE(mistake.message.starts_with(kFile));
      mistakes.push_back(mistake.message.substr(kFile.size()));
    }
    return mistakes;
  }
  return {"accepted"};
}

/// The only mistake in the text.
std::string mistake_in(std::string_view text) {
  const auto mistakes = mistakes_in(text);
  CHECK(mistakes.size() == 1);
  return mistakes.front();
}

/// The mistake in a policy in which only `line`, on line 3, is wrong.
std::string mistake_in_policy(std::string_view line) {
  const std::string key = line.starts_with("key") ? "" : "key = \"k:%s\"";
  const std::string limit = line.starts_with("limit") ? "" : "limit = \"5/60s\"";
  return mistake_in("[policy.p]\n" + key + "\n" + std::string(line) + "\n" + limit + "\n");
}

/// The mistake in a setting of such a policy, without its place.
std::string mistake_in_setting(std::string_view line) {
  constexpr std::string_view kPlace = "3: policy 'p': ";
  const auto mistake = mistake_in_policy(line);
  CHECK(mistake.starts_with(kPlace));
  return mistake.substr(kPlace.size());
}

}  // namespace

// --- valid files --------------------------------------------------------------------------------

TEST_CASE("a configuration may use every setting") {
  const auto configuration = parse_configuration(R"(
url = "redis://10.0.0.5/2"
timeout = "250ms"

[policy.login]
key = "login:%s"
limit = "5/60s"

[policy.api]
key = "api:%s:%s"
algorithm = "gcra"
limit = ["10/s", "100/min"]
burst = 20
)",
                                                 "f.toml");
  CHECK(configuration.file == "f.toml");
  CHECK(configuration.url == "redis://10.0.0.5/2");
  CHECK(configuration.timeout == "250ms");
  REQUIRE(configuration.policies.size() == 2);
  const auto& login = configuration.policies[0];
  CHECK(login.name == "login");
  CHECK(login.key == "login:%s");
  CHECK(login.algorithm == find_algorithm(kDefaultAlgorithm));
  CHECK(login.limits == std::vector<Limit>{{5, 60s, {}}});
  CHECK(login.line == 5);
  const auto& api = configuration.policies[1];
  CHECK(api.algorithm == find_algorithm("gcra"));
  CHECK(api.limits == std::vector<Limit>{{10, 1s, 20}, {100, 60s, 20}});
  CHECK(find_policy(configuration, "api") == &api);
  CHECK(find_policy(configuration, "ap") == nullptr);
}

TEST_CASE("a configuration may be empty") {
  for (const auto* text :
       {"", "\n", "# a comment", "\xEF\xBB\xBF# from Windows\r\n", "[policy]\n"}) {
    const auto configuration = parse_configuration(text, "f.toml");
    CHECK_FALSE(configuration.url);
    CHECK_FALSE(configuration.timeout);
    CHECK(configuration.policies.empty());
  }
}

TEST_CASE("policies keep the order of the file, whatever their notation") {
  const auto names = [](std::string_view text) {
    std::string out;
    for (const auto& policy : parse_configuration(text, "f").policies) out += policy.name + " ";
    return out;
  };
  CHECK(names("[policy.z]\nkey='z'\nlimit='1/s'\n[policy.a]\nkey='a'\nlimit='1/s'\n") == "z a ");
  CHECK(names("policy.z={key='z',limit='1/s'}\npolicy.a.key='a'\npolicy.a.limit='1/s'") == "z a ");
  CHECK(names("policy = {z={key='z',limit='1/s'}, a={key='a',limit='1/s'}}") == "z a ");
}

// --- mistakes -----------------------------------------------------------------------------------

TEST_CASE("a long value is shortened in a message") {
  const std::string lots(200'000, 'x');
  const auto shown = std::string(40, 'x') + "...";
  CHECK(mistake_in(lots + " = 1") ==
        "1: unknown key '" + shown +
            "'; expected one of: url, password_file, tls, cacert, cert, "
            "key, sni, insecure, timeout, policy, "
            "script or library");
  CHECK(mistake_in("url = ['" + lots + "']") == "1: url must be a string, not a list");
  for (const std::string& text :
       {"timeout = '" + lots + "'", "policy = '" + lots + "'", "[policy." + lots + "]\nkey = 'k'",
        "policy." + lots + " = 1", "url = '" + lots + "'", "url = 'redis://h:" + lots + "'",
        "x = '" + lots, "[policy.x]\n" + lots + " = 1", lots,
        "[policy.x]\nkey = '%" + lots + "'\nlimit = '1/s'",
        "[policy.x]\nkey = 'k'\nlimit = '" + lots + "'",
        "[policy.x]\nkey = 'k'\nlimit = '1/" + lots + "'",
        "[policy.x]\nkey = 'k'\nlimit = '1/s'\nalgorithm = '" + lots + "'",
        "[policy.x]\nkey = '}" + lots + "'\nlimit = ['1/s', '1/m']",
        "[policy.x]\nkey = 'k'\nlimit = '1/s'\n[policy.x." + lots + "]\n[policy.x." + lots + "]"}) {
    CAPTURE(text.substr(0, 60));
    try {
      require_correct(parse_configuration(text, "f.toml"));
      FAIL("no mistake");
    } catch (const ConfigurationError& error) {
      for (const auto& mistake : error.mistakes()) CHECK(mistake.message.size() < 500);
    }
  }
  // Characters stay whole, and no part of a possible password is shown.
  CHECK(mistake_in("'" + std::string(39, 'x') + "éééé' = 1")
            .starts_with("1: unknown key '" + std::string(39, 'x') + "...'"));
  CHECK(mistake_in("'redis://u:secret" + lots + "@h' = 1").starts_with("1: unknown key '...'"));
  CHECK(mistake_in("timeout = 'redis://u:secret" + lots + "@h'").find("secret") ==
        std::string::npos);
}

TEST_CASE("a mistake names the setting that it spoils, and the others can be used") {
  const auto configuration = parse_configuration(R"(
url = "nowhere"
timout = "2s"
colour = "red"
[policy.good]
key = "good:%s"
limit = "5/60s"
[policy.bad]
key = "bad:%s"
limit = "5/60q"
[policy.typo]
key = "typo:%s"
limit = "5/60s"
brust = 3
[login]
[polciy.x]
)",
                                                 "f.toml");
  Words parts;
  for (const auto& mistake : configuration.mistakes) parts.push_back(mistake.part);
  CHECK(parts ==
        Words{"url", "timeout", "", "policy.bad", "policy.typo", "policy.login", "policy"});
  CHECK_FALSE(configuration.url);
  CHECK_FALSE(configuration.timeout);
  REQUIRE(configuration.policies.size() == 1);
  CHECK(configuration.policies.front().name == "good");
}

TEST_CASE("an unknown name is reported with its line and a suggestion") {
  CHECK(mistake_in("\n\nulr = 'private:'\n") == "3: unknown key 'ulr'; did you mean 'url'?");
  CHECK(mistake_in("[login]\n") == "1: unknown table 'login'; write [policy.login]");
  for (const char* text : {"host = 'h'", "[server]", "port = 1", "[redis]"}) {
    CHECK(mistake_in(text).ends_with("; the server is url = \"redis://HOST:PORT\""));
  }
  CHECK(mistake_in("limit = '5/60s'") ==
        "1: unknown key 'limit'; it belongs below a line [policy.NAME]");
  CHECK(mistake_in_policy("limt = '5/60s'") ==
        "3: unknown key 'limt' in [policy.p]; did you mean 'limit'?");
  CHECK(mistake_in("[policy.'a b']\nkey = 'k'\nlimit = '1/s'\nwindow = 5\n") ==
        "4: unknown key 'window' in [policy.\"a b\"]; expected one of: key, algorithm, limit, "
        "burst or ipv6_prefix");
}

TEST_CASE("a value of the wrong type is shown with the expected type") {
  CHECK(mistake_in("timeout = 1.5") == "1: timeout must be a string, not 1.5");
  CHECK(mistake_in("timeout = true") == "1: timeout must be a string, not true");
  CHECK(mistake_in("timeout = 2026-11-20") == "1: timeout must be a string, not a date or time");
  CHECK(mistake_in("policy = 'login'") ==
        "1: policy must be a table, [policy.NAME], not the string 'login'");
  CHECK(mistake_in("[[policy]]\nkey = 'k'") ==
        "1: policy must be a table, [policy.NAME], not a list");
  CHECK(mistake_in("[policy]\nkey = 'k'") ==
        "2: policy.key must be a table, [policy.key], not the string 'k'");
  CHECK(mistake_in_setting("key = ['k']") == "key must be a string, not a list");
  CHECK(mistake_in_setting("algorithm = {}") == "algorithm must be a string, not a table");
  CHECK(mistake_in_setting("burst = '10'") == "burst must be a whole number, not the string '10'");
  CHECK(mistake_in_setting("limit = 5") ==
        "limit must be a string such as \"5/60s\", or a list of them, not 5");
}

TEST_CASE("values are checked like those on the command line") {
  CHECK(mistake_in("url = 'redis://h:99999'") ==
        "1: url: bad port in the URL: '99999'; the port is 1 to 65535");
  CHECK(mistake_in("url = 'redis://:secret@h'\npassword_file = 'f'") ==
        "2: password_file: the url has a password too");
  CHECK(mistake_in("timeout = '1'") ==
        "1: timeout: '1' has no unit after 1; use us, ms, s, m, h or d");
  CHECK(mistake_in("timeout = '0s'") == "1: timeout: must be greater than 0, not '0s'");
  CHECK(mistake_in_setting("limit = '5/5q'").starts_with("limit: '5/5q' has "));
  CHECK(mistake_in_policy("limit = [\"1/s\",\n\"5\"]") ==
        "4: policy 'p': limit: '5' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min");
  CHECK(mistake_in_setting("limit = []") == "limit is an empty list; write \"5/60s\"");
  CHECK(mistake_in_setting("limit = ['5/60s', '6/1m']") ==
        "limit: two limits have the same window, 60s; give each its own");
  for (const std::string name : {"gcar", "x"}) {
    CHECK(mistake_in_setting("algorithm = '" + name + "'")
              .starts_with("algorithm: unknown algorithm '" + name + "'; "));
  }
  CHECK(mistake_in_setting("algorithm = 'concurrency'")
            .starts_with("algorithm: concurrency gives leases to holders"));
  CHECK(mistake_in_setting("burst = 3") ==
        "burst: sliding-window-log has no burst; token-bucket, gcra and leaky-bucket "
        "have one");
  CHECK(mistake_in_setting("burst = 0\nalgorithm = 'gcra'") ==
        "burst: burst must be from 1 to 1000000000, not 0");
  CHECK(mistake_in_setting("limit = '1000M/s'\nalgorithm = 'gcra'") ==
        "limit: limit 1000000000 x burst 1000000000 is more than 2^53; use a smaller "
        "limit or a smaller burst");
}

TEST_CASE("ipv6_prefix is a number of bits, and the key has an argument for an address") {
  const std::string range = "ipv6_prefix must be a whole number from 1 to 128, not ";
  CHECK(mistake_in_setting("ipv6_prefix = 0") == range + "0");
  CHECK(mistake_in_setting("ipv6_prefix = 129") == range + "129");
  CHECK(mistake_in_setting("ipv6_prefix = -64") == range + "-64");
  CHECK(mistake_in_setting("ipv6_prefix = 64.0") == range + "64");
  CHECK(mistake_in_setting("ipv6_prefix = '/64'") == range + "the string '/64'");
  CHECK(mistake_in_setting("ipv6_prefix = true") == range + "true");
  CHECK(mistake_in_policy("ipv6 = 64") ==
        "3: unknown key 'ipv6' in [policy.p]; did you mean 'ipv6_prefix'?");
  CHECK(mistake_in_policy("ipv6_prefx = 64") ==
        "3: unknown key 'ipv6_prefx' in [policy.p]; did you mean 'ipv6_prefix'?");
  CHECK(mistake_in("[policy.p]\nlimit = '1/s'\nipv6_prefix = 64\nkey = 'backup'\n") ==
        "3: policy 'p': ipv6_prefix: the key 'backup' has no argument that could be an address");
}

TEST_CASE("a template accepts only %s and %%") {
  for (const auto* key : {"k:%d", "100%", "%", "%%%", "%S", "% s", "%\xC3\xA9"}) {
    CHECK(mistake_in_setting(std::string("key = '") + key + "'") ==
          std::string("key: '") + key +
              "' has a % that is neither %s, an argument, nor %%, a percent sign");
  }
  CHECK(mistake_in_setting("key = ''") == "key: '' is empty");
}

TEST_CASE("a key that cannot have several limits is refused") {
  CHECK(mistake_in("[policy.p]\nkey = '}%s'\nlimit = ['1/s', '5/60s']\n") ==
        "2: policy 'p': key: key '}%s' cannot carry several limits, since no hash tag can be made "
        "of it; write a tag into it, such as '{tag}}%s'");
  CHECK(mistakes_in("[policy.p]\nkey = '}%s'\nlimit = ['1/s']\n") == Words{"accepted"});
}

TEST_CASE("a policy needs a name, a key and a limit") {
  CHECK(mistakes_in("\n[policy.p]\n") ==
        Words{"2: policy 'p': key is missing; write key = \"login:%s\"",
              "2: policy 'p': limit is missing; write limit = \"5/60s\""});
  const std::string nameless = "[policy.'']\nkey = 'k'\nlimit = '1/s'";
  CHECK(mistake_in(nameless) == "1: the name of a policy is empty");
  CHECK(parse_configuration(nameless, "f").policies.empty());
}

TEST_CASE("all mistakes are reported, in the order of the file") {
  const std::string no_limit = "is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min";
  CHECK(mistakes_in(R"([policy.z]
key = 5
limit = ["x", "1/s", "y"]
burst = 1.5
[policy.a]
limt = "1/s"
[other]
)") == Words{"2: policy 'z': key must be a string, not 5", "3: policy 'z': limit: 'x' " + no_limit,
             "3: policy 'z': limit: 'y' " + no_limit,
             "4: policy 'z': burst must be a whole number, not 1.5",
             "5: policy 'a': key is missing; write key = \"login:%s\"",
             "5: policy 'a': limit is missing; write limit = \"5/60s\"",
             "6: unknown key 'limt' in [policy.a]; did you mean 'limit'?",
             "7: unknown table 'other'; write [policy.other]"});
}

TEST_CASE("invalid TOML is reported with its line") {
  // The text after the position is the parser's.
  CHECK(mistake_in("a = 1\nurl = \"x\n") ==
        "2: bad TOML in string: it is not closed on its line, or has a control character");
  CHECK(mistake_in("[policy.p]\nkey = 'k'\nlimit = '1/s'\n[policy.p]\n")
            .starts_with("4: bad TOML in table header: "));
  const auto unquoted = mistake_in("\nurl = redis://h\n");
  CHECK(unquoted.starts_with("2: bad TOML in value: "));
  CHECK(unquoted.ends_with("; write text in quotes: limit = \"5/60s\""));
  CHECK(mistake_in("# \xFF").starts_with("1: bad TOML: "));
  CHECK(mistake_in(std::string_view("\n\0", 2)).starts_with("2: bad TOML"));
}

TEST_CASE("input that trips an assertion in the parser is a mistake of the whole file") {
  for (const std::string text : {"[.a]", "[=", "[ = ]", "[[[a]]]", "[#"}) {
    CHECK(mistake_in(text) == " bad TOML: unexpected character in a table header, such as [.a]");
  }
}

TEST_CASE("letters outside strings are mistakes in any alphabet") {
  CHECK(mistake_in("\n\u00e9 = 1").starts_with("2: bad TOML in root table: "));
  CHECK(mistake_in("a.\u0436 = 1").starts_with("1: bad TOML in key: "));
  CHECK(mistake_in("url = \u201cprivate:\u201d").starts_with("1: bad TOML in value: "));
  CHECK(mistake_in("\u3000url = 1").starts_with("1: bad TOML in root table: "));
  CHECK(mistake_in("url = 1 \u00a0").starts_with("1: bad TOML in key-value pair: "));
  CHECK(mistakes_in("# \u00e9 \u0436 \u3000\ntimeout = '1s' # \u201c") == Words{"accepted"});
}

TEST_CASE("excessive nesting is refused without a stack overflow") {
  const auto repeated = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  CHECK(mistake_in("\na" + repeated(".a", 500'000) + " = 1") == "2: more than 1000 dots");
  CHECK(mistake_in("a = " + repeated("[", 100'000)).starts_with("1: bad TOML in value: exceeded"));
  CHECK(
      mistake_in("a = " + repeated("{a=", 100'000)).starts_with("1: bad TOML in value: exceeded"));
  // The deepest nesting that is accepted.
  const auto dots = repeated(".a", 999);
  CHECK_FALSE(
      mistakes_in("[a" + dots + "]\n" + repeated("a" + dots + " = [ {\n", 7) + "a" + dots + " = 1")
          .empty());
}

TEST_CASE("scripts have texts and lists of texts, and names that can be told from files") {
  const auto read = parse_configuration(
      "[script.b]\nfile = 'b.lua'\nargs = ['x', "
      "'']\n[script.a]\n[policy.a]\nkey='k'\nlimit='1/s'\n",
      "f.toml");
  require_correct(read);
  REQUIRE(read.scripts.size() == 2);
  CHECK(read.scripts[0].name == "b");
  CHECK(read.scripts[1].line == 4);
  CHECK(find_script(read, "c") == nullptr);
  const auto* script = find_script(read, "b");
  REQUIRE(script != nullptr);
  CHECK(script->find("keys") == nullptr);
  CHECK(script->find("file")->values == Words{"b.lua"});
  CHECK_FALSE(script->find("file")->is_list);
  CHECK(script->find("args")->values == Words{"x", ""});
  CHECK(script->find("args")->line == 3);

  CHECK(mistake_in("script = 1") == "1: script must be a table, [script.NAME], not 1");
  CHECK(mistake_in("script.a = 1") == "1: script.a must be a table, [script.a], not 1");
  CHECK(mistake_in("[script.'']") == "1: the name of a script is empty");
  CHECK(parse_configuration("[script.'']", "f").scripts.empty());
  CHECK(mistake_in("[scirpt.x]") == "1: unknown table 'scirpt'; did you mean 'script'?");
  for (const std::string name : {"-", "a/b", "a.lua"}) {
    CHECK(mistake_in("[script.'" + name + "']") ==
          "1: script '" + name + "': rlctl takes this name for a file");
  }
  CHECK(mistake_in("[script.gcra]") == "1: script 'gcra': a bundled script has this name");
  CHECK(mistakes_in("[script.a]\nfile = 1\nargs = ['', 2, 3]") ==
        Words{"2: script 'a': file must be a string, not 1",
              "3: script 'a': args must be a string, or a list of them, not 2",
              "3: script 'a': args must be a string, or a list of them, not 3"});
}

TEST_CASE("mistakes are merged in the order of their lines, and those of the file come last") {
  std::vector<ConfigurationMistake> mistakes{mistake_at("f", 2, "b", ""), {.message = "whole"}};
  merge_mistakes(mistakes, {mistake_at("f", 3, "c", ""), mistake_at("f", 1, "a", "url")});
  Words texts;
  for (const auto& mistake : mistakes) texts.push_back(mistake.message);
  CHECK(texts == Words{"f:1: a", "f:2: b", "f:3: c", "whole"});
}

}  // namespace limiter_configuration_test
