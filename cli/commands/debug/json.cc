#include "cli/commands/debug/view.h"

#include <array>

#include "base/json.h"
#include "ldb/session.h"
#include "ldb/value.h"

namespace rlctl::cli::debug {
namespace {

/// In the order of ldb::Ending.
constexpr std::array<std::string_view, 7> kEndingNames{
    "returned", "refused", "compile_error", "run_time_error", "aborted", "cut_off", "lost"};

/// A JSON event, which the destructor ends with a line end.
class Event {
 public:
  Event(std::string& out, std::string_view event) : out_(out), json_(out) {
    json_.begin_object().field("event", event);
  }
  ~Event() {
    json_.end_object();
    out_ += '\n';
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  JsonWriter* operator->() { return &json_; }

 private:
  std::string& out_;
  JsonWriter json_;
};

/// A line of the source, as it is; empty for a number outside it.
std::string_view line_of(const std::vector<std::string_view>& source, int line) {
  const auto index = static_cast<std::size_t>(line) - 1;
  return index < source.size() ? source[index] : std::string_view();
}

}  // namespace

void View::append_json(const ldb::TracedLine& line) {
  Event(out_, "line")->field("line", line.line).field("source", line_of(source_, line.line));
  for (const auto& call : line.calls) {
    Event event(out_, "call");
    event->field("line", line.line).name("command").begin_array();
    for (const auto& word : call.words) event->value(word);
    event->end_array()
        .field("exact", !call.raw)
        .field("reply", call.reply)
        .field("error", call.error);
  }
  for (const auto& message : line.messages) {
    const bool is_log = !message.level.empty();
    Event event(out_, is_log ? "log" : "debug");
    event->field("line", line.line);
    if (is_log) event->field("level", message.level);
    event->field("message", message.text);
  }
  for (const auto& change : line.changed) {
    Event(out_, "local")
        ->field("line", line.line)
        .field("name", change.local.name)
        .field("value", ldb::text_of(change.value))
        .field("exact", ldb::is_complete(change.value));
  }
}

void View::append_json(const ldb::TraceResult& result, const std::vector<KeyChange>& keys) {
  const bool returned = result.ending == ldb::Ending::kReturned;
  Event(out_, "result")
      ->field("ending", kEndingNames.at(static_cast<std::size_t>(result.ending)))
      .field("value", returned_text(result, false))
      .field("error", returned ? std::nullopt : std::optional(result.message))
      .field("error_line", result.error_line > 0 ? std::optional(result.error_line) : std::nullopt)
      .field("lines", result.lines)
      .field("calls", result.calls)
      .field("exact", result.exact);
  const auto text = [](const std::optional<KeyText>& key) {
    return key ? std::optional(text_of(*key)) : std::nullopt;
  };
  for (const auto& change : keys) {
    Event(out_, "key")
        ->bytes_field("key", change.key)
        .field("before", text(change.before))
        .field("after", text(change.after))
        .field("changed", change.changed);
  }
}

void View::append_json(const ReplyAsRead& reading) {
  const auto& decision = reading.decision;
  const bool is_known = reading.problem.empty();
  const auto known = [is_known](auto value, auto none) {
    return is_known && value != none ? std::optional(value) : std::nullopt;
  };
  Event(out_, "reading")
      ->field("allowed", is_known ? std::optional(decision.allowed) : std::nullopt)
      .field("remaining", known(decision.remaining, limiter::kNotTold))
      .field("retry_after_us", known(decision.retry_after, limiter::kTimeNotTold))
      .field("reset_after_us", known(decision.reset_after, limiter::kTimeNotTold))
      .field("delay_us", is_known ? std::optional(decision.delay) : std::nullopt)
      .known_field("error", reading.problem);
}

void Coverage::append_json(std::string& out) const {
  for (const auto& [line, hits] : hits_) {
    Event(out, "coverage")
        ->field("line", line)
        .field("hits", hits)
        .field("source", line_of(lines_, line));
  }
  Event(out, "coverage_total")
      ->field("runs", runs_)
      .field("lines", hits_.size())
      .field("reached", reached());
}

}  // namespace rlctl::cli::debug
