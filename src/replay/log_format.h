#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  /// The field of the cost holds the time for which a lease was held, in this unit; Entry::cost is
  /// then in whole ms, rounded up.
  std::optional<microseconds> cost_unit = {};

  bool operator==(const FieldOptions&) const = default;
  bool any() const { return time || key || cost; }
  bool has_cost() const { return cost && !cost->empty() && !has_hold(); }
  bool has_hold() const { return cost_unit.has_value(); }
};

/// A row of the table of formats, formats.txt, or a format of the user.
struct LogFormat {
  std::string_view name = {};
  std::string_view format = {};   ///< in the language of nginx's log_format
  std::string_view example = {};  ///< a line, perhaps after others without which it cannot be read

  /// What comes before each line of another format.
  bool is_prefix() const { return format.find("$message") != format.npos; }
};

/// All formats of the table, in its order. Rows with the same name are variants of one format.
std::span<const LogFormat> log_formats();
/// The names of the formats that are not prefixes, each once.
std::vector<std::string_view> log_format_names();
/// Throws UsageError unless --format may have this value with these fields: a name, nginx's
/// log_format or Apache's LogFormat.
void require_format(const std::string& format, const FieldOptions& fields);

class FieldReader;

/// Reads the requests of one file. An earlier line (a header) may affect later ones.
class LogReader {
 public:
  /// In bytes. A longer key is not an address, name or path, and each key is held in memory.
  static constexpr std::size_t kMaxKey = std::size_t{64} << 10;

  /// Reads lines of a format, after this prefix unless it is null. Throws UsageError if the format
  /// is wrong, or has no such fields.
  LogReader(const LogFormat& format, const LogFormat* prefix, const FieldOptions& fields);
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;

  /// A line that is neither blank nor too long. A request's time and cost are in the ranges of the
  /// script contract, and its key is not empty: of a list of addresses the first, without its port
  /// and in one spelling, unless the field is called key. Throws InputError if no later line can be
  /// read either.
  LineKind read(std::string_view line, Entry& entry);
  /// Why the last line was bad: "it has no time", raw.
  const std::string& why() const noexcept { return why_; }
  /// Whether nothing but what the format says stands in the places of a request's time and key: an
  /// address is the key, unless another field was chosen or it is called key.
  bool is_plausible(const Entry& entry) const;

  /// A cost that was asked for, and that no line had, in quotes; empty: none.
  std::string never_found() const;
  /// The name of the field that holds the key; empty if no line was read.
  std::string_view key_field() const;
  const std::string& format() const noexcept { return format_; }
  /// The name of the prefix; empty: none.
  const std::string& prefix() const noexcept { return prefix_; }
  /// How much was in its place in the last line, to find the format that is nearest: 2 time and
  /// key, 1 names of fields.
  int found();
  /// The format is a prefix, and the last line had something after it.
  bool has_message() const;

 private:
  struct Stage;

  LineKind bad(std::string why);
  LineKind read_request(Entry& entry);

  std::vector<Stage> stages_;  ///< the prefix, then the format
  std::string format_, prefix_;
  FieldOptions fields_;
  bool has_cost_ = false, keeps_keys_ = false;
  std::string address_;
  std::string why_;
};

/// The beginning of a file.
struct Beginning {
  std::string_view name = {};  ///< of the file, for messages
  std::int64_t line = 1;       ///< the number of its first line
  std::string_view lines = {};
};

/// How to read a file: in the only format that reads nearly all of these lines, with an address or
/// the chosen key in the key's place and a time in the time's, perhaps after a prefix; or in the
/// `format` that the user gave, if any, perhaps after a prefix. Throws InputError if no format or
/// several do, with the nearest, and the first line that it does not read.
LogReader recognize(const Beginning& beginning, const std::optional<std::string>& format,
                    const FieldOptions& fields);

}  // namespace rlctl::replay
