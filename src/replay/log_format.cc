#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "limiter/limit.h"

namespace rlctl::replay {
namespace {

constexpr std::size_t kShownValue = 64;  // bytes

constexpr std::array kFormats{
    LogFormat{.name = "combined",
              .summary = "what Apache and nginx write; also the common log format",
              .make_parser = make_combined_parser},
    LogFormat{.name = "jsonl",
              .summary = "one JSON object per line",
              .make_parser = make_json_lines_parser},
    LogFormat{.name = "csv",
              .summary = "with a header; commas, semicolons, tabs or bars",
              .make_parser = make_csv_parser},
    LogFormat{
        .name = "epoch", .summary = "lines of: time key [cost]", .make_parser = make_epoch_parser},
};

/// How well a format fits: by requests, then by what at least is not bad.
struct Fit {
  std::int64_t requests = 0, other = 0;

  [[nodiscard]] bool better_than(const Fit& that) const {
    return requests != that.requests ? requests > that.requests : other > that.other;
  }
};

Fit fit_of(const LogFormat& format, std::string_view beginning, const FieldOptions& fields) {
  Fit fit;
  MemorySource source(beginning);
  LineReader lines(source, {});
  LineReader::Line line;
  Entry entry;
  try {
    const auto parser = format.make_parser(fields);
    while (lines.next(line)) {
      if (is_blank(line.text)) continue;
      const auto kind = parser->read(lines, line, entry);
      if (kind == LineKind::kRequest) ++fit.requests;
      if (kind == LineKind::kOther) ++fit.other;
    }
  } catch (const UsageError&) {
    // It has no such fields, or not the header that it needs.
  }
  return fit;
}

const LogFormat* best_fit(std::string_view beginning, const FieldOptions& fields) {
  const LogFormat* best = nullptr;
  Fit best_fit;
  for (const auto& format : kFormats) {
    const auto fit = fit_of(format, beginning, fields);
    if (!fit.better_than(best_fit)) continue;
    best = &format;
    best_fit = fit;
  }
  return best;
}

}  // namespace

LineKind LineParser::bad(std::string_view why) {
  why_ = why;
  return LineKind::kBad;
}

LineKind LineParser::bad(std::string_view before, std::string_view value, std::string_view after) {
  why_ = before;
  why_.append(" '").append(value.substr(0, kShownValue));
  if (value.size() > kShownValue) why_ += "...";
  why_.append("' ").append(after);
  return LineKind::kBad;
}

LineKind LineParser::read(LineReader& lines, LineReader::Line& line, Entry& entry) {
  if (line.too_long) {
    return bad(fmt::format("it is longer than {} MB", LineReader::kMaxLine >> 20));
  }
  entry.cost = 1;
  const auto kind = parse(lines, line, entry);
  if (kind != LineKind::kRequest) return kind;
  if (entry.at < microseconds{0} || entry.at > limiter::kLatestNow) {
    return bad(fmt::format("its time is not from 1970 to {}", format_instant(limiter::kLatestNow)));
  }
  if (entry.key.empty()) return bad("its key is empty");
  if (entry.key.size() > kMaxKey) {
    return bad(fmt::format("its key is longer than {} KB", kMaxKey >> 10));
  }
  if (entry.cost < 1 || entry.cost > limiter::kLargestCost) {
    return bad(fmt::format("its cost is not from 1 to {}", limiter::kLargestCost));
  }
  return kind;
}

std::span<const LogFormat> log_formats() {
  return kFormats;
}

const LogFormat* find_log_format(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const LogFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

const LogFormat* recognise(std::string_view beginning, const FieldOptions& fields) {
  const auto* format = best_fit(beginning, fields);
  return format == nullptr && fields.any() ? best_fit(beginning, {}) : format;
}

std::optional<std::int64_t> read_cost(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 18;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::int64_t cost = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    cost = cost * 10 + (c - '0');
  }
  return cost;
}

}  // namespace rlctl::replay
