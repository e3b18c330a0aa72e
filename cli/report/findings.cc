#include "cli/report/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::report {
namespace {

constexpr std::size_t kMaxColumns = 80;

struct SeverityRow {
  std::string_view name, counted;
  Tone tone;
  PluginState state;
};
/// By Severity.
constexpr std::array<SeverityRow, 5> kSeverities{{
    {"ok", "", Tone::kGood, PluginState::kOk},
    {"note", "note", Tone::kWarning, PluginState::kOk},
    {"warning", "warning", Tone::kWarning, PluginState::kWarning},
    {"failure", "failure", Tone::kBad, PluginState::kCritical},
    {"critical", "critical finding", Tone::kBad, PluginState::kCritical},
}};

const SeverityRow& row_of(Severity severity) {
  return kSeverities.at(static_cast<std::size_t>(severity));
}

}  // namespace

std::string_view name_of(Severity severity) {
  return row_of(severity).name;
}

/// The severity, the name and a fact in columns; what else is known about it below the fact.
std::string Findings::text(const Finding& finding) const {
  constexpr std::size_t kNameColumn = 10, kFactColumn = 23;
  const auto& severity = row_of(finding.severity);
  std::string out = toned(severity.name, severity.tone, look_.colour);
  pad(out, severity.name.size(), kNameColumn);
  out += finding.name;
  pad(out, kNameColumn + finding.name.size(), kFactColumn);
  const std::string indent(kFactColumn, ' ');
  if (!finding.subject.empty()) out += finding.subject + "\n" + indent;
  out += without_micro_sign(escaped_message(finding.detail), look_.utf8) + "\n";
  if (finding.fix.empty()) return out;
  return out + indent + toned(escaped_message(finding.fix), Tone::kDim, look_.colour) + "\n";
}

/// Begins with one line as compilers write it, which editors and CI show at its place. Its text is
/// the call or, without one, the first sentence of the detail. Only a call is cut.
std::string Findings::text_at_place(const Finding& finding) const {
  constexpr std::size_t kIndent = 4, kLeastColumns = 30;
  constexpr std::string_view kCut = "...";
  const auto& severity = row_of(finding.severity);
  const bool is_excused = !finding.excuse.empty();
  const auto head = fmt::format(
      "{}: {}: {}: ", escaped_message(finding.place),
      is_excused ? "excused" : toned(severity.name, severity.tone, look_.colour), finding.name);
  const auto columns = kMaxColumns - std::min(display_width(head), kMaxColumns - kLeastColumns);
  auto subject = finding.subject, detail = finding.detail;
  if (subject.empty()) {
    const auto end = std::min(detail.find(". "), detail.size() - 1);
    subject = escaped_message(detail.substr(0, end));
    detail.erase(0, end + 2);
  } else if (display_width(subject) > columns) {
    subject = cut_to_width(subject, columns - kCut.size()) + std::string(kCut);
  }
  const auto filled = [](const std::string& sentence) {
    std::string lines(kIndent, ' ');
    append_filled(lines, escaped_message(sentence), kIndent, kMaxColumns);
    return lines;
  };
  if (is_excused) detail = fmt::format("This {} is excused: {}", severity.counted, finding.excuse);
  const auto fix = is_excused ? "" : filled("Fix: " + finding.fix + ".");
  return head + subject + "\n" + filled(detail) + toned(fix, Tone::kDim, look_.colour);
}

std::string Findings::counts(std::string_view none) const {
  std::string text, excused;
  for (auto i = counts_.size() - 1; i > 0; --i) {
    const auto noun = kSeverities[i].counted;
    if (counts_[i] > 0) text += (text.empty() ? "" : ", ") + counted(counts_[i], noun);
    if (excused_[i] > 0) excused += ", " + counted(excused_[i], noun) + " excused";
  }
  return (text.empty() ? std::string(none) : text) + excused;
}

ExitStatus Findings::status(bool is_complete) const {
  auto state = PluginState::kOk;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) state = kSeverities[i].state;  // in the order of severity
  }
  return to_status(state == PluginState::kOk && !is_complete ? PluginState::kUnknown : state);
}

}  // namespace rlctl::cli::report
