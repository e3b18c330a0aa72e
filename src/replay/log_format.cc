#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

std::string_view take_line(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// The rows of formats.txt.
std::vector<LogFormat> read_table() {
  std::vector<LogFormat> formats;
  std::string_view rest(embedded::k_formats_txt.text);
  for (auto end = rest.find("\n\n"); end != rest.npos; end = rest.find("\n\n")) {
    rest.remove_prefix(end + 2);  // the first paragraph explains
    auto row = rest.substr(0, rest.find("\n\n"));
    if (row.ends_with('\n')) row.remove_suffix(1);
    LogFormat format;
    format.name = take_line(row);
    format.format = take_line(row);
    format.example = row;
    formats.push_back(format);
  }
  return formats;
}

/// nginx's variables that a log may have, and what stands for others.
constexpr std::string_view kVariables =
    "any message time date timestamp key cost arg_* args binary_remote_addr body_bytes_sent "
    "bytes_received "
    "bytes_sent connection* content_length content_type cookie_* date_gmt date_local document_root "
    "document_uri fastcgi_* geoip* gzip_ratio host hostname http_* http2 http3 https is_args jwt_* "
    "limit_conn_status limit_rate limit_req_status msec nginx_version pid pipe protocol proxy_* "
    "query_string realip_* realpath_root remote_addr remote_port remote_user request request_body "
    "request_body_file request_completion request_filename request_id request_length "
    "request_method "
    "request_time request_uri scheme sent_http_* sent_trailer_* server_addr server_name "
    "server_port "
    "server_protocol session_* ssl_* status tcpinfo_* time_iso8601 time_local uid_* upstream_* uri";

/// Whether a format of the table has this variable.
bool is_of_table(std::string_view name) {
  for (const auto& row : log_formats()) {
    for (auto rest = row.format; !rest.empty();) {
      const auto variable = take_variable(rest);
      if (variable == name) return true;
      if (variable.empty()) rest.remove_prefix(1);
    }
  }
  return false;
}

void require_known_variables(std::string_view format) {
  while (!format.empty()) {
    const auto name = take_variable(format);
    if (!name.empty() && !lists(kVariables, name) && !is_of_table(name)) {
      throw UsageError(fmt::format("'${}' is not a variable of nginx", name),
                       "write $any for one of your own that does not matter here");
    }
    if (name.empty()) format.remove_prefix(1);
  }
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

using Prefixes = std::vector<const LogFormat*>;

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
  require_known_variables(text);
  return {{.name = typed, .format = text}};
}

}  // namespace

void require_format(const std::string& format, const FieldOptions& fields) {
  std::string text;
  const LogReader reader(formats_of(format, text).front(), {}, fields);
}

// ---- Lines ----

namespace {

/// The first of a list of addresses, without its port, in the one spelling if it has several. Any
/// other text unchanged.
std::string_view without_port(std::string_view text, std::string& storage) {
  const auto is_plain = [](char c) { return is_digit(c) || c == '.'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  auto first = text.substr(0, text.find(','));
  while (first.ends_with(' ')) first.remove_suffix(1);
  const auto colon = first.find(':');
  const bool is_port = colon != first.npos && first.find(':', colon + 1) == first.npos;
  const bool is_mapped = contains_in_any_case(first.substr(0, 7), "::ffff:");
  const bool has_more = first.size() < text.size() || first.find('%') != first.npos;
  if (!is_port && !is_mapped && !has_more && !first.starts_with('[')) return text;
  const auto address = client_network(first, kIpv6Bits);
  if (!address) return text;
  storage = address->substr(0, address->find('/'));
  return storage;
}

std::string_view without_blanks(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

/// A cost, a whole number; 0 if the text is not one.
std::int64_t read_cost(std::string_view text) noexcept {
  constexpr std::size_t kMaxDigits = 18;
  if (!is_digits(text) || text.size() > kMaxDigits) return 0;
  return bounded_value(text, limiter::kLargestCost);
}

/// A part of a line, or a whole one, for messages.
std::string quoted(std::string_view text, std::size_t longest = 64) {
  return fmt::format("'{}{}'", text.substr(0, longest), text.size() > longest ? "..." : "");
}

}  // namespace

/// A reader, and what it found in the last line.
struct LogReader::Stage {
  Stage(std::string_view format, const FieldOptions& fields)
      : reader(make_reader(format, fields)), is_named(format.starts_with('{')) {}

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
  bool is_named;
  Values values = {};
  std::string joined = {};
  TimeReader times = TimeReader();  ///< whose unit is that of the field
  bool is_settled = false;
};

LogReader::LogReader(const LogFormat& format, std::span<const LogFormat* const> prefixes,
                     const FieldOptions& fields)
    : format_(format.name), fields_(fields) {
  for (const auto* prefix : prefixes) {
    stages_.emplace_back(prefix->format, FieldOptions{});
    prefix_.append(prefix_.empty() ? "" : " ").append(prefix->name);
  }
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
    if (stage.values[kMessage]) line = without_blanks(*stage.values[kMessage]);
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
  if (values[kCost]) {
    has_cost_ = true;
    entry.cost = read_cost(*values[kCost]);
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
  if (!fields_.key) return client_network(entry.key, kIpv6Bits).has_value();
  const auto& address = stage.values[kAddress];
  std::string storage;
  return !address || client_network(without_port(*address, storage), kIpv6Bits).has_value();
}

std::string LogReader::never_found() const {
  return fields_.has_cost() && !has_cost_ ? "'" + *fields_.cost + "'" : std::string();
}

std::string_view LogReader::key_field() const {
  return stages_.back().reader->name(kKey);
}

std::size_t LogReader::progress() {
  auto& stage = stages_.back();
  const auto& key = stage.values[kKey];
  std::string_view text;
  std::string storage;
  const bool has_time = !stage.values[kTime] || stage.time(text);
  const bool has_key =
      key && (fields_.key || client_network(without_port(*key, storage), kIpv6Bits));
  return stage.is_named || (has_time && has_key) ? stage.reader->progress() : 0;
}

bool LogReader::has_message() const {
  return stages_.back().values[kMessage].has_value();
}

// ---- Recognizing ----

namespace {

/// Nearly all lines: at most one of so many is not read.
constexpr std::int64_t kOneOf = 10;
constexpr int kMostPrefixes = 2;

/// What a format makes of the beginning of a file.
struct Fit {
  std::int64_t lines = 0;     ///< but for blank ones, comments and headers
  std::int64_t messages = 0;  ///< of lines after a prefix
  std::int64_t requests = 0;
  std::int64_t plausible = 0;  ///< requests; see LogReader::is_plausible()
  std::size_t progress = 0;    ///< the most of a line that was as expected
  std::size_t hash = 0;        ///< of the times and keys
  // The first line that is not read, and why.
  std::int64_t bad_line = 0;
  std::string bad_text = {}, why = {};

  bool are_nearly_all(std::int64_t count) const {
    return lines > 0 && (lines - count) * kOneOf <= lines;
  }
  bool is_better_than(const Fit& other) const {
    if (requests == 0 && other.requests == 0) return progress > other.progress;
    return std::tie(plausible, requests) > std::tie(other.plausible, other.requests);
  }
};

/// A format after prefixes.
struct Way {
  const LogFormat* format = nullptr;
  Prefixes prefixes = {};
  Fit fit = {};
};

void add(Fit& fit, const Entry& entry, bool is_plausible) {
  ++fit.requests;
  fit.plausible += is_plausible ? 1 : 0;
  fit.hash = fit.hash * 31 + std::hash<std::string_view>{}(entry.key) +
             std::hash<std::int64_t>{}(entry.at.count());
}

/// Throws what LogReader throws.
Fit fit_of(LogReader reader, const Beginning& beginning) {
  constexpr std::int64_t kPatience = 50;
  Fit fit;
  MemorySource source(beginning.lines);
  LineSplitter lines(source, std::string(beginning.name));
  LineSplitter::Line line;
  Entry entry;
  while (lines.next(line) && (fit.lines < kPatience || fit.requests + fit.messages > 0)) {
    if (is_blank(line.text)) continue;
    const auto kind = reader.read(line.text, entry);
    if (kind == LineKind::kOther) continue;
    ++fit.lines;
    fit.messages += reader.has_message() ? 1 : 0;
    const bool is_plausible = kind == LineKind::kRequest && reader.is_plausible(entry);
    if (kind == LineKind::kRequest) add(fit, entry, is_plausible);
    fit.progress = std::max(fit.progress, reader.progress());
    if (is_plausible || fit.bad_line != 0) continue;
    fit.bad_line = beginning.line + static_cast<std::int64_t>(line.number) - 1;
    fit.bad_text = line.text;
    fit.why = kind == LineKind::kBad
                  ? reader.why()
                  : fmt::format("the key {} is not an address", quoted(entry.key));
  }
  return fit;
}

/// Tries each format after each of these prefixes.
std::vector<Way> tried(std::span<const LogFormat> formats, std::span<const Prefixes> chains,
                       const Beginning& beginning, const FieldOptions& fields) {
  std::vector<Way> ways;
  for (const auto& prefixes : chains) {
    for (const auto& format : formats) {
      try {
        ways.push_back({&format, prefixes, fit_of(LogReader(format, prefixes, fields), beginning)});
      } catch (const UsageError&) {
        // The format has no such fields, or the log lacks the required header.
      }
    }
  }
  return ways;
}

/// The prefixes that nearly all lines have after others.
std::vector<Prefixes> longer(const std::vector<Prefixes>& chains, const Beginning& beginning) {
  std::vector<Prefixes> found;
  for (const auto& prefixes : chains) {
    for (const auto& format : log_formats().subspan(whole_formats().size())) {
      const auto fit = fit_of(LogReader(format, prefixes, {}), beginning);
      if (!fit.are_nearly_all(fit.messages)) continue;
      found.push_back(prefixes);
      found.back().push_back(&format);
    }
  }
  return found;
}

bool fits(const Way& way) {
  return way.fit.are_nearly_all(way.fit.plausible);
}

/// All ways that fit, after as few prefixes as possible; if none does, all that were tried.
std::vector<Way> ways_of(std::span<const LogFormat> formats, const Beginning& beginning,
                         const FieldOptions& fields) {
  std::vector<Way> all;
  std::vector<Prefixes> chains{{}};
  for (int prefixes = 0; prefixes <= kMostPrefixes; ++prefixes) {
    auto ways = tried(formats, chains, beginning, fields);
    std::vector<Way> fitting;
    std::copy_if(ways.begin(), ways.end(), std::back_inserter(fitting), fits);
    if (!fitting.empty()) return fitting;
    std::move(ways.begin(), ways.end(), std::back_inserter(all));
    chains = longer(chains, beginning);
  }
  return all;
}

/// The best; the first of equals. Null if there is none.
const Way* best_of(const std::vector<Way>& ways) {
  const Way* best = nullptr;
  for (const auto& way : ways) {
    if (best == nullptr || way.fit.is_better_than(best->fit)) best = &way;
  }
  return best;
}

/// The format of a line as far as its first address and its first time, to try.
class Sketch {
 public:
  static std::string of(std::string_view line) {
    Sketch sketch;
    while (!line.empty() && !(sketch.has_time_ && sketch.has_address_)) sketch.take(line);
    if (!line.empty()) sketch.out_.append(1, line.front()).append("$any");
    return sketch.out_;
  }

 private:
  void take(std::string_view& rest) {
    const char c = rest.front();
    const auto close = c == '"' || c == '[' ? rest.find(c == '[' ? ']' : '"', 1) : rest.npos;
    if (close != rest.npos) {
      out_ += c;
      const auto inner = rest.substr(1, close - 1);
      out_ += is_time(inner) ? named("$time", has_time_) : word(inner);
      out_ += rest[close];
      return rest.remove_prefix(close + 1);
    }
    const auto size = rest.find_first_of(" \t|=,;");
    if (size == 0) {
      if (c != ' ' || !out_.ends_with(' ')) out_ += c;
      return rest.remove_prefix(1);
    }
    const auto clock = rest.find(' ', rest.find(' ') + 1);
    for (const auto end : {clock, rest.find(' ')}) {
      const auto text = rest.substr(0, end);
      if (has_time_ || !is_time(text)) continue;
      out_ += named(text.find(' ') == text.npos ? "$time" : "$date $time", has_time_);
      return rest.remove_prefix(text.size());
    }
    const auto text = rest.substr(0, size);
    out_ += rest.substr(text.size()).starts_with('=') ? std::string(text) : word(text);
    rest.remove_prefix(text.size());
  }

  static std::string named(std::string_view name, bool& has) {
    return std::exchange(has, true) ? "$any" : std::string(name);
  }

  std::string word(std::string_view text) {
    if (client_network(text.substr(0, text.find(',')), kIpv6Bits))
      return named("$remote_addr", has_address_);
    const bool is_text =
        std::any_of(text.begin(), text.end(), [](char c) { return c > '@' || is_digit(c); });
    return is_text ? "$any" : std::string(text);
  }

  static bool is_time(std::string_view text) {
    constexpr std::size_t kShortest = 10;  // 1795608000
    return text.size() >= kShortest && TimeReader().read(text).has_value();
  }

  std::string out_;
  bool has_time_ = false, has_address_ = false;
};

/// What to do about a line in none of the known formats; `otherwise`, if no --format is known to
/// read it.
std::string what_to_try(const std::string& line, std::string otherwise) {
  const auto sketch = Sketch::of(line);
  try {
    const LogFormat format{.name = sketch, .format = sketch};
    if (fit_of(LogReader(format, {}, {}), {.lines = line}).plausible == 0) return otherwise;
  } catch (const UsageError&) {
    return otherwise;  // it has nothing that looks like a time or an address
  }
  return fmt::format("try --format {}; rlctl burst --formats lists those with a name",
                     shell_quoted(sketch));
}

constexpr std::size_t kShownLine = 200;

[[noreturn]] void unknown(const Beginning& beginning, const Way* nearest) {
  constexpr const char* kGeneral =
      "--format takes nginx's log_format, such as '$remote_addr [$time_local] $any'; --time-field "
      "and --key-field name fields; rlctl burst --formats lists the formats with a name";
  if (nearest == nullptr || (nearest->fit.progress == 0 && nearest->fit.requests == 0)) {
    auto rest = beginning.lines;
    const std::string first(take_line(rest));
    throw InputError(fmt::format("{}:{}: this is in none of the known formats: {}", beginning.name,
                                 beginning.line, quoted(first, kShownLine)),
                     what_to_try(first, kGeneral));
  }
  const auto& [format, prefixes, fit] = *nearest;
  const auto reads = fit.plausible == 0 ? std::string()
                                        : fmt::format(" and reads {} of {}", fit.plausible,
                                                      counted(fit.lines, "line"));
  const bool is_named = format->format.starts_with('{');
  throw InputError(
      fmt::format("{}:{}: this is in none of the known formats; {} is nearest{}, but {}: {}",
                  beginning.name, fit.bad_line, format->name, reads, fit.why,
                  quoted(fit.bad_text, kShownLine)),
      fit.plausible > 0 ? fmt::format("--format {} leaves out what it does not read", format->name)
      : is_named
          ? "--time-field and --key-field name the fields"
          : what_to_try(fit.bad_text,
                        fit.requests == 0
                            ? kGeneral
                            : fmt::format("--format {} takes the keys as they are", format->name)));
}

[[noreturn]] void ambiguous(const Beginning& beginning, const Way& one, const Way& other) {
  auto rest = beginning.lines;
  throw InputError(
      fmt::format("{}:{}: this may be in the format {} or {}, which take different keys from it: "
                  "{}",
                  beginning.name, beginning.line, one.format->name, other.format->name,
                  quoted(take_line(rest), kShownLine)),
      fmt::format("--format {}, or --format {}", one.format->name, other.format->name));
}

}  // namespace

LogReader recognize(const Beginning& beginning, const std::optional<std::string>& format,
                    const FieldOptions& fields) {
  if (format) {
    std::string text;
    const auto chosen = formats_of(*format, text);
    const auto ways = ways_of(chosen, beginning, fields);
    const auto* best = best_of(ways);
    const bool is_read = best != nullptr && best->fit.requests > 0;
    return is_read ? LogReader(*best->format, best->prefixes, fields)
                   : LogReader(chosen.front(), {}, fields);
  }
  const auto formats = whole_formats();
  const auto ways = ways_of(formats, beginning, fields);
  const auto* best = best_of(ways);
  if (best != nullptr && fits(*best)) {
    for (const auto& way : ways) {
      if (way.fit.hash != best->fit.hash) ambiguous(beginning, *best, way);
    }
    return LogReader(*best->format, best->prefixes, fields);
  }
  for (const auto& way : ways) {
    // Comments and headers only.
    if (way.fit.lines == 0) return LogReader(*way.format, way.prefixes, fields);
  }
  if (fields.any()) {
    // Then the error is about the fields that the log does not have.
    const auto without = ways_of(formats, beginning, {});
    const auto* known = best_of(without);
    if (known != nullptr && fits(*known)) return LogReader(*known->format, known->prefixes, fields);
  }
  unknown(beginning, best);
}

}  // namespace rlctl::replay
