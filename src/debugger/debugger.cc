#include "debugger/debugger.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "lua/compiled.h"
#include "lua/lexer.h"

namespace rlctl::debugger {
namespace {

void require_stop_line(const std::set<int>& lines, int line) {
  if (lines.empty() || lines.contains(line)) return;
  const auto after = lines.lower_bound(line);
  std::string nearest;
  if (after != lines.begin()) nearest = std::to_string(*std::prev(after));
  if (after != lines.end()) nearest += (nearest.empty() ? "" : " and ") + std::to_string(*after);
  const bool one = nearest.find(' ') == nearest.npos;
  throw UsageError(fmt::format("nothing stops at line {}: the nearest that {} {}", line,
                               one ? "does is" : "do are", nearest));
}

}  // namespace

Debugger::Debugger(const Debuggee& debuggee) : debuggee_(debuggee) {
  find_stop_lines();
}

void Debugger::find_stop_lines() {
  stop_lines_ = lua::stop_lines(debuggee_.source);
  const auto count = static_cast<int>(lua::source_lines(debuggee_.shown_source()).size());
  stop_lines_.erase(stop_lines_.upper_bound(count), stop_lines_.end());
}

void Debugger::read_source() {
  leave();
  find_stop_lines();
}

std::vector<int> Debugger::drop_lost_breakpoints() {
  std::vector<int> lost;
  if (stop_lines_.empty()) return lost;
  std::erase_if(breakpoints_, [&](const auto& one) {
    if (stop_lines_.contains(one.first)) return false;
    lost.push_back(one.first);
    return true;
  });
  return lost;
}

void Debugger::add_breakpoint(Breakpoint breakpoint) {
  require_stop_line(stop_lines_, breakpoint.line);
  const int line = breakpoint.line;
  breakpoints_[line] = std::move(breakpoint);
}

bool Debugger::remove_breakpoint(int line) {
  return breakpoints_.erase(line) > 0;
}

void Debugger::clear_breakpoints() {
  breakpoints_.clear();
}

}  // namespace rlctl::debugger
