#include "base/text.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"

namespace rlctl::escape_test {
namespace {

std::string json(std::string_view raw) {
  std::string out;
  append_json_string(out, raw);
  return out;
}

}  // namespace

TEST_CASE("text: the value of digits is bounded") {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max() - 1;
  CHECK(bounded_value("007", 10) == 7);
  CHECK(bounded_value("10", 10) == 10);
  CHECK(bounded_value("11", 10) == 11);
  CHECK(bounded_value("12", 10) == 11);
  CHECK(bounded_value("5", 0) == 1);
  CHECK(bounded_value("9", 4) == 5);
  CHECK(bounded_value(std::to_string(kMax), kMax) == kMax);
  CHECK(bounded_value("99999999999999999999", kMax) == kMax + 1);
}

TEST_CASE("text: what ends in a separator is taken from the front, and the rest remains") {
  std::string_view text = "a:b;:c";
  CHECK(take_until(text, ":;") == "a");
  CHECK(text == "b;:c");
  CHECK(take_until(text, ":;") == "b");
  CHECK(take_until(text, ":;").empty());
  CHECK(take_until(text, ":;") == "c");
  CHECK(text.empty());
  CHECK(take_until(text, ":;").empty());
}

TEST_CASE("text: a list has one part more than commas") {
  using Parts = std::vector<std::string>;
  CHECK(split_at_commas("") == Parts{""});
  CHECK(split_at_commas("a") == Parts{"a"});
  CHECK(split_at_commas("a,,b,") == Parts{"a", "", "b", ""});
}

TEST_CASE("text: letters and digits are those of ASCII") {
  for (const char c : std::string_view("azAZ09")) CHECK(is_alphanumeric(c));
  for (const char c : std::string_view("`{@[/:_\xe9")) CHECK_FALSE(is_alphanumeric(c));
}

// That it reads the same is a property of tests/night/fuzz/text.cc.
TEST_CASE("text: base64 keeps every byte, and has one spelling for each text") {
  CHECK(to_base64("").empty());
  CHECK(to_base64("k") == "aw==");
  CHECK(to_base64("k\xff") == "a/8=");
  CHECK(to_base64(std::string_view("\0\0\0", 3)) == "AAAA");
  for (const auto* no : {"aw", "aw===", "ax==", "a w==", "=", "a_8="}) CHECK_FALSE(from_base64(no));
}

TEST_CASE("text: bytes that are not UTF-8 get a JSON field in base64") {
  std::string out;
  JsonWriter(out).begin_object().bytes_field("key", "k").bytes_field("by", "\xff").end_object();
  CHECK(out == R"({"key":"k","by":"\\xff","by_base64":"/w=="})");
}

TEST_CASE("escape: UTF-8 is left unchanged") {
  CHECK(escaped_text("zoë:日本:😀") == "zoë:日本:😀");
  CHECK(json("zoë:日本:😀") == "\"zoë:日本:😀\"");
}

TEST_CASE("escape: in text a value is one word that can be parsed back") {
  CHECK(escaped_text("a b") == "a\\x20b");
  CHECK(escaped_text("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(escaped_text("a\\n") == "a\\\\n");
  CHECK(escaped_text(std::string_view("\0\x1b\x7f", 3)) == "\\x00\\x1b\\x7f");
}

TEST_CASE("escape: a sentence in text is in quotes, and can be parsed back") {
  CHECK(quoted_text("the key is empty") == "\"the key is empty\"");
  CHECK(quoted_text("") == "\"\"");
  CHECK(quoted_text("a=b 'c' \"d\" \\e") == "\"a=b 'c' \\\"d\\\" \\\\e\"");
  CHECK(quoted_text("a\nb\x1b[31m\xff") == "\"a\\nb\\x1b[31m\\xff\"");
}

TEST_CASE("escape: in messages blanks and backslashes are kept, and control bytes are escaped") {
  CHECK(escaped_message("cost 'a b' \\ \x1b[31m\n") == "cost 'a b' \\ \\x1b[31m\\n");
}

TEST_CASE("escape: bytes that are not UTF-8 are shown one by one") {
  CHECK(escaped_text("\xff\xfe") == "\\xff\\xfe");
  CHECK(escaped_text("\xc3") == "\\xc3");                             // cut off
  CHECK(escaped_text("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(escaped_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(escaped_text("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(escaped_text("\xe2\x82x") == "\\xe2\\x82x");
  CHECK(json("a\xff") == "\"a\\\\xff\"");
}

TEST_CASE("escape: C1 control characters do not reach a terminal") {
  CHECK(escaped_text("\xc2\x9b"
                     "31m") == "\\xc2\\x9b31m");
  CHECK(escaped_text("\xc2\xa1") == "\xc2\xa1");
}

TEST_CASE("escape: characters that change the direction of text, or end a line, are escaped") {
  CHECK(escaped_text("a\u202Eb") == "a\\xe2\\x80\\xaeb");
  for (const std::string raw :
       {"\u061C", "\u200E", "\u200F",     "\u202A", "\u202B", "\u202C", "\u202D",
        "\u202E", "\u2028", "\u2029",     "\u00A0", "\u200B", "\u202F", "\u3000",
        "\uFE0F", "\uFEFF", "\U000E0041", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    CAPTURE(raw);
    CHECK(escaped_text(raw) == escaped_message(raw));
    CHECK(escaped_text(raw).starts_with("\\x"));
    CHECK(display_width(escaped_text(raw)) == 4 * raw.size());
    CHECK(json(raw).starts_with("\"\\u"));
  }
  for (const std::string raw :
       {"\u061B", "\u061D", "\u2010", "\u2027", "\u2030", "\u205E", "\u2070", "שלום"}) {
    CHECK(escaped_text(raw) == raw);
  }
}

TEST_CASE("escape: JSON strings escape what JSON requires, and what a terminal may interpret") {
  CHECK(json("a\x7f\xc2\x9b\u061c\u200e\u202e\u2066\u200b\U000E0041\xc2\xa1") ==
        "\"a\\u007f\\u009b\\u061c\\u200e\\u202e\\u2066\\u200b\\udb40\\udc41\xc2\xa1\"");
  CHECK(json("\"\\\n\t\x01") == "\"\\\"\\\\\\n\\t\\u0001\"");
  CHECK(json("") == "\"\"");
}

namespace {

constexpr std::array<std::string_view, 4> kNames{"--limit", "--burst", "--json", "--url"};

}  // namespace

TEST_CASE("suggest: swapping two neighbours is one edit") {
  CHECK(edit_distance("chekc", "check") == 1);
  CHECK(edit_distance("check", "check") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("suggest: a similar name is suggested") {
  CHECK(closest("--limti", kNames) == "--limit");
  CHECK(closest("--limits", kNames) == "--limit");
  CHECK(closest("--brust", kNames) == "--burst");
  CHECK(did_you_mean("--jsno", kNames) == "; did you mean '--json'?");
  CHECK(closest("--LIMIT", kNames) == "--limit");
  CHECK(closest("--Urk", kNames) == "--url");
  CHECK(closest("--URL", kNames) == "--url");
}

TEST_CASE("suggest: a different or short name is not suggested") {
  CHECK(closest("--wait", kNames).empty());
  CHECK(closest("--ul", kNames).empty());
  CHECK(closest("--", kNames).empty());
  CHECK(did_you_mean("--verbose", kNames).empty());
}

TEST_CASE(
    "suggest: the beginning of one to three names suggests them, and a closer name goes first") {
  constexpr std::array<std::string_view, 6> kMany{
      "--algorithm",  "sliding-window-log",     "sliding-window-zset",
      "leaky-bucket", "sliding-window-counter", "gcra"};
  CHECK(did_you_mean("--algo", kMany) == "; did you mean '--algorithm'?");
  CHECK(did_you_mean("--ALG", kMany) == "; did you mean '--algorithm'?");
  CHECK(did_you_mean("-a", kMany) == "; did you mean '--algorithm'?");
  CHECK(did_you_mean("leaky", kMany) == "; did you mean 'leaky-bucket'?");
  CHECK(did_you_mean("sliding", kMany) ==
        "; did you mean 'sliding-window-log', 'sliding-window-zset' or 'sliding-window-counter'?");
  CHECK(did_you_mean("gcr", kMany) == "; did you mean 'gcra'?");
  CHECK(did_you_mean("bucket", kMany).empty());
  CHECK(did_you_mean("--", kMany).empty());
  CHECK(did_you_mean("", kMany).empty());
  constexpr std::array<std::string_view, 5> kFour{"checked", "chester", "cherry", "chemist",
                                                  "gcra"};
  CHECK(did_you_mean("che", kFour).empty());
  CHECK(did_you_mean("chec", kFour) == "; did you mean 'checked'?");
}

TEST_CASE("suggest: lists read like a sentence") {
  CHECK(one_of(std::array<std::string_view, 1>{"a"}) == "a");
  CHECK(one_of(std::array<std::string_view, 3>{"a", "b", "c"}) == "a, b or c");
  CHECK(one_of(std::array<std::string_view, 2>{"a", "b"}, "and") == "a and b");
}

}  // namespace rlctl::escape_test
