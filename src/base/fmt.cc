#include <fmt/format.h>

#ifdef RLCTL_FMT_ONCE
// See base/precompiled.h.
namespace fmt::detail {
template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
}  // namespace fmt::detail
#endif
