#include "cli/burst/data.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/burst/replay.h"
#include "cli/burst/suggestion.h"
#include "cli/burst/timing_data.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

template <typename... Arguments>
void print(std::string& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  print(out, "\"{}\":", name);
  append_json_string(out, text);
}

std::optional<std::int64_t> count_of(const std::optional<microseconds>& time) {
  if (!time) return std::nullopt;
  return time->count();
}

/// Nothing is left to chance in a log.
std::optional<std::uint64_t> seed_of(const BurstReport& report) {
  return report.pattern ? std::optional(report.request.seed) : std::nullopt;
}

/// In quotes only where it must be.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

/// What a script that is not rlctl's leaves open is not known.
struct Told {
  std::optional<std::int64_t> remaining, retry_after_us;
};

Told told_by(const limiter::Decision& decision) {
  Told told{.remaining = decision.remaining, .retry_after_us = decision.retry_after.count()};
  if (decision.remaining != limiter::kNotTold) return told;
  told.remaining.reset();
  if (decision.retry_after == limiter::kNever) told.retry_after_us.reset();
  return told;
}

void append_limits(std::string& out, const BurstReport& report) {
  out += "\"limits\":[";
  for (const auto& limit : report.limits) {
    if (&limit != &report.limits.front()) out += ',';
    print(out, "{{\"limit\":{},\"window_us\":{},\"burst\":{}}}", limit.limit, limit.window.count(),
          known(limit.burst, "null"));
  }
  out += ']';
}

/// Where nothing was allowed there is no such time.
std::optional<std::int64_t> when_any(microseconds time, const traffic::Worst& worst) {
  if (worst.allowed == 0) return std::nullopt;
  return time.count();
}

void append_worst(std::string& out, const BurstReport& report, const BurstRun& run) {
  const auto& worst = run.outcome.measured.worst;
  print(out, "\"worst\":{{\"allowed\":{},\"ratio\":{},\"from_us\":{},\"span_us\":{},",
        worst.allowed, worst.ratio, known(when_any(worst.from, worst), "null"),
        known(when_any(worst.span, worst), "null"));
  append_text(out, "key", run.worst_key);
  append_text(out += ',', "limit", limiter::format_limit(report.limits[worst.limit]));
  out += '}';
}

void append_denials(std::string& out, const BurstRun& run) {
  const auto& measured = run.outcome.measured;
  const auto& error = measured.retry_error;
  print(out, "\"first_denial_us\":{},\"longest_shut_out_us\":{},\"longest_delay_us\":{},",
        known(count_of(measured.first_denial), "null"), measured.longest_shut_out.count(),
        measured.longest_delay.count());
  print(out,
        "\"retry_after\":{{\"compared\":{},\"broken\":{},\"too_early_us\":{},\"too_late_us\":{}}},",
        error.compared, error.broken, error.too_early.count(), error.too_late.count());
  out += "\"top_denied\":[";
  for (const auto& denied : run.top_denied) {
    if (&denied != &run.top_denied.front()) out += ',';
    out += '{';
    append_text(out, "key", denied.first);
    print(out, ",\"denied\":{}}}", denied.second);
  }
  out += ']';
}

void append_worst_minute(std::string& out, const BurstRun& run) {
  out += "\"worst_minute\":";
  if (const auto& minute = run.outcome.measured.worst_minute) {
    print(out, "{{\"from_us\":{},\"sent\":{},\"denied\":{}}}", minute->from.count(), minute->sent,
          minute->denied);
  } else {
    out += "null";
  }
}

void append_worst_minute_csv(std::string& out, const BurstRun& run) {
  if (const auto& minute = run.outcome.measured.worst_minute) {
    print(out, ",{},{},{}", minute->from.count(), minute->sent, minute->denied);
  } else {
    out += ",,,";
  }
}

void append_run(std::string& out, const BurstReport& report, const BurstRun& run) {
  const auto& measured = run.outcome.measured;
  out += '{';
  append_text(out, "algorithm", run.name);
  print(out, ",\"sent\":{},\"allowed\":{},\"denied\":{},\"keys\":{},\"keys_denied\":{},",
        measured.sent, measured.allowed, measured.denied, measured.keys, measured.keys_denied);
  append_worst(out, report, run);
  print(out, ",\"bytes_per_key\":{},", known(run.outcome.bytes_per_key, "null"));
  append_timing_json(out, run.outcome.timing);
  out += ',';
  append_denials(out, run);
  append_worst_minute(out += ',', run);
  append_suggestion_json(out += ',', report, run);
  out += '}';
}

}  // namespace

void append_burst_json(std::string& out, const BurstReport& report) {
  const auto& limit = report.limits.front();
  out += '{';
  append_text(out, "pattern", traffic_name(report));
  print(out, ",\"seed\":{},\"clock\":\"{}\",", known(seed_of(report), "null"),
        report.real ? "real" : "virtual");
  const auto clients = report.real ? std::optional(report.real->clients) : std::nullopt;
  const auto pipeline = report.real ? report.real->pipeline : std::nullopt;
  print(out, "\"clients\":{},\"pipeline\":{},", known(clients, "null"), known(pipeline, "null"));
  print(out, "\"limit\":{},\"window_us\":{},", limit.limit, limit.window.count());
  append_limits(out, report);
  out += ",\"replay\":";
  if (report.recording) {
    append_replay_json(out, *report.recording);
  } else {
    out += "null";
  }
  append_text(out += ',', "command", command_line(report.command));
  print(out, ",\"interrupted\":{},\"runs\":[", report.interrupted);
  for (const auto& run : report.runs) {
    if (&run != &report.runs.front()) out += ',';
    append_run(out, report, run);
  }
  out += "]}\n";
}

void append_burst_csv(std::string& out, const BurstReport& report) {
  out +=
      "pattern,seed,limit,window_us,algorithm,sent,allowed,denied,keys,keys_denied,worst_allowed,"
      "worst_ratio,worst_from_us,worst_span_us,first_denial_us,longest_shut_out_us,"
      "retry_after_compared,retry_after_broken,bytes_per_key";
  append_timing_csv_names(out);
  out += ",worst_minute_from_us,worst_minute_sent,worst_minute_denied";
  out += '\n';
  const auto& limit = report.limits.front();
  for (const auto& run : report.runs) {
    const auto& measured = run.outcome.measured;
    const auto& worst = measured.worst;
    print(out, "{},{},{},{},{},", traffic_name(report), known(seed_of(report), ""), limit.limit,
          limit.window.count(), csv_field(run.name));
    print(out, "{},{},{},{},{},", measured.sent, measured.allowed, measured.denied, measured.keys,
          measured.keys_denied);
    print(out, "{},{},{},{},", worst.allowed, worst.ratio, worst.from.count(), worst.span.count());
    print(out, "{},{},{},{},{}", known(count_of(measured.first_denial), ""),
          measured.longest_shut_out.count(), measured.retry_error.compared,
          measured.retry_error.broken, known(run.outcome.bytes_per_key, ""));
    append_timing_csv(out, report, run);
    append_worst_minute_csv(out, run);
    out += '\n';
  }
}

void append_decision_json(std::string& out, std::string_view run, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision) {
  out += '{';
  append_text(out, "algorithm", run);
  print(out, ",\"at_us\":{},", arrival.at.count());
  append_text(out, "key", key);
  const auto told = told_by(decision);
  print(out,
        ",\"cost\":{},\"allowed\":{},\"remaining\":{},\"retry_after_us\":{},\"delay_us\":{}}}\n",
        arrival.cost, decision.allowed, known(told.remaining, "null"),
        known(told.retry_after_us, "null"), decision.delay.count());
}

}  // namespace rlctl::cli
