#include "limiter/policy.h"

#include <fmt/format.h>

#include "base/address.h"
#include "base/error.h"

namespace rlctl::limiter {
namespace {

/// The text around each %s: one more element than there are arguments. Throws UsageError.
std::vector<std::string> literals_of(std::string_view key) {
  std::vector<std::string> literals(1);
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      literals.back() += key[i];
      continue;
    }
    const char next = ++i < key.size() ? key[i] : '\0';
    if (next == 's') {
      literals.emplace_back();
    } else if (next == '%') {
      literals.back() += '%';
    } else {
      throw UsageError(
          fmt::format("'{}' has a % that is neither %s, an argument, nor %%, a percent sign", key));
    }
  }
  return literals;
}

}  // namespace

void require_template(std::string_view key) {
  (void)literals_of(key);
}

std::size_t argument_count(const Policy& policy) {
  return literals_of(policy.key).size() - 1;
}

std::string fill(const Policy& policy, std::span<const std::string> arguments) {
  const auto literals = literals_of(policy.key);
  std::string key = literals.front();
  for (std::size_t i = 0; i + 1 < literals.size(); ++i) {
    const auto network =
        policy.ipv6_prefix ? client_network(arguments[i], *policy.ipv6_prefix) : std::nullopt;
    key.append(network.value_or(arguments[i])).append(literals[i + 1]);
  }
  return key;
}

bool fits(const Policy& policy, std::string_view key) {
  // Fast path: most keys of a server fit no policy and differ in their first bytes.
  if (!key.starts_with(std::string_view(policy.key).substr(0, policy.key.find('%')))) return false;
  const auto literals = literals_of(policy.key);
  if (literals.size() == 1) return key == literals.front();
  const std::string_view first = literals.front();
  const std::string_view last = literals.back();
  if (!key.starts_with(first)) return false;
  // Where the argument before the next literal begins. The earliest match of each literal leaves
  // the most text for the following ones.
  std::size_t at = first.size();
  for (const auto& literal : std::span(literals).subspan(1, literals.size() - 2)) {
    const auto found = key.find(literal, at + 1);
    if (found == key.npos) return false;
    at = found + literal.size();
  }
  return key.size() > at + last.size() && key.ends_with(last);
}

std::size_t own_size(const Policy& policy) {
  std::size_t size = 0;
  for (const auto& literal : literals_of(policy.key)) size += literal.size();
  return size;
}

}  // namespace rlctl::limiter
