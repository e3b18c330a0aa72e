#include "cli/commands/debug/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/terminal.h"
#include "lua/lexer.h"

namespace rlctl::cli::debug {
namespace {

std::string count_text(std::int64_t hits) {
  return hits == 0 ? "***0" : fmt::format("{}x", hits);
}

}  // namespace

Coverage::Coverage(std::string_view source, const std::vector<int>& coverable)
    : lines_(lua::source_lines(source)) {
  for (const int line : coverable) {
    if (line <= static_cast<int>(lines_.size())) hits_[line] = 0;
  }
}

void Coverage::add(const std::map<int, std::int64_t>& hits) {
  ++runs_;
  for (const auto& [line, count] : hits) {
    const auto found = hits_.find(line);
    if (found != hits_.end()) found->second += count;
  }
}

std::int64_t Coverage::reached() const noexcept {
  return std::count_if(hits_.begin(), hits_.end(),
                       [](const auto& line) { return line.second > 0; });
}

bool Coverage::is_below(double percent) const noexcept {
  return static_cast<double>(reached()) * 100 < percent * static_cast<double>(hits_.size());
}

std::string Coverage::summary() const {
  const auto all = static_cast<std::int64_t>(hits_.size());
  if (all == 0) return "no lines that can be reached";
  // Rounded down, so that 100 % means every line.
  const auto permille = reached() * 1000 / all;
  auto out = fmt::format("{} of {} line{} reached ({}.{} %)", reached(), all, plural(all),
                         permille / 10, permille % 10);
  if (runs_ != 1) out += fmt::format(" by {} requests", runs_);
  return out;
}

void Coverage::append_text(std::string& out, const Look& look) const {
  std::size_t width = count_text(0).size();
  for (const auto& [line, hits] : hits_) width = std::max(width, count_text(hits).size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto found = hits_.find(static_cast<int>(i) + 1);
    const auto count = found == hits_.end() ? std::string() : count_text(found->second);
    auto line = fmt::format("{:>{}}  ", count, width + 2);
    escape_message(line, lines_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    const bool is_missed = found != hits_.end() && found->second == 0;
    out += is_missed ? toned(line, Tone::kBad, look.colour) : line;
    out += '\n';
  }
  out += summary() + '\n';
}

void Coverage::append_json(std::string& out) const {
  for (const auto& [line, hits] : hits_) {
    const auto index = static_cast<std::size_t>(line) - 1;
    JsonWriter(out)
        .begin_object()
        .field("event", "coverage")
        .field("line", line)
        .field("hits", hits)
        .field("source", index < lines_.size() ? lines_[index] : std::string_view())
        .end_object();
    out += '\n';
  }
  JsonWriter(out)
      .begin_object()
      .field("event", "coverage_total")
      .field("runs", runs_)
      .field("lines", hits_.size())
      .field("reached", reached())
      .end_object();
  out += '\n';
}

void Coverage::append_lcov(std::string& out, std::string_view path) const {
  // A line end in the name of a file would begin a record of its own.
  out += fmt::format("TN:\nSF:{}\n", escaped_message(path));
  for (const auto& [line, hits] : hits_) out += fmt::format("DA:{},{}\n", line, hits);
  out += fmt::format("LF:{}\nLH:{}\nend_of_record\n", hits_.size(), reached());
}

}  // namespace rlctl::cli::debug
