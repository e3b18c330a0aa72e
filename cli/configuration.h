#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/policies.h"

namespace rlctl::cli {

/// Where a setting was found: flag before environment before file before default.
enum class Origin { kOption, kEnvironment, kFile, kDefault };
/// "option", "environment", "file" or "default".
[[nodiscard]] std::string_view origin_name(Origin origin);

/// The configuration file, which is found and read only when a setting is needed that no option and
/// no variable gives: --config, else $RLCTL_CONFIG, else the first that exists of
/// $XDG_CONFIG_HOME/rlctl/config.toml ($HOME/.config if that is unset, empty or not absolute) and
/// /etc/rlctl/config.toml.
class ConfigurationSource {
 public:
  /// `named` is the value of --config. Throws UsageError if --config or $RLCTL_CONFIG names a file
  /// that does not exist.
  explicit ConfigurationSource(const std::optional<std::string>& named);

  /// The contents of the file, which is read at the first call; empty if there is no file. Throws
  /// as limiter::read_configuration() does. The result lives as long as this object.
  [[nodiscard]] const limiter::Configuration& get();
  /// The file, found but not read; none if there is none.
  [[nodiscard]] std::optional<std::string> path() const;
  /// The places where a file is looked for, in order.
  [[nodiscard]] const std::vector<std::string>& places() const noexcept { return places_; }
  /// The policy of this name. Throws UsageError if there is none.
  [[nodiscard]] const limiter::Policy& policy(const std::string& name);

 private:
  std::vector<std::string> places_;
  std::optional<limiter::Configuration> configuration_;
};

/// "looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml", for a hint.
[[nodiscard]] std::string looked_for(const ConfigurationSource& source);

/// A file's name for messages: $HOME is written as "~".
[[nodiscard]] std::string display_path(const std::string& path);

}  // namespace rlctl::cli
