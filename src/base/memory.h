#pragma once

#include <cstdint>

// The memory that is left. replay/recording.cc asks for it before it reads a log into memory, so
// that a log that is too large is reported as an error before the system kills the process.

namespace rlctl {

/// The bytes that this process can still take: the least of what the system has available, the
/// limits of its cgroups (of version 2), and what RLIMIT_AS leaves. INT64_MAX if nothing limits it.
std::int64_t available_memory();

}  // namespace rlctl
