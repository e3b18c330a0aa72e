#include "cli/terminal/terminal.h"

#include <doctest/doctest.h>

#include <string>

#include "base/text.h"

namespace rlctl::cli::style_test {

TEST_CASE("style: a tone becomes a colour only if colours are enabled") {
  CHECK(toned("5 of 5", Tone::kBad, true) == "\033[31m5 of 5\033[0m");
  CHECK(toned("5 of 5", Tone::kBad, false) == "5 of 5");
  CHECK(toned("5 of 5", Tone::kPlain, true) == "5 of 5");
  CHECK(toned("", Tone::kBad, true).empty());
}

TEST_CASE("style: width is counted in terminal columns") {
  CHECK(display_width("") == 0);
  CHECK(display_width("login") == 5);
  CHECK(display_width("▁█·×") == 4);
  CHECK(display_width("用户") == 4);
  CHECK(display_width("😀") == 2);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width(toned("5 of 5", Tone::kBad, true)) == 6);
  CHECK(display_width("\xff\xfe") == 2);
  CHECK(display_width("\033[") == 0);
}

TEST_CASE("style: a long key is cut between characters, or between bytes if it is not text") {
  const std::string fits(kLongestShownKey, 'x');
  CHECK(key_text(fits, {}) == fits);
  CHECK(key_text(fits + "y", {}) == fits + "...");
  CHECK(key_text(fits.substr(2) + "用户", {.utf8 = true}) == fits.substr(2) + "…");
  const std::string bytes(2 * kLongestShownKey, '\x80');
  CHECK(key_text(bytes, {}) == escaped_text(bytes.substr(0, kLongestShownKey - 3)) + "...");
}

TEST_CASE("style: a text is cut between characters, and its colour is reset") {
  CHECK(without_middle("login:alice", 11, "…") == "login:alice");
  CHECK(without_middle("login:alice", 10, "…") == "login…lice");
  CHECK(without_middle("login:alice", 9, "..") == "logi..ice");
  CHECK(without_middle("login:alice", 2, "…") == "l…");
  CHECK(without_middle("login:alice", 1, "…") == "l");
  CHECK(without_middle("login:alice", 0, "…").empty());
  CHECK(without_middle("用户用户用户", 6, "…") == "用…户");
  CHECK(cut_to_width("login", 5) == "login");
  CHECK(cut_to_width("login", 3) == "log");
  CHECK(cut_to_width("login", 0).empty());
  CHECK(cut_to_width("·▁█", 2) == "·▁");
  CHECK(cut_to_width("a用户", 2) == "a");
  CHECK(cut_to_width("ab\033[31mcdef\033[0mgh", 4) == "ab\033[31mcd\033[0m");
  CHECK(cut_to_width("ab\033[31mcd\033[0mefgh", 6) == "ab\033[31mcd\033[0mef");
}

}  // namespace rlctl::cli::style_test
