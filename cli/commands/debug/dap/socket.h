#pragma once

#include <functional>
#include <string>

#include "base/file.h"
#include "base/wait.h"

namespace rlctl::cli::debug::dap {

/// Listens at a new Unix socket, which only this user may open, and calls `on_listening`. Returns
/// the connection of the first client that sends something; in whatever way this ends, the socket's
/// file is gone. A socket that is there already, and that nobody listens to, is replaced. Throws
/// OutputError if the path is taken or cannot be used, and Interrupted.
FileDescriptor accept_client(const std::string& path, const Interrupt& interrupt,
                             const std::function<void()>& on_listening);

}  // namespace rlctl::cli::debug::dap
