#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/inspect/report.h"
#include "cli/report/usage_json.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/table.h"
#include "limiter/limit.h"
#include "state/key_family.h"

namespace rlctl::cli::inspect {
namespace {

using state::Inspection;
using state::Keeping;
using std::chrono::microseconds;

constexpr std::size_t kMaxGauge = 40;
constexpr std::size_t kMaxBars = 200;
/// From this share on, the limit is nearly reached.
constexpr double kNearlyFull = 0.8;

double as_double(microseconds duration) {
  return static_cast<double>(duration.count());
}

/// 12 s, but 8.572 s: whole tenths of a second as a period, else as a wait.
std::string interval_text(microseconds interval) {
  const bool whole = interval % std::chrono::milliseconds{100} == microseconds{0};
  return whole ? period_text(interval) : wait_text(interval);
}

std::string_view tilde(const Inspection& inspection) {
  return inspection.window_is_inferred ? "~" : "";
}

/// The time that one unit takes.
std::optional<microseconds> interval(const Inspection& inspection) {
  if (!inspection.limit || !inspection.window) return std::nullopt;
  return microseconds{
      std::llround(as_double(*inspection.window) / static_cast<double>(*inspection.limit))};
}

// --- what every key has ---

std::string ttl_part(const TextBlock& block, const Inspection& inspection) {
  if (inspection.ttl) return "ttl " + ttl_text(*inspection.ttl);
  if (!inspection.is_limiter()) return "no ttl";
  // Without a TTL, only foreign state never resets.
  return inspection.state.form->is_foreign() ? block.tone("no ttl: never resets", Tone::kBad)
                                             : block.tone("no ttl: never expires", Tone::kWarning);
}

void append_key(TextBlock& block, const Inspection& inspection) {
  std::string about = inspection.content.type;
  if (inspection.bytes) about += fmt::format(", {} bytes", *inspection.bytes);
  about += ", " + ttl_part(block, inspection);
  block.row("key", escaped_text(inspection.key), about);
  // The names of keys have the window in seconds, while `check` prints 1h.
  const auto window = state::window_in_name(inspection.key);
  if (!window || window != inspection.window) return;
  const auto suffix = limiter::window_suffix(*window), printed = format_duration(*window);
  if (suffix != printed) {
    block.note(block.tone(fmt::format(":{} is the window, {}", suffix, printed), Tone::kDim));
  }
}

std::string limit_part(const Inspection& inspection) {
  if (!inspection.limit) {
    constexpr std::string_view kNotStored = "limit not stored; pass --limit";
    if (!inspection.window) return std::string(kNotStored);
    return fmt::format("window {}{}, {}", tilde(inspection), period_text(*inspection.window),
                       kNotStored);
  }
  std::string text = fmt::format("limit {}", *inspection.limit);
  if (inspection.state.form->keeping == Keeping::kLeases) return text + " at once";
  if (inspection.window) {
    text += fmt::format(" per {}{}", tilde(inspection), period_text(*inspection.window));
  }
  if (inspection.burst) text += fmt::format(", burst {}", *inspection.burst);
  return text;
}

/// What another library's form is, and where the rest of the state is.
void append_foreign(TextBlock& block, const Inspection& inspection) {
  const auto& state = inspection.state;
  block.note(block.tone(state.form->summary, Tone::kDim));
  if (!state.partner.empty()) {
    block.note(block.tone("the other key: " + escaped_text(state.partner), Tone::kDim));
  }
  if (!state.certain && !state.form->library.empty()) {
    block.note(block.tone("may belong to another program", Tone::kWarning));
  }
}

void append_algorithm(TextBlock& block, const Found& found) {
  const auto& inspection = found.inspection;
  const auto& state = inspection.state;
  block.row("algorithm", state.form->label(), limit_part(inspection));
  if (state.form->keeping == Keeping::kLeases && !inspection.limit) {
    block.note(block.tone("for 3 leases, pass --limit 3/1s; leases ignore the window", Tone::kDim));
  }
  if (!found.policy.empty()) {
    block.note(block.tone("the limit of policy '" + escaped_text(found.policy) + "'", Tone::kDim));
  }
  if (state.form->is_foreign()) {
    append_foreign(block, inspection);
  } else if (!state.certain) {
    block.note(
        block.tone("may belong to another program: scripts set a TTL and write current times",
                   Tone::kWarning));
  }
}

Tone tone_of_use(const Inspection& inspection) {
  const auto most = inspection.capacity();
  if (!most || !inspection.remaining || !inspection.used) return Tone::kPlain;
  if (*inspection.remaining == 0) return Tone::kBad;
  const auto share = static_cast<double>(*inspection.used) / static_cast<double>(*most);
  return share >= kNearlyFull ? Tone::kWarning : Tone::kGood;
}

void append_gauge(TextBlock& block, const Inspection& inspection, double share) {
  constexpr std::size_t kPercent = 7;
  constexpr double kMaxShown = 9.99;
  if (block.room() <= kPercent) return;
  const auto columns = std::min(block.room() - kPercent, kMaxGauge);
  const auto gauge = gauge_text(share, columns, block.look().utf8);
  const auto percent = share > kMaxShown
                           ? std::string(">999")
                           : fmt::format("{:3.0f}", std::floor(std::max(share, 0.0) * 100));
  block.row("", fmt::format("{} {} %", block.tone(gauge, tone_of_use(inspection)), percent));
}

void append_gauge_of_use(TextBlock& block, const Inspection& inspection) {
  const auto most = inspection.capacity();
  if (!most || !inspection.used) return;
  const auto used = inspection.used_exact.value_or(static_cast<double>(*inspection.used));
  append_gauge(block, inspection, used / static_cast<double>(*most));
}

void append_clock(TextBlock& block, const Inspection& inspection) {
  if (inspection.now == inspection.server_now) return;
  const bool behind = inspection.now < inspection.server_now;
  block.row("now", instant_text(inspection.now),
            fmt::format("{} {} the server's clock",
                        wait_text(std::chrono::abs(inspection.now - inspection.server_now)),
                        behind ? "behind" : "ahead of"));
}

// --- windows ---

/// "it starts in the future: a clock was ahead, or this one is behind"
void append_future(TextBlock& block, std::string_view what) {
  block.note(
      block.tone(std::string(what) + " in the future: a clock was ahead, or this one is behind",
                 Tone::kWarning));
}

/// The beginning and the end of a window.
void append_frame(TextBlock& block, const Inspection& inspection, microseconds begin,
                  microseconds end) {
  const auto now = inspection.now;
  block.row("window", "from " + instant_text(begin), when_text(begin, now));
  block.row("", "to   " + instant_text(end), when_text(end, now));
  if (end <= now) {
    block.note(block.tone("it has ended: its count no longer applies", Tone::kDim));
  } else if (inspection.window && *inspection.window != end - begin) {
    block.note(
        block.tone(fmt::format("the stored window, {}, applies while it counts; {} after that",
                               period_text(end - begin), period_text(*inspection.window)),
                   Tone::kWarning));
  }
  if (begin > now) append_future(block, "it starts");
}

void append_window(TextBlock& block, const Inspection& inspection) {
  append_gauge_of_use(block, inspection);
  const auto& count = inspection.state.counts.front();
  append_frame(block, inspection, count.at, count.at + inspection.state.limit->window);
}

void append_estimate(TextBlock& block, const Inspection& inspection) {
  append_gauge_of_use(block, inspection);
  auto previous = inspection.state.counts.front();
  auto current = inspection.state.counts.back();
  const auto window = current.at - previous.at;
  // The script advances its windows only when it writes, so do the same here.
  const auto moves = std::clamp<std::int64_t>((inspection.now - current.at) / window, 0, 2);
  for (auto i = moves; i > 0; --i) {
    previous = current;
    current = {.at = current.at + window, .units = 0};
  }
  const auto elapsed = std::clamp(inspection.now - current.at, microseconds{0}, window);
  const auto share = as_double(window - elapsed) / as_double(window);
  append_frame(block, inspection, current.at, current.at + window);
  block.row("this one", fmt::format("{}", current.units));
  block.row("previous", fmt::format("{}", previous.units),
            previous.units > 0 ? fmt::format("{} % of it counts", amount_text(share * 100)) : "");
  if (inspection.used_exact) {
    block.row("estimate", amount_text(*inspection.used_exact), "rounded up: used");
  }
}

// --- buckets and queues ---

/// Only these store a time that may be further ahead than the burst.
void append_excess(TextBlock& block, const Inspection& inspection) {
  const auto most = inspection.capacity();
  if (!most || !inspection.used || *inspection.used <= *most) return;
  block.note(block.tone("more than the burst: a clock was ahead, or the limit was changed",
                        Tone::kWarning));
}

std::string rate_part(const Inspection& inspection) {
  const auto one = interval(inspection);
  return one ? fmt::format("one every {}", interval_text(*one)) : std::string();
}

void append_level(TextBlock& block, const Inspection& inspection) {
  append_gauge_of_use(block, inspection);
  if (!inspection.burst || !inspection.used_exact) return;
  const auto burst = static_cast<double>(*inspection.burst);
  const auto level = burst - *inspection.used_exact;
  // After the burst was lowered, the level may be below 0.
  block.row("level", fmt::format("{} of {}", amount_text(std::max(level, 0.0)), *inspection.burst),
            rate_part(inspection));
  append_excess(block, inspection);
}

void append_bucket(TextBlock& block, const Inspection& inspection) {
  append_level(block, inspection);
  const auto& counted_at = inspection.state.time;
  if (counted_at && *counted_at > inspection.now) append_future(block, "its tokens were counted");
}

/// Waiting requests depart one interval apart; one interval after the last, no request has to wait.
void append_queue(TextBlock& block, const Inspection& inspection) {
  append_gauge_of_use(block, inspection);
  const auto one = interval(inspection);
  if (!one || !inspection.used || !inspection.reset_after) return;
  const auto waiting = std::max<std::int64_t>(0, *inspection.used - 1);
  std::string about;
  if (waiting > 0) {
    const auto each = as_double(*inspection.window) / static_cast<double>(*inspection.limit);
    const auto before = [&](std::int64_t intervals) {
      const auto ahead = static_cast<double>(intervals) * each;
      return *inspection.reset_after - microseconds{std::llround(ahead)};
    };
    about = "next departs in " + wait_text(before(waiting));
    if (waiting > 1) about += ", the last in " + wait_text(before(1));
  }
  block.row("waiting", fmt::format("{}", waiting), about);
  block.row("rate", fmt::format("{} per {}", *inspection.limit, period_text(*inspection.window)),
            rate_part(inspection));
  append_excess(block, inspection);
}

// --- what differs between the algorithms ---

/// What one algorithm shows in addition to what every key has. Others have entries or leases.
struct AlgorithmRow {
  std::string_view name;
  std::string_view reset;  ///< the label of reset_after: "empty in"
  void (*append)(TextBlock& block, const Inspection& inspection) = nullptr;
  std::string_view time = {};  ///< the label of State::time
};

// --- other libraries ---

/// What foreign state shows in addition, as far as it is known.
void append_foreign_parts(TextBlock& block, const Inspection& inspection) {
  const auto& state = inspection.state;
  append_level(block, inspection);
  for (const auto& count : state.counts) {
    if (inspection.used != count.units) block.row("count", fmt::format("{}", count.units));
    if (count.at.count() > 0 && inspection.window) {
      const auto window = state.window.value_or(*inspection.window);
      append_frame(block, inspection, count.at, count.at + window);
    }
  }
  const auto stored = state.bucket ? std::optional(state.bucket->tokens) : state.tokens;
  if (stored) {
    block.row(state.bucket && state.bucket->counts_used ? "in use" : "tokens", amount_text(*stored),
              "when they were counted");
  }
  if (state.end) block.row("ends", instant_text(*state.end), when_text(*state.end, inspection.now));
}

constexpr std::array kAlgorithmRows{
    AlgorithmRow{"fixed-window", "empty in", append_window},
    AlgorithmRow{"sliding-window-counter", "empty in", append_estimate},
    AlgorithmRow{"token-bucket", "full in", append_bucket, "counted"},
    AlgorithmRow{"gcra", "full in", append_level, "tat"},
    AlgorithmRow{"leaky-bucket", "no wait in", append_queue, "last"},
};

/// The same for foreign state.
constexpr std::array kForeignRows{
    AlgorithmRow{"fixed-window", "resets in", append_foreign_parts},
    AlgorithmRow{"sliding-window-counter", "empty in", append_foreign_parts},
    AlgorithmRow{"token-bucket", "full in", append_foreign_parts, "counted"},
    AlgorithmRow{"gcra", "full in", append_foreign_parts, "tat"},
    AlgorithmRow{"leaky-bucket", "empty in", append_foreign_parts, "counted"},
    AlgorithmRow{"foreign-counter", "resets in"},
};

AlgorithmRow row_of(const Inspection& inspection) {
  const auto& form = *inspection.state.form;
  const auto rows = form.is_foreign() ? std::span<const AlgorithmRow>(kForeignRows)
                                      : std::span<const AlgorithmRow>(kAlgorithmRows);
  for (const auto& row : rows) {
    if (row.name == form.name) return row;
  }
  return {.name = {}, .reset = "empty in"};
}

std::string outlook(const Inspection& inspection) {
  std::vector<std::string> parts;
  const auto mark = tilde(inspection);
  if (inspection.next_free == limiter::kNever) {
    parts.emplace_back("next free never");
  } else if (inspection.next_free && inspection.next_free->count() > 0) {
    parts.push_back(fmt::format("next free in {}{}", mark, wait_text(*inspection.next_free)));
  } else if (inspection.remaining) {
    parts.push_back(fmt::format("{}{} remaining", mark, *inspection.remaining));
  }
  if (inspection.reset_after && inspection.reset_after->count() > 0) {
    parts.push_back(
        fmt::format("{} {}{}", row_of(inspection).reset, mark, wait_text(*inspection.reset_after)));
  } else if (inspection.reset_after) {
    parts.emplace_back("as if unused");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Why it is not known how much is used, or what helps.
std::string_view unknown_use(const Inspection& inspection) {
  if (!inspection.state.partner.empty()) return "part of the state is in the other key";
  if (inspection.state.form->keeping == Keeping::kText) return "pass --limit";
  return "pass --limit for the window";
}

void append_use(TextBlock& block, const Inspection& inspection) {
  if (!inspection.used) return block.row("used", "unknown", unknown_use(inspection));
  const auto most = inspection.capacity();
  std::string used = fmt::format("{}{}", tilde(inspection), *inspection.used);
  if (most) used += fmt::format(" of {}", *most);
  block.row("used", block.tone(used, tone_of_use(inspection)), outlook(inspection));
}

/// A key lasts until it is as if unused, unless a caller's clock was ahead of the server's.
void append_expiry(TextBlock& block, const Inspection& inspection) {
  constexpr std::chrono::seconds kTolerance{1};
  if (!inspection.ttl || !inspection.reset_after) return;
  if (inspection.now != inspection.server_now) return;
  if (*inspection.ttl + kTolerance >= *inspection.reset_after) return;
  block.note(block.tone(
      "it expires before that, in " + ttl_text(*inspection.ttl) + ", and is then as if unused",
      Tone::kWarning));
}

void append_contradiction(TextBlock& block, const Inspection& inspection) {
  if (!inspection.longer_window) return;
  block.note(block.tone(
      fmt::format("its TTL fits a window of ~{}, not {}: is this the right limit?",
                  period_text(*inspection.longer_window), period_text(*inspection.window)),
      Tone::kWarning));
}

void append_own(TextBlock& block, const Inspection& inspection) {
  const auto row = row_of(inspection);
  if (row.append != nullptr) row.append(block, inspection);
  if (row.time.empty() || !inspection.state.time) return;
  block.row(row.time, instant_text(*inspection.state.time),
            when_text(*inspection.state.time, inspection.now));
}

// --- entries and leases ---

/// The tone for an entry that has expired, counts, or is in the future.
Tone tone_of_entry(const Inspection& inspection, microseconds at) {
  if (at > inspection.now) return Tone::kWarning;
  if (inspection.window && inspection.now - at >= *inspection.window) return Tone::kDim;
  return Tone::kPlain;
}

std::string leaves_text(const Inspection& inspection, microseconds at) {
  if (!inspection.window) return {};
  const auto end = at + *inspection.window;
  if (end > inspection.now) {
    return fmt::format("leaves in {}{}", tilde(inspection), wait_text(end - inspection.now));
  }
  return fmt::format("left {}{} ago", tilde(inspection), age_text(inspection.now - end));
}

std::string entry_time(const TextBlock& block, const state::InspectedEntry& entry) {
  std::string text = format_instant(entry.at);
  if (entry.count > 1) text += fmt::format("  {}{}", block.look().utf8 ? "×" : "x", entry.count);
  return text;
}

/// The words in the heading of a list of entries or leases.
struct ListWords {
  std::string_view label, order;
  std::string_view expired, removed;  ///< "1 has left the window and is not pruned yet"
  std::string_view more;
};

void append_heading(TextBlock& block, const Inspection& inspection, const ListWords& words) {
  std::int64_t shown = 0;
  for (const auto& entry : inspection.entries) shown += entry.count;
  const auto dim = [&](const std::string& text) { block.item(block.tone(text, Tone::kDim)); };
  block.row(words.label, fmt::format("{}{}", inspection.stored, shown > 0 ? words.order : ""));
  if (inspection.expired > 0) {
    const bool one = inspection.expired == 1;
    dim(fmt::format("{} {} {} and {} not {} yet", inspection.expired, one ? "has" : "have",
                    words.expired, one ? "is" : "are", words.removed));
  }
  const auto more = inspection.stored - shown;
  if (more > 0 && shown > 0) dim(fmt::format("{} more, {}", more, words.more));
}

void append_entries(TextBlock& block, const Inspection& inspection) {
  append_heading(block, inspection,
                 {.label = "entries",
                  .order = ", oldest first",
                  .expired = "left the window",
                  .removed = "pruned",
                  .more = "older"});
  std::vector<std::vector<std::string>> lines;
  lines.reserve(inspection.entries.size());
  for (const auto& entry : inspection.entries) {
    const auto tone = tone_of_entry(inspection, entry.at);
    lines.push_back({block.tone(entry_time(block, entry), tone),
                     block.tone(when_text(entry.at, inspection.now), tone),
                     block.tone(leaves_text(inspection, entry.at), tone),
                     {}});
  }
  block.table(lines);
  if (inspection.newest && *inspection.newest > inspection.now) {
    append_future(block, "its newest entry is");
  }
}

void append_bars(TextBlock& block, const Inspection& inspection) {
  if (inspection.bars.empty() || !inspection.window) return;
  const auto highest = *std::max_element(inspection.bars.begin(), inspection.bars.end());
  const auto label = fmt::format("last {}{}", tilde(inspection), period_text(*inspection.window));
  const bool beside = label.size() < TextBlock::kLabel;
  if (!beside) block.row(label, "");
  block.row(beside ? label : "", bars_text(inspection.bars, block.look().utf8));
  const auto one = *inspection.window / static_cast<std::int64_t>(inspection.bars.size());
  block.note(block.tone(
      fmt::format("one bar is {}, the highest {}",
                  one < std::chrono::seconds{1} || one.count() % 1'000'000 != 0 ? wait_text(one)
                                                                                : period_text(one),
                  highest),
      Tone::kDim));
}

void append_leases(TextBlock& block, const Inspection& inspection) {
  append_gauge_of_use(block, inspection);
  append_heading(block, inspection,
                 {.label = "leases",
                  .order = ", by their end",
                  .expired = "lapsed",
                  .removed = "removed",
                  .more = "which lapse before these"});
  std::vector<std::vector<std::string>> lines;
  lines.reserve(inspection.entries.size());
  for (const auto& lease : inspection.entries) {
    const bool lapsed = lease.at <= inspection.now;
    const auto tone = lapsed ? Tone::kDim : Tone::kPlain;
    const auto left = lapsed ? "lapsed " + age_text(inspection.now - lease.at) + " ago"
                             : "lapses in " + wait_text(lease.at - inspection.now);
    lines.push_back({block.tone(format_instant(lease.at), tone), block.tone(left, tone),
                     block.tone(escaped_text(lease.holder), tone)});
  }
  block.table(lines);
}

void append_absent(std::string& out, const Found& found, std::string_view server) {
  const auto& inspection = found.inspection;
  escape_text(out, inspection.key);
  out += ": not found";
  if (!server.empty()) escape_message(out.append(" in "), server);
  out += ": the limiter is unused";
  if (inspection.remaining) out += fmt::format("; {} remaining", *inspection.remaining);
  if (!found.policy.empty()) escape_message(out, " (policy '" + found.policy + "')");
  out += '\n';
}

void append_found(std::string& out, const Found& found, const Look& look, std::string_view server) {
  const auto& inspection = found.inspection;
  if (!inspection.exists()) return append_absent(out, found, server);
  TextBlock block(out, look);
  append_key(block, inspection);
  if (!inspection.is_limiter()) {
    return block.note(block.tone("not a limiter's state", Tone::kWarning));
  }
  append_algorithm(block, found);
  append_use(block, inspection);
  append_expiry(block, inspection);
  append_contradiction(block, inspection);
  append_clock(block, inspection);
  append_own(block, inspection);
  const auto keeping = inspection.state.form->keeping;
  if (keeping == Keeping::kLeases) append_leases(block, inspection);
  if (keeping == Keeping::kTimes || keeping == Keeping::kScores) {
    append_entries(block, inspection);
    append_bars(block, inspection);
  }
  if (inspection.changed_while_read) {
    block.note(
        block.tone("it changed while it was read: the figures are approximate", Tone::kWarning));
  }
}

}  // namespace

void append_text(std::string& out, const Found& found, const Look& look, std::string_view server) {
  std::string text;
  append_found(text, found, look, server);
  out += without_micro_sign(std::move(text), look.utf8);
}

std::size_t columns_for_bars(const Look& look) noexcept {
  const std::size_t room = look.columns > TextBlock::kLabel ? look.columns - TextBlock::kLabel : 1;
  return std::min(room, kMaxBars);
}

// --- JSON ---

namespace {

/// The most bytes that an entry of a log takes: a time of 16 digits and a count of 10.
constexpr std::size_t kBytesOfEntry = 48;

void append_inferred(JsonWriter& json, const Inspection& inspection) {
  json.name("inferred").begin_array();
  const auto append = [&](std::string_view name, const auto& value) {
    if (value && inspection.window_is_inferred) json.value(name);
  };
  append("window_us", inspection.window);
  append("used", inspection.used);
  append("remaining", inspection.remaining);
  append("next_free_us", inspection.next_free);
  append("reset_after_us", inspection.reset_after);
  json.end_array();
}

void append_entries(JsonWriter& json, const Inspection& inspection) {
  const bool leases =
      inspection.is_limiter() && inspection.state.form->keeping == state::Keeping::kLeases;
  json.name("entries").begin_array();
  for (const auto& entry : inspection.entries) {
    json.begin_object().field("at_us", entry.at).field("count", entry.count);
    if (leases) json.bytes_field("holder", entry.holder);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void append_json(std::string& out, const Inspection& inspection) {
  out.reserve(out.size() + inspection.entries.size() * kBytesOfEntry + 512);
  const bool has_library = inspection.is_limiter() && !inspection.state.form->library.empty();
  const auto library = has_library ? std::optional(inspection.state.form->library) : std::nullopt;
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", inspection.key)
      .field("type", inspection.content.type)
      .field("library", library)
      .field("algorithm",
             inspection.is_limiter() ? std::optional(inspection.state.form->name) : std::nullopt);
  append_usage_fields(json, inspection);
  json.field("burst", inspection.burst).field("next_free_us", inspection.next_free);
  append_inferred(json, inspection);
  json.field("stored", inspection.stored)
      .field("now_us", inspection.now)
      .field("changed_while_read", inspection.changed_while_read);
  append_entries(json, inspection);
  json.end_object();
  out += '\n';
}

}  // namespace rlctl::cli::inspect
