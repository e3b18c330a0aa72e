#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/configuration.h"

namespace rlctl::cli {

/// The source of a setting, in order of precedence.
enum class Origin { kOption, kEnvironment, kFile, kDefault };

/// The configuration file, found and read only when a setting is needed that no option and no
/// variable sets: --config, else $RLCTL_CONFIG, else the first that exists of
/// $XDG_CONFIG_HOME/rlctl/config.toml ($HOME/.config if that is unset, empty or not absolute) and
/// /etc/rlctl/config.toml. Without a file, all settings are unset.
///
/// Asking for a setting throws limiter::ConfigurationError if there is a mistake in it or the file
/// cannot be read, and Interrupted; mistakes elsewhere in the file are only warned of. References
/// live as long as this object.
class ConfigurationSource {
 public:
  /// `named` is the value of --config. Throws UsageError if --config or $RLCTL_CONFIG names a file
  /// that does not exist.
  explicit ConfigurationSource(const std::optional<std::string>& named);

  /// The whole file, in which any mistake is an error.
  const limiter::Configuration& get_correct();
  /// The file for `url` and the settings of its server: password_file, use_tls, tls.sni and
  /// tls.insecure.
  const limiter::Configuration& server() { return use("url"); }
  const std::string& cacert() { return use("cacert").tls.cacert; }
  /// The file for tls.cert and tls.key.
  const limiter::Configuration& certificate() { return use("cert"); }
  const std::optional<std::string>& timeout() { return use("timeout").timeout; }
  /// The file for looking up policies by key: those without mistakes.
  const limiter::Configuration& policies();
  /// The path of the file, without reading it; none if there is no file.
  std::optional<std::string> path() const;
  /// The paths that are searched, in order.
  const std::vector<std::string>& places() const noexcept { return places_; }
  /// The policy with this name. Throws UsageError if it does not exist.
  const limiter::Policy& policy(const std::string& name);

  /// The file for its scripts.
  const limiter::Configuration& scripts() { return use("script"); }
  /// The script with this name, whose settings are correct; null if it does not exist.
  const limiter::ScriptSection* script(const std::string& name);
  /// The file, if --config or $RLCTL_CONFIG names it.
  std::optional<std::string> named_file() const;

  /// Warns of the mistakes in the file, once, if it has been read. Call this when all settings that
  /// could stop the command have been asked for.
  void warn_of_mistakes();

 private:
  const limiter::Configuration& read();
  const limiter::Configuration& use(std::string_view part);
  void check_tables();

  std::vector<std::string> places_;
  std::optional<limiter::Configuration> configuration_;
  bool is_named_ = false;
  bool has_checked_tables_ = false;
  bool has_warned_ = false;
};

/// For a hint: "looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml".
std::string looked_for(const ConfigurationSource& source);

/// A path for messages, with $HOME written as "~".
std::string display_path(const std::string& path);

}  // namespace rlctl::cli
