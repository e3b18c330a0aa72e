#include "cli/debug/trace_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "cli/debug/trace_words.h"
#include "ldb/error_text.h"
#include "ldb/source_lines.h"
#include "ldb/value.h"

namespace rlctl::cli {
namespace {

void append_name(std::string& out, std::string_view name) {
  out.append(",\"").append(name).append("\":");
}

void append_field(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_json_string(out, text);
}

void append_field(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  append_name(out, name);
  if (text) {
    append_json_string(out, *text);
  } else {
    out += "null";
  }
}

void append_count(std::string& out, std::string_view name, std::int64_t count) {
  append_name(out, name);
  append_number(out, count);
}

void append_flag(std::string& out, std::string_view name, bool flag) {
  append_name(out, name);
  out += flag ? "true" : "false";
}

/// Its value and its error, of which one is null, or both.
void append_outcome(std::string& out, const ldb::TraceResult& result) {
  std::optional<std::string> value, error;
  if (result.ending != ldb::Ending::kReturned) {
    error = result.message;
  } else if (result.reply) {
    std::string text;
    append_reply_text(text, *result.reply);
    value = ldb::with_source_lines(text, result.text_lines);
  }
  append_field(out, "value", value);
  append_field(out, "error", error);
}

}  // namespace

TraceJson::TraceJson(std::string& out, const ldb::Debuggee& debuggee)
    : out_(out), source_(ldb::source_lines(debuggee.source)) {}

void TraceJson::begin(std::string_view event, int line) {
  out_.append("{\"event\":\"").append(event).append("\"");
  append_count(out_, "line", line);
}

void TraceJson::add_call(const ldb::Call& call, int line) {
  begin("call", line);
  append_name(out_, "command");
  out_ += '[';
  for (std::size_t i = 0; i < call.words.size(); ++i) {
    if (i > 0) out_ += ',';
    append_json_string(out_, call.words[i]);
  }
  out_ += ']';
  append_flag(out_, "exact", !call.raw);
  append_field(out_, "reply", call.reply);
  append_field(out_, "error", call.error);
  out_ += "}\n";
}

void TraceJson::line(const ldb::TracedLine& line) {
  const auto index = static_cast<std::size_t>(line.line) - 1;
  begin("line", line.line);
  append_field(out_, "source", index < source_.size() ? source_[index] : std::string_view());
  out_ += "}\n";
  for (const auto& call : line.calls) add_call(call, line.line);
  for (const auto& message : line.messages) {
    begin("debug", line.line);
    append_field(out_, "message", std::string_view(message));
    out_ += "}\n";
  }
  for (const auto& change : line.changed) {
    begin("local", line.line);
    append_field(out_, "name", std::string_view(change.local.name));
    append_field(out_, "value", std::string_view(ldb::text_of(change.value)));
    append_flag(out_, "exact", !change.value.approximate);
    out_ += "}\n";
  }
}

void TraceJson::result(const ldb::TraceResult& result) {
  out_ += "{\"event\":\"result\"";
  append_field(out_, "ending", name_of(result.ending));
  append_outcome(out_, result);
  append_name(out_, "error_line");
  if (result.error_line > 0) {
    append_number(out_, result.error_line);
  } else {
    out_ += "null";
  }
  append_count(out_, "lines", result.lines);
  append_count(out_, "calls", result.calls);
  append_flag(out_, "exact", result.exact);
  out_ += "}\n";
}

}  // namespace rlctl::cli
