#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "limiter/limit.h"
#include "replay/time_text.h"

namespace rlctl::replay {
namespace {

constexpr std::string_view kBlanks = " \t";

/// Empty at the end.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const auto word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

class EpochParser final : public LineParser {
 private:
  LineKind parse(LineReader&, LineReader::Line& line, Entry& entry) override {
    auto rest = line.text;
    const auto time = next_word(rest);
    if (time.starts_with('#')) return LineKind::kOther;
    const auto at = times_.read(time);
    if (!at) return bad("the time", time, "cannot be read");
    entry.at = *at;
    entry.key = next_word(rest);
    if (entry.key.empty()) return bad("it has no key");
    if (const auto word = next_word(rest); !word.empty()) {
      const auto cost = read_cost(word);
      if (!cost) return bad("the cost", word, "is not a whole number above 0");
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

}  // namespace rlctl::replay
