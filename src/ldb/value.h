#pragma once

#include "lua/value.h"

namespace rlctl::ldb {
using lua::Characters;
using lua::is_complete;
using lua::literal_of;
using lua::sort_fields;
using lua::string_literal;
using lua::text_of;
using lua::Value;
}  // namespace rlctl::ldb
