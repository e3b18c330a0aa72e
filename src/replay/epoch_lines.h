#pragma once

#include <memory>

#include "replay/log_format.h"

namespace rlctl::replay {

/// `time key [cost]`, with blanks or tabs between them; what begins with # is a comment. The time
/// may be anything that holds no blank. There are no names of fields to choose.
[[nodiscard]] std::unique_ptr<LineParser> make_epoch_parser(const FieldOptions& fields);

}  // namespace rlctl::replay
