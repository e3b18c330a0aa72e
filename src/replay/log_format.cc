#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/address.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/table.h"
#include "base/text.h"
#include "embedded_formats.h"
#include "limiter/limit.h"
#include "replay/field_reader.h"
#include "replay/time_text.h"

namespace rlctl::replay {

// ---- The table ----

namespace {

/// The rows of formats.txt.
std::vector<LogFormat> read_table() {
  std::vector<LogFormat> formats;
  std::string_view rest(embedded::k_formats_txt.text);
  for (auto end = rest.find("\n\n"); end != rest.npos; end = rest.find("\n\n")) {
    rest.remove_prefix(end + 2);  // the first paragraph explains
    auto row = rest.substr(0, rest.find("\n\n"));
    if (row.ends_with('\n')) row.remove_suffix(1);
    LogFormat format;
    format.name = take_until(row, "\n");
    format.format = take_until(row, "\n");
    format.example = row;
    formats.push_back(format);
  }
  return formats;
}

/// Without the backslashes that quotes need in a configuration file.
std::string unescaped(std::string_view typed) {
  std::string text;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const bool escapes = typed[i] == '\\' && i + 1 < typed.size();
    const char c = escapes ? typed[++i] : typed[i];
    text += escapes && c == 't' ? '\t' : c;
  }
  return text;
}

std::unique_ptr<FieldReader> make_reader(std::string_view format, const FieldOptions& fields) {
  const bool is_named = format.find("NAME") != format.npos || format.starts_with('{');
  return is_named ? make_named_reader(format, fields) : make_text_reader(format, fields);
}

}  // namespace

std::span<const LogFormat> log_formats() {
  static const auto kFormats = read_table();
  return kFormats;
}

namespace {

/// The formats of the table before the prefixes, which are its end.
std::span<const LogFormat> whole_formats() {
  const auto all = log_formats();
  const auto prefixes = std::find_if(all.begin(), all.end(), std::mem_fn(&LogFormat::is_prefix));
  return {all.begin(), prefixes};
}

}  // namespace

std::vector<std::string_view> log_format_names() {
  auto names = names_of(whole_formats());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

namespace {

/// The formats that --format stands for: the variants of a name, or one format of the user, whose
/// text is kept in `text`.
std::vector<LogFormat> formats_of(const std::string& typed, std::string& text) {
  std::vector<LogFormat> formats;
  for (const auto& format : whole_formats()) {
    if (format.name == typed) formats.push_back(format);
  }
  if (!formats.empty()) return formats;
  if (find_by_name(log_formats(), typed) != nullptr) {
    throw UsageError(fmt::format("'{}' is what comes before each line of another format", typed),
                     "name the other one; this one is recognized");
  }
  if (typed.find_first_of("$%") == typed.npos) {
    throw UsageError(
        fmt::format("unknown format '{}'{}", typed, did_you_mean(typed, log_format_names())),
        "rlctl burst --formats lists the names; nginx's log_format and Apache's LogFormat are "
        "formats, too");
  }
  text = unescaped(typed);
  return {{.name = typed, .format = text}};
}

}  // namespace

void require_format(const std::string& format, const FieldOptions& fields) {
  std::string text;
  const LogReader reader(formats_of(format, text).front(), nullptr, fields);
}

// ---- Lines ----

namespace {

/// The first of a list of addresses, without its port and in one spelling. Any other text
/// unchanged.
std::string_view without_port(std::string_view text, std::string& storage) {
  if (text.find(':') == text.npos && text.find(',') == text.npos) return text;
  const auto address = client_network(trimmed(text.substr(0, text.find(','))), kIpv6Bits);
  if (!address) return text;
  storage = address->substr(0, address->find('/'));
  return storage;
}

bool is_address(std::string_view text) {
  std::string storage;
  return client_network(without_port(text, storage), kIpv6Bits).has_value();
}

/// A cost, a whole number; 0 if the text is not one.
std::int64_t read_cost(std::string_view text) noexcept {
  constexpr std::size_t kMaxDigits = 18;
  if (!is_digits(text) || text.size() > kMaxDigits) return 0;
  return bounded_value(text, limiter::kLargestCost);
}

/// A time in this unit, such as 0.350, in ms, rounded up, and at least 1; 0 if the text is not one.
std::int64_t read_hold(std::string_view text, microseconds unit) noexcept {
  constexpr double kMsInUs = 1'000;
  const auto us = to_decimal(text).value_or(-1) * static_cast<double>(unit.count());
  if (!(us >= 0 && us <= kMsInUs * static_cast<double>(limiter::kLargestCost))) return 0;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(std::ceil(us / kMsInUs)));
}

/// A part of a line, or a whole one, for messages.
std::string quoted(std::string_view text, std::size_t longest = 64) {
  return fmt::format("'{}{}'", text.substr(0, longest), text.size() > longest ? "..." : "");
}

}  // namespace

/// A reader, and what it found in the last line.
struct LogReader::Stage {
  Stage(std::string_view format, const FieldOptions& fields)
      : reader(make_reader(format, fields)) {}

  /// The time of a line, if it has one; `text` is what was read.
  std::optional<microseconds> time(std::string_view& text) {
    text = *values[kTime];
    if (values[kDate]) {
      joined.assign(*values[kDate]).append(" ").append(text);
      text = joined;
    }
    if (!is_settled) times = TimeReader(epoch_unit_of(reader->name(kTime)));
    return times.read(text);
  }

  void settle() {
    reader->settle();
    is_settled = true;
  }

  std::unique_ptr<FieldReader> reader;
  Values values = {};
  std::string joined = {};
  TimeReader times = TimeReader();  ///< whose unit is that of the field
  bool is_settled = false;
};

LogReader::LogReader(const LogFormat& format, const LogFormat* prefix, const FieldOptions& fields)
    : format_(format.name), prefix_(prefix == nullptr ? "" : prefix->name), fields_(fields) {
  if (prefix != nullptr) stages_.emplace_back(prefix->format, FieldOptions{});
  stages_.emplace_back(format.format, fields);
}

LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

LineKind LogReader::bad(std::string why) {
  why_ = std::move(why);
  return LineKind::kBad;
}

LineKind LogReader::read(std::string_view line, Entry& entry) {
  // All, since the line may be bad before the last stage.
  for (auto& stage : stages_) stage.values.fill(std::nullopt);
  bool has_time = false;
  for (auto& stage : stages_) {
    const auto kind = stage.reader->read(line, stage.values);
    if (kind == LineKind::kBad) return bad(stage.reader->why());
    if (kind == LineKind::kOther) return kind;
    if (stage.values[kMessage]) line = trimmed(*stage.values[kMessage]);
    if (!stage.values[kTime]) continue;
    std::string_view text;
    const auto at = stage.time(text);
    if (!at) return bad(fmt::format("the time {} cannot be read", quoted(text)));
    entry.at = *at;
    has_time = true;
  }
  return has_time ? read_request(entry) : bad("it has no time");
}

LineKind LogReader::read_request(Entry& entry) {
  const auto& values = stages_.back().values;
  if (entry.at < microseconds{0} || entry.at > limiter::kLatestNow) {
    return bad(fmt::format("its time is not from 1970 to {}", format_instant(limiter::kLatestNow)));
  }
  if (!values[kKey]) return bad("it has no key");
  entry.key = *values[kKey];
  if (entry.key.empty()) return bad("its key is empty");
  if (entry.key.size() > kMaxKey) {
    return bad(fmt::format("its key is longer than {} KB", kMaxKey >> 10));
  }
  entry.cost = 1;
  if (fields_.has_hold() && !values[kCost]) {
    return bad(fmt::format("it has no field '{}', the time to hold", *fields_.cost));
  }
  if (values[kCost]) {
    has_cost_ = true;
    const auto& unit = fields_.cost_unit;
    entry.cost = unit ? read_hold(*values[kCost], *unit) : read_cost(*values[kCost]);
    if (unit && entry.cost == 0) {
      return bad(
          fmt::format("{} is not a time to hold, of 11 days at most", quoted(*values[kCost])));
    }
    if (entry.cost < 1 || entry.cost > limiter::kLargestCost) {
      return bad(fmt::format("the cost {} is not a whole number from 1 to {}",
                             quoted(*values[kCost]), limiter::kLargestCost));
    }
  }
  if (!stages_.back().is_settled) {
    for (auto& stage : stages_) stage.settle();
    keeps_keys_ = key_field() == "key";
  }
  if (!keeps_keys_) entry.key = without_port(entry.key, address_);
  return LineKind::kRequest;
}

bool LogReader::is_plausible(const Entry& entry) const {
  constexpr std::chrono::sys_days kFirstLog{std::chrono::year{1990} / 1 / 1};
  const auto& stage = stages_.back();
  const auto& time = stage.values[kTime];
  // A time and a word: without this, many lines of other formats were that.
  const bool is_number = !time || time->find_first_not_of("0123456789.") == time->npos;
  if (!is_number && stage.reader->name(kTime) == "epoch") return false;
  if (keeps_keys_) return true;
  if (!fields_.time && entry.at < kFirstLog.time_since_epoch()) return false;
  if (!fields_.key) return is_address(entry.key);
  return !stage.values[kAddress] || is_address(*stage.values[kAddress]);
}

std::string LogReader::never_found() const {
  return fields_.has_cost() && !has_cost_ ? "'" + *fields_.cost + "'" : std::string();
}

std::string_view LogReader::key_field() const {
  return stages_.back().reader->name(kKey);
}

int LogReader::found() {
  auto& stage = stages_.back();
  const auto& key = stage.values[kKey];
  std::string_view text;
  const bool has_time = !stage.values[kTime] || stage.time(text);
  const bool has_key = key && (fields_.key || is_address(*key));
  return has_time && has_key ? 2 : stage.reader->has_names() ? 1 : 0;
}

bool LogReader::has_message() const {
  return stages_.back().values[kMessage].has_value();
}

// ---- Recognizing ----

namespace {

/// Nearly all lines: at most one of so many is not read.
constexpr std::int64_t kOneOf = 10;
constexpr std::size_t kShownLine = 200;

/// What a format, perhaps after a prefix, makes of the beginning of a file.
struct Way {
  const LogFormat* format = nullptr;
  const LogFormat* prefix = nullptr;
  std::int64_t lines = 0;     ///< but for blank ones, comments and headers
  std::int64_t messages = 0;  ///< of lines after a prefix
  std::int64_t requests = 0;
  std::int64_t plausible = 0;  ///< requests; see LogReader::is_plausible()
  int found = 0;               ///< the most of a line; see LogReader::found()
  std::size_t hash = 0;        ///< of the times and keys
  // The first line that is not read, and why.
  std::int64_t bad_line = 0;
  std::string bad_text = {}, why = {};

  bool are_nearly_all(std::int64_t count) const {
    return lines > 0 && (lines - count) * kOneOf <= lines;
  }
  bool fits() const { return are_nearly_all(plausible); }
  bool is_better_than(const Way& other) const {
    return std::tie(plausible, requests, found) >
           std::tie(other.plausible, other.requests, other.found);
  }
};

/// Throws what LogReader throws.
Way way_of(const LogFormat& format, const LogFormat* prefix, const FieldOptions& fields,
           const Beginning& beginning) {
  constexpr std::int64_t kPatience = 50;
  Way way{&format, prefix};
  LogReader reader(format, prefix, fields);
  MemorySource source(beginning.lines);
  LineSplitter lines(source, std::string(beginning.name));
  LineSplitter::Line line;
  Entry entry;
  while (lines.next(line) && (way.lines < kPatience || way.requests + way.messages > 0)) {
    if (is_blank(line.text)) continue;
    const auto kind = reader.read(line.text, entry);
    if (kind == LineKind::kOther) continue;
    ++way.lines;
    way.messages += reader.has_message() ? 1 : 0;
    const bool is_plausible = kind == LineKind::kRequest && reader.is_plausible(entry);
    if (kind == LineKind::kRequest) {
      ++way.requests;
      way.plausible += is_plausible ? 1 : 0;
      way.hash = way.hash * 31 + std::hash<std::string_view>{}(entry.key) +
                 std::hash<std::int64_t>{}(entry.at.count());
    }
    way.found = std::max(way.found, reader.found());
    if (is_plausible || way.bad_line != 0) continue;
    way.bad_line = beginning.line + static_cast<std::int64_t>(line.number) - 1;
    way.bad_text = line.text;
    way.why = kind == LineKind::kBad
                  ? reader.why()
                  : fmt::format("the key {} is not an address", quoted(entry.key));
  }
  return way;
}

/// The prefixes that nearly all lines have.
std::vector<const LogFormat*> prefixes_of(const Beginning& beginning) {
  std::vector<const LogFormat*> found;
  for (const auto& format : log_formats().subspan(whole_formats().size())) {
    const auto way = way_of(format, nullptr, {}, beginning);
    if (way.are_nearly_all(way.messages)) found.push_back(&format);
  }
  return found;
}

/// All ways that fit, without a prefix if any does; if none does, all that were tried. The best is
/// the first.
std::vector<Way> ways_of(std::span<const LogFormat> formats, const Beginning& beginning,
                         const FieldOptions& fields) {
  std::vector<Way> ways;
  const auto fits = [](const Way& way) { return way.fits(); };
  const auto try_after = [&](const LogFormat* prefix) {
    for (const auto& format : formats) {
      try {
        ways.push_back(way_of(format, prefix, fields, beginning));
      } catch (const UsageError&) {
        // The format has no such fields, or the log lacks the required header.
      }
    }
  };
  try_after(nullptr);
  if (std::none_of(ways.begin(), ways.end(), fits)) {
    for (const auto* prefix : prefixes_of(beginning)) try_after(prefix);
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.is_better_than(b); });
  const auto rest = std::find_if_not(ways.begin(), ways.end(), fits);
  if (rest != ways.begin()) ways.erase(rest, ways.end());
  return ways;
}

/// The first column of a CSV that is a time in the line after the header; empty if none is.
std::string time_column(const Beginning& beginning) {
  constexpr std::size_t kLongest = 2'000;  // the whole header is read for each of its columns
  std::string storage;
  auto rest = beginning.lines;
  const auto header = take_until(rest, "\n"), line = take_until(rest, "\n");
  for (auto names = header.size() > kLongest ? std::string_view() : header; !names.empty();) {
    auto name = trimmed(take_until(names, ",;\t|\r"));
    if (name.size() > 1 && name.starts_with('"')) name = name.substr(1, name.size() - 2);
    if (name.empty()) continue;
    Entry entry;
    try {
      const std::string column(name);
      LogReader reader(formats_of("csv", storage).front(), nullptr,
                       {.time = column, .key = column});
      reader.read(header, entry);
      const bool is_read = reader.read(line, entry) == LineKind::kRequest;
      // Not a small number that was read as a time.
      if (is_read && entry.at > std::chrono::years{20}) return column;
    } catch (const UsageError&) {  // the name is not that of a whole column
    }
  }
  return {};
}

[[noreturn]] void unknown(const Beginning& beginning, const std::vector<Way>& ways) {
  constexpr const char* kGeneral =
      "--format takes nginx's log_format, such as '$remote_addr [$time_local] $any'; --fields "
      "time=NAME,key=NAME names fields, and cost= counts each request as 1; rlctl burst --formats "
      "lists the formats with a name";
  auto rest = beginning.lines;
  const auto first = take_until(rest, "\n");
  if (ways.empty() || (ways.front().found == 0 && ways.front().requests == 0)) {
    const auto time = time_column(beginning);
    const bool is_header =
        !time.empty() || (first.find(',') != first.npos && std::ranges::none_of(first, is_digit));
    throw InputError(
        fmt::format("{}:{}: this is in none of the known formats: {}", beginning.name,
                    beginning.line, quoted(first, kShownLine)),
        is_header ? "for a CSV: --format csv --fields " +
                        shell_quoted(fmt::format("time={},key=NAME", time.empty() ? "NAME" : time))
                  : kGeneral);
  }
  const auto& nearest = ways.front();
  const auto& name = nearest.format->name;
  const auto reads = nearest.plausible == 0 ? std::string()
                                            : fmt::format(" and reads {} of {}", nearest.plausible,
                                                          counted(nearest.lines, "line"));
  const bool is_named = nearest.format->format.starts_with('{');
  auto hint = nearest.plausible > 0
                  ? fmt::format("--format {} leaves out what it does not read", name)
              : is_named             ? "--fields time=NAME,key=NAME names the fields"
              : nearest.requests > 0 ? fmt::format("--format {} takes the keys as they are", name)
                                     : kGeneral;
  throw InputError(
      fmt::format("{}:{}: this is in none of the known formats; {} is nearest{}, but {}: {}",
                  beginning.name, nearest.bad_line, name, reads, nearest.why,
                  quoted(nearest.bad_text, kShownLine)),
      std::move(hint));
}

[[noreturn]] void ambiguous(const Beginning& beginning, const LogFormat& one,
                            const LogFormat& other) {
  auto rest = beginning.lines;
  throw InputError(
      fmt::format("{}:{}: this may be in the format {} or {}, which take different keys from it: "
                  "{}",
                  beginning.name, beginning.line, one.name, other.name,
                  quoted(take_until(rest, "\n"), kShownLine)),
      fmt::format("--format {}, or --format {}", one.name, other.name));
}

}  // namespace

LogReader recognize(const Beginning& beginning, const std::optional<std::string>& format,
                    const FieldOptions& fields) {
  const auto reader = [&](const Way& way) { return LogReader(*way.format, way.prefix, fields); };
  if (format) {
    std::string text;
    const auto chosen = formats_of(*format, text);
    const auto ways = ways_of(chosen, beginning, fields);
    return !ways.empty() && ways.front().requests > 0 ? reader(ways.front())
                                                      : LogReader(chosen.front(), nullptr, fields);
  }
  const auto formats = whole_formats();
  const auto ways = ways_of(formats, beginning, fields);
  for (const auto& way : ways) {
    if (way.lines == 0) return reader(way);  // comments and headers only
  }
  if (!ways.empty() && ways.front().fits()) {
    const auto& best = ways.front();
    for (const auto& way : ways) {
      const bool is_variant = way.format->name == best.format->name;
      if (!is_variant && way.hash != best.hash) ambiguous(beginning, *best.format, *way.format);
    }
    return reader(best);
  }
  if (fields.any()) {
    // Then the error is about the fields that the log does not have.
    const auto without = ways_of(formats, beginning, {});
    if (!without.empty() && without.front().fits()) return reader(without.front());
  }
  unknown(beginning, ways);
}

}  // namespace rlctl::replay
