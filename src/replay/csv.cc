#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "replay/field_names.h"
#include "replay/time_text.h"

namespace rlctl::replay {
namespace {

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostRecord = std::size_t{1}
                                    << 20;  // bytes, where it goes over several lines
constexpr int kMostLines = 64;
constexpr std::size_t kShownNames = 200;

enum class FieldEnd {
  kSeparator,
  kRecord,
  kOpen,   ///< the quotes are not closed
  kWrong,  ///< something between the closing quote and the separator
};

/// A field at the front of a record.
struct Field {
  std::string_view text;  ///< without the quotes around it; doubled ones still doubled
  bool has_doubled = false;
};

FieldEnd take_separator(std::string_view& rest, char separator) {
  if (rest.empty()) return FieldEnd::kRecord;
  if (rest.front() != separator) return FieldEnd::kWrong;
  rest.remove_prefix(1);
  return FieldEnd::kSeparator;
}

FieldEnd take_quoted(std::string_view& rest, char separator, Field& field) {
  std::size_t end = 1;
  for (;;) {
    end = rest.find('"', end);
    if (end == rest.npos) return FieldEnd::kOpen;
    if (end + 1 == rest.size() || rest[end + 1] != '"') break;
    field.has_doubled = true;
    end += 2;
  }
  field.text = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return take_separator(rest, separator);
}

/// Takes it from `rest`, and the separator behind it.
FieldEnd take_field(std::string_view& rest, char separator, Field& field) {
  field.has_doubled = false;
  if (rest.starts_with('"')) return take_quoted(rest, separator, field);
  field.text = rest.substr(0, rest.find(separator));
  rest.remove_prefix(field.text.size());
  return take_separator(rest, separator);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

char separator_of(std::string_view header) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char separator : {',', ';', '\t', '|'}) {
    bool quoted = false;
    const auto count = std::count_if(header.begin(), header.end(), [&](char c) {
      if (c == '"') quoted = !quoted;
      return !quoted && c == separator;
    });
    if (count > most) {
      most = count;
      best = separator;
    }
  }
  return best;
}

/// A field of interest: where it stands, and what the record that is read has there.
struct Column {
  std::size_t number = kNoColumn;
  std::string name = {};
  std::optional<std::string_view> text = {};
  std::string unquoted = {};

  [[nodiscard]] bool exists() const { return number != kNoColumn; }

  void take(const Field& field) {
    text = field.text;
    if (!field.has_doubled) return;
    unquoted.clear();
    for (std::size_t i = 0; i < field.text.size(); ++i) {
      unquoted += field.text[i];
      if (field.text[i] == '"') ++i;
    }
    text = unquoted;
  }
};

class CsvParser final : public LineParser {
 public:
  explicit CsvParser(const FieldOptions& options) : fields_(options) {}

 private:
  LineKind parse(LineReader& lines, LineReader::Line& line, Entry& entry) override;
  void read_header(const LineReader& lines, const LineReader::Line& line);
  FieldEnd split(std::string_view record);
  FieldEnd split_whole(LineReader& lines, LineReader::Line& line);

  LogFields fields_;
  bool has_header_ = false;
  char separator_ = ',';
  Column time_, key_, cost_;
  TimeReader times_;
};

Column column_of(const FieldNames& wanted, const std::vector<std::string>& names) {
  Column column;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto rank = wanted.rank(names[i]);
    if (!rank || (best && *best <= *rank)) continue;
    best = rank;
    column.number = i;
    column.name = names[i];
  }
  return column;
}

void require(const Column& column, const FieldNames& wanted, std::string_view what,
             std::string_view option, const LineReader& lines, const LineReader::Line& line) {
  if (column.exists()) return;
  const auto shown = line.text.substr(0, kShownNames);
  throw InputError(
      fmt::format("{}:{}: the header has no field {}: '{}{}'", lines.name(), line.number,
                  wanted.describe(what), shown, shown.size() < line.text.size() ? "..." : ""),
      fmt::format("the first line names the fields; {} says which of them it is", option));
}

void CsvParser::read_header(const LineReader& lines, const LineReader::Line& line) {
  separator_ = separator_of(line.text);
  std::vector<std::string> names;
  auto rest = line.text;
  Field field;
  for (auto end = FieldEnd::kSeparator; end == FieldEnd::kSeparator;) {
    end = take_field(rest, separator_, field);
    Column name;
    name.take(field);
    names.emplace_back(trimmed(*name.text));
  }
  time_ = column_of(fields_.time, names);
  key_ = column_of(fields_.key, names);
  cost_ = column_of(fields_.cost, names);
  require(time_, fields_.time, "for the time", "--time-field", lines, line);
  require(key_, fields_.key, "for the key", "--key-field", lines, line);
  if (fields_.cost.settled() && !fields_.cost.none()) {
    require(cost_, fields_.cost, "for the cost", "--cost-field", lines, line);
  }
  times_ = TimeReader(epoch_unit_of(time_.name));
  has_header_ = true;
}

/// Puts what a record says into the columns.
FieldEnd CsvParser::split(std::string_view record) {
  for (auto* column : {&time_, &key_, &cost_}) column->text.reset();
  Field field;
  auto end = FieldEnd::kSeparator;
  for (std::size_t number = 0; end == FieldEnd::kSeparator; ++number) {
    end = take_field(record, separator_, field);
    if (end == FieldEnd::kOpen || end == FieldEnd::kWrong) return end;
    for (auto* column : {&time_, &key_, &cost_}) {
      if (column->number == number) column->take(field);
    }
  }
  return end;
}

/// With further lines, where quotes are open at the end of this one. Only a line with an odd number
/// of quotes can close them.
FieldEnd CsvParser::split_whole(LineReader& lines, LineReader::Line& line) {
  auto end = split(line.text);
  for (int more = 1; end == FieldEnd::kOpen && more < kMostLines; ++more) {
    const auto before = line.text.size();
    if (!lines.extend(line, kMostRecord)) break;
    const auto added = line.text.substr(before);
    if (std::count(added.begin(), added.end(), '"') % 2 != 0) end = split(line.text);
  }
  if (end == FieldEnd::kOpen || end == FieldEnd::kWrong) lines.unextend(line);
  return end;
}

LineKind CsvParser::parse(LineReader& lines, LineReader::Line& line, Entry& entry) {
  if (!has_header_) {
    read_header(lines, line);
    return LineKind::kOther;
  }
  const auto end = split_whole(lines, line);
  if (end == FieldEnd::kOpen) return bad("its quotes are not closed");
  if (end == FieldEnd::kWrong) return bad("something follows a closing quote");
  for (const auto* column : {&time_, &key_}) {
    if (!column->text) return bad(fmt::format("it has no field '{}'", column->name));
  }
  const auto time = trimmed(*time_.text);
  const auto at = times_.read(time);
  if (!at) return bad("the time", time, "cannot be read");
  entry.at = *at;
  entry.key = *key_.text;
  if (cost_.text) {
    const auto cost = read_cost(trimmed(*cost_.text));
    if (!cost) return bad("the cost", *cost_.text, "is not a whole number above 0");
    entry.cost = *cost;
  }
  return LineKind::kRequest;
}

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(const FieldOptions& fields) {
  return std::make_unique<CsvParser>(fields);
}

}  // namespace rlctl::replay
