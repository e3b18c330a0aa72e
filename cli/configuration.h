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

/// The configuration file, which is looked for and read only when something is asked of it that
/// nothing else says: --config, else $RLCTL_CONFIG, else the first that exists of
/// $XDG_CONFIG_HOME/rlctl/config.toml ($HOME/.config where that is unset, empty or not absolute)
/// and /etc/rlctl/config.toml.
class ConfigurationSource {
 public:
  /// `named` is what --config says. Throws UsageError where --config or $RLCTL_CONFIG names a file
  /// that is not there.
  explicit ConfigurationSource(const std::optional<std::string>& named);

  /// What the file says; nothing where there is no file. Read at the first call. Throws as
  /// limiter::read_configuration() does. What it returns lives as long as this.
  [[nodiscard]] const limiter::Configuration& get();
  /// The file; none where there is none. Found, not read.
  [[nodiscard]] std::optional<std::string> path() const;
  /// Where a file is looked for, in this order.
  [[nodiscard]] const std::vector<std::string>& places() const noexcept { return places_; }
  /// The policy of this name. Throws UsageError where there is none.
  [[nodiscard]] const limiter::Policy& policy(const std::string& name);

 private:
  std::vector<std::string> places_;
  std::optional<limiter::Configuration> configuration_;
};

/// "looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml", for a hint.
[[nodiscard]] std::string looked_for(const ConfigurationSource& source);

/// A file's name as a person would write it: what is in $HOME begins with "~/".
[[nodiscard]] std::string display_path(const std::string& path);

}  // namespace rlctl::cli
