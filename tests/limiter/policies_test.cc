#include "limiter/configuration.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limiter_policies_test {

using namespace std::chrono_literals;
using rlctl::UsageError;
using namespace rlctl::limiter;

namespace {

using Words = std::vector<std::string>;

Policy policy_with_key(std::string key) {
  return {.name = "p", .key = std::move(key), .limits = {Limit{5, 60s, {}}}};
}

std::string with_policies(const Words& keys, const std::string& limit = "\"5/60s\"") {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text += "[policy.p" + std::to_string(i) + "]\nkey = '" + keys[i] + "'\nlimit = " + limit + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a template takes as many arguments as it has %s") {
  const auto key = [](const std::string& text, const Words& arguments) {
    const auto policy = policy_with_key(text);
    CHECK(argument_count(policy) == arguments.size());
    const auto filled = fill(policy, arguments);
    CHECK(fits(policy, filled));
    return filled;
  };
  CHECK(key("login:%s", {"alice"}) == "login:alice");
  CHECK(key("%s:%s", {"a", "b"}) == "a:b");
  CHECK(key("%s%s", {"a", "b"}) == "ab");
  CHECK(key("all", {}) == "all");
  CHECK(key("100%%:%s%%", {"5"}) == "100%:5%");
  CHECK(key("%%s", {}) == "%s");
  CHECK(key("x%s", {"%s"}) == "x%s");
  CHECK(key("\xC3\xA9:%s", {"\xC3\xBC \n"}) == "\xC3\xA9:\xC3\xBC \n");
  CHECK(key("b:%s", {std::string("\0\xFF", 2)}) == std::string("b:\0\xFF", 4));
}

TEST_CASE("a key matches a template if each %s can match at least one byte") {
  const auto fit = [](const char* text, std::string_view key) {
    return fits(policy_with_key(text), key);
  };
  CHECK(fit("login:%s", "login:a"));
  CHECK_FALSE(fit("login:%s", "login:"));
  CHECK_FALSE(fit("login:%s", "logon:a"));
  CHECK_FALSE(fit("login:%s", "xlogin:a"));
  CHECK(fit("%s", "x"));
  CHECK_FALSE(fit("%s", ""));
  CHECK(fit("%s:x", "a:x:x"));
  CHECK_FALSE(fit("%s:x", ":x"));
  CHECK_FALSE(fit("%s:x", "a:x:y"));
  CHECK(fit("%s:%s", ":::"));
  CHECK_FALSE(fit("%s:%s", "::"));
  CHECK(fit("%s%s%s", "abc"));
  CHECK_FALSE(fit("%s%s%s", "ab"));
  CHECK(fit("a%sa", "aaa"));
  CHECK_FALSE(fit("a%sa", "aa"));
  CHECK_FALSE(fit("ab%sba", "aba"));
  CHECK(fit("x%sab%sab", "x.ab.ab.ab"));
  CHECK(fit("all", "all"));
  CHECK_FALSE(fit("all", "all:"));
  CHECK(fit("%%", "%"));
  CHECK_FALSE(fit("%%", "%%"));
}

TEST_CASE("a key belongs to the policy with the most literal text, or else to the first") {
  const auto configuration = parse_configuration(
      with_policies({"%s", "login:%s", "%s:alice", "login:%s:x", "lo%s:x", "%s:%s", "%s:bob"}),
      "f.toml");
  const auto name = [&](std::string_view key) -> std::string {
    const auto* policy = policy_for(configuration, key);
    return policy == nullptr ? "none" : policy->name;
  };
  CHECK(name("x") == "p0");
  CHECK(name("login:bob") == "p1");
  CHECK(name("login:alice") == "p1");  // 6 bytes, like p2, and earlier
  CHECK(name("x:alice") == "p2");
  CHECK(name("login:a:x") == "p3");
  CHECK(name("lot:x") == "p4");
  CHECK(name("a:b") == "p5");
  CHECK(name("") == "none");
  CHECK(policy_for(Configuration{}, "x") == nullptr);
}

TEST_CASE(
    "the keys of several limits belong to the policy of the key that they were derived from") {
  const auto configuration = parse_configuration(
      with_policies({"login:%s", "user:{%s}", "%s"}, "['10/s', '100/60s', '5/1500ms']") +
          "[policy.one]\nkey = 'one:%s'\nlimit = '5/60s'\n",
      "f.toml");
  const auto found = [&](std::string_view key) -> std::string {
    const auto match = match_policy(configuration, key);
    if (!match) return "none";
    CHECK(fits(*match->policy, match->key));
    CHECK(policy_for(configuration, key) == match->policy);
    return match->policy->name + " " + match->key + " " +
           (match->limit ? std::to_string(*match->limit) : "-");
  };
  CHECK(found("login:alice") == "p0 login:alice -");
  CHECK(found("{login:alice}:1s") == "p0 login:alice 0");
  CHECK(found("{login:alice}:60s") == "p0 login:alice 1");
  CHECK(found("{login:alice}:1500ms") == "p0 login:alice 2");
  CHECK(found("user:{a}:60s") == "p1 user:{a} 1");
  CHECK(found("user:{a}") == "p1 user:{a} -");
  // Not made by redis_keys(): there is no such window, or the key would have been given braces.
  CHECK(found("{login:alice}:2s") == "p2 {login:alice}:2s -");
  CHECK(found("login:alice:60s") == "p0 login:alice:60s -");
  // An argument with its own tag keeps it.
  CHECK(found("login:{a}:60s") == "p0 login:{a} 1");
  CHECK(found("{x}:60s") == "p2 x 1");
  CHECK(found("one:x") == "one one:x 0");
  CHECK(found("{one:x}:60s") == "p2 one:x 1");
}

TEST_CASE("a key that cannot have several limits does not belong to a policy with several") {
  const auto configuration = parse_configuration(
      with_policies({"%s"}, "['5/60s', '9/2m']") + "[policy.one]\nkey = '%s'\nlimit = '5/60s'\n",
      "f.toml");
  CHECK(policy_for(configuration, "x")->name == "p0");
  for (const auto* key : {"}x", "}", "}{}", "}:60s"}) {
    CAPTURE(key);
    const auto match = match_policy(configuration, key);
    REQUIRE(match);
    CHECK(match->policy->name == "one");
    CHECK_FALSE(can_carry_several_limits(key));
    CHECK_THROWS_AS((void)redis_keys(key, policy_for(configuration, "x")->limits), UsageError);
  }
  CHECK(policy_for(configuration, "}{x}")->name == "p0");
  CHECK(can_carry_several_limits("}{x}"));
}

TEST_CASE("the suffix that redis_keys() adds belongs to the policy") {
  const auto configuration =
      parse_configuration(with_policies({"%slogin%s:60s"}) +
                              "[policy.made]\nkey = 'login:%s'\nlimit = ['1/s', '5/60s']\n",
                          "f.toml");
  CHECK(policy_for(configuration, "{login:alice}:60s")->name == "made");
  CHECK(policy_for(configuration, "{login:alice:60s")->name == "p0");
}

TEST_CASE("policies clash if they have keys in common, but not the algorithm") {
  const auto clashes_of = [](const std::string& second) {
    const auto configuration = parse_configuration(
        "[policy.one]\nkey = 'k:%s'\nlimit = '5/60s'\n"
        "[policy.several]\nkey = 'k:%s'\nlimit = ['5/60s', '9/2m']\n"
        "[policy.second]\n" +
            second,
        "f.toml");
    REQUIRE(configuration.mistakes.empty());
    std::vector<std::string> names;
    for (const auto& clash : policy_clashes(configuration)) {
      CHECK(clash.second->name == "second");
      names.push_back(clash.first->name);
    }
    return names;
  };
  CHECK(clashes_of("key = 'k:%s'\nlimit = '5/60s'\nalgorithm = 'gcra'\n") == Words{"one"});
  CHECK(clashes_of("key = 'k:%s'\nlimit = ['1/s', '9/2m']\nalgorithm = 'gcra'\n") ==
        Words{"several"});
  CHECK(clashes_of("key = 'k:%s'\nlimit = ['1/s', '9/3m']\nalgorithm = 'gcra'\n") == Words{});
  CHECK(clashes_of("key = 'k:%s'\nlimit = '9/60s'\n") == Words{});
  CHECK(clashes_of("key = 'x:%s'\nlimit = '5/60s'\nalgorithm = 'gcra'\n") == Words{});
}

TEST_CASE("with ipv6_prefix, an argument that is an address stands for its client") {
  Policy policy{.key = "login:%s:%s", .ipv6_prefix = 64};
  const auto filled = [&](std::string first, std::string second) {
    return fill(policy, std::vector{std::move(first), std::move(second)});
  };
  CHECK(filled("ann", "2001:db8:1:2:3::4") == "login:ann:2001:db8:1:2::/64");
  CHECK(filled("2001:DB8::1", "::ffff:192.0.2.1") == "login:2001:db8::/64:192.0.2.1");
  policy.ipv6_prefix = 128;
  CHECK(filled("ann", "2001:DB8:0::1") == "login:ann:2001:db8::1/128");
  policy.ipv6_prefix.reset();
  CHECK(filled("ann", "2001:DB8:0::1") == "login:ann:2001:DB8:0::1");
}

}  // namespace limiter_policies_test
