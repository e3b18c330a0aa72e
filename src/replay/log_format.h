#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "replay/line_reader.h"

namespace rlctl::replay {

using std::chrono::microseconds;

/// What one line of a log says.
struct Entry {
  microseconds at{0};
  std::string_view key;  ///< valid until the next line is read
  std::int64_t cost = 1;
};

enum class LineKind {
  kRequest,
  kOther,  ///< meant to be there, but no request: a comment, a header, another algorithm's decision
  kBad,
};

/// Where to find what; none: where logs usually have it.
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
  static constexpr std::int64_t kMaxCost = 1'000'000'000;

  virtual ~LineParser() = default;

  /// `line` is what `lines` gave last and is not blank; further lines are taken where it goes on in
  /// them. A request's time is from 0 to 4e15 µs, its cost from 1 to kMaxCost, its key not empty.
  /// Throws InputError where no later line can be read either.
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

/// One format: a row of the table in log_format.cc.
struct LogFormat {
  std::string_view name;     ///< as it is typed
  std::string_view summary;  ///< a few words for --help
  /// Throws UsageError where it has no such fields.
  std::unique_ptr<LineParser> (*make_parser)(const FieldOptions& fields) = nullptr;
};

/// Every format; where a log could be of several, it is of the first.
[[nodiscard]] std::span<const LogFormat> log_formats();
/// Null where there is none of that name.
[[nodiscard]] const LogFormat* find_log_format(std::string_view name);

/// The format in which most of these lines can be read, null where it is none: the beginning of a
/// file, whole lines. Where nothing can be read with these fields, as if none were given: what is
/// wrong with them is said when they are used.
[[nodiscard]] const LogFormat* recognise(std::string_view beginning, const FieldOptions& fields);

/// The whole number of a cost; none where that is not one.
[[nodiscard]] std::optional<std::int64_t> read_cost(std::string_view text) noexcept;

}  // namespace rlctl::replay
