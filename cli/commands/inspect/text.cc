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

/// "one every 12 s", but "one every 8.572 s": whole tenths of a second as a period, else as a wait.
std::string rate_part(std::optional<std::int64_t> limit, std::optional<microseconds> window) {
  if (!limit || !window) return {};
  const microseconds interval{std::llround(as_double(*window) / static_cast<double>(*limit))};
  const bool is_whole = interval % std::chrono::milliseconds{100} == microseconds{0};
  return "one every " + (is_whole ? period_text(interval) : wait_text(interval));
}

/// The words of a list of entries, leases or reservations that a key stores.
struct ListWords {
  std::string_view label, order;
  std::string_view expired, removed;  ///< "1 has left the window and is not pruned yet"
  std::string_view more;
};
constexpr ListWords kEntries{"entries", "oldest first", "left the window", "pruned", "older"};
constexpr ListWords kLeases{"leases", "by their end", "lapsed", "removed",
                            "which lapse before these"};
constexpr ListWords kReservations{.label = "known IDs",
                                  .order = "by the end of their holds",
                                  .expired = {},
                                  .removed = {},
                                  .more = "whose holds end before these"};

/// Describes a key that exists, part by part.
class Description {
 public:
  Description(const Found& found, const Look& look)
      : key_(found.inspection), state_(key_.state), policy_(found.policy), look_(look) {}

  std::vector<Part> parts() {
    add_key();
    if (!key_.is_limiter()) {
      note({"not a limiter's state", Tone::kWarning});
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

  std::string_view tilde() const { return key_.window_is_inferred ? "~" : ""; }

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
    if (key_.ttl) return "ttl " + wait_text(*key_.ttl, Rounding::kTenths);
    if (!key_.is_limiter() || state_.form->library.empty()) return "no ttl";
    // Without a TTL, only foreign state never resets.
    if (state_.form->ends_by_ttl) return {"no ttl: never resets", Tone::kBad};
    return {"no ttl: never expires", Tone::kWarning};
  }

  void add_key() {
    fact("key", key_text(key_.key, look_),
         {key_.content.type, key_.bytes ? fmt::format("{} bytes", *key_.bytes) : "", ttl_part()});
    // The names of keys have the window in seconds, while `check` prints 1h.
    const auto window = stored::window_in_name(key_.key);
    if (!window || window != key_.window) return;
    const auto suffix = limiter::window_suffix(*window), printed = format_duration(*window);
    if (suffix != printed && key_.key.ends_with(":" + suffix)) {
      note({fmt::format(":{} is the window, {}", suffix, printed), Tone::kDim});
    }
  }

  std::string limit_part() const {
    const auto window =
        key_.window ? fmt::format("{}{}", tilde(), period_text(*key_.window)) : std::string();
    if (!key_.limit) {
      return (window.empty() ? "" : "window " + window + ", ") + "limit not stored; pass --limit";
    }
    auto text = fmt::format("limit {}", *key_.limit);
    if (state_.form->layout == Layout::kLeases) return text + " at once";
    if (key_.calendar != nullptr) {
      text += fmt::format(" per {}", key_.calendar->text());
    } else if (!window.empty()) {
      text += " per " + window;
    }
    if (key_.burst) text += fmt::format(", burst {}", *key_.burst);
    return text;
  }

  void add_algorithm() {
    const auto& form = *state_.form;
    if (form.library.empty()) return fact("holds", stored::looks_text(state_), {form.summary});
    fact("algorithm", form.label(), {state_.part_of.empty() ? limit_part() : std::string()});
    if (form.layout == Layout::kLeases && !key_.limit) {
      note({"for 3 leases, pass --limit 3/1s; leases ignore the window", Tone::kDim});
    }
    note({key_.limits_differ, Tone::kWarning});
    if (!policy_.empty()) {
      note({"the limit of policy '" + escaped_text(policy_) + "'", Tone::kDim});
    }
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
    constexpr double kMaxShown = 9.99;
    const auto most = key_.capacity();
    const auto room = report::room_beside_labels(look_);
    if (!most || !key_.used || room <= kPercent) return;
    const auto used = key_.used_exact.value_or(static_cast<double>(*key_.used));
    const auto share = used / static_cast<double>(*most);
    const auto gauge = gauge_text(share, std::min(room - kPercent, kMaxGauge), look_.utf8);
    const auto percent = share > kMaxShown
                             ? std::string(">999")
                             : fmt::format("{:3.0f}", std::floor(std::max(share, 0.0) * 100));
    fact("", fmt::format("{} {} %", toned(gauge, tone_of_use(), look_.colour), percent));
  }

  Text next_free_part() const {
    if (key_.next_free == limiter::kNever) return "next free never";
    if (key_.next_free && key_.next_free->count() > 0) {
      return fmt::format("next free in {}{}", tilde(), wait_text(*key_.next_free));
    }
    return key_.remaining ? fmt::format("{}{} remaining", tilde(), *key_.remaining) : "";
  }

  Text reset_part() const {
    if (!key_.reset_after) return {};
    if (key_.reset_after->count() == 0) return "as if unused";
    return fmt::format("{} {}{}", view().reset, tilde(), wait_text(*key_.reset_after));
  }

  /// Why it is not known how much is used, or what helps.
  std::string unknown_use() const {
    if (!state_.unknown.empty()) return state_.unknown;
    const auto layout = state_.form->layout;
    const bool is_text = layout == Layout::kText || layout == Layout::kElements;
    const std::string advice = is_text ? "pass --limit" : "pass --limit for the window";
    return key_.remaining ? fmt::format("{} remaining; {}", *key_.remaining, advice) : advice;
  }

  void add_use() {
    if (!state_.part_of.empty()) return;
    if (key_.used) {
      const auto most = key_.capacity();
      fact("used",
           {fmt::format("{}{}{}", tilde(), key_.used_text(),
                        most ? fmt::format(" of {}", *most) : ""),
            tone_of_use()},
           {next_free_part(), reset_part()});
    } else {
      fact("used", "unknown", {unknown_use()});
    }
    if (const auto& ban = state_.ban) {
      const auto until = ban->until ? "until " + instant_text(*ban->until) : "for ever";
      fact("banned", {until, Tone::kBad}, {"by '" + escaped_text(ban->key) + "'"});
    }
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

  /// Whether the window of the limit that is asked for, the one that holds now, ends later than
  /// this.
  bool outlasts(microseconds end) const {
    if (!key_.window || !state_.is_ours()) return false;
    const limiter::Limit asked{.window = *key_.window, .calendar = key_.calendar};
    return limiter::period_of(asked, key_.now).end > end;
  }

  /// The beginning and the end of a window.
  void add_window(microseconds begin, microseconds length) {
    const auto end = begin + length;
    fact("window", "from " + instant_text(begin), {when(begin)});
    fact("", "to   " + instant_text(end), {when(end)});
    if (end <= key_.now) {
      note({"it has ended: its count no longer applies", Tone::kDim});
    } else if (key_.window && *key_.window != length) {
      const auto* what = outlasts(end)
                             ? "the stored window, {}, is extended by a request in one of {}"
                         // Only sliding-window-counter shows the one after the stored one.
                         : begin > state_.counts.back().at
                             ? "the stored window, {}, has ended; a request begins one of {}"
                             : "the stored window, {}, applies while it counts; {} after that";
      note({fmt::format(fmt::runtime(what), period_text(length), period_text(*key_.window)),
            Tone::kWarning});
    }
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
    const auto elapsed = std::clamp(key_.now - current.at, microseconds{0}, window);
    // A request in another window that ends later finds all of it.
    const bool is_extended = key_.window != window && outlasts(current.at + window);
    const auto share = is_extended ? 1 : as_double(window - elapsed) / as_double(window);
    add_window(current.at, window);
    fact("this one", std::to_string(current.units));
    fact("previous", std::to_string(previous.units),
         {previous.units > 0 ? fmt::format("{} % of it counts", amount_text(share * 100)) : ""});
    if (key_.used_exact) fact("estimate", amount_text(*key_.used_exact), {"rounded up: used"});
  }

  /// Only buckets and queues store a time that may be further ahead than the burst.
  void add_excess() {
    const auto most = key_.capacity();
    if (!most || !key_.used || *key_.used <= *most) return;
    note({"more than the burst: a clock was ahead, or the limit was changed", Tone::kWarning});
  }

  /// Waiting requests depart one interval apart; one interval after the last, no request has to
  /// wait.
  void add_queue() {
    if (!key_.limit || !key_.window || !key_.used || !key_.reset_after) return;
    const auto waiting = std::max<std::int64_t>(0, *key_.used - 1);
    const auto each = as_double(*key_.window) / static_cast<double>(*key_.limit);
    const auto departs_in = [&](std::int64_t intervals) {
      const auto ahead = static_cast<double>(intervals) * each;
      return wait_text(*key_.reset_after - microseconds{std::llround(ahead)});
    };
    fact("waiting", std::to_string(waiting),
         {waiting > 0 ? "next departs in " + departs_in(waiting) : "",
          waiting > 1 ? "the last in " + departs_in(1) : ""});
    fact("rate", fmt::format("{} per {}", *key_.limit, period_text(*key_.window)),
         {rate_part(key_.limit, key_.window)});
    add_excess();
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
    add_excess();
  }

  /// A level, a count or tokens: as far as they are stored and known.
  void add_stored() {
    add_level();
    for (const auto& count : state_.counts) {
      if (state_.form->is_foreign() && key_.used != count.units) {
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

  /// How the state of an algorithm is shown; of others there are entries or leases.
  struct View {
    std::string_view algorithm;
    bool is_foreign;
    std::string_view reset;  ///< the label of reset_after: "empty in"
    void (Description::*add)() = nullptr;
    std::string_view time = {};  ///< the label of Decoded::time
  };

  View view() const {
    using D = Description;
    constexpr std::array kViews{
        View{"fixed-window", false, "empty in", &D::add_stored},
        View{"sliding-window-counter", false, "empty in", &D::add_estimate},
        View{"token-bucket", false, "full in", &D::add_stored, "counted"},
        View{"gcra", false, "full in", &D::add_stored, "tat"},
        View{"leaky-bucket", false, "no wait in", &D::add_queue, "last"},
        View{"budget", false, "empty in", &D::add_budget, "written"},
        View{"fixed-window", true, "resets in", &D::add_stored},
        View{"sliding-window-counter", true, "empty in", &D::add_stored},
        View{"token-bucket", true, "full in", &D::add_stored, "counted"},
        View{"gcra", true, "full in", &D::add_stored, "tat"},
        View{"leaky-bucket", true, "empty in", &D::add_stored, "counted"},
    };
    const auto& form = *state_.form;
    const auto found = std::ranges::find_if(kViews, [&](const View& each) {
      return each.algorithm == form.name && each.is_foreign == form.is_foreign();
    });
    return found != kViews.end() ? *found : View{{}, {}, "empty in"};
  }

  void add_own() {
    const auto shown = view();
    const auto& time = state_.time;
    if (shown.add != nullptr) {
      add_gauge();
      (this->*shown.add)();
    }
    if (!time || shown.time.empty()) return;
    if (!shown.is_foreign && shown.algorithm == "token-bucket" && *time > key_.now) {
      add_future("its tokens were counted");
    }
    fact(shown.time, instant_text(*time), {when(*time)});
  }

  // --- Entries, leases and reservations ---

  void add_contents() {
    switch (state_.form->layout) {
      case Layout::kText:
        return;
      case Layout::kLeases:
        add_gauge();
        return add_list(kLeases, key_.entries, &Description::row_of_lease);
      case Layout::kBudget:
        return add_list(kReservations, key_.reservations, &Description::row_of_reservation);
      default:
        add_list(kEntries, key_.entries, &Description::row_of_entry);
        if (key_.newest && *key_.newest > key_.now) add_future("its newest entry is");
        return add_bars();
    }
  }

  template <typename Listed>
  void add_list(const ListWords& words, const std::vector<Listed>& listed,
                Row (Description::*row_of)(const Listed&) const) {
    std::int64_t shown = 0;
    Lines lines;
    for (const auto& each : listed) {
      shown += units_of(each);
      lines.lines.push_back((this->*row_of)(each));
    }
    fact(words.label,
         shown > 0 ? fmt::format("{}, {}", key_.stored, words.order) : std::to_string(key_.stored));
    const auto dim = [this](std::string text) { line({std::move(text), Tone::kDim}); };
    if (key_.expired > 0) {
      const bool one = key_.expired == 1;
      dim(fmt::format("{} {} {} and {} not {} yet", key_.expired, one ? "has" : "have",
                      words.expired, one ? "is" : "are", words.removed));
    }
    const auto more = key_.stored - shown;
    if (more > 0 && shown > 0) dim(fmt::format("{} more, {}", more, words.more));
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
        key_.window ? end_text(entry.at + *key_.window, "leaves", "left", tilde()) : "";
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
    const auto label = fmt::format("last {}{}", tilde(), period_text(*key_.window));
    const bool is_beside = label.size() < report::kLabelWidth;
    if (!is_beside) fact(label, "");
    fact(is_beside ? label : "", bars_text(key_.bars, look_.utf8));
    const auto one = *key_.window / static_cast<std::int64_t>(key_.bars.size());
    const bool is_whole = one % std::chrono::seconds{1} == microseconds{0};
    note({fmt::format("one bar is {}, the highest {}", is_whole ? period_text(one) : wait_text(one),
                      *std::ranges::max_element(key_.bars)),
          Tone::kDim});
  }

  const stored::Inspection& key_;
  const stored::Decoded& state_;
  const std::string& policy_;
  const Look& look_;
  std::vector<Part> parts_;
};

std::string absent_text(const Found& found, const Look& look, std::string_view server) {
  const auto& inspection = found.inspection;
  auto out = key_text(inspection.key, look) + ": not found";
  if (!server.empty()) out += " in " + escaped_message(server);
  if (const auto& ban = inspection.state.ban) {
    out += ", but banned ";
    out += ban->until ? "for " + wait_text(*ban->until - inspection.now) : "for ever";
    return out + " by '" + escaped_text(ban->key) + "'\n";
  }
  out += ": the limiter is unused";
  if (inspection.remaining) out += fmt::format("; {} remaining", *inspection.remaining);
  if (!found.policy.empty()) out += escaped_message(" (policy '" + found.policy + "')");
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
