// A line of a program is an answer within the bounds of rlctl's numbers, or is refused with a
// message that can be shown.
#include "base/error.h"
#include "exec/protocol.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::program_answer {

using namespace rlctl;

void test(std::string_view input) {
  constexpr std::size_t kLongest = 1000;
  constexpr std::chrono::microseconds kNow{1'767'225'600'000'000};
  const auto answer =
      accepted<UsageError>([&] { return exec::read_answer(input, kNow); }, kLongest);
  if (!answer) return;
  const auto& decision = answer->decision;
  require(decision.remaining >= 0 || decision.remaining == limiter::kNotTold,
          "what remains is not negative", input);
  require(decision.remaining <= limiter::kLatestComputed.count(), "a number is bounded", input);
  require(!answer->id || *answer->id >= 1, "an ID is positive", input);
  require(
      !answer->pipeline || (*answer->pipeline >= 1 && *answer->pipeline <= exec::kLargestPipeline),
      "the pipeline is bounded", input);
}

const Target kTarget("program_answer", test);

}  // namespace fuzz::program_answer
