#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// --script and its related options, as typed.
struct ScriptOptions {
  std::optional<std::string> script = {}, arguments = {}, allowed_when = {}, delay_unit = {};
  std::vector<std::string> keys = {};  ///< the values of --keys that are not numbers
};

/// Adds all options except --keys, whose meaning differs between commands.
void add_script_options(Options& options, ScriptOptions& target);
/// The section of --help that lists the placeholders.
[[nodiscard]] std::string placeholder_help();

/// Reads the file and parses the other options; null without --script. Throws UsageError, which
/// names the option, for a file that cannot be read, an invalid value, or --keys with a template
/// without --script.
[[nodiscard]] std::shared_ptr<const traffic::ForeignLimiter> read_script(
    const ScriptOptions& options);

/// The value of --keys or --allowed-when, or the default.
[[nodiscard]] std::vector<std::string> script_keys(const ScriptOptions& options);
[[nodiscard]] std::string script_condition(const ScriptOptions& options);

/// Reads a script. Throws UsageError if that fails; `option` is the one with the path, or empty.
[[nodiscard]] std::string read_script_file(std::string_view option, const std::string& path);
/// The file's name without its directory, for tables.
[[nodiscard]] std::string script_name(const std::string& path);

/// Describes the reading: "allowed when its reply is nonzero".
[[nodiscard]] std::string reading_text(const traffic::ForeignLimiter& limiter);

}  // namespace rlctl::cli
