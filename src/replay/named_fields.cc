#include "replay/log_format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "replay/time_text.h"

namespace rlctl::replay {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

/// Those of nginx, Caddy, Traefik, the Elastic stack, journals, and rlctl itself.
std::vector<std::string_view> usual_times() {
  return {"at_us",      "now_us",       "time",       "timestamp",    "ts",
          "@timestamp", "time_iso8601", "time_local", "datetime",     "date_time",
          "msec",       "time_us",      "time_ms",    "timestamp_ms", "epoch",
          "StartUTC",   "logged_at",    "created_at", "date"};
}

/// The client's address first: by default, that is what is limited.
std::vector<std::string_view> usual_keys() {
  return {"remote_addr",
          "client_ip",
          "remote_ip",
          "clientip",
          "client_addr",
          "client_address",
          "ip",
          "ip_address",
          "address",
          "request.client_ip",
          "request.remote_ip",
          "client.ip",
          "source.ip",
          "ClientHost",
          "remote_host",
          "client",
          "key",
          "user",
          "user_id",
          "username"};
}

/// The names of the log field that holds a value.
class FieldNames {
 public:
  /// Only this name, exactly; empty: none.
  explicit FieldNames(std::string_view chosen) : exact_(true) {
    if (!chosen.empty()) names_.emplace_back(chosen);
  }

  /// Any of these in any case, earlier ones preferred.
  explicit FieldNames(std::vector<std::string_view> usual) : names_(usual.begin(), usual.end()) {}

  /// How well a field fits: 0 is best; none if it does not.
  std::optional<std::size_t> rank(std::string_view field) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].size() != field.size()) continue;
      if (exact_ ? names_[i] == field : same_letters(names_[i], field)) return i;
    }
    return std::nullopt;
  }

  /// Accept only this one from now on: a log does not change its fields.
  void settle(std::string_view field) {
    names_.assign(1, std::string(field));
    exact_ = true;
  }

  bool settled() const noexcept { return exact_; }
  bool none() const noexcept { return names_.empty(); }
  /// "'ts'" if a field is chosen or settled; otherwise `usual`.
  std::string describe(std::string_view usual) const {
    return exact_ && !names_.empty() ? "'" + names_.front() + "'" : std::string(usual);
  }

 private:
  std::vector<std::string> names_;
  bool exact_ = false;
};

FieldNames chosen_or(const std::optional<std::string>& chosen,
                     std::vector<std::string_view> usual) {
  return chosen ? FieldNames(*chosen) : FieldNames(std::move(usual));
}

/// The chosen names, else the usual ones; a dotted path is a nested field.
struct LogFields {
  FieldNames time, key, cost;

  explicit LogFields(const FieldOptions& options)
      : time(chosen_or(options.time, usual_times())),
        key(chosen_or(options.key, usual_keys())),
        cost(chosen_or(options.cost, {"cost"})) {}
};

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 20;  // bytes, if it spans several lines
constexpr int kMaxLines = 64;
constexpr std::size_t kShownNames = 200;

enum class FieldEnd {
  kSeparator,
  kRecord,
  kOpen,   ///< the quotes are not closed
  kWrong,  ///< text between the closing quote and the separator
};

/// The field at the front of a record.
struct Field {
  std::string_view text;  ///< without its quotes; inner quotes still doubled
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

/// Takes a field and the separator after it from `rest`.
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

/// A field of interest: its position, and its text in the current record.
struct Column {
  std::size_t number = kNoColumn;
  std::string name = {};
  std::optional<std::string_view> text = {};
  std::string unquoted = {};

  bool exists() const { return number != kNoColumn; }

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
             std::string_view option, const LineSplitter& lines, const LineSplitter::Line& line) {
  if (column.exists()) return;
  const auto shown = line.text.substr(0, kShownNames);
  throw InputError(
      fmt::format("{}:{}: the header has no field {}: '{}{}'", lines.name(), line.number,
                  wanted.describe(what), shown, shown.size() < line.text.size() ? "..." : ""),
      fmt::format("the first line names the fields; {} says which of them it is", option));
}

class CsvParser final : public LineParser {
 public:
  explicit CsvParser(const FieldOptions& options) : fields_(options) {}

 private:
  LineKind parse(LineSplitter& lines, LineSplitter::Line& line, Entry& entry) override {
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
    if (!at) return bad_time(time);
    entry.at = *at;
    entry.key = *key_.text;
    if (cost_.text) {
      const auto cost = read_cost(trimmed(*cost_.text));
      if (!cost) return bad_cost(*cost_.text);
      entry.cost = *cost;
    }
    return LineKind::kRequest;
  }

  void read_header(const LineSplitter& lines, const LineSplitter::Line& line) {
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

  /// Stores the fields of a record in the columns.
  FieldEnd split(std::string_view record) {
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

  /// Adds further lines while quotes are open at the end of a line. Only a line with an odd number
  /// of quotes can close them.
  FieldEnd split_whole(LineSplitter& lines, LineSplitter::Line& line) {
    auto end = split(line.text);
    for (int more = 1; end == FieldEnd::kOpen && more < kMaxLines; ++more) {
      const auto before = line.text.size();
      if (!lines.extend(line, kMaxRecordBytes)) break;
      const auto added = line.text.substr(before);
      if (std::count(added.begin(), added.end(), '"') % 2 != 0) end = split(line.text);
    }
    if (end == FieldEnd::kOpen || end == FieldEnd::kWrong) lines.unextend(line);
    return end;
  }

  LogFields fields_;
  bool has_header_ = false;
  char separator_ = ',';
  Column time_, key_, cost_;
  TimeReader times_;
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(const FieldOptions& fields) {
  return std::make_unique<CsvParser>(fields);
}

namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownFields = 12;

/// The value with the best-fitting name so far.
struct Found {
  std::optional<std::size_t> rank = {};
  std::string name = {}, text = {};

  void offer(const FieldNames& names, const std::string& path, std::string_view value) {
    const auto fits = names.rank(path);
    if (!fits || (rank && *rank < *fits)) return;
    rank = fits;
    name = path;
    text = value;
  }
};

/// Finds the wanted fields in a line. It only considers texts and numbers, and nothing in lists.
class Finder final : public nlohmann::json_sax<Json> {
 public:
  explicit Finder(const LogFields& fields) : fields_(fields) {}

  void reset() {
    for (auto* found : {&time, &key_found, &cost}) found->rank.reset();
    algorithm.reset();
    path_.clear();
    ends_.clear();
    objects_ = lists_ = 0;
    is_object = false;
  }

  /// Also collects the names of all fields.
  void list_in(std::vector<std::string>& names) { names_ = &names; }

  Found time, key_found, cost;
  std::optional<std::string> algorithm;
  bool is_object = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return found(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return found(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return found(text); }
  bool string(string_t& text) override {
    if (lists_ == 0 && path_ == "algorithm") algorithm = text;
    return found(text);
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (objects_++ == 0 && lists_ == 0) is_object = true;
    ends_.push_back(path_.size());
    return true;
  }
  /// Replaces the previous name in the path, keeping that of the enclosing object.
  bool key(string_t& name) override {
    path_.resize(ends_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return true;
  }
  bool end_object() override {
    path_.resize(ends_.back());
    ends_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    ++lists_;
    return true;
  }
  bool end_array() override {
    --lists_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool found(const std::string& text) {
    if (lists_ > 0 || objects_ == 0) return true;
    if (names_ != nullptr) names_->push_back(path_);
    time.offer(fields_.time, path_, text);
    key_found.offer(fields_.key, path_, text);
    cost.offer(fields_.cost, path_, text);
    return true;
  }

  const LogFields& fields_;
  std::string path_;               ///< of the current field, with dots
  std::vector<std::size_t> ends_;  ///< the path length of each enclosing object
  int objects_ = 0, lists_ = 0;
  std::vector<std::string>* names_ = nullptr;
};

class JsonLinesParser final : public LineParser {
 public:
  explicit JsonLinesParser(const FieldOptions& options)
      : fields_(options), cost_is_asked_for_(options.has_cost()) {}

  std::string never_found() const override {
    return cost_is_asked_for_ && !has_cost_ ? fields_.cost.describe("") : std::string();
  }

 private:
  LineKind parse(LineSplitter&, LineSplitter::Line& line, Entry& entry) override {
    if (!find(line.text)) return bad("it is not a JSON object");
    const auto& key = finder_.key_found;
    if (!finder_.time.rank) return lacks(fields_.time, "for the time", line.text);
    if (!key.rank) return lacks(fields_.key, "for the key", line.text);
    if (is_of_another_algorithm()) return LineKind::kOther;
    if (!settled_) times_ = TimeReader(epoch_unit_of(finder_.time.name));
    const auto at = times_.read(finder_.time.text);
    if (!at) return bad_time(finder_.time.text);
    entry.at = *at;
    entry.key = key.text;
    if (finder_.cost.rank) {
      has_cost_ = true;
      const auto cost = read_cost(finder_.cost.text);
      if (!cost) return bad_cost(finder_.cost.text);
      entry.cost = *cost;
    }
    if (!settled_) settle();
    return LineKind::kRequest;
  }

  /// Replaces bytes that are not UTF-8 by \\xNN, which in a JSON string is the text \xNN.
  void repair(std::string_view line) {
    repaired_.clear();
    while (!line.empty()) {
      const auto length = utf8_length(line);
      if (length > 0) {
        repaired_ += line.substr(0, length);
      } else {
        fmt::format_to(std::back_inserter(repaired_), "\\\\x{:02x}",
                       static_cast<unsigned char>(line[0]));
      }
      line.remove_prefix(std::max(length, std::size_t{1}));
    }
  }

  /// Whether the line is one JSON object.
  bool find(std::string_view line) {
    const auto parses = [&](std::string_view text) {
      finder_.reset();
      return Json::sax_parse(text.data(), text.data() + text.size(), &finder_) && finder_.is_object;
    };
    if (parses(line)) return true;
    if (is_utf8(line)) return false;
    repair(line);
    return parses(repaired_);
  }

  bool is_of_another_algorithm() {
    if (!finder_.algorithm || finder_.time.name != "at_us") return false;
    if (!algorithm_) algorithm_ = finder_.algorithm;
    return *algorithm_ != *finder_.algorithm;
  }

  /// Fixes the fields: if one is missing in a line, no other replaces it, since that would mean
  /// something else.
  void settle() {
    fields_.time.settle(finder_.time.name);
    fields_.key.settle(finder_.key_found.name);
    settled_ = true;
  }

  LineKind lacks(const FieldNames& wanted, std::string_view what, std::string_view line) {
    std::vector<std::string> names;
    Finder finder(fields_);
    finder.list_in(names);
    (void)Json::sax_parse(line.data(), line.data() + line.size(), &finder,
                          Json::input_format_t::json, false);
    if (names.empty()) return bad(fmt::format("it has no field {}", wanted.describe(what)));
    const bool all = names.size() <= kShownFields;
    if (!all) names.resize(kShownFields);
    return bad(fmt::format("it has no field {}, but {}{}", wanted.describe(what),
                           fmt::join(names, ", "), all ? "" : ", ..."));
  }

  LogFields fields_;
  Finder finder_{fields_};
  TimeReader times_;
  bool settled_ = false;
  bool cost_is_asked_for_, has_cost_ = false;
  std::optional<std::string> algorithm_;  ///< the one whose decisions count
  std::string repaired_;
};

}  // namespace

std::unique_ptr<LineParser> make_json_lines_parser(const FieldOptions& fields) {
  return std::make_unique<JsonLinesParser>(fields);
}

}  // namespace rlctl::replay
