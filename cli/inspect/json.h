#pragma once

#include <string>

#include "limiter/inspection.h"

namespace rlctl::cli {

/// Appends one JSON object and a line end. What is not known is null; "inferred" names the fields
/// that follow from an inferred window.
void append_inspection_json(std::string& out, const limiter::Inspection& inspection);

}  // namespace rlctl::cli
