#include "base/shell.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "cli/errors/failure.h"
#include "support/refusal.h"

namespace rlctl::shell_test {

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("shell words: any number of blanks separates words") {
  CHECK(shell_words("5 60 x") == Words{"5", "60", "x"});
  CHECK(shell_words("  5\t\n60  ") == Words{"5", "60"});
  CHECK(shell_words("") == Words{});
  CHECK(shell_words(" \t ") == Words{});
}

TEST_CASE("shell words: quotes keep blanks and make empty words") {
  CHECK(shell_words("'a b' \"c d\"") == Words{"a b", "c d"});
  CHECK(shell_words("'' \"\" x''") == Words{"", "", "x"});
  CHECK(shell_words("a'b c'd\"e f\"") == Words{"ab cde f"});
  CHECK(shell_words("'\"' \"'\"") == Words{"\"", "'"});
}

TEST_CASE("shell words: a backslash keeps the next character, according to the quotes around it") {
  CHECK(shell_words(R"(a\ b \' \\ \x)") == Words{"a b", "'", "\\", "x"});
  CHECK(shell_words(R"("\" \\ \$ \` \n \'")") == Words{R"(" \ $ ` \n \')"});
  CHECK(shell_words(R"('\n \')") == Words{R"(\n \)"});
  CHECK(shell_words("a\\\nb \"c\\\nd\"") == Words{"ab", "cd"});
}

TEST_CASE("shell words: nothing is expanded, and nothing ends a command") {
  CHECK(shell_words("$x ~ * # ; | {key} `x` $(x)") ==
        Words{"$x", "~", "*", "#", ";", "|", "{key}", "`x`", "$(x)"});
}

TEST_CASE("shell words: an unclosed quote is refused") {
  const auto complaint = [](std::string_view text) {
    return test::refusal_of([&] { return shell_words(text); });
  };
  CHECK(complaint("a 'b") == "'a 'b' has a quote that is not closed: '");
  CHECK(complaint("\"b\\\"") == "'\"b\\\"' has a quote that is not closed: \"");
  CHECK(complaint("'it's'") != "accepted");
  CHECK(complaint("a\\") == "'a\\' ends in a backslash with nothing after it");
}

TEST_CASE("joined words are split into the same words, and quoted only if necessary") {
  // That any words read the same is a property of tests/night/fuzz/text.cc.
  CHECK(joined_words({"{now_ms}", "$x", "a b", ""}) == "{now_ms} $x 'a b' ''");
}

TEST_CASE("a word for a shell: no shell sees the end of $'...' inside it, or expands it") {
  CHECK(shell_quoted("a\n';x \\") == "$'a\\n\\047;x \\\\'");
  CHECK(shell_quoted("'\x1b'") == "$'\\047\\x1b\\047'");
  CHECK(shell_quoted("\xff") == "$'\\xff'");
  CHECK(shell_quoted("=ls") == "'=ls'");
  CHECK(shell_quoted("a=b") == "a=b");
  CHECK(every_shell_reads("it's $x \u00fc"));
  for (const std::string word : {"\n", "\x7f", "\xff", "\xc2\x9b"})
    CHECK_FALSE(every_shell_reads(word));
  CHECK_FALSE(every_shell_reads(std::string(1, '\0')));
}

TEST_CASE("the environment of a program has each name once, with its own value") {
  ::setenv("SHELL_TEST_A", "ours", 1);
  ::setenv("SHELL_TEST_AB", "ours", 1);
  const auto all = environment_with({"SHELL_TEST_A=own", "SHELL_TEST_C="});
  const auto count = [&](std::string_view beginning) {
    return std::ranges::count_if(all,
                                 [&](const auto& each) { return each.starts_with(beginning); });
  };
  CHECK(count("SHELL_TEST_A=") == 1);
  CHECK(count("SHELL_TEST_A=own") == 1);
  CHECK(count("SHELL_TEST_AB=ours") == 1);
  CHECK(count("SHELL_TEST_C=") == 1);
  CHECK(count("PATH=") == 1);
  ::unsetenv("SHELL_TEST_A");
  ::unsetenv("SHELL_TEST_AB");
}

}  // namespace rlctl::shell_test
