// Whatever a log's lines hold, each request has a key, and a time and a cost of the contract; the
// lines are the same whether they come at once or byte by byte.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "limiter/limit.h"
#include "night/fuzz/fuzz.h"
#include "replay/log_format.h"
#include "replay/time_text.h"

namespace fuzz::logs {

using namespace rlctl;
using namespace rlctl::replay;

/// Bytes that come some at a time.
class SlowSource final : public ByteSource {
 public:
  SlowSource(std::string_view bytes, std::size_t at_once) : bytes_(bytes), at_once_(at_once) {}
  std::size_t read(char* to, std::size_t size) override {
    const auto count = std::min({size, at_once_, bytes_.size()});
    std::copy_n(bytes_.data(), count, to);
    bytes_.remove_prefix(count);
    return count;
  }
  std::int64_t file_bytes() const override { return 0; }

 private:
  std::string_view bytes_;
  std::size_t at_once_;
};

void require_in_bounds(const Entry& entry, std::string_view log) {
  using namespace rlctl::limiter;
  require(entry.at.count() >= 0 && entry.at <= kLatestNow, "a time is within bounds");
  require(entry.cost >= 1 && entry.cost <= kLargestCost, "so is a cost");
  require(!entry.key.empty() && entry.key.size() <= LogReader::kMaxKey, "so is a key");
  // Bytes that are not UTF-8 become \xNN.
  require(entry.key.size() <= 4 * log.size() + 32, "a key is a part of the log", entry.key);
}

/// The names of fields that are given: the reason for a bad line may quote one.
std::size_t size_of_names(const FieldOptions& fields) {
  std::size_t size = 0;
  for (const auto* name : {&fields.time, &fields.key, &fields.cost}) {
    if (*name) size += (*name)->size();
  }
  return size;
}

/// What was read, as text: the two ways must agree.
std::string read_log(std::string_view log, const LogFormat& format, const FieldOptions& fields,
                     std::size_t at_once) {
  SlowSource source(log, at_once);
  LineSplitter lines(source, "a log");
  std::string out;
  try {
    LogReader reader(format, {}, fields);
    LineSplitter::Line line;
    Entry entry;
    while (lines.next(line)) {
      if (is_blank(line.text)) continue;
      const auto kind = reader.read(line.text, entry);
      out += std::to_string(line.number) + " ";
      if (kind == LineKind::kBad) {
        require(!reader.why().empty(), "a bad line has a reason");
        require(reader.why().size() <= 4 * (log.size() + size_of_names(fields)) + 400,
                "which is bounded", reader.why());
        out += reader.why();
      } else if (kind == LineKind::kRequest) {
        require_in_bounds(entry, log);
        out += std::to_string(entry.at.count()) + " " + std::to_string(entry.cost) + " ";
        out += entry.key;
      }
      out += '\n';
    }
    out += reader.never_found();
  } catch (const UsageError& error) {  // InputError is one
    require(*error.what() != '\0', "an error has a message");
    out += error.what();
  }
  return out;
}

/// How the log is recognized, or why it is not.
std::string recognized(std::string_view log, const std::optional<std::string>& format,
                       const FieldOptions& fields) {
  try {
    if (format) require_format(*format, fields);
    const auto reader = recognize({.name = "a log", .lines = log}, format, fields);
    require(!reader.format().empty(), "a format has a name");
    return reader.prefix() + " " + reader.format();
  } catch (const UsageError& error) {
    require(*error.what() != '\0', "an error has a message");
    return error.what();
  }
}

// A digit for what is given, and a line for each: a format, the names of the fields; then the log.
void test(std::string_view input) {
  Parts parts(input);
  const auto which = parts.choice(10);
  const std::string format(parts.until('\n'));
  FieldOptions fields;
  if (which >= 5) {
    for (auto* field : {&fields.time, &fields.key, &fields.cost}) {
      const auto name = parts.until('\n');
      if (name != "-") *field = std::string(name);
    }
  }
  const auto log = parts.rest();
  const auto given = which % 5 == 0 ? std::nullopt : std::optional(format);
  const auto found = recognized(log, given, fields);
  require(found == recognized(log, given, fields), "it is recognized in the same way again", found);
  for (const auto& row : log_formats()) {
    if (row.name != format) continue;
    const auto whole = read_log(log, row, fields, log.size() + 1);
    require(whole == read_log(log, row, fields, 1), "it reads the same byte by byte", whole);
  }

  TimeReader times;
  SlowSource source(log, log.size() + 1);
  LineSplitter lines(source, "a log");
  LineSplitter::Line line;
  try {
    while (lines.next(line)) {
      const auto time = times.read(line.text);
      require(time == TimeReader().read(line.text), "a time is read alone as after others",
              line.text);
    }
  } catch (const InputError&) {
    return;
  }
}

const Target kTarget("logs", test);

}  // namespace fuzz::logs
