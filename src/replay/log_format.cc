#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/table.h"
#include "limiter/limit.h"
#include "replay/time_text.h"

namespace rlctl::replay {
namespace {

/// In bytes: "1700000000". A shorter number in brackets is a process ID.
constexpr std::size_t kShortestTime = 10;

/// A line, split at its time.
struct Cut {
  std::string_view forwarded;  ///< the client, if a list of addresses comes first
  std::string_view head;       ///< address, ident, user
  std::string_view tail;       ///< the request and what follows
};

/// Takes a quoted text from the front of `rest`, up to the next quote that is not escaped by a
/// backslash. If there is none, it takes the rest.
std::string_view take_quoted(std::string_view& rest) {
  std::size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2U : 1U;
  end = std::min(end, rest.size());
  const auto text = rest.substr(1, end - 1);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return text;
}

/// Takes the next quoted text of a tail.
std::optional<std::string_view> next_quoted(std::string_view& rest) {
  const auto begin = rest.find('"');
  if (begin == rest.npos) return std::nullopt;
  rest.remove_prefix(begin);
  return take_quoted(rest);
}

std::optional<std::string_view> quoted(const Cut& cut, int number) {
  auto rest = cut.tail;
  for (; number > 0; --number) {
    if (!next_quoted(rest)) return std::nullopt;
  }
  return next_quoted(rest);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

/// 203.0.113.7, 2001:db8::1
bool is_address(std::string_view word) {
  const auto is_of = [&](std::string_view digits, char separator, std::ptrdiff_t at_least) {
    return word.find_first_not_of(digits) == word.npos &&
           std::count(word.begin(), word.end(), separator) >= at_least;
  };
  return is_of("0123456789.", '.', 3) || is_of("0123456789abcdefABCDEF:.", ':', 2);
}

/// "www.example.com:80 203.0.113.7 - ann": Apache's vhost_combined puts the server name first,
/// other logs omit its port. In contrast, an address with a port is followed by "-" or a name, and
/// the line has one word less.
bool begins_with_host(std::string_view head) {
  const auto host = first_word(head);
  if (host.size() == head.size()) return false;
  const auto second = first_word(head.substr(host.size() + 1));
  if (is_address(second)) return !is_address(host);
  if (std::count(head.begin(), head.end(), ' ') != 3) return false;
  const auto colon = host.find(':');
  if (colon == host.npos || colon + 1 == host.size()) return false;
  if (host.find_first_not_of("0123456789", colon + 1) != host.npos) return false;
  return !second.starts_with('-');
}

/// "203.0.113.7, 10.0.0.1 - ann": the value of X-Forwarded-For comes first, the client before the
/// proxies. Leaves the last of them.
void take_forwarded(Cut& cut) {
  for (auto word = first_word(cut.head); word.ends_with(','); word = first_word(cut.head)) {
    if (cut.forwarded.empty()) cut.forwarded = word.substr(0, word.size() - 1);
    cut.head.remove_prefix(std::min(word.size() + 1, cut.head.size()));
  }
}

std::optional<std::string_view> address_of(const Cut& cut) {
  if (!cut.forwarded.empty()) return cut.forwarded;
  const auto first = first_word(cut.head);
  return begins_with_host(cut.head) ? first_word(cut.head.substr(first.size() + 1)) : first;
}

std::optional<std::string_view> user_of(const Cut& cut) {
  auto rest = cut.head;
  for (int skip = begins_with_host(cut.head) ? 3 : 2; skip > 0; --skip) {
    const auto blank = rest.find(' ');
    if (blank == rest.npos) return std::nullopt;
    rest.remove_prefix(blank + 1);
  }
  return rest.starts_with('"') ? take_quoted(rest) : rest;
}

std::optional<std::string_view> method_of(const Cut& cut) {
  const auto request = quoted(cut, 0);
  return request ? std::optional(first_word(*request)) : std::nullopt;
}

/// A path may contain unescaped blanks: it ends where the protocol begins.
std::optional<std::string_view> path_of(const Cut& cut) {
  const auto request = quoted(cut, 0);
  const auto blank = request ? request->find(' ') : std::string_view::npos;
  if (blank == std::string_view::npos) return std::nullopt;
  auto path = request->substr(blank + 1);
  path = path.substr(0, path.rfind(" HTTP/"));
  return path.substr(0, path.find('?'));
}

std::optional<std::string_view> referer_of(const Cut& cut) {
  return quoted(cut, 1);
}

std::optional<std::string_view> user_agent_of(const Cut& cut) {
  return quoted(cut, 2);
}

struct KeyField {
  std::string_view name;
  std::optional<std::string_view> (*of)(const Cut& cut);
};

constexpr std::array kKeyFields{
    KeyField{"address", address_of}, KeyField{"user", user_of},
    KeyField{"method", method_of},   KeyField{"path", path_of},
    KeyField{"referer", referer_of}, KeyField{"useragent", user_agent_of},
};

const KeyField& key_field(const FieldOptions& fields) {
  if (!fields.key) return kKeyFields.front();
  std::string names;
  for (const auto& field : kKeyFields) {
    if (field.name == *fields.key) return field;
    names.append(names.empty() ? "" : ", ").append(field.name);
  }
  throw UsageError(
      fmt::format("key field '{}' is not one of a combined log; it has: {}", *fields.key, names));
}

class CombinedParser final : public LineParser {
 public:
  explicit CombinedParser(const KeyField& field) : field_(field) {}

 private:
  LineKind parse(LineSplitter&, LineSplitter::Line& line, Entry& entry) override {
    const auto text = line.text;
    auto blank = text.find(' ');
    if (blank == text.npos || blank == 0) return bad("it has no address");
    Cut cut;
    if (!cut_at_time(text, blank, cut, entry.at)) {
      // The user may be in quotes, which may contain brackets.
      const auto quote = text.find(" \"", blank);
      if (quote == text.npos) return bad("it has no time in brackets that can be read");
      auto rest = text.substr(quote + 1);
      (void)take_quoted(rest);
      const auto behind = text.size() - rest.size();
      if (!cut_at_time(text, behind, cut, entry.at)) {
        return bad("it has no time in brackets that can be read");
      }
    }
    const auto key = field_.of(cut);
    if (!key) return bad(fmt::format("it has no {}", field_.name));
    entry.key = *key;
    return LineKind::kRequest;
  }

  /// The time is in brackets, before the request; a user name may also contain brackets.
  bool cut_at_time(std::string_view line, std::size_t from, Cut& cut, microseconds& at) {
    for (auto open = line.find('[', from); open != line.npos; open = line.find('[', open + 1)) {
      const auto close = line.find(']', open);
      if (close == line.npos || line.substr(from, open - from).find('"') != line.npos) return false;
      const auto text = line.substr(open + 1, close - open - 1);
      const auto time = text.size() < kShortestTime ? std::nullopt : times_.read(text);
      if (!time) continue;
      at = *time;
      cut.head = line.substr(0, open);
      while (cut.head.ends_with(' ')) cut.head.remove_suffix(1);
      cut.tail = line.substr(close + 1);
      take_forwarded(cut);
      return true;
    }
    return false;
  }

  const KeyField& field_;
  TimeReader times_;
};

}  // namespace

std::unique_ptr<LineParser> make_combined_parser(const FieldOptions& fields) {
  if (fields.time) {
    throw UsageError(
        fmt::format("time field '{}' cannot be chosen: a combined log has its time in one place",
                    *fields.time));
  }
  if (fields.has_cost()) {
    throw UsageError(
        fmt::format("cost field '{}' cannot be chosen: a combined log has no costs", *fields.cost));
  }
  return std::make_unique<CombinedParser>(key_field(fields));
}

namespace {

constexpr std::string_view kBlanks = " \t";

/// Takes the next word; empty at the end.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const auto word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

class EpochParser final : public LineParser {
 private:
  LineKind parse(LineSplitter&, LineSplitter::Line& line, Entry& entry) override {
    auto rest = line.text;
    const auto time = next_word(rest);
    if (time.starts_with('#')) return LineKind::kOther;
    const auto at = times_.read(time);
    if (!at) return bad_time(time);
    entry.at = *at;
    entry.key = next_word(rest);
    if (entry.key.empty()) return bad("it has no key");
    if (const auto word = next_word(rest); !word.empty()) {
      const auto cost = read_cost(word);
      if (!cost) return bad_cost(word);
      entry.cost = *cost;
    }
    if (!next_word(rest).empty()) return bad("it has more than a time, a key and a cost");
    return LineKind::kRequest;
  }

  TimeReader times_;
};

}  // namespace

std::unique_ptr<LineParser> make_epoch_parser(const FieldOptions& fields) {
  for (const auto& field : {fields.time, fields.key, fields.cost}) {
    if (!field || field->empty()) continue;
    throw UsageError(fmt::format(
        "field '{}' cannot be chosen: the lines of an epoch log are 'time key [cost]'", *field));
  }
  return std::make_unique<EpochParser>();
}

namespace {

constexpr std::size_t kShownValue = 64;  // bytes

constexpr std::array kFormats{
    LogFormat{.name = "combined",
              .summary = "what Apache and nginx write; also the common log format",
              .make_parser = make_combined_parser},
    LogFormat{.name = "jsonl",
              .summary = "one JSON object per line",
              .make_parser = make_json_lines_parser},
    LogFormat{.name = "csv",
              .summary = "with a header; commas, semicolons, tabs or bars",
              .make_parser = make_csv_parser},
    LogFormat{
        .name = "epoch", .summary = "lines of: time key [cost]", .make_parser = make_epoch_parser},
};

/// How well a format fits: by requests, then by other lines that are not bad.
struct Fit {
  std::int64_t requests = 0, other = 0;

  bool better_than(const Fit& that) const {
    return requests != that.requests ? requests > that.requests : other > that.other;
  }
};

Fit fit_of(const LogFormat& format, std::string_view beginning, const FieldOptions& fields) {
  Fit fit;
  MemorySource source(beginning);
  LineSplitter lines(source, {});
  LineSplitter::Line line;
  Entry entry;
  try {
    const auto parser = format.make_parser(fields);
    while (lines.next(line)) {
      if (is_blank(line.text)) continue;
      const auto kind = parser->read(lines, line, entry);
      if (kind == LineKind::kRequest) ++fit.requests;
      if (kind == LineKind::kOther) ++fit.other;
    }
  } catch (const UsageError&) {
    // The format has no such fields, or the log lacks the required header.
  }
  return fit;
}

const LogFormat* best_fit(std::string_view beginning, const FieldOptions& fields) {
  const LogFormat* best = nullptr;
  Fit best_fit;
  for (const auto& format : kFormats) {
    const auto fit = fit_of(format, beginning, fields);
    if (!fit.better_than(best_fit)) continue;
    best = &format;
    best_fit = fit;
  }
  return best;
}

}  // namespace

LineKind LineParser::bad(std::string_view why) {
  why_ = why;
  return LineKind::kBad;
}

LineKind LineParser::bad(std::string_view before, std::string_view value, std::string_view after) {
  why_ = before;
  why_.append(" '").append(value.substr(0, kShownValue));
  if (value.size() > kShownValue) why_ += "...";
  why_.append("' ").append(after);
  return LineKind::kBad;
}

LineKind LineParser::bad_time(std::string_view value) {
  return bad("the time", value, "cannot be read");
}

LineKind LineParser::bad_cost(std::string_view value) {
  return bad("the cost", value, "is not a whole number above 0");
}

LineKind LineParser::read(LineSplitter& lines, LineSplitter::Line& line, Entry& entry) {
  entry.cost = 1;
  const auto kind = parse(lines, line, entry);
  if (kind != LineKind::kRequest) return kind;
  if (entry.at < microseconds{0} || entry.at > limiter::kLatestNow) {
    return bad(fmt::format("its time is not from 1970 to {}", format_instant(limiter::kLatestNow)));
  }
  if (entry.key.empty()) return bad("its key is empty");
  if (entry.key.size() > kMaxKey) {
    return bad(fmt::format("its key is longer than {} KB", kMaxKey >> 10));
  }
  if (entry.cost < 1 || entry.cost > limiter::kLargestCost) {
    return bad(fmt::format("its cost is not from 1 to {}", limiter::kLargestCost));
  }
  return kind;
}

std::span<const LogFormat> log_formats() {
  return kFormats;
}

const LogFormat* find_log_format(std::string_view name) {
  return find_by_name(kFormats, name);
}

const LogFormat* recognize(std::string_view beginning, const FieldOptions& fields) {
  const auto* format = best_fit(beginning, fields);
  return format == nullptr && fields.any() ? best_fit(beginning, {}) : format;
}

std::optional<std::int64_t> read_cost(std::string_view text) noexcept {
  constexpr std::size_t kMaxDigits = 18;
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  std::int64_t cost = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    cost = cost * 10 + (c - '0');
  }
  return cost;
}

}  // namespace rlctl::replay
