#pragma once

#include <string>
#include <string_view>

#include "ldb/session.h"
#include "redis/reply.h"

namespace rlctl::cli {

// Parts of a trace, as text and JSON have them alike. All append ASCII to `out`.

/// A reply as Lua would write it: {0, 5, "a\n", nil, +OK, -ERR no}.
void append_reply_text(std::string& out, redis::ReplyView reply);

/// A word of a command: quoted where it would not be read as one, with \n, \" and \xNN in it.
void append_command_word(std::string& out, std::string_view word);

/// "returned", "run_time_error"
[[nodiscard]] std::string_view name_of(ldb::Ending ending);

}  // namespace rlctl::cli
