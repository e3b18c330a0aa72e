#include "cli/trial/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli::trial {

std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns) {
  constexpr std::string_view kNext = " \\", kIndent = "    ";
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto piece = shell_quoted(words[i]);
    if (words[i].starts_with("--") && i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      const auto both = piece + ' ' + shell_quoted(words[i + 1]);
      if (kIndent.size() + both.size() + kNext.size() <= columns) {
        piece = both;
        ++i;
      }
    }
    auto& line = lines.back();
    if (!line.empty() && line.size() + 1 + piece.size() + kNext.size() > columns) {
      line += kNext;
      lines.push_back(std::string(kIndent) + piece);
    } else {
      line += (line.empty() ? "" : " ") + piece;
    }
  }
  return lines;
}

bool tells_difference(const Report& report) {
  const auto* traffic = report.plan.traffic();
  return traffic != nullptr && traffic->compare && !report.interrupted;
}

std::string difference_text(const Plan& plan, const Difference& found) {
  const auto one = name_of(plan.candidates[0]), other = name_of(plan.candidates[1]);
  return fmt::format("first at request {} (key {}): {} allows it, {} denies it",
                     grouped(found.request), quoted_and_masked(found.key),
                     escape(found.allowed ? one : other), escape(found.allowed ? other : one));
}

bool has_refunds(const Report& report) {
  return std::any_of(report.runs.begin(), report.runs.end(),
                     [](const auto& run) { return run.search() && run.search()->has_refunds; });
}

bool shows_dates(const Report& report) {
  return report.recording && !report.plan.is_real();
}

std::string traffic_text(const Report& report) {
  if (report.plan.search() && report.plan.concurrency) {
    return "the schedule that holds too many leases, or loses a slot";
  }
  if (report.plan.search() && report.plan.reserve) {
    return "the schedule that spends and holds too much, or loses units";
  }
  if (report.plan.search()) return "the schedule that makes a limiter allow the most";
  if (!report.plan.pattern()) return "recorded traffic";
  const auto& rate = report.plan.request.rate;
  if (rate) return fmt::format("{} {}", rate_text(*rate), report.plan.pattern()->rate);
  return std::string(report.plan.pattern()->summary);
}

std::string_view traffic_name(const Report& report) {
  if (report.plan.search()) return "adversary";
  return report.plan.pattern() ? report.plan.pattern()->name : "replay";
}

std::int64_t traffic_keys(const Report& report) {
  if (report.recording) return static_cast<std::int64_t>(report.recording->keys());
  return report.plan.request.keys;
}

std::string ratio_text(double ratio) {
  constexpr int kMaxDecimals = 9;
  std::string text;
  for (int decimals = 2; decimals <= kMaxDecimals; ++decimals) {
    text = fmt::format("{:.{}f}", ratio, decimals);
    const bool reads_one = text.front() == '1' && text.find_first_not_of("0", 2) == text.npos;
    if (ratio == 1 || !reads_one) break;
  }
  return text;
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}/s", per_second, per_second < 100 ? 1 : 0);
}

std::optional<std::string> why_late(const Run& run) {
  const auto& pace = run.outcome.pace;
  if (!pace || pace->sender_kept_up()) return std::nullopt;
  return fmt::format("{}: the sender fell behind: requests were sent up to {} late", run.name,
                     latency_text(pace->lag));
}

std::optional<Verdict> verdict_within_limit(std::int64_t allowed, double ratio) {
  if (allowed == 0) return Verdict{"allows nothing", Tone::kBad};
  if (ratio <= 1) return Verdict{"never above the limit", Tone::kGood};
  return std::nullopt;
}

std::string exact_text(std::chrono::microseconds span) {
  if (span % std::chrono::minutes{1} == std::chrono::microseconds{0}) return span_text(span);
  const auto count = static_cast<double>(span.count());
  if (span < std::chrono::milliseconds{1}) return fmt::format("{} µs", span.count());
  if (span < std::chrono::seconds{1}) return fmt::format("{} ms", count / 1e3);
  return fmt::format("{} s", count / 1e6);
}

std::string exact_offset_text(std::chrono::microseconds offset) {
  if (offset == std::chrono::microseconds{0}) return "0";
  return (offset < std::chrono::microseconds{0} ? "-" : "+") + exact_text(std::chrono::abs(offset));
}

std::string within_text(std::chrono::microseconds span) {
  return span == std::chrono::microseconds{0} ? "at one instant" : "within " + exact_text(span);
}

std::vector<Remark> remarks_on(const Report& report, const Run& run) {
  const auto& measured = run.outcome.measured;
  const auto name = escaped_message(run.name);
  std::vector<Remark> remarks;
  if (run.why) {
    const bool says_key = traffic_keys(report) > 1;
    const auto key = says_key ? " (key " + escaped_message(run.worst_key()) + ")" : std::string();
    remarks.push_back({"why", name + key + ": " + *run.why});
  }
  // A user's limiter that kept the limit under one traffic may not keep it under another.
  if (!run.is_bundled && measured.allowed > 0 && measured.worst.ratio <= 1) {
    remarks.push_back({"note", name + ": never above the limit with this traffic; adversary "
                                      "searches for traffic that gets more through"});
  }
  if (run.hint) remarks.push_back({"hint", name + ": " + *run.hint});
  return remarks;
}

std::string xml(std::string_view text) {
  // The last two are UTF-8 and no control characters, but not allowed in XML.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kReplaced{
      {{"&", "&amp;"},
       {"<", "&lt;"},
       {">", "&gt;"},
       {"\"", "&quot;"},
       {"\xef\xbf\xbe", "\\xef\\xbf\\xbe"},
       {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"}}};
  const auto escaped = escaped_message(text);
  std::string out;
  for (std::string_view rest = escaped; !rest.empty();) {
    const auto* row = std::find_if(kReplaced.begin(), kReplaced.end(), [rest](const auto& each) {
      return rest.starts_with(each.first);
    });
    const bool is_plain = row == kReplaced.end();
    out += is_plain ? rest.substr(0, 1) : row->second;
    rest.remove_prefix(is_plain ? 1 : row->first.size());
  }
  return out;
}

}  // namespace rlctl::cli::trial
