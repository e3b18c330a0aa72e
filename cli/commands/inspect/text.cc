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
#include "cli/report/document.h"
#include "cli/report/text.h"
#include "cli/report/usage.h"
#include "cli/terminal/bars.h"
#include "limiter/limit.h"
#include "stored/families.h"
#include "stored/libraries.h"

namespace rlctl::cli::inspect {
namespace {

using report::Fact;
using report::Lines;
using report::Part;
using report::Row;
using report::Text;
using stored::InspectedEntry;
using stored::InspectedReservation;
using stored::Layout;

std::string ago(microseconds duration) {
  return wait_text(duration, Rounding::kDown) + " ago";
}

/// "one every 12 s"
std::string rate_part(std::optional<std::int64_t> limit, std::optional<microseconds> window) {
  if (!limit || !window) return {};
  const auto interval = as_double(*window) / static_cast<double>(*limit);
  return "one every " + span_text(microseconds{std::llround(interval)});
}

/// Describes a key that exists, part by part.
class Description {
 public:
  Description(const Found& found, const Look& look)
      : key_(found.inspection), state_(key_.state), policy_(found.policy), look_(look) {}

  std::vector<Part> parts() {
    add_key();
    if (!key_.is_limiter()) {
      note({"not known to be a limiter's state", Tone::kWarning});
      return std::move(parts_);
    }
    add_algorithm();
    add_use();
    add_expiry();
    add_clock();
    add_own();
    if (state_.form->library.empty()) add_suggestion();
    if (state_.part_of.empty() && state_.form->layout != Layout::kElements) {
      add_contents();
      if (key_.changed_while_read) {
        note({"it changed while it was read: the figures are approximate", Tone::kWarning});
      }
    }
    return std::move(parts_);
  }

 private:
  void fact(std::string_view label, Text main, std::vector<Text> about = {}) {
    parts_.push_back(Fact{std::string(label), std::move(main), std::move(about)});
  }
  /// A sentence about the facts above.
  void note(Text text) { fact({}, {}, {std::move(text)}); }
  void line(Text text) { parts_.push_back(Lines{{{std::move(text)}}}); }

  // --- Words ---

  /// "47.959 s ago", "now", or "in 3.200 s" for a future instant.
  std::string when(microseconds instant) const {
    if (instant == key_.now) return "now";
    return instant > key_.now ? "in " + wait_text(instant - key_.now) : ago(key_.now - instant);
  }

  /// "leaves in 12.041 s" or "left 3.200 s ago"
  std::string end_text(microseconds end, std::string_view will, std::string_view did,
                       std::string_view mark = {}) const {
    return end > key_.now ? fmt::format("{} in {}{}", will, mark, wait_text(end - key_.now))
                          : fmt::format("{} {}{}", did, mark, ago(key_.now - end));
  }

  /// "it starts in the future: a clock was ahead, or this one is behind"
  void add_future(std::string_view what) {
    note({std::string(what) + " in the future: a clock was ahead, or this one is behind",
          Tone::kWarning});
  }

  // --- What every key has ---

  Text ttl_part() const {
    if (key_.ttl) return "ttl " + report::ttl_text(key_);
    if (!key_.is_limiter() || state_.form->library.empty()) return "no ttl";
    // Without a TTL, only foreign state never resets.
    if (state_.form->ends_by_ttl) return {"no ttl: never resets", Tone::kBad};
    return {"no ttl: never expires", Tone::kWarning};
  }

  void add_key() {
    fact("key", key_text(key_.key, look_),
         {key_.content.type, key_.bytes ? fmt::format("{} bytes", *key_.bytes) : "", ttl_part()});
  }

  std::string limit_part() const {
    const auto limit = report::limit_text(key_);
    if (!key_.limit) {
      return fmt::format("limit {}not stored; pass --limit", limit.empty() ? "" : limit + ", ");
    }
    return fmt::format("limit {}{}", limit,
                       key_.burst ? fmt::format(", burst {}", *key_.burst) : "");
  }

  void add_algorithm() {
    const auto& form = *state_.form;
    if (form.library.empty()) return fact("holds", stored::looks_text(state_), {form.summary});
    fact("algorithm", form.label(), {state_.part_of.empty() ? limit_part() : std::string()});
    if (form.layout == Layout::kLeases && !key_.limit) {
      note({"for 3 leases, pass --limit 3/1s; leases ignore the window", Tone::kDim});
    }
    note({key_.limits_differ, Tone::kWarning});
    if (!policy_.empty()) fact("policy", escaped_text(policy_));
    if (form.is_foreign()) {
      add_foreign();
    } else if (!state_.certain) {
      note({"may belong to another program: scripts set a TTL and write current times",
            Tone::kWarning});
    }
  }

  /// What another library's form is, and where the rest of the state is.
  void add_foreign() {
    if (!state_.part_of.empty()) {
      return note(
          {"a part of the state of '" + escaped_text(state_.part_of) + "': inspect that key",
           Tone::kWarning});
    }
    note({state_.form->summary, Tone::kDim});
    if (!state_.partner.empty()) {
      note({"the other key: " + escaped_text(state_.partner), Tone::kDim});
    }
  }

  /// The row to write for a key that no row describes.
  void add_suggestion() {
    const auto& type = key_.content.type;
    const std::string as(report::readings_of(type));
    const auto with = as.empty() ? "" : " with " + as + ", or";
    note({fmt::format("tell it{} in the configuration file:", with), Tone::kDim});
    for (const auto& row : stored::suggested_row(key_.key, type)) line("  " + row);
  }

  void add_clock() {
    if (key_.now == key_.server_now) return;
    fact("now", instant_text(key_.now),
         {fmt::format("{} {} the server's clock",
                      wait_text(std::chrono::abs(key_.now - key_.server_now)),
                      key_.now < key_.server_now ? "behind" : "ahead of")});
  }

  // --- How much is used ---

  Tone tone_of_use() const {
    return key_.remaining ? report::tone_of_use(key_.ratio(), Tone::kGood) : Tone::kPlain;
  }

  void add_gauge() {
    constexpr std::size_t kMaxGauge = 40, kPercent = 7;
    const auto ratio = key_.ratio();
    const auto room = report::room_beside_labels(look_);
    if (!key_.capacity() || !ratio || room <= kPercent) return;
    const auto gauge = gauge_text(*ratio, std::min(room - kPercent, kMaxGauge), look_.utf8);
    fact("", fmt::format("{}  {}", toned(gauge, tone_of_use(), look_.colour),
                         report::ratio_text(ratio)));
  }

  std::string remaining_text() const {
    if (!key_.remaining) return {};
    return fmt::format("{}{} remaining", report::mark_of(key_), *key_.remaining);
  }

  Text next_free_part() const {
    const auto next_free = report::next_free_remark(key_);
    return next_free.empty() ? remaining_text() : next_free;
  }

  std::string reset_part() const {
    return key_.reset_after == microseconds{0} ? "as if unused" : report::reset_remark(key_);
  }

  /// Why it is not known how much is used, or what helps.
  std::string unknown_use() const {
    if (!state_.unknown.empty()) return state_.unknown;
    const std::string advice = key_.newest ? "pass --limit for the window" : "pass --limit";
    return key_.remaining ? remaining_text() + "; " + advice : advice;
  }

  void add_use() {
    if (!state_.part_of.empty()) return;
    const Text ban(report::ban_text(key_), Tone::kBad);
    if (!key_.used) return fact("used", "unknown", {unknown_use(), ban});
    fact("used", {report::used_of_text(key_), tone_of_use()},
         {ban.words.empty() ? next_free_part() : ban, reset_part()});
  }

  /// A key lasts until it is as if unused, unless a caller's clock was ahead of the server's.
  void add_expiry() {
    constexpr std::chrono::seconds kTolerance{1};
    if (!key_.ttl || !key_.reset_after || key_.now != key_.server_now) return;
    if (*key_.ttl + kTolerance >= *key_.reset_after) return;
    note({"it expires before that, in " + wait_text(*key_.ttl, Rounding::kTenths) +
              ", and is then as if unused",
          Tone::kWarning});
  }

  // --- What algorithms store ---

  /// The beginning and the end of a window.
  void add_window(microseconds begin, microseconds length) {
    const auto end = begin + length;
    fact("window", "from " + instant_text(begin), {when(begin)});
    fact("", "to   " + instant_text(end), {when(end)});
    if (end <= key_.now) note({"it has ended: its count no longer applies", Tone::kDim});
    if (begin > key_.now) add_future("it starts");
  }

  /// The two windows of sliding-window-counter, and the estimate that follows from them.
  void add_estimate() {
    auto previous = state_.counts.front(), current = state_.counts.back();
    const auto window = current.at - previous.at;
    // The script advances its windows only when it writes, so do the same here.
    const auto moves = std::clamp<std::int64_t>((key_.now - current.at) / window, 0, 2);
    for (auto i = moves; i > 0; --i) {
      previous = current;
      current = {.at = current.at + window, .units = 0};
    }
    add_window(current.at, window);
    fact("this one", std::to_string(current.units));
    const auto counts = key_.used_exact.value_or(0) - static_cast<double>(current.units);
    fact("previous", std::to_string(previous.units),
         {previous.units > 0 ? amount_text(counts) + " of them count" : ""});
  }

  /// Waiting requests depart one interval apart; one interval after the last, no request has to
  /// wait.
  void add_queue() {
    if (!key_.limit || !key_.window || !key_.used || !key_.reset_after) return;
    const auto waiting = std::max<std::int64_t>(0, *key_.used - 1);
    const auto each = as_double(*key_.window) / static_cast<double>(*key_.limit);
    const microseconds all{std::llround(static_cast<double>(waiting) * each)};
    fact("waiting", std::to_string(waiting),
         {waiting > 0 ? "next departs in " + wait_text(*key_.reset_after - all) : ""});
    fact("rate", rate_part(key_.limit, key_.window));
  }

  void add_level() {
    if (!key_.burst || !key_.used_exact) return;
    const auto level = static_cast<double>(*key_.burst) - *key_.used_exact;
    // Used units come back at the stored rate until a request with another limit is allowed.
    const bool stores_rate = state_.is_ours() && state_.limit;
    // After the burst was lowered, the level may be below 0.
    fact("level", fmt::format("{} of {}", amount_text(std::max(level, 0.0)), *key_.burst),
         {stores_rate ? rate_part(state_.limit->limit, state_.limit->window)
                      : rate_part(key_.limit, key_.window)});
  }

  /// A level, a count or tokens: as far as they are stored and known.
  void add_stored() {
    add_level();
    for (const auto& count : state_.counts) {
      if (state_.form->is_foreign() && (state_.fraction || key_.used != count.units)) {
        fact("count", state_.fraction ? stored::looks_text(state_) : std::to_string(count.units));
      }
      if (count.at.count() > 0 && key_.window) {
        const auto stored = state_.is_ours() ? state_.limit->window : state_.window;
        add_window(count.at, stored.value_or(*key_.window));
      }
    }
    if (state_.left) fact("left", stored::looks_text(state_), {"as it is stored"});
    if (state_.before) fact("before", std::to_string(*state_.before), {"in the window before"});
    if (state_.bucket) {
      fact(state_.bucket->counts_used ? "in use" : "tokens", amount_text(state_.bucket->tokens),
           {"when they were counted"});
    }
    if (state_.end && state_.counts.empty()) {
      fact("ends", instant_text(*state_.end), {when(*state_.end)});
    }
  }

  /// What a budget has spent and holds, and its window.
  void add_budget() {
    fact("spent", std::to_string(*key_.spent));
    fact("held", std::to_string(*key_.held),
         {(key_.holds > 0 ? "by " + counted(key_.holds, "reservation") : "") +
          (key_.is_closed_by_reservations() ? ": any other is denied" : "")});
    add_window(state_.counts.front().at, state_.limit->window);
  }

  /// All that is stored but the entries of logs and leases, which add_contents() lists.
  void add_own() {
    using enum Layout;
    const auto& form = *state_.form;
    const bool is_list = form.layout == kTimes || form.layout == kScores || form.layout == kLeases;
    if (is_list || form.library.empty() || form.name.empty()) return;
    const bool is_queue = !form.is_foreign() && form.name == "leaky-bucket";
    add_gauge();
    if (form.layout == kBudget) {
      add_budget();
    } else if (!form.is_foreign() && form.name == "sliding-window-counter") {
      add_estimate();
    } else {
      is_queue ? add_queue() : add_stored();
    }
    if (!state_.time) return;
    if (!form.is_foreign() && form.name == "token-bucket" && *state_.time > key_.now) {
      add_future("its tokens were counted");
    }
    fact(is_queue              ? "last"
         : form.name == "gcra" ? "tat"
                               : "written",
         instant_text(*state_.time), {when(*state_.time)});
  }

  // --- Entries, leases and reservations ---

  void add_contents() {
    switch (state_.form->layout) {
      case Layout::kText:
        return;
      case Layout::kLeases:
        add_gauge();
        return add_list("leases", "by their end", key_.entries, &Description::row_of_lease);
      case Layout::kBudget:
        return add_list("known IDs", "by the end of their holds", key_.reservations,
                        &Description::row_of_reservation);
      default:
        add_list("entries", "oldest first", key_.entries, &Description::row_of_entry);
        if (key_.newest && *key_.newest > key_.now) add_future("its newest entry is");
        return add_bars();
    }
  }

  template <typename Listed>
  void add_list(std::string_view label, std::string_view order, const std::vector<Listed>& listed,
                Row (Description::*row_of)(const Listed&) const) {
    std::int64_t shown = 0;
    Lines lines;
    for (const auto& each : listed) {
      shown += units_of(each);
      lines.lines.push_back((this->*row_of)(each));
    }
    fact(label,
         shown > 0 ? fmt::format("{}, {}", key_.stored, order) : std::to_string(key_.stored));
    const auto dim = [this](std::string text) { line({std::move(text), Tone::kDim}); };
    if (key_.expired > 0) {
      dim(fmt::format("{} no longer count{}", key_.expired, key_.expired == 1 ? "s" : ""));
    }
    const auto more = key_.stored - shown;
    if (more > 0 && shown > 0) dim(fmt::format("{} more before these", more));
    parts_.push_back(std::move(lines));
  }
  static std::int64_t units_of(const InspectedEntry& entry) { return entry.count; }
  static std::int64_t units_of(const InspectedReservation&) { return 1; }

  Row row_of_entry(const InspectedEntry& entry) const {
    const bool has_left = key_.window && key_.now - entry.at >= *key_.window;
    const auto tone = entry.at > key_.now ? Tone::kWarning : has_left ? Tone::kDim : Tone::kPlain;
    auto time = format_instant(entry.at);
    if (entry.count > 1) time += fmt::format("  {}{}", look_.utf8 ? "×" : "x", entry.count);
    const auto leaves =
        key_.window ? end_text(entry.at + *key_.window, "leaves", "left", report::mark_of(key_))
                    : "";
    return {{time, tone}, {when(entry.at), tone}, {leaves, tone}, {}};
  }

  Row row_of_lease(const InspectedEntry& lease) const {
    const auto tone = lease.at <= key_.now ? Tone::kDim : Tone::kPlain;
    return {{format_instant(lease.at), tone},
            {end_text(lease.at, "lapses", "lapsed"), tone},
            {escaped_text(*lease.holder), tone}};
  }

  Row row_of_reservation(const InspectedReservation& each) const {
    using enum limiter::ReservationState;
    const auto until = each.stored.held_until;
    const auto tone = each.state == kHeld ? Tone::kPlain : Tone::kDim;
    // A clock that stepped back may be before the end of a hold that has lapsed.
    const bool is_timed = each.state == kHeld || (each.state == kLapsed && until <= key_.now);
    return {
        {format_instant(until), tone},
        {is_timed ? end_text(until, "lapses", "lapsed") : std::string(limiter::to_text(each.state)),
         tone},
        {std::to_string(each.stored.units), tone},
        {escaped_text(each.id), tone}};
  }

  void add_bars() {
    if (key_.bars.empty() || !key_.window) return;
    const auto label = fmt::format("last {}{}", report::mark_of(key_), period_text(*key_.window));
    const bool is_beside = label.size() < report::kLabelWidth;
    if (!is_beside) fact(label, "");
    fact(is_beside ? label : "", bars_text(key_.bars, look_.utf8));
    const auto one = *key_.window / static_cast<std::int64_t>(key_.bars.size());
    note({fmt::format("one bar is {}, the highest {}", span_text(one),
                      *std::ranges::max_element(key_.bars)),
          Tone::kDim});
  }

  const stored::Inspection& key_;
  const stored::Decoded& state_;
  std::string_view policy_;
  const Look& look_;
  std::vector<Part> parts_;
};

std::string absent_text(const Found& found, const Look& look, std::string_view server) {
  const auto& inspection = found.inspection;
  auto out = key_text(inspection.key, look) + ": not found";
  if (!server.empty()) out += " in " + escaped_message(server);
  if (inspection.state.ban) return out + ", but " + report::ban_text(inspection) + '\n';
  const auto& unknown = inspection.state.unknown;
  out += ": " + (unknown.empty() ? "the limiter is unused" : unknown);
  if (inspection.remaining) out += fmt::format("; {} remaining", *inspection.remaining);
  if (!found.policy.empty()) out += fmt::format(" (policy '{}')", escaped_text(found.policy));
  return out + '\n';
}

}  // namespace

void append_text(std::string& out, const Found& found, const Look& look, std::string_view server) {
  out += found.inspection.exists()
             ? report::text_of(Description(found, look).parts(), look)
             : without_micro_sign(absent_text(found, look, server), look.utf8);
}

std::size_t columns_for_bars(const Look& look) noexcept {
  constexpr std::size_t kMaxBars = 200;
  return std::min(report::room_beside_labels(look), kMaxBars);
}

}  // namespace rlctl::cli::inspect
