#include "base/suggest.h"

#include <algorithm>
#include <vector>

namespace rlctl {
namespace {

constexpr std::size_t kMaxEdits = 2;

std::string_view without_dashes(std::string_view word) {
  const auto start = word.find_first_not_of('-');
  return start == word.npos ? std::string_view{} : word.substr(start);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows of the usual table.
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view closest(std::string_view typed, std::span<const std::string_view> candidates) {
  const auto word = without_dashes(typed);
  std::size_t allowed = std::min(kMaxEdits, word.size() / 3);
  std::string_view best;
  for (const auto candidate : candidates) {
    const auto name = without_dashes(candidate);
    if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > allowed) continue;
    const auto distance = edit_distance(word, name);
    if (distance > allowed || (!best.empty() && distance == allowed)) continue;
    best = candidate;
    allowed = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> candidates) {
  const auto best = closest(typed, candidates);
  if (best.empty()) return {};
  return std::string("; did you mean '").append(best).append("'?");
}

std::string one_of(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace rlctl
