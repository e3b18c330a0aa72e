#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/debug/ldb/text.h"
#include "ldb/redis_debugger.h"

namespace rlctl::cli::debug {

/// The commands of Redis's own debugger, with its letters. Use one object per session.
struct LdbCommands {
  /// How the debugger goes on after a command.
  enum class After {
    kGoOn,     ///< read the next command
    kEnded,    ///< the command ended the script
    kRestart,  ///< run the script again, as its file is now
    kQuit,
  };

  ldb::RedisDebugger& debugger;
  LdbText& text;
  std::vector<std::string> keys = {};  ///< the names of the script's KEYS
  /// Whether the server is rlctl's own, so that code which never ends blocks nobody else.
  bool may_hang = false;

  // ---- What run() sets ----

  bool was_wrong = false;  ///< the last line was invalid, impossible then, or ended in an error
  After after = After::kGoOn;
  std::string last = {};  ///< what an empty line repeats

  /// Runs a line as typed and answers in the text; an empty line repeats the last one. Errors in
  /// the line are reported there, too. Throws redis::Error, as ldb::Session does.
  After run(std::string_view line);
  /// Reports an error of the last line.
  void wrong(std::string_view message);
  /// Returns the completions of a line's last word (commands, variables, keys), sorted.
  std::vector<std::string> complete(std::string_view line) const;
};

}  // namespace rlctl::cli::debug
