#pragma once

#include <memory>

#include "replay/log_format.h"

namespace rlctl::replay {

/// The common log format, `address ident user [time] "request" status bytes`, and the combined one,
/// which has `"referer" "user agent"` behind it; also with `host:port` before the address, as
/// Apache's vhost_combined. Only the address and the time need be there; where the key is something
/// else, that too. The key is the address, or one of: user, method, path (of the request, without
/// its query), referer, useragent, all as they stand in the log, escapes included.
[[nodiscard]] std::unique_ptr<LineParser> make_combined_parser(const FieldOptions& fields);

}  // namespace rlctl::replay
