#include "cli/trial/report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli::trial {

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

bool shows_dates(const Report& report) {
  return report.recording && !report.plan.is_real();
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

std::string within_text(std::chrono::microseconds span,
                        std::string (*text)(std::chrono::microseconds)) {
  return span == std::chrono::microseconds{0} ? "at one instant" : "within " + text(span);
}

}  // namespace rlctl::cli::trial
