#include "ldb/trace.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace rlctl::ldb {

TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                  const TraceOptions& options,
                  const std::function<void(const TracedLine&)>& on_line) {
  std::optional<LocalWatch> watch;
  std::vector<LocalValue> changed;  // since the last line began
  const auto walk =
      begin_walk(debuggee, mode, connect, {.now = options.now, .limits = options.limits},
                 [&](const ProbedScript& script, const ProbeReading& reading) {
                   if (!watch) watch.emplace(script);
                   auto changes = watch->changes(reading);
                   std::move(changes.begin(), changes.end(), std::back_inserter(changed));
                 });
  TracedLine line;  // the line being executed
  std::int64_t calls = 0;
  std::map<int, std::int64_t> hits;
  while (true) {
    // At this stop it is known what the line did.
    line.calls = walk->take_calls();
    line.messages = walk->take_messages();
    line.changed = std::exchange(changed, {});
    if (line.number > 0) {
      calls += static_cast<std::int64_t>(line.calls.size());
      on_line(line);
    }
    if (walk->ended()) break;
    if (line.number >= options.max_steps) {
      auto why = "it had executed " + std::to_string(line.number) + " lines";
      if (options.detaches) {
        walk->session().detach(std::move(why));
      } else {
        walk->session().cut_off(std::move(why));
      }
      break;
    }
    line = {.number = line.number + 1, .line = walk->line()};
    ++hits[line.line];
    walk->step();
  }
  auto result = walk->result();
  result.lines = line.number;
  result.calls = calls;
  result.hits = std::move(hits);
  result.exact = line.number == 0 || walk->shows_all_locals();
  return result;
}

}  // namespace rlctl::ldb
