// What is decoded from a key's content is of the content's type and within the contract's bounds,
// and a decision can be made with it.
#include "stored/forms.h"

#include <array>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "night/fuzz/fuzz.h"
#include "redis/error.h"
#include "stored/inspection.h"
#include "stored/libraries.h"

namespace fuzz::state {

using rlctl::microseconds;
using namespace rlctl::limiter;
using namespace rlctl::stored;

void test_model(const Decoded& state, microseconds now) {
  if (!state.model || !state.limit) return;
  const auto decision = state.model->peek(*state.limit, 1, now);
  require(decision.remaining >= 0, "what remains is not negative");
  require(decision.reset_after.count() >= 0, "no reset was in the past");
  require(state.model->usage(*state.limit, now).units >= 0, "usage is not negative");
  const auto copy = state.model->clone();
  if (decision.allowed) copy->record(*state.limit, 1, now);
  copy->refund(*state.limit, 1, now);
}

void test_inspection(std::string_view key, const KeySample& content, const Decoded& state,
                     const EntryCounts& entries) {
  const InspectionRequest request{.usual_limit =
                                      Limit{.limit = 5, .window = microseconds{60'000'000}}};
  Inspection result;
  result.key = key;
  InspectionBuilder interpreter(request, result);
  interpreter.set_header({.server_now = content.read_at, .ttl_ms = 1000, .bytes = 100});
  interpreter.set_content(KeySample(content), Decoded(state));
  try {
    if (state.form == nullptr) {
      interpreter.fill_unused();
    } else if (state.form->layout == Layout::kElements) {
      interpreter.fill_elements(entries.size);
    } else if (!state.part_of.empty()) {
      return;
    } else if (state.form->layout == Layout::kText) {
      interpreter.fill_text();
    } else if (state.form->layout == Layout::kLeases) {
      interpreter.fill_leases(entries);
    } else if (interpreter.set_window()) {
      (void)interpreter.first_live(entries.newest);
      interpreter.fill_log(entries);
    }
    if (interpreter.freeing_entry()) interpreter.set_next_free(entries.newest);
  } catch (const rlctl::redis::Error& error) {
    require(*error.what() != '\0', "an error has a message");
    return;
  }
  require(result.used.value_or(0) >= 0, "what is used is not negative");
  require(result.remaining.value_or(0) >= 0, "what remains is not negative");
}

// A digit for the type, its TTL in ms and the time, each on a line; the key on one; then its text,
// or both ends of a list or sorted set with their scores, or a hash's fields in order: on lines,
// but the last takes the rest.
void test(std::string_view input) {
  constexpr std::array<std::string_view, 7> kTypes{"string", "list", "zset",  "hash",
                                                   "set",    "none", "stream"};
  Parts parts(input);
  KeySample content{.type = std::string(kTypes[parts.choice(kTypes.size() - 1)])};
  constexpr std::int64_t kMaxNow = 4'000'000'000'000'000;
  const auto ttl = parts.number(), time = parts.number(), size = parts.number();
  const microseconds now{time < 0 || time > kMaxNow ? 1'700'000'000'000'000 : time};
  set_expiry(content, ttl, now);
  content.size = size;
  const auto key = parts.until('\n');
  if (content.type == "hash") {
    for (const auto& field : built_in_libraries().hash_fields(key)) {
      const auto value = parts.until('\n');
      if (!value.empty()) content.fields.emplace(field, value);
    }
  } else if (content.type == "list" || content.type == "zset") {
    for (auto* edge : {&content.first, &content.last}) {
      edge->member = parts.until('\n');
      if (content.type == "zset") edge->score = parts.until('\n');
    }
  } else {
    content.text = parts.rest().substr(0, KeySample::kMaxText);
  }
  const auto state = built_in_libraries().decode({.key = key, .content = &content}, {});
  (void)built_in_libraries().siblings({.key = key, .content = &content});
  (void)is_recognized(content, state);
  require(!describe_content(content, state).empty(), "a content has a description");
  test_inspection(key, content, state, {.size = 3, .expired = 1, .newest = now});
  if (state.form == nullptr) return;
  require(!state.part_of.empty() || state.form->type == content.type,
          "the form is of the content's type");
  if (state.limit) {
    require(state.limit->limit >= 1 && state.limit->limit <= kLargestLimit,
            "a limit is within bounds");
    require(state.limit->window.count() >= 1 && state.limit->window <= kLongestWindow,
            "so is its window");
  }
  // Some libraries give units back before they were taken.
  for (const auto& count : state.counts) {
    require(count.units >= 0 || !state.is_ours(), "a count of ours is not negative");
  }
  test_model(state, now);
}

const Target kTarget("state", test);

}  // namespace fuzz::state
