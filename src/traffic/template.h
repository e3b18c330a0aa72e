#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"

namespace rlctl::traffic {

/// What a request gives a template to fill in.
struct TemplateValues {
  std::string_view key = {};
  limiter::Limit limit = {};
  std::int64_t cost = 1;
  std::int64_t id = 1;               ///< the number of the request
  std::chrono::microseconds now{0};  ///< since 1970, not before
};

/// A name that stands in braces for a value of the request: a row of the table in template.cc.
struct Placeholder {
  std::string_view name;     ///< without the braces
  std::string_view summary;  ///< a few words for --help
  void (*append)(std::string& out, const TemplateValues& values) = nullptr;
  bool tells_time = false;                      ///< of when the request comes
  std::chrono::microseconds tick{1};            ///< to which it rounds that down
  bool tells_limit = false;                     ///< its number, its burst or its window
  std::chrono::microseconds whole_multiple{1};  ///< the window must be one
};

/// In the order of the manual.
[[nodiscard]] std::span<const Placeholder> placeholders();

/// Text with placeholders, as a key or an argument of a script is written: "hist:{key}", "{limit}".
///
/// A word in braces is a placeholder; any other brace is itself, so that hash tags are written as
/// they are: "{user:{key}}", "{{key}}:log". "{{}" is a brace that begins no placeholder: "{{}tag}".
class Template {
 public:
  /// Throws UsageError for a word in braces that is no placeholder.
  explicit Template(std::string_view text);

  void append(std::string& out, const TemplateValues& values) const;
  /// As it was written.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// Whether it holds the time at which a request comes.
  [[nodiscard]] bool tells_time() const;
  /// Of those in it that tell the time the one that rounds it most; null where none does.
  [[nodiscard]] const Placeholder* coarsest_time() const;
  /// Whether it holds something of the limit, so that there must be one.
  [[nodiscard]] bool tells_limit() const;
  /// Whether it holds this placeholder.
  [[nodiscard]] bool holds(std::string_view placeholder) const;
  /// Throws UsageError where a window of this length cannot be written in the unit asked
  /// for: {window_s} of 1500ms.
  void require_usable(const limiter::Limit& limit) const;

 private:
  struct Piece {
    const Placeholder* placeholder = nullptr;  ///< null: it is the text
    std::string text = {};
  };
  void add_text(std::string_view text);

  std::string source_;
  std::vector<Piece> pieces_;
};

}  // namespace rlctl::traffic
