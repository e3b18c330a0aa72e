#include "cli/burst_suggestion.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cli/burst_columns.h"
#include "cli/duration_text.h"
#include "cli/replay_options.h"
#include "cli/sheet.h"
#include "cli/style.h"
#include "cli/text_block.h"

namespace rlctl::cli {
namespace {

using traffic::LimitTried;
using traffic::Suggestion;

std::string percent_text(double share) {
  return fmt::format("{:.4g} %", share * 100);
}

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
    out += '\n';
  }
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
