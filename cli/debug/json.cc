#include "cli/debug/json.h"

#include <cstddef>
#include <optional>

#include "base/json.h"
#include "cli/debug/view.h"
#include "ldb/source_lines.h"
#include "ldb/value.h"

namespace rlctl::cli {
namespace {

/// "returned", "run_time_error"
std::string_view name_of(ldb::Ending ending) {
  using ldb::Ending;
  switch (ending) {
    case Ending::kReturned:
      return "returned";
    case Ending::kRefused:
      return "refused";
    case Ending::kCompileError:
      return "compile_error";
    case Ending::kRunTimeError:
      return "run_time_error";
    case Ending::kAborted:
      return "aborted";
    case Ending::kCutOff:
      return "cut_off";
    case Ending::kLost:
      break;
  }
  return "lost";
}

/// One event, a line.
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

void append_call(std::string& out, const ldb::Call& call, int line) {
  Event event(out, "call");
  event->field("line", line).name("command").begin_array();
  for (const auto& word : call.words) event->value(word);
  event->end_array()
      .field("exact", !call.raw)
      .field("reply", call.reply)
      .field("error", call.error);
}

}  // namespace

TraceJson::TraceJson(std::string& out, const ldb::Debuggee& debuggee)
    : out_(out), source_(ldb::source_lines(debuggee.source)) {}

void TraceJson::line(const ldb::TracedLine& line) {
  const auto index = static_cast<std::size_t>(line.line) - 1;
  const auto source = index < source_.size() ? source_[index] : std::string_view();
  Event(out_, "line")->field("line", line.line).field("source", source);
  for (const auto& call : line.calls) append_call(out_, call, line.line);
  for (const auto& message : line.messages) {
    Event(out_, "debug")->field("line", line.line).field("message", message);
  }
  for (const auto& change : line.changed) {
    Event(out_, "local")
        ->field("line", line.line)
        .field("name", change.local.name)
        .field("value", ldb::text_of(change.value))
        .field("exact", !change.value.approximate);
  }
}

void TraceJson::result(const ldb::TraceResult& result) {
  const bool returned = result.ending == ldb::Ending::kReturned;
  Event(out_, "result")
      ->field("ending", name_of(result.ending))
      .field("value", returned_text(result))
      .field("error", returned ? std::nullopt : std::optional(result.message))
      .field("error_line", result.error_line > 0 ? std::optional(result.error_line) : std::nullopt)
      .field("lines", result.lines)
      .field("calls", result.calls)
      .field("exact", result.exact);
}

void TraceJson::key(const KeyChange& change) {
  const auto text = [](const std::optional<KeyText>& key) {
    return key ? std::optional(text_of(*key)) : std::nullopt;
  };
  Event(out_, "key")
      ->field("key", change.key)
      .field("before", text(change.before))
      .field("after", text(change.after))
      .field("changed", change.changed);
}

}  // namespace rlctl::cli
