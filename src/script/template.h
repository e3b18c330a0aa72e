#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limiter/limit.h"

// The placeholders, such as {key} and {now_ms}, with which a user writes how a script of their own
// is called. script.cc fills the templates of --keys and --args for each request, and reply.h gives
// the same names to expressions over the reply. Help texts list the table of placeholders.

namespace rlctl::script {

/// The values of a request that fill a template.
struct TemplateValues {
  std::string_view key = {};
  std::span<const std::string_view> keys = {};  ///< KEYS of the call, for its arguments
  limiter::Limit limit = {};
  std::int64_t cost = 1;              ///< or the units of a reservation
  std::int64_t id = 1;                ///< the number of the request
  std::chrono::microseconds now{0};   ///< since 1970, not negative
  std::string_view event = {};        ///< see event_name()
  std::string_view holder = {};       ///< the name of the holder of a lease
  std::string_view reservation = {};  ///< its ID
  std::int64_t actual = 0;            ///< the actual cost of a settle
  std::chrono::microseconds hold{0};  ///< of a reservation
};

/// A name that stands for a value of the request: in braces in a template, without them in a
/// ReplyExpression. A row of the table in template.cc.
struct Placeholder {
  using Text = std::string_view (*)(const TemplateValues&);
  using Count = std::int64_t (*)(const TemplateValues&);
  using Ratio = double (*)(const TemplateValues&);  ///< written as the shortest decimal
  using Time = std::chrono::microseconds (*)(const TemplateValues&);
  enum class TimeForm {
    kSixDecimals,  ///< in seconds: 1767225660.000000
    kShort,        ///< in seconds: 60, 0.25
    kWhole,        ///< in `unit`, rounded down
  };

  std::string_view name;     ///< without the braces
  std::string_view summary;  ///< a few words for --help
  std::variant<Text, Count, Ratio, Time> value = Text{};
  /// What it contains of the limit: its number, which leases have too; its burst or window; or, for
  /// kLease and kReservation, something that only they have; for kEvent, that both have.
  enum class Contains { kNothing, kLimit, kWindow, kLease, kReservation, kEvent };
  Contains contains = Contains::kNothing;
  /// Rounds the time of the request down to a multiple of this; 0: does not contain the time.
  std::chrono::microseconds tick{0};
  std::chrono::nanoseconds unit{1000};  ///< in which a Time is written with kWhole
  TimeForm form = TimeForm::kWhole;     ///< how a Time is written
  /// What a user may write instead, without blanks: "now_ms-window_ms".
  std::string_view formula = {};

  void append(std::string& out, const TemplateValues& values) const;
  /// The number that append() writes. Not for a Text. (A long double holds every std::int64_t.)
  long double number(const TemplateValues& values) const;
  bool uses_limit() const { return contains == Contains::kLimit || contains == Contains::kWindow; }
  /// Throws UsageError if it cannot be written with this window or hold: {window_s} of 1500ms; and
  /// if it does not fit the traffic, which has leases or none, and reservations with this hold or
  /// none. (With leases, the window is their duration.)
  void require_usable(const limiter::Limit& limit, bool has_leases = false,
                      std::chrono::microseconds hold = {}) const;
};

/// All placeholders, in the order of the manual.
std::span<const Placeholder> placeholders();
/// Null if no placeholder has that name.
const Placeholder* find_placeholder(std::string_view name);
/// The name of the placeholder that was probably meant, or empty: "now_ms" for "nowms",
/// "cutoff_ms" for "now_ms - window_ms".
std::string_view likely_placeholder(std::string_view typed);
/// "key, limit, ... or prev_window_index, or a time with a unit: ..."
std::string placeholder_names(bool only_numbers = false);

/// Text with placeholders, for a key or an argument of a script: "hist:{key}", "{limit}".
///
/// Braces either hold the name of a placeholder, or enclose one, as the braces of a hash tag do:
/// "{user:{key}}", "{{key}}:log". Then they are literal, as is a "}" that closes nothing. Any other
/// "{" is an error, since it would be taken for a placeholder: "{now_ms-window_ms}". Two braces are
/// one: "rate:{{user}}" is the key "rate:{user}"; but "{{kye}}" is an error, since "{{key}}" is
/// probably meant. "{{}" is a literal brace whatever follows: "{{}tag}".
class Template {
 public:
  /// Throws UsageError for braces that neither are nor enclose a placeholder.
  explicit Template(std::string_view text);

  void append(std::string& out, const TemplateValues& values) const;
  /// The text as written.
  const std::string& source() const noexcept { return source_; }
  /// The placeholders in it that contain the time of the request.
  std::vector<const Placeholder*> times() const;
  /// Whether it contains a part of the limit, so that there must be one.
  bool uses_limit() const;
  /// Whether it contains this placeholder.
  bool holds(std::string_view placeholder) const;
  /// Whether it contains a placeholder about this.
  bool is_about(Placeholder::Contains subject) const;
  /// Throws what Placeholder::require_usable() throws.
  void require_usable(const limiter::Limit& limit, bool has_leases = false,
                      std::chrono::microseconds hold = {}) const;

 private:
  struct Piece {
    const Placeholder* placeholder = nullptr;  ///< null: literal text
    std::string text = {};
  };
  void add_text(std::string_view text);
  void parse();

  std::string source_;
  std::vector<Piece> pieces_;
};

}  // namespace rlctl::script
