#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/report/document.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/terminal.h"
#include "simulation/measurement.h"

// A document is what `rlctl burst` or `rlctl adversary` reports to people, before any format:
//
//     title      boundary: 1000 per 60 s
//     facts      the head: the traffic, the limits, the limiters, the clock
//     sections   what was found: headings, tables, facts and sentences, and the place of the plot;
//                pictures leave them out
//     plot       a panel for each run, with its name, its verdict, sentences about it, a curve of
//                the units that count against the limit, and the requests over time
//     command    repeats it
//
// The command builds its document once, from a trial::Report: burst/document.cc and
// adversary/document.cc, with the words of wording.h and the plot of picture.h. A renderer makes a
// format of it and is one file: text.cc for terminals and pages (text_plot.cc draws the plot), and
// svg.cc for pictures. A renderer decides on places, widths, colours and signs, and explains its
// signs; all other words are the document's, so that each fact is worded once. A new fact is one
// row or one sentence here. Renderers include nothing of the report.
//
// The other parts, and what holds for all texts, are in cli/report/document.h.

namespace rlctl::cli::trial {

using report::Fact;
using report::Heading;
using report::Rows;
using report::Sentence;
using report::Text;

/// How much of a fact of the head is shown in a picture. Its title has the main text of some facts,
/// of which it shows the rest. Its panels and the command have other facts as a whole.
enum class Pictured : std::uint8_t { kAll, kAbout, kNothing };

struct HeadFact {
  Fact fact;
  Pictured pictured = Pictured::kAll;
};

/// Where a text shows the plot. Without it, only pictures do.
struct PlotPlace {};

using Part = std::variant<Fact, Sentence, Heading, Rows, PlotPlace>;
using Section = std::vector<Part>;

// --- The plot ------------------------------------------------------------------------------------

/// A curve has this many units from `at` on.
struct Step {
  std::chrono::microseconds at{0};
  std::int64_t units = 0;
};

/// One run in a plot. Times are relative to `begin`.
struct Panel {
  Heading heading = {};
  std::vector<std::string> words = {};  ///< sentences without full stops
  std::vector<Step> curve = {};         ///< the units that count against the limit; may be empty
  std::string later = {};  ///< what the curve leaves out, since it comes after the traffic
  simulation::Timeline requests = {};  ///< in time since 1970
  std::chrono::microseconds begin{0};  ///< the instant of time 0
  /// The span that the verdict is about, if it is to be marked.
  std::optional<std::pair<std::chrono::microseconds, std::chrono::microseconds>> marked = {};
};

/// All runs over the same time.
struct Plot {
  std::int64_t limit = 1;  ///< units
  std::chrono::microseconds window{1};
  // The words for the curve, for what the columns count, for the origin of times, and for what is
  // marked.
  std::string curve = {}, counted = {}, times = {}, marked = {};
  std::chrono::microseconds origin{0};  ///< the time that is shown as 0
  // See make_time_axis().
  std::chrono::microseconds from{0}, to{0};
  std::optional<std::chrono::microseconds> recorded_at = {}, zero = {};
  std::vector<Panel> panels = {};

  bool has_curve() const;
  TimeAxis axis(std::size_t most_columns) const;
};

/// The requests of a run in each column of the axis.
std::vector<simulation::Timeline::Bin> bins_in_columns(const Panel& panel, const TimeAxis& axis);
/// The highest step in each column of the axis, whose times are those of the steps.
std::vector<std::int64_t> highest_in_columns(const std::vector<Step>& steps, const TimeAxis& axis);

// --- Documents and renderers ---------------------------------------------------------------------

struct Document {
  std::string title = {};
  std::vector<HeadFact> facts = {};
  std::vector<Section> sections = {};
  Plot plot = {};
  std::vector<std::string> command = {};  ///< words
};

/// A report for a terminal.
std::string write_text(const Document& document, const Look& look);
/// The plot as an SVG document, without embedded scripts or fonts.
std::string draw_svg(const Document& document);

/// A command as lines to paste at once, of at most `columns` if possible. An option and its value
/// stay on one line if they fit.
std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns);
/// Text for XML, also within an attribute. Characters that XML does not allow are escaped as in a
/// message.
std::string xml(std::string_view text);

}  // namespace rlctl::cli::trial
