#include "cli/options/limits.h"

#include <doctest/doctest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace rlctl::cli::limits_test {
namespace {

using Words = std::vector<std::string>;

/// A configuration with policies that take zero, one and two arguments.
class Policies {
 public:
  Policies() {
    std::ofstream(file_) << "[policy.none]\nkey = 'all'\nlimit = '1/h'\n"
                            "[policy.one]\nkey = 'one:%s'\nlimit = '5/60s'\n"
                            "[policy.two]\nkey = 'two:%s:%s'\nalgorithm = 'gcra'\n"
                            "limit = ['10/s', '100/m']\nburst = 20\n";
    source_.emplace(file_);
  }

  Limiter limiter(const std::string& policy) {
    return resolve_limiter({.limits = {}, .algorithm = {}, .burst = {}, .policy = policy}, 1,
                           *source_);
  }
  std::optional<Limiter> optional_limiter(const LimitOptions& options) {
    return resolve_optional_limiter(options, *source_);
  }
  Words keys(const std::string& policy, const Words& operands) {
    const auto resolved = limiter(policy);
    return asked_keys(&resolved, operands);
  }

 private:
  support::TempFolder folder_;
  std::string file_ = folder_.path() / "config.toml";
  std::optional<ConfigurationSource> source_;
};

}  // namespace

TEST_CASE("limit options: a policy supplies its algorithm, limits and burst") {
  Policies policies;
  const auto two = policies.limiter("two");
  CHECK(two.algorithm == limiter::find_algorithm("gcra"));
  CHECK(two.limits == std::vector<limiter::Limit>{{10, std::chrono::seconds(1), 20},
                                                  {100, std::chrono::seconds(60), 20}});
  REQUIRE(two.policy != nullptr);
  CHECK(two.policy->name == "two");
}

TEST_CASE("limit options: if no limit is required, there may be none") {
  Policies policies;
  CHECK_FALSE(policies.optional_limiter({}));
  const auto given = policies.optional_limiter({.limits = {"5/60s"}});
  REQUIRE(given);
  CHECK(given->limits.size() == 1);
  CHECK(given->policy == nullptr);
  const auto named = policies.optional_limiter({.limits = {}, .policy = "one"});
  REQUIRE(named);
  CHECK(named->policy->name == "one");
}

TEST_CASE("limit options: operands are keys, or the arguments of a policy") {
  Policies policies;
  CHECK(asked_keys(nullptr, Words{"a", "b"}) == Words{"a", "b"});
  CHECK(asked_keys(nullptr, Words{}).empty());
  const auto plain = policies.optional_limiter({.limits = {"5/60s"}});
  CHECK(asked_keys(&*plain, Words{"%s"}) == Words{"%s"});
  CHECK(policies.keys("none", {}) == Words{"all"});
  CHECK(policies.keys("one", {"a", "b", "c"}) == Words{"one:a", "one:b", "one:c"});
  CHECK(policies.keys("two", {"a", "b", "c", "d"}) == Words{"two:a:b", "two:c:d"});
}

}  // namespace rlctl::cli::limits_test
