#include "cli/reset/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace rlctl::cli {
namespace {

using limiter::LeftReason;
using limiter::ResetOutcome;
using limiter::ResetResult;

struct ResultRow {
  ResetResult result;
  std::string_view text, json;
};
constexpr std::array kResults{
    ResultRow{ResetResult::kRemoved, "removed", "removed"},
    ResultRow{ResetResult::kWouldRemove, "would-remove", "would_remove"},
    ResultRow{ResetResult::kLeft, "left", "left"},
    ResultRow{ResetResult::kNone, "none", "none"},
};

struct ReasonRow {
  LeftReason reason;
  std::string_view text;
};
constexpr std::array kReasons{
    ReasonRow{LeftReason::kNoLimiterState, "no-limiter-state"},
    ReasonRow{LeftReason::kForeign, "foreign"},
    ReasonRow{LeftReason::kUncertain, "uncertain"},
    ReasonRow{LeftReason::kChanging, "changing"},
    ReasonRow{LeftReason::kChanged, "changed"},
};

const ResultRow& row_of(ResetResult result) {
  return *std::find_if(kResults.begin(), kResults.end(),
                       [&](const auto& row) { return row.result == result; });
}

std::string_view text_of(LeftReason reason) {
  return std::find_if(kReasons.begin(), kReasons.end(),
                      [&](const auto& row) { return row.reason == reason; })
      ->text;
}

std::string_view type_of(const ResetOutcome& outcome) {
  return outcome.result == ResetResult::kNone ? "" : outcome.type;
}

std::string_view algorithm_of(const ResetOutcome& outcome) {
  const bool known = outcome.result != ResetResult::kNone && outcome.form != nullptr;
  return known ? outcome.form->name : "";
}

}  // namespace

void KindCounts::add(std::string_view kind, std::size_t count) {
  total_ += count;
  const auto found = counts_.find(kind);
  if (found != counts_.end()) {
    found->second += count;
  } else {
    counts_.emplace(kind, count);
  }
}

std::string KindCounts::text() const {
  std::vector<std::pair<std::string_view, std::size_t>> sorted(counts_.begin(), counts_.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [kind, count] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  }
  return text;
}

void ResetReport::add(const ResetOutcome& outcome) {
  const bool change =
      outcome.result == ResetResult::kRemoved || outcome.result == ResetResult::kWouldRemove;
  if (change) {
    removed_.add(kind_of(outcome));
  } else if (outcome.reason == LeftReason::kNoLimiterState) {
    other_.add(outcome.type);
  } else if (outcome.reason == LeftReason::kChanging) {
    ++changing_;
  } else if (outcome.reason == LeftReason::kChanged) {
    ++changed_;
  } else if (outcome.reason) {
    foreign_.add(kind_of(outcome));
  }
  const bool expected = change || outcome.reason == LeftReason::kChanged;
  if (lines_ == ResetLines::kNone || (lines_ == ResetLines::kChanges && !expected)) return;
  json_ ? append_json(outcome) : append_text(outcome);
}

void ResetReport::append_text(const ResetOutcome& outcome) {
  std::string& out = out_.buffer();
  out.append(row_of(outcome.result).text).append(" key=");
  escape_text(out, outcome.key);
  const auto append = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out.append(" ").append(name).append("=").append(value);
  };
  if (outcome.result == ResetResult::kLeft || algorithm_of(outcome).empty()) {
    append("type", type_of(outcome));
  }
  append("algorithm", algorithm_of(outcome));
  if (outcome.reason) append("reason", text_of(*outcome.reason));
  out += '\n';
}

void ResetReport::append_json(const ResetOutcome& outcome) {
  const auto known = [](std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  std::string& out = out_.buffer();
  JsonWriter(out)
      .begin_object()
      .field("key", outcome.key)
      .field("result", row_of(outcome.result).json)
      .field("type", known(type_of(outcome)))
      .field("algorithm", known(algorithm_of(outcome)))
      .field("reason", outcome.reason ? std::optional(text_of(*outcome.reason)) : std::nullopt)
      .end_object();
  out += '\n';
}

std::string ResetReport::summary(bool dry_run) const {
  std::string text = fmt::format("{} {}", dry_run ? "would remove" : "removed",
                                 removed() == 0 ? "no key" : count_of_keys(removed()));
  if (removed() > 0) text += fmt::format(" ({})", removed_.text());
  if (other_.total() > 0) {
    text += fmt::format("; left {} without limiter state ({})", other_.total(), other_.text());
  }
  if (foreign_.total() > 0) {
    text += fmt::format("; left {} that may be another program's ({}; --force removes them)",
                        foreign_.total(), foreign_.text());
  }
  if (changing_ > 0) {
    text += fmt::format("; left {} that others wrote all the time", changing_);
  }
  if (changed_ > 0) {
    text += fmt::format("; left {} that became something else since the question", changed_);
  }
  return text;
}

std::string_view kind_of(const ResetOutcome& outcome) {
  return outcome.form != nullptr ? outcome.form->name : outcome.type;
}

std::string count_of_keys(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "key");
}

std::string first_keys(std::span<const std::string> keys) {
  constexpr std::size_t kShown = 3, kLongest = 60;
  const auto shown = keys.first(std::min(keys.size(), kShown));
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool last = i + 1 == keys.size();
    if (i > 0) text += last ? " and " : ", ";
    const std::string_view key = shown[i];
    escape_text(text, key.substr(0, kLongest));
    if (key.size() > kLongest) text += "...";
  }
  if (keys.size() > kShown) text += fmt::format(" and {} more", keys.size() - kShown);
  return text;
}

}  // namespace rlctl::cli
