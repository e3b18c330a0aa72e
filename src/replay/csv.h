#pragma once

#include <memory>

#include "replay/log_format.h"

namespace rlctl::replay {

/// Records as in RFC 4180, the first of them a header with the names of the fields; between fields
/// the one of comma, semicolon, tab and bar that the header has most of. A field may stand in
/// quotes, a quote in it doubled, and then hold separators and line ends. Where quotes do not end
/// within 64 lines, the line in which they begin is bad, and reading goes on behind it. Throws
/// InputError at a header without a time or a key.
[[nodiscard]] std::unique_ptr<LineParser> make_csv_parser(const FieldOptions& fields);

}  // namespace rlctl::replay
