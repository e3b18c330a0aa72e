#include "cli/options/log_options.h"

#include <doctest/doctest.h>

#include "cli/errors/failure.h"

namespace rlctl::cli::replay_test {

TEST_CASE("replay options: the share of denied requests is parsed") {
  const auto text = [](const std::string& share) {
    return denied_share_text(parse_denied_share(share));
  };
  CHECK(text("1%") == "1 % of requests");
  CHECK(text("0.1%") == "0.1 % of requests");
  CHECK(text("0%") == "0 % of requests");
  CHECK(text("100%keys") == "100 % of keys");
  CHECK(parse_denied_share("2.5%keys").most == doctest::Approx(0.025));
  CHECK(parse_denied_share("0.7%").most == 0.007);  // exactly what 7 of 1000 are
  for (const auto* wrong : {"", "%", "1", "1 %", "-1%", "101%", "1%key", "1e1%", "nan%", "1keys",
                            "0x1%", "1%%", "inf%", "1%keyskeys"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(static_cast<void>(parse_denied_share(wrong)), UsageError);
  }
}

TEST_CASE("replay options: without a file there is no replay") {
  CHECK_FALSE(parse_replay({}, {"boundary"}));
  CHECK_THROWS_AS(static_cast<void>(parse_replay({.files = {""}}, {})), UsageError);
}

}  // namespace rlctl::cli::replay_test
