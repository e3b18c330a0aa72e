#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "replay/line_splitter.h"

namespace rlctl::replay {

using std::chrono::microseconds;

/// A request from one line of a log.
struct Entry {
  microseconds at{0};
  std::string_view key;  ///< valid until the next line is read
  std::int64_t cost = 1;
};

enum class LineKind {
  kRequest,
  kOther,  ///< valid, but not a request: a comment, a header, another algorithm's decision
  kBad,
};

/// The names of the fields; none: the usual ones.
struct FieldOptions {
  std::optional<std::string> time = {}, key = {};
  std::optional<std::string> cost = {};  ///< empty: no such field, each request costs 1

  bool operator==(const FieldOptions&) const = default;
  bool any() const { return time || key || cost; }
  bool has_cost() const { return cost && !cost->empty(); }
};

/// Parses the lines of one file, in order; an earlier line (a header) may affect later ones.
class LineParser {
 public:
  /// In bytes. A longer key is not an address, name or path, and each key is held in memory.
  static constexpr std::size_t kMaxKey = std::size_t{64} << 10;

  virtual ~LineParser() = default;

  /// `line` is the last line taken from `lines`, and neither blank nor too long; if it continues on
  /// further lines, those are taken too. A request's time and cost are in the ranges of the script
  /// contract, and its key is not empty. Throws InputError if no later line can be parsed either.
  LineKind read(LineSplitter& lines, LineSplitter::Line& line, Entry& entry);

  /// A requested field that no line had, in quotes; empty: none. If a header names the fields,
  /// read() has reported it already.
  virtual std::string never_found() const { return {}; }

  /// Why the last line was bad: "no time", raw.
  const std::string& why() const noexcept { return why_; }

 protected:
  /// The same as read(), without checking the ranges.
  virtual LineKind parse(LineSplitter& lines, LineSplitter::Line& line, Entry& entry) = 0;

  /// Sets why() and returns kBad, for convenience.
  LineKind bad(std::string_view why);
  /// The same, about a value: "the time 'x' cannot be read".
  LineKind bad(std::string_view before, std::string_view value, std::string_view after);
  /// The same, about a time or a cost that cannot be read.
  LineKind bad_time(std::string_view value);
  LineKind bad_cost(std::string_view value);

 private:
  std::string why_;
};

// The parsers, for the table of log_formats().

/// The common log format, `address ident user [time] "request" status bytes`, and the combined one,
/// which appends `"referer" "user agent"`; also with `host:port` before the address, as in Apache's
/// vhost_combined. Only the address and the time are required, and the key if it is another field.
/// The key is the address, or one of: user, method, path (of the request, without its query),
/// referer, useragent, all as written in the log, escapes included.
std::unique_ptr<LineParser> make_combined_parser(const FieldOptions& fields);

/// Records as in RFC 4180. The first is a header with the field names; the separator is whichever
/// of comma, semicolon, tab and bar is most frequent in it. A field may be quoted, with inner
/// quotes doubled, and may then contain separators and line ends. If quotes are not closed within
/// 64 lines and 1 MiB, the line that opens them is bad, and reading continues after it. Throws
/// InputError for a header without a time or a key.
std::unique_ptr<LineParser> make_csv_parser(const FieldOptions& fields);

/// `time key [cost]`, separated by blanks or tabs; lines that begin with # are comments. The time
/// may be any text without blanks. The fields have no names to choose.
std::unique_ptr<LineParser> make_epoch_parser(const FieldOptions& fields);

/// One JSON object per line. Fields that were not chosen are those of the first line in which a
/// time and a key have a usual name. A number as a key counts as its text. Bytes that are not
/// UTF-8, which some servers write, become the text \xNN.
///
/// In the output of `rlctl burst --jsonl`, which has each request once per algorithm, only the
/// decisions of the first algorithm named count.
std::unique_ptr<LineParser> make_json_lines_parser(const FieldOptions& fields);

/// One format: a row of the table in log_format.cc.
struct LogFormat {
  std::string_view name;     ///< as the user types it
  std::string_view summary;  ///< a few words for --help
  /// Throws UsageError if the format has no such fields.
  std::unique_ptr<LineParser> (*make_parser)(const FieldOptions& fields) = nullptr;
};

/// All formats. A log that fits several is taken to be the first of them.
std::span<const LogFormat> log_formats();
/// Null if no format has that name.
const LogFormat* find_log_format(std::string_view name);

/// The format that fits most of the first lines of a file; null if none fits. If nothing can be
/// parsed with these fields, they are ignored: errors in them are reported when they are used.
const LogFormat* recognize(std::string_view beginning, const FieldOptions& fields);

/// A cost, a whole number; none if the text is not one.
std::optional<std::int64_t> read_cost(std::string_view text) noexcept;

}  // namespace rlctl::replay
