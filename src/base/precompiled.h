#pragma once

// Headers that most files include, compiled once for all. Each file still includes what it uses.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#ifdef RLCTL_FMT_ONCE
// Otherwise each batch of files would compile all of fmt again, which takes half of the time of a
// build. It is instantiated in base/fmt.cc.
namespace fmt::detail {
extern template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
}  // namespace fmt::detail
#endif
