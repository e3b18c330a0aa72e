// Whatever a log's lines hold, each request has a key, and a time and a cost of the contract; the
// lines are the same whether they come at once or byte by byte.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "limiter/limit.h"
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
  require(!entry.key.empty() && entry.key.size() <= LineParser::kMaxKey, "so is a key");
  // Bytes that are not UTF-8 become \xNN.
  require(entry.key.size() <= 4 * log.size() + 32, "a key is a part of the log", entry.key);
}

/// What was read, as text: the two ways must agree.
std::string read_log(std::string_view log, const LogFormat& format, const FieldOptions& fields,
                     std::size_t at_once) {
  SlowSource source(log, at_once);
  LineSplitter lines(source, "a log");
  std::string out;
  try {
    const auto parser = format.make_parser(fields);
    LineSplitter::Line line;
    Entry entry;
    while (lines.next(line)) {
      if (is_blank(line.text)) continue;
      const auto number = line.number;
      const auto kind = parser->read(lines, line, entry);
      out += std::to_string(number) + " ";
      if (kind == LineKind::kBad) {
        require(!parser->why().empty(), "a bad line has a reason");
        require(parser->why().size() <= 4 * log.size() + 300, "which is bounded", parser->why());
        out += parser->why();
      } else if (kind == LineKind::kRequest) {
        require_in_bounds(entry, log);
        out += std::to_string(entry.at.count()) + " " + std::to_string(entry.cost) + " ";
        out += entry.key;
      }
      out += '\n';
    }
    out += parser->never_found();
  } catch (const UsageError& error) {  // InputError is one
    require(*error.what() != '\0', "an error has a message");
    out += error.what();
  }
  return out;
}

// A digit for the format, and whether fields are named: then a line with the names; then the log.
void test(std::string_view input) {
  Parts parts(input);
  const auto which = parts.choice(9);
  FieldOptions fields;
  if (which >= 5) {
    for (auto* field : {&fields.time, &fields.key, &fields.cost}) {
      const auto name = parts.until('\n');
      if (name != "-") *field = std::string(name);
    }
  } else {
    (void)parts.until('\n');
  }
  const auto log = parts.rest();
  const auto formats = log_formats();
  const auto* format = which % 5 < formats.size() ? &formats[which % 5] : recognize(log, fields);
  if (format == nullptr) return;
  const auto whole = read_log(log, *format, fields, log.size() + 1);
  require(whole == read_log(log, *format, fields, 1), "it reads the same byte by byte", whole);

  TimeReader times;
  SlowSource source(log, log.size() + 1);
  LineSplitter lines(source, "a log");
  LineSplitter::Line line;
  try {
    while (lines.next(line)) {
      const auto time = times.read(line.text);
      require(time == TimeReader().read(line.text), "a time is read alone as after others",
              line.text);
      (void)read_cost(line.text);
    }
  } catch (const InputError&) {
    return;
  }
}

const Target kTarget("logs", test);

}  // namespace fuzz::logs
