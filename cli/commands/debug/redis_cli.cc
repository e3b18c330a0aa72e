#include "cli/commands/debug/plan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/distribution.h"
#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/commands/debug/place.h"
#include "cli/errors/failure.h"
#include "cli/server/connection.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::debug {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kComma = ",";

ProblemError cannot_write(const std::string& path, int error) {
  return ProblemError(
      {.code = "output", .message = "cannot write " + path + ": " + errno_text(error)});
}

void require_expressible(const std::vector<std::string>& keys) {
  const auto refuse = [](const std::string& why) { throw UsageError(why, "--trace takes it"); };
  for (const auto& key : keys) {
    if (key.find('\0') != key.npos) refuse("redis-cli --eval does not accept a key with a NUL");
    if (key == kComma) {
      refuse("redis-cli does not accept the key ',', which separates keys from arguments");
    }
  }
  if (!keys.empty() && keys.front().starts_with('-')) {
    refuse("redis-cli would take the key " + quoted_and_masked(keys.front()) + " for an option");
  }
}

// ---- A script as a file ----

/// Returns a path for mkdtemp() or mkstemp().
std::string path_template() {
  return temporary_folder() + "/rlctl-script-XXXXXX";
}

/// Writes the script to a folder that only this user can read and that is not removed.
std::string written_file(const debugger::Debuggee& script) {
  auto folder = path_template();
  if (::mkdtemp(folder.data()) == nullptr) throw cannot_write(folder, errno);
  auto path = folder + "/" + script.name;
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file && write_all(file.get(), script.source)) return path;
  const int reason = errno;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  throw cannot_write(path, reason);
}

/// Writes the script to an unnamed file, which lasts as long as a process (redis-cli) has it open.
std::string inherited_file(const debugger::Debuggee& script) {
  auto path = path_template();
  const int file = ::mkstemp(path.data());
  if (file < 0) throw cannot_write(path, errno);
  ::unlink(path.c_str());
  if (!write_all(file, script.source)) throw cannot_write(path, errno);
  ::lseek(file, 0, SEEK_SET);
  return fmt::format("/dev/fd/{}", file);
}

/// Returns the file that redis-cli opens, and writes it if the script is in none.
std::string script_file(const Plan& plan, Invocation& invocation) {
  // A library's function runs as a script of its own.
  const bool is_file =
      plan.algorithm == nullptr && plan.path != kStandardInput && plan.function.empty();
  if (is_file) return plan.path.starts_with('-') ? "./" + plan.path : plan.path;
  if (auto installed = bundled_file(plan.debuggee); !installed.empty()) return installed;
  if (plan.redis_cli) return inherited_file(plan.debuggee);
  auto path = written_file(plan.debuggee);
  if (!plan.quiet) {
    warn(fmt::format("the script was written to {}; remove its folder when you are done",
                     shell_quoted(path)),
         invocation.command);
  }
  return path;
}

// ---- Becoming redis-cli ----

[[noreturn]] void become(std::vector<std::string> words, const redis::Url& url) {
  if (!url.password.empty()) ::setenv("REDISCLI_AUTH", url.password.c_str(), 1);
  const auto arguments = pointers_to(words);
  restore_signals();
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  throw ProblemError({.code = "unsupported",
                      .message = "cannot run redis-cli: " + errno_text(error),
                      .hint = how_to_install(SystemPart::kRedisCli)});
}

void require_one_server(const Connector& connector) {
  if (connector.is_private()) {
    throw UsageError("redis-cli cannot reach private:, which exits with rlctl",
                     "name a server, or use --trace");
  }
  const auto scheme = connector.url().scheme;
  if (scheme != redis::Scheme::kCluster && scheme != redis::Scheme::kSentinel) return;
  throw UsageError("redis-cli needs one server, but " + connector.name() + " names several",
                   "name the one that has the keys: --url redis://HOST:PORT");
}

}  // namespace

std::string bundled_file(const debugger::Debuggee& script) {
  try {
    const auto prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
    auto path = (prefix / "share" / "rlctl" / "lua" / script.name).string();
    if (read_all(open_file(path)) == script.source) return path;
  } catch (const std::system_error&) {
    // It is not installed.
  }
  return {};
}

ExitStatus run_redis_cli(const Plan& plan, Invocation& invocation) {
  require_expressible(plan.debuggee.keys);
  const Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  const auto& url = connector.url();
  require_one_server(connector);
  if (plan.redis_cli && plan.sync) {
    require_consent(plan, connector.name(), invocation.interrupt);
  }
  auto words = redis_cli_words(url);
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({plan.sync ? "--ldb-sync-mode" : "--ldb", "--eval", script_file(plan, invocation)});
  add(plan.debuggee.keys);
  if (!plan.debuggee.arguments.empty()) add({std::string(kComma)});
  add(plan.debuggee.arguments);
  if (plan.redis_cli) become(words, url);
  if (!url.password.empty() && !environment("REDISCLI_AUTH") && !plan.quiet) {
    warn("redis-cli takes the password from the variable REDISCLI_AUTH", invocation.command);
  }
  invocation.out.write(command_line(words) + '\n');
  invocation.out.flush();
  return ExitStatus::kDone;
}

}  // namespace rlctl::cli::debug
