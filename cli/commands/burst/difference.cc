#include "cli/commands/burst/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/commands/burst/report.h"
#include "cli/commands/burst/server.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

/// The requests of the key up to the difference.
adversary::Schedule schedule_of(const FoundDifference& found, traffic::Traffic& traffic) {
  adversary::Schedule schedule;
  traffic::Arrival arrival;
  for (std::int64_t i = 0; i < found.request && traffic.next(arrival); ++i) {
    if (arrival.key == found.arrival.key) schedule.push_back({arrival.at, arrival.cost});
  }
  return schedule;
}

/// One row for consecutive requests that are answered alike.
void append_schedule(std::string& out, const adversary::Difference& difference,
                     std::string_view one, std::string_view other, microseconds window,
                     const Look& look) {
  constexpr std::size_t kMaxShown = 20;
  const auto& schedule = difference.schedule;
  const auto base = schedule.front().at - schedule.front().at % window;
  const auto alike = [&](std::size_t i, std::size_t j) {
    return schedule[i] == schedule[j] && difference.one[i].allowed == difference.one[j].allowed &&
           difference.other[i].allowed == difference.other[j].allowed;
  };
  const auto answer = [&](bool allowed) {
    return toned(allowed ? "allowed" : "denied", allowed ? Tone::kGood : Tone::kBad, look.colour);
  };
  const bool shows_cost = std::any_of(schedule.begin(), schedule.end(),
                                      [](const auto& request) { return request.cost != 1; });
  std::vector<Cells> rows;
  for (std::size_t first = 0; first < schedule.size();) {
    auto last = first;
    while (last < schedule.size() && alike(first, last)) ++last;
    rows.push_back({exact_offset_text(schedule[first].at - base), fmt::to_string(last - first),
                    shows_cost ? fmt::to_string(schedule[first].cost) : "",
                    answer(difference.one[first].allowed),
                    answer(difference.other[first].allowed)});
    first = last;
  }
  // The last row has the difference.
  if (rows.size() > kMaxShown) rows.erase(rows.begin(), rows.end() - kMaxShown);
  rows.insert(rows.begin(),
              {"at", "requests", shows_cost ? "cost" : "", escape(one), escape(other)});
  append_rows(out, rows);
  append_sentence(out, "times",
                  window_origin_text(base) + "; the last request makes the difference", look);
}

}  // namespace

void DecisionComparison::add(const traffic::Arrival& arrival, bool allowed) {
  if (!is_second_) {
    first_.push_back(allowed);
    return;
  }
  if (found_ || next_ >= first_.size()) return;
  const bool before = first_[next_++];
  if (before == allowed) return;
  found_ = {.request = static_cast<std::int64_t>(next_), .arrival = arrival, .allowed = before};
}

void shrink_difference(FoundDifference& found, const Plan& plan, traffic::Traffic& traffic,
                       Server* server, const adversary::KeepsShrinking& keeps_on) {
  constexpr std::int64_t kBudget = 200'000;
  const auto schedule = schedule_of(found, traffic);
  found.key = traffic.key_name(found.arrival.key);
  const auto budget = std::max(kBudget, 20 * static_cast<std::int64_t>(schedule.size()));
  if (keeps_on && !keeps_on(0, budget)) return;
  LimiterTrial one(plan.candidates[0], server), other(plan.candidates[1], server);
  const auto difference = adversary::first_difference(one.trial(), other.trial(), schedule);
  found.vanishes_alone = !difference;
  if (!difference) return;
  found.shrunk = adversary::shrunk(one.trial(), other.trial(), *difference, plan.limits.front(),
                                   budget, keeps_on);
}

std::string difference_text(const Plan& plan, const FoundDifference& found) {
  const auto one = name_of(plan.candidates[0]), other = name_of(plan.candidates[1]);
  return fmt::format("first at request {} (key {}): {} allows it, {} denies it",
                     grouped(found.request), in_quotes(found.key),
                     escape(found.allowed ? one : other), escape(found.allowed ? other : one));
}

void append_difference_text(std::string& out, const Plan& plan,
                            const std::optional<FoundDifference>& found, std::int64_t requests,
                            const Look& look) {
  const auto one = name_of(plan.candidates[0]), other = name_of(plan.candidates[1]);
  if (!found) {
    append_sentence(out, "differ",
                    fmt::format("no: {} and {} decide {} alike; other traffic may show a "
                                "difference",
                                escape(one), escape(other),
                                requests == 1 ? "the request"
                                              : fmt::format("all {} requests", grouped(requests))),
                    look);
    return;
  }
  append_sentence(
      out, "differ",
      "yes, " + difference_text(plan, *found) +
          (found->vanishes_alone ? "; the requests of this key alone do not show it" : ""),
      look);
  if (!found->shrunk) return;
  append_sentence(
      out, "shrunk",
      fmt::format("{} of one key",
                  counted(static_cast<std::int64_t>(found->shrunk->schedule.size()), "request")),
      look);
  append_schedule(out, *found->shrunk, one, other, plan.limits.front().window, look);
}

void write_difference(JsonWriter& json, const Plan& plan,
                      const std::optional<FoundDifference>& found) {
  json.begin_object().field("algorithm", name_of(plan.candidates[1]));
  json.field("differs", found.has_value());
  json.field("request", found ? std::optional(found->request) : std::nullopt);
  json.field("at_us", found ? std::optional(found->arrival.at) : std::nullopt);
  if (found) {
    json.bytes_field("key", found->key);
  } else {
    json.name("key").null();
  }
  json.field("allowed", found ? std::optional(found->allowed) : std::nullopt).name("schedule");
  if (!found || !found->shrunk) {
    json.null().end_object();
    return;
  }
  json.begin_array();
  const auto& [schedule, one, other] = *found->shrunk;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    json.begin_object().field("at_us", schedule[i].at).field("cost", schedule[i].cost);
    json.field("allowed", one[i].allowed).field("against_allowed", other[i].allowed).end_object();
  }
  json.end_array().end_object();
}

}  // namespace rlctl::cli::burst
