#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/inspect/report.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/table.h"
#include "limiter/limit.h"
#include "stored/families.h"
#include "stored/libraries.h"

namespace rlctl::cli::inspect {
namespace {

using stored::Inspection;
using stored::Layout;

std::string_view tilde(const Inspection& inspection) {
  return inspection.window_is_inferred ? "~" : "";
}

std::string ago(microseconds duration) {
  return wait_text(duration, Rounding::kDown) + " ago";
}

/// "47.959 s ago", "now", or "in 3.200 s" for a future instant.
std::string when_text(microseconds instant, microseconds now) {
  if (instant == now) return "now";
  return instant > now ? "in " + wait_text(instant - now) : ago(now - instant);
}

// --- what every key has ---

std::string ttl_part(const TextBlock& block, const Inspection& inspection) {
  if (inspection.ttl) return "ttl " + wait_text(*inspection.ttl, Rounding::kTenths);
  if (!inspection.is_limiter()) return "no ttl";
  if (inspection.state.form->library.empty()) return "no ttl";
  // Without a TTL, only foreign state never resets.
  return inspection.state.form->ends_by_ttl ? block.tone("no ttl: never resets", Tone::kBad)
                                            : block.tone("no ttl: never expires", Tone::kWarning);
}

void append_key(TextBlock& block, const Inspection& inspection) {
  std::string about = inspection.content.type;
  if (inspection.bytes) about += fmt::format(", {} bytes", *inspection.bytes);
  about += ", " + ttl_part(block, inspection);
  block.row("key", key_text(inspection.key, block.look()), about);
  // The names of keys have the window in seconds, while `check` prints 1h.
  const auto window = stored::window_in_name(inspection.key);
  if (!window || window != inspection.window) return;
  const auto suffix = limiter::window_suffix(*window), printed = format_duration(*window);
  if (suffix != printed && inspection.key.ends_with(":" + suffix)) {
    block.note(fmt::format(":{} is the window, {}", suffix, printed), Tone::kDim);
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
  if (inspection.state.form->layout == Layout::kLeases) return text + " at once";
  if (inspection.calendar != nullptr) {
    text += fmt::format(" per {}", inspection.calendar->text());
  } else if (inspection.window) {
    text += fmt::format(" per {}{}", tilde(inspection), period_text(*inspection.window));
  }
  if (inspection.burst) text += fmt::format(", burst {}", *inspection.burst);
  return text;
}

/// What another library's form is, and where the rest of the state is.
void append_foreign(TextBlock& block, const Inspection& inspection) {
  const auto& state = inspection.state;
  if (!state.part_of.empty()) {
    block.note("a part of the state of '" + escaped_text(state.part_of) + "': inspect that key",
               Tone::kWarning);
    return;
  }
  block.note(state.form->summary, Tone::kDim);
  if (!state.partner.empty()) {
    block.note("the other key: " + escaped_text(state.partner), Tone::kDim);
  }
}

/// The row to write for a key that no row describes.
void append_suggestion(TextBlock& block, const Inspection& inspection) {
  const auto& type = inspection.content.type;
  const std::string_view as = type == "string" ? " with --read-as count or --read-as remaining, or"
                              : type == "zset" ? " with --read-as times or --read-as leases, or"
                                               : "";
  block.note(fmt::format("tell it{} in the configuration file:", as), Tone::kDim);
  for (const auto& line : stored::suggested_row(inspection.key, inspection.content.type)) {
    block.item("  " + line);
  }
}

void append_algorithm(TextBlock& block, const Found& found) {
  const auto& inspection = found.inspection;
  const auto& state = inspection.state;
  if (state.form->library.empty()) {
    block.row("holds", stored::looks_text(state), state.form->summary);
    return;
  }
  block.row("algorithm", state.form->label(),
            state.part_of.empty() ? limit_part(inspection) : std::string());
  if (state.form->layout == Layout::kLeases && !inspection.limit) {
    block.note("for 3 leases, pass --limit 3/1s; leases ignore the window", Tone::kDim);
  }
  if (!inspection.limits_differ.empty()) block.note(inspection.limits_differ, Tone::kWarning);
  if (!found.policy.empty()) {
    block.note("the limit of policy '" + escaped_text(found.policy) + "'", Tone::kDim);
  }
  if (state.form->is_foreign()) {
    append_foreign(block, inspection);
  } else if (!state.certain) {
    block.note("may belong to another program: scripts set a TTL and write current times",
               Tone::kWarning);
  }
}

Tone tone_of_use(const Inspection& inspection) {
  constexpr double kNearlyFull = 0.8;
  const auto share = inspection.ratio();
  if (!share || !inspection.remaining) return Tone::kPlain;
  if (*inspection.remaining == 0) return Tone::kBad;
  return *share >= kNearlyFull ? Tone::kWarning : Tone::kGood;
}

void append_gauge(TextBlock& block, const Inspection& inspection) {
  constexpr std::size_t kMaxGauge = 40, kPercent = 7;
  constexpr double kMaxShown = 9.99;
  const auto most = inspection.capacity();
  if (!most || !inspection.used || block.room() <= kPercent) return;
  const auto used = inspection.used_exact.value_or(static_cast<double>(*inspection.used));
  const auto share = used / static_cast<double>(*most);
  const auto columns = std::min(block.room() - kPercent, kMaxGauge);
  const auto gauge = gauge_text(share, columns, block.look().utf8);
  const auto percent = share > kMaxShown
                           ? std::string(">999")
                           : fmt::format("{:3.0f}", std::floor(std::max(share, 0.0) * 100));
  block.row("", fmt::format("{} {} %", block.tone(gauge, tone_of_use(inspection)), percent));
}

void append_clock(TextBlock& block, const Inspection& inspection) {
  if (inspection.now == inspection.server_now) return;
  const bool behind = inspection.now < inspection.server_now;
  block.row("now", instant_text(inspection.now),
            fmt::format("{} {} the server's clock",
                        wait_text(std::chrono::abs(inspection.now - inspection.server_now)),
                        behind ? "behind" : "ahead of"));
}

// --- what algorithms store ---

/// "it starts in the future: a clock was ahead, or this one is behind"
void append_future(TextBlock& block, std::string_view what) {
  block.note(std::string(what) + " in the future: a clock was ahead, or this one is behind",
             Tone::kWarning);
}

/// Whether the window of the limit that is asked for, the one that holds now, ends later than this.
bool outlasts(const Inspection& inspection, microseconds end) {
  if (!inspection.window || !inspection.state.is_ours()) return false;
  const limiter::Limit asked{.window = *inspection.window, .calendar = inspection.calendar};
  return limiter::period_of(asked, inspection.now).end > end;
}

/// The beginning and the end of a window.
void append_window(TextBlock& block, const Inspection& inspection, microseconds begin,
                   microseconds length) {
  const auto now = inspection.now, end = begin + length;
  block.row("window", "from " + instant_text(begin), when_text(begin, now));
  block.row("", "to   " + instant_text(end), when_text(end, now));
  if (end <= now) {
    block.note("it has ended: its count no longer applies", Tone::kDim);
  } else if (inspection.window && *inspection.window != length) {
    const auto* what = outlasts(inspection, end)
                           ? "the stored window, {}, is extended by a request in one of {}"
                       // Only sliding-window-counter shows the one after the stored one.
                       : begin > inspection.state.counts.back().at
                           ? "the stored window, {}, has ended; a request begins one of {}"
                           : "the stored window, {}, applies while it counts; {} after that";
    block.note(
        fmt::format(fmt::runtime(what), period_text(length), period_text(*inspection.window)),
        Tone::kWarning);
  }
  if (begin > now) append_future(block, "it starts");
}

/// The two windows of sliding-window-counter, and the estimate that follows from them.
void append_estimate(TextBlock& block, const Inspection& inspection) {
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
  // A request in another window that ends later finds all of it.
  const bool is_extended = inspection.window != window && outlasts(inspection, current.at + window);
  const auto share = is_extended ? 1 : as_double(window - elapsed) / as_double(window);
  append_window(block, inspection, current.at, window);
  block.row("this one", fmt::format("{}", current.units));
  block.row("previous", fmt::format("{}", previous.units),
            previous.units > 0 ? fmt::format("{} % of it counts", amount_text(share * 100)) : "");
  if (inspection.used_exact) {
    block.row("estimate", amount_text(*inspection.used_exact), "rounded up: used");
  }
}

/// Only buckets and queues store a time that may be further ahead than the burst.
void append_excess(TextBlock& block, const Inspection& inspection) {
  const auto most = inspection.capacity();
  if (!most || !inspection.used || *inspection.used <= *most) return;
  block.note("more than the burst: a clock was ahead, or the limit was changed", Tone::kWarning);
}

/// "one every 12 s", but "one every 8.572 s": whole tenths of a second as a period, else as a wait.
std::string rate_part(std::optional<std::int64_t> limit, std::optional<microseconds> window) {
  if (!limit || !window) return {};
  const microseconds interval{std::llround(as_double(*window) / static_cast<double>(*limit))};
  const bool is_whole = interval % std::chrono::milliseconds{100} == microseconds{0};
  return "one every " + (is_whole ? period_text(interval) : wait_text(interval));
}

/// Waiting requests depart one interval apart; one interval after the last, no request has to wait.
void append_queue(TextBlock& block, const Inspection& inspection) {
  if (!inspection.limit || !inspection.window) return;
  if (!inspection.used || !inspection.reset_after) return;
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
            rate_part(inspection.limit, inspection.window));
  append_excess(block, inspection);
}

void append_level(TextBlock& block, const Inspection& inspection) {
  if (!inspection.burst || !inspection.used_exact) return;
  const auto burst = static_cast<double>(*inspection.burst);
  const auto level = burst - *inspection.used_exact;
  const auto& state = inspection.state;
  // Used units come back at the stored rate until a request with another limit is allowed.
  const bool stores_rate = state.is_ours() && state.limit;
  // After the burst was lowered, the level may be below 0.
  block.row("level", fmt::format("{} of {}", amount_text(std::max(level, 0.0)), *inspection.burst),
            stores_rate ? rate_part(state.limit->limit, state.limit->window)
                        : rate_part(inspection.limit, inspection.window));
  append_excess(block, inspection);
}

/// A level, a count or tokens: as far as they are stored and known.
void append_stored(TextBlock& block, const Inspection& inspection) {
  const auto& state = inspection.state;
  append_level(block, inspection);
  for (const auto& count : state.counts) {
    if (state.form->is_foreign() && inspection.used != count.units) {
      block.row("count", state.fraction ? stored::looks_text(state) : std::to_string(count.units));
    }
    if (count.at.count() > 0 && inspection.window) {
      const auto stored = state.is_ours() ? state.limit->window : state.window;
      append_window(block, inspection, count.at, stored.value_or(*inspection.window));
    }
  }
  if (state.left) block.row("left", stored::looks_text(state), "as it is stored");
  if (state.before) block.row("before", fmt::format("{}", *state.before), "in the window before");
  if (state.bucket) {
    block.row(state.bucket->counts_used ? "in use" : "tokens", amount_text(state.bucket->tokens),
              "when they were counted");
  }
  if (state.end && state.counts.empty())
    block.row("ends", instant_text(*state.end), when_text(*state.end, inspection.now));
}

/// What a budget has spent and holds, and its window.
void append_budget(TextBlock& block, const Inspection& inspection) {
  const auto holds = inspection.holds;
  block.row("spent", fmt::format("{}", *inspection.spent));
  block.row("held", fmt::format("{}", *inspection.held),
            (holds > 0 ? "by " + counted(holds, "reservation") : "") +
                (inspection.is_closed_by_reservations() ? ": any other is denied" : ""));
  const auto& count = inspection.state.counts.front();
  append_window(block, inspection, count.at, inspection.state.limit->window);
}

/// How the state of an algorithm is shown; of others there are entries or leases.
struct View {
  std::string_view algorithm;
  bool is_foreign;
  std::string_view reset;  ///< the label of reset_after: "empty in"
  void (*append)(TextBlock& block, const Inspection& inspection) = nullptr;
  std::string_view time = {};  ///< the label of Decoded::time
};

constexpr std::array kViews{
    View{"fixed-window", false, "empty in", append_stored},
    View{"sliding-window-counter", false, "empty in", append_estimate},
    View{"token-bucket", false, "full in", append_stored, "counted"},
    View{"gcra", false, "full in", append_stored, "tat"},
    View{"leaky-bucket", false, "no wait in", append_queue, "last"},
    View{"budget", false, "empty in", append_budget, "written"},
    View{"fixed-window", true, "resets in", append_stored},
    View{"sliding-window-counter", true, "empty in", append_stored},
    View{"token-bucket", true, "full in", append_stored, "counted"},
    View{"gcra", true, "full in", append_stored, "tat"},
    View{"leaky-bucket", true, "empty in", append_stored, "counted"},
};

View view_of(const Inspection& inspection) {
  const auto& form = *inspection.state.form;
  for (const auto& view : kViews) {
    if (view.algorithm == form.name && view.is_foreign == form.is_foreign()) return view;
  }
  return {.algorithm = {}, .is_foreign = {}, .reset = "empty in"};
}

void append_own(TextBlock& block, const Inspection& inspection) {
  const auto view = view_of(inspection);
  const auto& form = *inspection.state.form;
  const auto& time = inspection.state.time;
  if (view.append != nullptr) {
    append_gauge(block, inspection);
    view.append(block, inspection);
  }
  if (!time || view.time.empty()) return;
  if (!form.is_foreign() && form.name == "token-bucket" && *time > inspection.now) {
    append_future(block, "its tokens were counted");
  }
  block.row(view.time, instant_text(*time), when_text(*time, inspection.now));
}

// --- how much is used ---

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
    parts.push_back(fmt::format("{} {}{}", view_of(inspection).reset, mark,
                                wait_text(*inspection.reset_after)));
  } else if (inspection.reset_after) {
    parts.emplace_back("as if unused");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Why it is not known how much is used, or what helps.
std::string unknown_use(const Inspection& inspection) {
  const auto& state = inspection.state;
  if (!state.unknown.empty()) return state.unknown;
  const bool is_text =
      state.form->layout == Layout::kText || state.form->layout == Layout::kElements;
  const std::string advice = is_text ? "pass --limit" : "pass --limit for the window";
  if (!inspection.remaining) return advice;
  return fmt::format("{} remaining; {}", *inspection.remaining, advice);
}

void append_ban(TextBlock& block, const Inspection& inspection) {
  const auto& ban = inspection.state.ban;
  if (!ban) return;
  const auto until = ban->until ? "until " + instant_text(*ban->until) : std::string("for ever");
  block.row("banned", block.tone(until, Tone::kBad), "by '" + escaped_text(ban->key) + "'");
}

void append_use(TextBlock& block, const Inspection& inspection) {
  if (!inspection.state.part_of.empty()) return;
  if (!inspection.used) {
    block.row("used", "unknown", unknown_use(inspection));
    return append_ban(block, inspection);
  }
  const auto most = inspection.capacity();
  std::string used = fmt::format("{}{}", tilde(inspection), inspection.used_text());
  if (most) used += fmt::format(" of {}", *most);
  block.row("used", block.tone(used, tone_of_use(inspection)), outlook(inspection));
  append_ban(block, inspection);
}

/// A key lasts until it is as if unused, unless a caller's clock was ahead of the server's.
void append_expiry(TextBlock& block, const Inspection& inspection) {
  constexpr std::chrono::seconds kTolerance{1};
  if (!inspection.ttl || !inspection.reset_after) return;
  if (inspection.now != inspection.server_now) return;
  if (*inspection.ttl + kTolerance >= *inspection.reset_after) return;
  block.note("it expires before that, in " + wait_text(*inspection.ttl, Rounding::kTenths) +
                 ", and is then as if unused",
             Tone::kWarning);
}

// --- entries and leases ---

/// "leaves in 12.041 s", the end of an entry of a log.
std::string leaves_text(const Inspection& inspection, microseconds at) {
  if (!inspection.window) return {};
  const auto end = at + *inspection.window;
  if (end > inspection.now) {
    return fmt::format("leaves in {}{}", tilde(inspection), wait_text(end - inspection.now));
  }
  return fmt::format("left {}{}", tilde(inspection), ago(inspection.now - end));
}

Cells cells_of_entry(const TextBlock& block, const Inspection& inspection,
                     const stored::InspectedEntry& entry) {
  auto tone = Tone::kPlain;
  if (inspection.window && inspection.now - entry.at >= *inspection.window) tone = Tone::kDim;
  if (entry.at > inspection.now) tone = Tone::kWarning;
  auto time = format_instant(entry.at);
  if (entry.count > 1) time += fmt::format("  {}{}", block.look().utf8 ? "×" : "x", entry.count);
  return {block.tone(time, tone),
          block.tone(when_text(entry.at, inspection.now), tone),
          block.tone(leaves_text(inspection, entry.at), tone),
          {}};
}

Cells cells_of_lease(const TextBlock& block, const Inspection& inspection,
                     const stored::InspectedEntry& lease) {
  const bool lapsed = lease.at <= inspection.now;
  const auto tone = lapsed ? Tone::kDim : Tone::kPlain;
  const auto left = lapsed ? "lapsed " + ago(inspection.now - lease.at)
                           : "lapses in " + wait_text(lease.at - inspection.now);
  return {block.tone(format_instant(lease.at), tone), block.tone(left, tone),
          block.tone(escaped_text(*lease.holder), tone)};
}

/// "lapses in 12.041 s", "lapsed 3.200 s ago" or "settled"
std::string fate_of(const stored::InspectedReservation& reservation, microseconds now) {
  const auto until = reservation.stored.held_until;
  switch (reservation.state) {
    case limiter::ReservationState::kHeld:
      return "lapses in " + wait_text(until - now);
    case limiter::ReservationState::kLapsed:
      return until > now ? "lapsed" : "lapsed " + ago(now - until);  // the clock stepped back
    default:
      return std::string(limiter::to_text(reservation.state));
  }
}

void append_reservations(TextBlock& block, const Inspection& inspection) {
  const auto& listed = inspection.reservations;
  block.row("known IDs", listed.empty()
                             ? std::to_string(inspection.stored)
                             : fmt::format("{}, by the end of their holds", inspection.stored));
  const auto more = inspection.stored - std::ssize(listed);
  if (more > 0 && !listed.empty()) {
    block.item(block.tone(fmt::format("{} more, whose holds end before these", more), Tone::kDim));
  }
  std::vector<Cells> lines;
  for (const auto& each : listed) {
    const bool is_held = each.state == limiter::ReservationState::kHeld;
    const auto tone = is_held ? Tone::kPlain : Tone::kDim;
    lines.push_back({block.tone(format_instant(each.stored.held_until), tone),
                     block.tone(fate_of(each, inspection.now), tone),
                     block.tone(std::to_string(each.stored.units), tone),
                     block.tone(escaped_text(each.id), tone)});
  }
  block.table(lines);
}

/// How a list of entries or of leases is shown.
struct ListView {
  std::string_view label, order;
  std::string_view expired, removed;  ///< "1 has left the window and is not pruned yet"
  std::string_view more;
  Cells (*cells_of)(const TextBlock& block, const Inspection& inspection,
                    const stored::InspectedEntry& entry);
};

constexpr ListView kEntries{"entries", "oldest first", "left the window",
                            "pruned",  "older",        cells_of_entry};
constexpr ListView kLeases{
    "leases", "by their end", "lapsed", "removed", "which lapse before these", cells_of_lease};

void append_list(TextBlock& block, const Inspection& inspection, const ListView& view) {
  std::int64_t shown = 0;
  std::vector<Cells> lines;
  for (const auto& entry : inspection.entries) {
    shown += entry.count;
    lines.push_back(view.cells_of(block, inspection, entry));
  }
  const auto dim = [&](const std::string& text) { block.item(block.tone(text, Tone::kDim)); };
  block.row(view.label, shown > 0 ? fmt::format("{}, {}", inspection.stored, view.order)
                                  : std::to_string(inspection.stored));
  if (inspection.expired > 0) {
    const bool one = inspection.expired == 1;
    dim(fmt::format("{} {} {} and {} not {} yet", inspection.expired, one ? "has" : "have",
                    view.expired, one ? "is" : "are", view.removed));
  }
  const auto more = inspection.stored - shown;
  if (more > 0 && shown > 0) dim(fmt::format("{} more, {}", more, view.more));
  block.table(lines);
}

void append_bars(TextBlock& block, const Inspection& inspection) {
  if (inspection.bars.empty() || !inspection.window) return;
  const auto highest = *std::max_element(inspection.bars.begin(), inspection.bars.end());
  const auto label = fmt::format("last {}{}", tilde(inspection), period_text(*inspection.window));
  const bool beside = label.size() < TextBlock::kLabel;
  if (!beside) block.row(label, "");
  block.row(beside ? label : "", bars_text(inspection.bars, block.look().utf8));
  const auto one = *inspection.window / static_cast<std::int64_t>(inspection.bars.size());
  const bool is_whole = one % std::chrono::seconds{1} == microseconds{0};
  block.note(fmt::format("one bar is {}, the highest {}",
                         is_whole ? period_text(one) : wait_text(one), highest),
             Tone::kDim);
}

void append_absent(std::string& out, const Found& found, const Look& look,
                   std::string_view server) {
  const auto& inspection = found.inspection;
  out += key_text(inspection.key, look);
  out += ": not found";
  if (!server.empty()) out.append(" in ").append(escaped_message(server));
  if (const auto& ban = inspection.state.ban) {
    out += ", but banned " + (ban->until ? "for " + wait_text(*ban->until - inspection.now)
                                         : std::string("for ever"));
    out += " by '" + escaped_text(ban->key) + "'\n";
    return;
  }
  out += ": the limiter is unused";
  if (inspection.remaining) out += fmt::format("; {} remaining", *inspection.remaining);
  if (!found.policy.empty()) out += escaped_message(" (policy '" + found.policy + "')");
  out += '\n';
}

void append_found(std::string& out, const Found& found, const Look& look, std::string_view server) {
  const auto& inspection = found.inspection;
  if (!inspection.exists()) return append_absent(out, found, look, server);
  TextBlock block(out, look);
  append_key(block, inspection);
  if (!inspection.is_limiter()) return block.note("not a limiter's state", Tone::kWarning);
  append_algorithm(block, found);
  append_use(block, inspection);
  append_expiry(block, inspection);
  append_clock(block, inspection);
  append_own(block, inspection);
  if (inspection.state.form->library.empty()) append_suggestion(block, inspection);
  const auto layout = inspection.state.form->layout;
  if (!inspection.state.part_of.empty() || layout == Layout::kElements) return;
  if (layout == Layout::kLeases) {
    append_gauge(block, inspection);
    append_list(block, inspection, kLeases);
  } else if (layout == Layout::kBudget) {
    append_reservations(block, inspection);
  } else if (layout != Layout::kText) {
    append_list(block, inspection, kEntries);
    if (inspection.newest && *inspection.newest > inspection.now) {
      append_future(block, "its newest entry is");
    }
    append_bars(block, inspection);
  }
  if (inspection.changed_while_read) {
    block.note("it changed while it was read: the figures are approximate", Tone::kWarning);
  }
}

}  // namespace

void append_text(std::string& out, const Found& found, const Look& look, std::string_view server) {
  std::string text;
  append_found(text, found, look, server);
  out += without_micro_sign(std::move(text), look.utf8);
}

std::size_t columns_for_bars(const Look& look) noexcept {
  constexpr std::size_t kMaxBars = 200;
  const std::size_t room = look.columns > TextBlock::kLabel ? look.columns - TextBlock::kLabel : 1;
  return std::min(room, kMaxBars);
}

}  // namespace rlctl::cli::inspect
