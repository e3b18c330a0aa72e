#include "cli/app/general_options.h"

namespace rlctl::cli {

void add_general_options(Options& options, GeneralOptions& target) {
  add_connection_options(options, target.connection);
  options.group("General");
  options.value("--config", "FILE", target.config,
                "configuration file (default: $RLCTL_CONFIG, else ~/.config/rlctl/config.toml, "
                "else /etc/rlctl/config.toml)");
  options.group("General", Repeats::kNo);
  options.flag("--json", target.json, "print results and errors as JSON");
  options.flag("-h", target.short_help, "show the usage and the options in brief");
  options.flag("--help", target.help, "show all help");
  options.flag("-V,--version", target.version, "show the version");
  options.flag("-v", target.version, "");
}

}  // namespace rlctl::cli
