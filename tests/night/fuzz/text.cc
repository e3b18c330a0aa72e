// Whatever bytes a text has, what is written of it is one word or one line of UTF-8 without control
// bytes, and JSON that a parser reads; base64 and shell words read back the same.
#include "base/text.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/address.h"
#include "base/error.h"
#include "base/json.h"
#include "base/prometheus.h"
#include "base/shell.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::text {

void require_line(const std::string& text, std::size_t size) {
  require(!has_control_character(text) && text.find('\n') == text.npos,
          "it is one line without control characters", text);
  require(rlctl::is_utf8(text), "it is UTF-8", text);
  require(text.size() <= 4 * size, "its size is bounded", text);
}

void test_json(std::string_view input) {
  std::string out;
  rlctl::JsonWriter(out).begin_object().bytes_field("key", input).field("n", 1).end_object();
  require_line(out, input.size() * 3 + 40);
  const auto read = nlohmann::json::parse(out, nullptr, false);
  require(read.is_object(), "it is JSON", out);
  const auto base64 = read.find("key_base64");
  require((base64 == read.end()) == rlctl::is_utf8(input), "bytes are in base64", out);
  if (base64 == read.end()) {
    require(read["key"].get<std::string>() == input, "it reads the same", out);
  } else {
    require(rlctl::from_base64(base64->get<std::string>()) == input, "it reads the same", out);
  }
}

void test_masked(std::string_view input) {
  const std::string url = "redis://user:" + std::string(input) + "@host";
  const auto masked = rlctl::masked(url);
  require(masked.size() == url.size(), "a mask is as long as what it hides");
  // What display() writes stays.
  require(input == "***" || masked.find_first_not_of('*', 8) == masked.rfind('@'),
          "no password is left", masked);
  (void)rlctl::masked(std::string(input));
  (void)rlctl::quoted_and_masked(input);
}

void test_network(std::string_view input) {
  for (const int bits : {0, 1, 64, rlctl::kIpv6Bits}) {
    const auto network = rlctl::client_network(input, bits);
    if (!network) continue;
    const bool has_prefix = network->find('/') != network->npos;
    const auto address = network->substr(0, network->find('/'));
    const auto again = rlctl::client_network(address, bits);
    require(again == network, "an address has one spelling", *network);
    require(has_prefix <= (network->find(':') != network->npos), "only IPv6 has a prefix",
            *network);
  }
}

void test(std::string_view input) {
  require_line(rlctl::escaped_text(input), input.size());
  require_line(rlctl::escaped_message(input), input.size());
  const auto escaped = rlctl::escape(input);
  require(!has_control(escaped) && escaped.find('\n') == escaped.npos, "no control bytes", escaped);
  const auto word = rlctl::escaped_text(input);
  require(word.find(' ') == word.npos, "it is one word", word);
  test_json(input);
  test_masked(input);
  test_network(input);
  try {
    const auto words = rlctl::shell_words(input);
    require(rlctl::shell_words(rlctl::joined_words(words)) == words, "words read the same", input);
    require(!has_control_character(rlctl::command_line(words)), "a command line is one", input);
  } catch (const rlctl::UsageError& error) {
    require(*error.what() != '\0', "a refusal has a message");
  }
  const auto base64 = rlctl::to_base64(input);
  require(rlctl::from_base64(base64) == input, "base64 reads the same", base64);
  if (const auto bytes = rlctl::from_base64(input)) {
    require(rlctl::to_base64(*bytes) == input, "base64 has one spelling", input);
  }
  std::size_t columns = 0;
  for (auto rest = input; !rest.empty();) {
    const auto glyph = rlctl::glyph_at(rest);
    require(glyph.bytes >= 1 && glyph.bytes <= rest.size(), "a glyph is a part of the text");
    columns += glyph.columns;
    rest.remove_prefix(glyph.bytes);
  }
  require(columns == rlctl::display_width(input), "a text is as wide as its glyphs");
}

const Target kTarget("text", test);

}  // namespace fuzz::text
