#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/wait.h"
#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/messages.h"
#include "cli/terminal/output.h"

namespace rlctl::cli::debug::dap {

/// The client: the bytes that it has sent, and what is sent to it, which throws what
/// Output::flush() throws.
class Client {
 public:
  /// Reads `input`, and writes to `out`; both must outlive this, and so must `interrupt`.
  Client(int input, Output& out, const Interrupt& interrupt)
      : input_(input), out_(out), interrupt_(interrupt) {}

  /// Reads what the client has sent, after what was sent to it; if that is nothing and `waits`,
  /// waits for it. Returns false if the client is gone. Throws Interrupted if it waits.
  bool read(bool waits);
  /// Takes the next message that is complete. Throws as Messages::next() does.
  std::optional<std::string> next() { return messages_.next(); }

  void event(const char* name, Json body = Json::object());
  /// An output event; none if `text` is empty.
  void output(const char* category, std::string text);
  /// An output event of a place of the script, which is one of many: it is sent with later ones,
  /// at the latest by the next read().
  void log(std::string text, Json source, int line);
  void respond(const Json& request, Json body);
  /// Answers a request, which may be anything, with an error.
  void refuse(const Json& request, const std::string& why);

 private:
  void add(Json message);
  void send(Json message);

  int input_;
  Output& out_;
  const Interrupt& interrupt_;
  Messages messages_;
  std::int64_t sent_ = 0;
};

}  // namespace rlctl::cli::debug::dap
