#include "cli/trial/document.h"

#include <algorithm>
#include <array>

#include "base/shell.h"
#include "base/text.h"

namespace rlctl::cli::trial {

bool Plot::has_curve() const {
  return std::ranges::any_of(panels, [](const Panel& panel) { return !panel.curve.empty(); });
}

TimeAxis Plot::axis(std::size_t most_columns) const {
  return make_time_axis(from, to, window, most_columns, recorded_at, zero);
}

std::vector<simulation::Timeline::Bin> bins_in_columns(const Panel& panel, const TimeAxis& axis) {
  return panel.requests.columns(panel.begin + axis.from, column_width(axis), axis.columns);
}

std::vector<std::int64_t> highest_in_columns(const std::vector<Step>& steps, const TimeAxis& axis) {
  std::vector<std::int64_t> columns;
  const auto width = column_width(axis);
  std::int64_t units = 0;
  auto next = steps.begin();
  for (std::size_t i = 0; i < axis.columns; ++i) {
    const auto begin = axis.from + width * static_cast<std::int64_t>(i);
    for (; next != steps.end() && next->at <= begin; ++next) units = next->units;
    auto highest = units;
    for (; next != steps.end() && next->at < begin + width; ++next) {
      units = next->units;
      highest = std::max(highest, units);
    }
    columns.push_back(highest);
  }
  return columns;
}

std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns) {
  constexpr std::string_view kNext = " \\", kIndent = "    ";
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto piece = shell_quoted(words[i]);
    if (words[i].starts_with("--") && i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      const auto both = piece + ' ' + shell_quoted(words[i + 1]);
      if (kIndent.size() + both.size() + kNext.size() <= columns) {
        piece = both;
        ++i;
      }
    }
    auto& line = lines.back();
    if (!line.empty() && line.size() + 1 + piece.size() + kNext.size() > columns) {
      line += kNext;
      lines.push_back(std::string(kIndent) + piece);
    } else {
      line += (line.empty() ? "" : " ") + piece;
    }
  }
  return lines;
}

std::string xml(std::string_view text) {
  // The last two are UTF-8 and no control characters, but not allowed in XML.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kReplaced{
      {{"&", "&amp;"},
       {"<", "&lt;"},
       {">", "&gt;"},
       {"\"", "&quot;"},
       {"\xef\xbf\xbe", "\\xef\\xbf\\xbe"},
       {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"}}};
  const auto escaped = escaped_message(text);
  std::string out;
  for (std::string_view rest = escaped; !rest.empty();) {
    const auto* row = std::find_if(kReplaced.begin(), kReplaced.end(), [rest](const auto& each) {
      return rest.starts_with(each.first);
    });
    const bool is_plain = row == kReplaced.end();
    out += is_plain ? rest.substr(0, 1) : row->second;
    rest.remove_prefix(is_plain ? 1 : row->first.size());
  }
  return out;
}

}  // namespace rlctl::cli::trial
