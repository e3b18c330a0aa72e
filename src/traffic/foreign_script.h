#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "limiter/limit.h"
#include "traffic/reply_reading.h"
#include "traffic/script.h"
#include "traffic/template.h"

namespace rlctl::traffic {

/// A limiter script of someone else's: its source, how to call it, and how to read its reply.
struct ForeignLimiter {
  std::string name = {};    ///< as it is called in messages and reports: the file's
  std::string source = {};  ///< Lua
  std::vector<Template> keys = {}, arguments = {};
  ReplyReading reading = {};
};

/// Throws UsageError if it cannot be asked with this limit.
void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit);
/// Throws UsageError if neither its keys nor its arguments tell it the time of a request: then it
/// uses the server's clock or relies on the TTLs of its keys, and there is no telling which.
void require_virtual_clock(const ForeignLimiter& limiter);

/// Of the placeholders by which it is told the time the one that rounds it most; null where it is
/// told in µs.
[[nodiscard]] const Placeholder* coarsest_time(const ForeignLimiter& limiter);

/// A ForeignLimiter as traffic is put to it. The prefix stands before each of its keys; whether
/// these get TTLs, and which other keys it makes, is its own affair.
///
/// Memory grows with the number of different keys.
class ForeignScript final : public Script {
 public:
  /// Everything it refers to must outlive it. Its templates are filled with this limit. Throws
  /// UsageError as require_usable() does.
  ForeignScript(const ForeignLimiter& limiter, const limiter::Limit& limit, const Traffic& traffic,
                std::string prefix);

  [[nodiscard]] std::string_view name() const override { return limiter_.name; }
  void require_virtual_clock() const override { traffic::require_virtual_clock(limiter_); }
  /// Its source has the word in it.
  [[nodiscard]] bool may_call_time() const override;
  /// Unless neither its source nor its arguments have in them what sets a TTL.
  [[nodiscard]] std::optional<std::string> key_of_ttls() const override;
  /// What does not compile throws redis::Error with the file's name and line.
  void load(redis::Connection& connection) override;
  [[nodiscard]] limiter::ScriptCall call(const Arrival& arrival) override;
  /// With KEYS and ARGV as they were.
  [[nodiscard]] redis::Error with_question(const redis::Error& error, const Arrival& arrival,
                                           std::int64_t number) const override;
  /// In the order of their bytes.
  [[nodiscard]] std::vector<std::string> keys() const override;

 private:
  /// Keys, then arguments, one behind the other.
  struct Question {
    std::string text;
    std::vector<std::size_t> ends;        ///< of each, in `text`
    std::vector<std::string_view> words;  ///< each
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  [[nodiscard]] limiter::Decision read(redis::ReplyView reply) const override;
  /// The call that asks about the number-th request; views of `question`.
  [[nodiscard]] limiter::ScriptCall fill(Question& question, const Arrival& arrival,
                                         std::int64_t number) const;

  const ForeignLimiter& limiter_;
  limiter::Limit limit_;
  const Traffic& traffic_;
  std::string prefix_, sha1_;
  std::int64_t asked_ = 0;
  Question question_;  ///< of the last request; kept, so that the next one allocates nothing
  std::unordered_set<std::string, Hash, std::equal_to<>> keys_;
};

}  // namespace rlctl::traffic
