#include "cli/burst/suggestion.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.h"
#include "cli/burst/columns.h"
#include "cli/replay.h"
#include "cli/term/sheet.h"
#include "cli/term/style.h"
#include "cli/term/text_block.h"

namespace rlctl::cli {
namespace {

using traffic::LimitTried;
using traffic::Suggestion;

std::string limit_text(std::int64_t limit, const BurstReport& report) {
  return fmt::format("{} per {}", limit, period_text(report.limits.front().window));
}

void append_verdict(TextBlock& block, const Suggestion& suggestion, const BurstReport& report,
                    const BurstRun& run) {
  const auto share = denied_share_text(*report.suggest);
  if (suggestion.chosen) {
    block.row("suggested", limit_text(suggestion.tried[*suggestion.chosen].limit, report),
              fmt::format("smallest with at most {} denied", share));
    return;
  }
  auto text = fmt::format("denies at most {}", share);
  if (run.burst) text += fmt::format(" with a burst of {}", *run.burst);
  block.row("suggested", "no limit", text);
}

/// Where one client decides, who asks about requests may have meant clients.
void append_whose(TextBlock& block, const Suggestion& suggestion, const BurstReport& report) {
  constexpr std::int64_t kFew = 100;  // of so many keys one is meant
  if (!suggestion.chosen || report.suggest->of_keys) return;
  const auto& tried = suggestion.tried[*suggestion.chosen];
  if (tried.keys_denied == 0 || tried.keys_denied > tried.keys / kFew) return;
  block.row("",
            fmt::format("{} of {} keys {} all of these denials", tried.keys_denied, tried.keys,
                        tried.keys_denied == 1 ? "has" : "have"),
            "keys are counted by --suggest 1%keys");
}

/// One line for each, to choose from.
void append_summary(std::string& out, const BurstReport& report, const Look& look) {
  std::vector<std::string> names, limits, shares, keys;
  for (const auto& run : report.runs) {
    if (!run.suggestion) continue;
    names.push_back(shown_name(run));
    const auto& [tried, chosen] = *run.suggestion;
    limits.push_back(chosen ? limit_text(tried[*chosen].limit, report) : "no limit");
    shares.push_back(chosen ? percent_text(tried[*chosen].share(false)) : std::string(kNoValue));
    keys.push_back(chosen ? percent_text(tried[*chosen].share(true)) : std::string(kNoValue));
  }
  if (names.size() < 2) return;
  Sheet sheet;
  sheet.add("suggested", std::move(names));
  sheet.add("limit", std::move(limits));
  sheet.add("denied", std::move(shares));
  sheet.add("keys denied", std::move(keys));
  sheet.append(out, look);
  out += '\n';
}

void append_tried(std::string& out, const Suggestion& suggestion, const BurstReport& report,
                  const BurstRun& run, const Look& look) {
  std::vector<std::string> limits, denied, shares, keys;
  for (std::size_t i = 0; i < suggestion.tried.size(); ++i) {
    const auto& tried = suggestion.tried[i];
    const bool chosen = suggestion.chosen == i;
    limits.push_back(toned((chosen ? "* " : "  ") + limit_text(tried.limit, report),
                           chosen ? Tone::kGood : Tone::kPlain, look.colour));
    denied.push_back(fmt::to_string(tried.denied));
    shares.push_back(percent_text(tried.share(false)));
    keys.push_back(fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                               percent_text(tried.share(true))));
  }
  Sheet sheet;
  sheet.add(shown_name(run), std::move(limits));
  sheet.add("denied", std::move(denied));
  sheet.add("of all", std::move(shares));
  sheet.add("keys denied", std::move(keys));
  sheet.append(out, look);
}

}  // namespace

void append_suggestions(std::string& out, const BurstReport& report, const Look& look) {
  if (!report.suggest) return;
  for (const auto& run : report.runs) {
    if (!run.suggestion) continue;
    append_tried(out, *run.suggestion, report, run, look);
    TextBlock block(out, look);
    append_verdict(block, *run.suggestion, report, run);
    append_whose(block, *run.suggestion, report);
    out += '\n';
  }
  append_summary(out, report, look);
}

void append_suggestion_json(std::string& out, const BurstReport& report, const BurstRun& run) {
  out += "\"suggestion\":";
  if (!report.suggest || !run.suggestion) {
    out += "null";
    return;
  }
  const auto& [tried, chosen] = *run.suggestion;
  out += fmt::format("{{\"most\":{},\"of\":\"{}\",\"limit\":{},\"window_us\":{},\"tried\":[",
                     report.suggest->most, report.suggest->of_keys ? "keys" : "requests",
                     chosen ? fmt::to_string(tried[*chosen].limit) : "null",
                     report.limits.front().window.count());
  for (const LimitTried& one : tried) {
    if (&one != &tried.front()) out += ',';
    out += fmt::format("{{\"limit\":{},\"denied\":{},\"share\":{},\"keys_denied\":{}}}", one.limit,
                       one.denied, one.share(report.suggest->of_keys), one.keys_denied);
  }
  out += "]}";
}

}  // namespace rlctl::cli
