#pragma once

#include <memory>

#include "replay/log_format.h"

namespace rlctl::replay {

/// A JSON object a line. Fields that were not chosen are those of the first line in which a time
/// and a key are found under a usual name. A number that is a key counts as its text. Bytes that
/// are not UTF-8, which some servers write all the same, become the text \xNN.
///
/// In what `rlctl burst --jsonl` wrote, which has each request once for each algorithm, the
/// decisions of the algorithm that is named first count, and the others are skipped.
[[nodiscard]] std::unique_ptr<LineParser> make_json_lines_parser(const FieldOptions& fields);

}  // namespace rlctl::replay
