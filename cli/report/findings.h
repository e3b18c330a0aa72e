#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_object.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::report {

/// From the least to the most.
enum class Severity { kOk, kNote, kWarning, kFailure, kCritical };

/// "warning"
std::string_view name_of(Severity severity);

/// One entry of the report of `audit`, `doctor` or `lint`. Only `subject` is escaped.
struct Finding {
  Severity severity = Severity::kOk;
  std::string detail = {};     ///< what was seen, or why it hurts
  std::string fix = {};        ///< what to do about it; may be empty
  std::string_view name = {};  ///< of the kind of finding, or of the check: "no_ttl"
  std::string subject = {};    ///< the key or the call that it is about, in text; may be empty
  std::string place = {};      ///< "FILE:LINE" or "FILE" of a script, or the name of a program
  std::string excuse = {};     ///< why it is accepted; empty if it is not
};

/// Writes findings to standard output as they come, as text or as JSON, and counts them. The caller
/// flushes.
class Findings {
 public:
  Findings(Output& out, bool json) : out_(out), json_(json), look_(out.look()) {}

  /// Writes the finding as text, or its `source` as JSON.
  template <typename Source>
  void add(const Finding& finding, const JsonObject<Source>& object, const Source& source) {
    ++(finding.excuse.empty() ? counts_ : excused_)[index(finding.severity)];
    if (json_) {
      object.append_line(out_.buffer(), source);
    } else {
      out_.buffer() += finding.place.empty() ? text(finding) : text_at_place(finding);
    }
    out_.flush_if_large();
  }
  /// Counts findings that are not shown.
  void count_hidden(Severity severity, std::int64_t count) { counts_[index(severity)] += count; }

  /// "1 critical finding, 2 warnings, 1 warning excused", the worst first; it begins with `none` if
  /// all that are not excused are kOk ones.
  std::string counts(std::string_view none = "no findings") const;
  /// The exit status: that of the worst finding which is not excused, or UNKNOWN if there is none
  /// above a note and not everything could be examined.
  ExitStatus status(bool is_complete = true) const;

 private:
  using Counts = std::array<std::int64_t, 5>;  ///< by Severity
  static std::size_t index(Severity severity) { return static_cast<std::size_t>(severity); }
  std::string text(const Finding& finding) const;
  std::string text_at_place(const Finding& finding) const;

  Output& out_;
  bool json_;
  Look look_;
  Counts counts_{}, excused_{};
};

}  // namespace rlctl::cli::report
