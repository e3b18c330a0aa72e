#include "stored/families.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "limiter/limit.h"
#include "redis/scan.h"
#include "stored/libraries.h"

namespace rlctl::stored {
namespace {

using Families = std::vector<std::vector<std::string>>;

struct Suffix {
  std::string_view unit;
  microseconds length;
};
// "us" and "ms" must precede "s", which is their last letter.
constexpr std::array kSuffixes{Suffix{"us", microseconds{1}},
                               Suffix{"ms", std::chrono::milliseconds{1}},
                               Suffix{"s", std::chrono::seconds{1}}};

std::optional<microseconds> parse_suffix(std::string_view text) {
  for (const auto& [unit, length] : kSuffixes) {
    if (!text.ends_with(unit)) continue;
    const auto count = to_number<std::int64_t>(text.substr(0, text.size() - unit.size()));
    if (!count || *count < 1 || *count > limiter::kLongestWindow / length) return std::nullopt;
    return *count * length;
  }
  return std::nullopt;
}

/// Whether redis_keys() or leases_key() would make this name, which is known to contain a hash tag.
bool is_family_name(std::string_view name) {
  return window_in_name(name).has_value() ||
         name.substr(name.rfind(':') + 1) == limiter::kLeasesName;
}

/// Assigns scanned names to the families of some keys.
class FamilyNames {
 public:
  explicit FamilyNames(std::span<const std::string> keys) : families_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (limiter::can_carry_several_limits(keys[i]))
        keys_of_[limiter::family_prefix(keys[i])].push_back(i);
    }
  }

  bool empty() const noexcept { return keys_of_.empty(); }
  /// A glob that matches every name that may be in a family.
  std::string pattern() const {
    return keys_of_.size() == 1 ? redis::escape_glob(keys_of_.begin()->first) + "[1-9dwmyl]*"
                                : "*{?*}*:[1-9dwmyl]*";
  }
  void add(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      const auto found = keys_of_.find(name.substr(0, name.rfind(':') + 1));
      if (found == keys_of_.end() || !is_family_name(name)) continue;
      for (const auto key : found->second) families_[key].push_back(name);
    }
  }
  Families take() { return std::move(families_); }

 private:
  /// Indexed by prefix, which "a" and "{a}" share.
  std::unordered_map<std::string, std::vector<std::size_t>> keys_of_;
  Families families_;
};

/// The order of a family: by window, then the leases; windows of the calendar may be as long.
std::pair<microseconds, std::string_view> place_in_family(std::string_view name) {
  return {window_in_name(name).value_or(microseconds::max()), name};
}

bool is_wanted(const KeySample& content, FamilyKeys which) {
  return which == FamilyKeys::kAll ? content.type != "none" : decode_ours(content).form != nullptr;
}

/// Sorts the names by window, and removes duplicates and names of other keys.
void keep_family(redis::Connection& connection, std::vector<std::string>& names, FamilyKeys which) {
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return place_in_family(a) < place_in_family(b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto contents = read_contents(connection, names, built_in_libraries());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_wanted(contents[i], which)) std::swap(names[kept++], names[i]);
  }
  names.resize(kept);
}

}  // namespace

std::optional<microseconds> window_in_name(std::string_view redis_key) {
  const auto colon = redis_key.rfind(':');
  if (colon == redis_key.npos || !limiter::has_hash_tag(redis_key.substr(0, colon)))
    return std::nullopt;
  const auto suffix = redis_key.substr(colon + 1);
  if (const auto longest = limiter::longest_with_text(suffix)) return longest;
  const auto window = parse_suffix(suffix);
  return window && limiter::window_suffix(*window) == suffix ? window : std::nullopt;
}

std::span<const std::string_view> usual_windows() {
  static constexpr std::array<std::string_view, 26> kWindows{
      "100ms",    "1s",       "2s",       "5s",        "10s",     "15s",     "20s",
      "30s",      "60s",      "120s",     "300s",      "600s",    "900s",    "1800s",
      "3600s",    "7200s",    "21600s",   "43200s",    "86400s",  "day@UTC", "604800s",
      "week@UTC", "2592000s", "2678400s", "month@UTC", "year@UTC"};
  return kWindows;
}

std::vector<std::string> usual_family_names(std::string_view key) {
  if (!limiter::can_carry_several_limits(key)) return {};
  const auto prefix = limiter::family_prefix(key);
  std::vector<std::string> names;
  for (const auto window : usual_windows()) names.push_back(prefix + std::string(window));
  return names;
}

ReadableKeys find_usual_family(redis::Connection& connection, std::string_view key,
                               FamilyKeys which) {
  auto names = usual_family_names(key);
  if (names.empty()) return {};
  names.push_back(limiter::leases_key(key));
  auto readable = readable_keys(connection, names);
  const auto contents = read_contents(connection, readable, built_in_libraries());
  ReadableKeys family{.refused = std::move(readable.refused), .why = readable.why};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (!is_wanted(contents[i], which)) continue;
    family.keys.push_back(std::move(readable.keys[i]));
    family.types.push_back(contents[i].type);
  }
  return family;
}

Families find_families(redis::Connection& connection, std::span<const std::string> keys,
                       FamilyKeys which, const OnScanned& on_scanned) {
  FamilyNames names(keys);
  if (names.empty()) return names.take();
  redis::Scan scan(connection, names.pattern());
  while (!scan.done()) {
    names.add(scan.next());
    if (on_scanned) on_scanned(scan.share());
  }
  auto families = names.take();
  for (auto& family : families) keep_family(connection, family, which);
  return families;
}

}  // namespace rlctl::stored
