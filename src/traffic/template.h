#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"

namespace rlctl::traffic {

/// The values of a request that fill a template.
struct TemplateValues {
  std::string_view key = {};
  limiter::Limit limit = {};
  std::int64_t cost = 1;
  std::int64_t id = 1;               ///< the number of the request
  std::chrono::microseconds now{0};  ///< since 1970, not negative
};

/// A name in braces that stands for a value of the request: a row of the table in template.cc.
struct Placeholder {
  std::string_view name;     ///< without the braces
  std::string_view summary;  ///< a few words for --help
  void (*append)(std::string& out, const TemplateValues& values) = nullptr;
  /// Rounds the time of the request down to a multiple of this; 0: does not contain the time.
  std::chrono::microseconds tick{0};
  bool tells_limit = false;                     ///< contains its number, burst or window
  std::chrono::microseconds whole_multiple{1};  ///< the window must be a multiple of this
};

/// In the order of the manual.
[[nodiscard]] std::span<const Placeholder> placeholders();

/// Text with placeholders, for a key or an argument of a script: "hist:{key}", "{limit}".
///
/// A word in braces is a placeholder; any other brace is literal, so that hash tags need no
/// escapes:
/// "{user:{key}}", "{{key}}:log". "{{}" is a literal brace before a word: "{{}tag}".
class Template {
 public:
  /// Throws UsageError for a word in braces that is not a placeholder.
  explicit Template(std::string_view text);

  void append(std::string& out, const TemplateValues& values) const;
  /// The text as written.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// Whether it contains the time of the request.
  [[nodiscard]] bool tells_time() const;
  /// The placeholder in it that rounds the time most; null if none rounds it to more than a µs.
  [[nodiscard]] const Placeholder* coarsest_time() const;
  /// Whether it contains a part of the limit, so that there must be one.
  [[nodiscard]] bool tells_limit() const;
  /// Whether it contains this placeholder.
  [[nodiscard]] bool holds(std::string_view placeholder) const;
  /// Throws UsageError if the window cannot be written in the unit of a placeholder: {window_s} of
  /// 1500ms.
  void require_usable(const limiter::Limit& limit) const;

 private:
  struct Piece {
    const Placeholder* placeholder = nullptr;  ///< null: literal text
    std::string text = {};
  };
  void add_text(std::string_view text);

  std::string source_;
  std::vector<Piece> pieces_;
};

}  // namespace rlctl::traffic
