#include "adversary/difference.h"

#include <span>
#include <utility>
#include <vector>

#include "adversary/shrinking.h"

namespace rlctl::adversary {
namespace {

/// Two limiters: the answers of the first, followed by those of the second.
class PairTrial final : public Trial {
 public:
  PairTrial(Trial& one, Trial& other) : one_(one), other_(other) {}

  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override {
    auto answers = one_.ask(schedules);
    const auto others = other_.ask(schedules);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (others[i].empty()) answers[i].clear();
      if (answers[i].empty()) continue;
      answers[i].insert(answers[i].end(), others[i].begin(), others[i].end());
    }
    return answers;
  }

 private:
  Trial& one_;
  Trial& other_;
};

/// The number of the first request about which a pair's answers differ; none if there is none.
std::optional<std::size_t> first_difference(const Answers& pair) {
  const auto count = pair.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (pair[i].allowed != pair[count + i].allowed) return i;
  }
  return std::nullopt;
}

/// The requests up to the difference.
Difference cut(const Schedule& schedule, const Answers& pair, std::size_t differs) {
  const auto count = static_cast<std::ptrdiff_t>(differs + 1);
  const auto second = pair.begin() + static_cast<std::ptrdiff_t>(schedule.size());
  return {.schedule = {schedule.begin(), schedule.begin() + count},
          .one = {pair.begin(), pair.begin() + count},
          .other = {second, second + count}};
}

}  // namespace

std::optional<Difference> first_difference(Trial& one, Trial& other, const Schedule& schedule) {
  PairTrial pair(one, other);
  const auto answers = pair.ask({&schedule, 1}).front();
  const auto differs = first_difference(answers);
  if (!differs) return std::nullopt;
  return cut(schedule, answers, *differs);
}

Difference shrunk(Trial& one, Trial& other, const Difference& difference,
                  const limiter::Limit& limit, std::int64_t budget,
                  const KeepsShrinking& keeps_on) {
  PairTrial pair(one, other);
  auto answers = difference.one;
  answers.insert(answers.end(), difference.other.begin(), difference.other.end());
  const auto first = difference.schedule.front().at;
  const auto small = shrink(
      pair, {difference.schedule, std::move(answers)},
      [](const Schedule&, const Answers& tried) { return first_difference(tried).has_value(); },
      {.base = first - first % limit.window, .window = limit.window}, budget, keeps_on);
  const auto differs = first_difference(small.found.answers);
  return cut(small.found.schedule, small.found.answers, *differs);
}

}  // namespace rlctl::adversary
