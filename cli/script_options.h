#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// --script and what belongs to it, as it was typed.
struct ScriptOptions {
  std::optional<std::string> script = {}, arguments = {}, allowed_when = {}, delay_unit = {};
  std::vector<std::string> keys = {};  ///< of a --keys that also takes numbers, the others
};

/// All but --keys, which means something else to some commands.
void add_script_options(Options& options, ScriptOptions& target);
/// The section of --help that lists the placeholders.
[[nodiscard]] std::string placeholder_help();

/// Reads the file, and what the other options mean; null without --script. Throws UsageError, which
/// names the option: for a file that cannot be read, values without a meaning, and keys of a script
/// without --script.
[[nodiscard]] std::shared_ptr<const traffic::ForeignLimiter> read_script(
    const ScriptOptions& options);

/// --keys, --allowed-when: what was given, else the default.
[[nodiscard]] std::vector<std::string> script_keys(const ScriptOptions& options);
[[nodiscard]] std::string script_condition(const ScriptOptions& options);

/// A script's source. Throws UsageError if the file cannot be read; `option` is the one that named
/// it, or empty.
[[nodiscard]] std::string read_script_file(std::string_view option, const std::string& path);
/// The file's name without its folders, for tables.
[[nodiscard]] std::string script_name(const std::string& path);

/// "allowed when its reply is nonzero"
[[nodiscard]] std::string reading_text(const traffic::ForeignLimiter& limiter);

}  // namespace rlctl::cli
