#include "ldb/trace.h"

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace rlctl::ldb {
namespace {

using OnLine = std::function<void(const TracedLine&)>;

/// One run of a script, with or without probes.
class Run {
 public:
  Run(const TraceOptions& options, const OnLine& on_line) : options_(options), on_line_(on_line) {}

  TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect) {
    walk_ = begin_walk(debuggee, mode, connect, {.now = options_.now, .limits = options_.limits},
                       [this](const ProbedScript& script, const ProbeReading& reading) {
                         if (!watch_) watch_.emplace(script);
                         add_changes(watch_->changes(reading));
                       });
    while (!walk_->ended()) {
      finish_line();
      if (walk_->ended()) break;
      if (result_.lines >= options_.max_steps) {
        cut_off();
        break;
      }
      begin_line();
      (void)walk_->step();
    }
    finish_line();
    auto outcome = walk_->result();
    result_.ending = outcome.ending;
    result_.reply = std::move(outcome.reply);
    result_.text_lines = std::move(outcome.text_lines);
    result_.message = std::move(outcome.message);
    result_.error_line = outcome.error_line;
    result_.exact = result_.lines == 0 || walk_->shows_all_locals();
    return std::move(result_);
  }

 private:
  void add_changes(std::vector<LocalChange> changes) {
    changed_.insert(changed_.end(), std::make_move_iterator(changes.begin()),
                    std::make_move_iterator(changes.end()));
  }

  /// Reports what the last executed line did.
  void finish_line() {
    auto calls = walk_->take_calls();
    auto messages = walk_->take_messages();
    auto changed = std::exchange(changed_, {});
    if (!line_) return;
    line_->calls = std::move(calls);
    line_->messages = std::move(messages);
    line_->changed = std::move(changed);
    result_.calls += static_cast<std::int64_t>(line_->calls.size());
    on_line_(*line_);
    line_.reset();
  }

  void begin_line() {
    ++result_.lines;
    last_line_ = walk_->line();
    ++result_.hits[last_line_];
    line_.emplace();
    line_->number = result_.lines;
    line_->line = last_line_;
  }

  void cut_off() {
    auto why = "it had executed " + std::to_string(result_.lines) + " lines";
    if (options_.lets_go) {
      walk_->session().detach(std::move(why));
    } else {
      walk_->session().cut_off(std::move(why));
    }
  }

  const TraceOptions& options_;
  const OnLine& on_line_;
  std::unique_ptr<Walk> walk_;
  std::optional<LocalWatch> watch_;
  std::vector<LocalChange> changed_;  ///< since the last line began
  std::optional<TracedLine> line_;    ///< the line being executed
  int last_line_ = 0;
  TraceResult result_;
};

}  // namespace

TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                  const TraceOptions& options, const OnLine& on_line) {
  return Run(options, on_line).trace(debuggee, mode, connect);
}

}  // namespace rlctl::ldb
