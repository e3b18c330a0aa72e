#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "replay/input.h"

namespace rlctl::replay {

using std::chrono::microseconds;

/// The request in one line of a log.
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

/// The names of the fields; by default the usual ones.
struct FieldOptions {
  std::optional<std::string> time = {}, key = {};
  std::optional<std::string> cost = {};  ///< empty: there is none, each request costs 1

  bool operator==(const FieldOptions&) const = default;
  [[nodiscard]] bool any() const { return time || key || cost; }
  [[nodiscard]] bool has_cost() const { return cost && !cost->empty(); }
};

/// Reads the lines of one file, in their order; what an earlier line said (a header) may count for
/// later ones.
class LineParser {
 public:
  /// In bytes. Longer keys are no addresses, names or paths, and each is held in memory.
  static constexpr std::size_t kMaxKey = std::size_t{64} << 10;

  virtual ~LineParser() = default;

  /// `line` is what `lines` gave last and is not blank; further lines are taken where it goes on in
  /// them. A request's time and cost are in the ranges of the script contract, its key not empty.
  /// Throws InputError if no later line can be read either.
  [[nodiscard]] LineKind read(LineReader& lines, LineReader::Line& line, Entry& entry);

  /// A field that was asked for and that none of the lines had, in quotes; empty: none. Where a
  /// header says which fields there are, read() has said so.
  [[nodiscard]] virtual std::string never_found() const { return {}; }

  /// Why the line read last was bad: "no time", raw.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 protected:
  /// The same, without looking at the ranges.
  virtual LineKind parse(LineReader& lines, LineReader::Line& line, Entry& entry) = 0;

  /// Returns kBad, for the sake of its callers.
  LineKind bad(std::string_view why);
  /// The same, about a value: "the time 'x' cannot be read".
  LineKind bad(std::string_view before, std::string_view value, std::string_view after);

 private:
  std::string why_;
};

// The formats, for the table of log_formats().

/// The common log format, `address ident user [time] "request" status bytes`, and the combined one,
/// which has `"referer" "user agent"` after it; also with `host:port` before the address, as
/// Apache's vhost_combined. Only the address and the time need be there; where the key is something
/// else, that too. The key is the address, or one of: user, method, path (of the request, without
/// its query), referer, useragent, all as they stand in the log, escapes included.
[[nodiscard]] std::unique_ptr<LineParser> make_combined_parser(const FieldOptions& fields);

/// Records as in RFC 4180, the first of them a header with the names of the fields; between fields
/// the one of comma, semicolon, tab and bar that the header has most of. A field may stand in
/// quotes, a quote in it doubled, and then hold separators and line ends. Where quotes do not end
/// within 64 lines, the line in which they begin is bad, and reading goes on after it. Throws
/// InputError at a header without a time or a key.
[[nodiscard]] std::unique_ptr<LineParser> make_csv_parser(const FieldOptions& fields);

/// `time key [cost]`, with blanks or tabs between them; what begins with # is a comment. The time
/// may be anything that holds no blank. There are no names of fields to choose.
[[nodiscard]] std::unique_ptr<LineParser> make_epoch_parser(const FieldOptions& fields);

/// A JSON object a line. Fields that were not chosen are those of the first line in which a time
/// and a key are found under a usual name. A number that is a key counts as its text. Bytes that
/// are not UTF-8, which some servers write all the same, become the text \xNN.
///
/// In what `rlctl burst --jsonl` wrote, which has each request once for each algorithm, the
/// decisions of the algorithm that is named first count, and the others are skipped.
[[nodiscard]] std::unique_ptr<LineParser> make_json_lines_parser(const FieldOptions& fields);

/// One format: a row of the table in log_format.cc.
struct LogFormat {
  std::string_view name;     ///< as it is typed
  std::string_view summary;  ///< a few words for --help
  /// Throws UsageError if it has no such fields.
  std::unique_ptr<LineParser> (*make_parser)(const FieldOptions& fields) = nullptr;
};

/// Every format. A log that fits several is taken to be of the first.
[[nodiscard]] std::span<const LogFormat> log_formats();
/// Null if there is none of that name.
[[nodiscard]] const LogFormat* find_log_format(std::string_view name);

/// The format that fits most of the lines at the beginning of a file; null if none fits. If nothing
/// can be read with these fields, they are ignored: their errors are reported when they are used.
[[nodiscard]] const LogFormat* recognise(std::string_view beginning, const FieldOptions& fields);

/// A cost, a whole number; none if the text is not one.
[[nodiscard]] std::optional<std::int64_t> read_cost(std::string_view text) noexcept;

}  // namespace rlctl::replay
