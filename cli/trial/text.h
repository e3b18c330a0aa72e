#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/trial/report.h"

// What the reports of burst and adversary for people have in common.

namespace rlctl::cli::trial {

/// "100 per 10 s and 1000 per hour"
std::string limits_text(std::span<const limiter::Limit> limits);
/// A run's name, escaped for a terminal.
std::string shown_name(const Run& run);
/// The scripts and programs, the clock, and whether the report was ended early.
void append_limiters(TextBlock& block, const Report& report);
/// A row whose text is wrapped at blanks if it is too wide.
void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look);
void append_remarks(std::string& out, const std::vector<Remark>& remarks, const Look& look);
/// A table from rows, of which the first has the titles.
void append_rows(std::string& out, const std::vector<Cells>& rows, const Look& look);
/// The command that repeats the plan.
void append_command(std::string& out, const Plan& plan, const Look& look);

}  // namespace rlctl::cli::trial
