#include "cli/trial/text.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli::trial {
namespace {

/// What a report lacks that was ended early.
std::string ended_text(const Report& report) {
  const std::string how = report.failed ? "ended by an error: " : "interrupted: ";
  if (report.plan.search() != nullptr) return how + "shows the findings so far";
  return how + (report.failed ? "covers the decisions before it" : "covers the beginning only");
}

}  // namespace

std::string limits_text(std::span<const limiter::Limit> limits) {
  std::string out;
  for (const auto& limit : limits) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} per {}", limit.limit, window_text(limit));
  }
  return out;
}

std::string shown_name(const Run& run) {
  return escaped_message(run.name);
}

void append_limiters(TextBlock& block, const Report& report) {
  const auto& plan = report.plan;
  for (const auto& candidate : plan.candidates) {
    if (const auto& script = candidate.foreign) {
      block.row("script", escaped_text(script->name), reading_text(*script));
    } else if (const auto& program = candidate.program) {
      block.row("program", escaped_message(program->name), command_line(program->words));
    }
  }
  block.row("clock", plan.is_real() ? "real time" : "virtual time");
  if (report.interrupted) block.row("", block.tone(ended_text(report), Tone::kWarning));
}

void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look) {
  out += toned(label, Tone::kLabel, look.colour);
  pad(out, label.size(), TextBlock::kLabel);
  append_filled(out, text, TextBlock::kLabel, look.columns);
}

void append_remarks(std::string& out, const std::vector<Remark>& remarks, const Look& look) {
  for (const auto& [label, text] : remarks) append_sentence(out, label, text, look);
}

void append_rows(std::string& out, const std::vector<Cells>& rows, const Look& look) {
  Table table;
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    Cells cells;
    for (const auto& row : std::span(rows).subspan(1)) cells.push_back(row[column]);
    table.add(rows.front()[column], std::move(cells));
  }
  table.append(out, look);
}

void append_command(std::string& out, const Plan& plan, const Look& look) {
  for (const auto& line : command_lines(plan.command, look.columns)) out += line + '\n';
}

}  // namespace rlctl::cli::trial
