#include "cli/app/general_options.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/completions.h"

namespace rlctl::cli {
namespace {

constexpr std::array<std::string_view, 3> kColours{"auto", "always", "never"};

Colour parse_colour(const std::string& text) {
  const auto found = std::ranges::find(kColours, text);
  if (found == kColours.end()) {
    throw UsageError("--color must be auto, always or never, not " + in_quotes(text));
  }
  return static_cast<Colour>(found - kColours.begin());
}

}  // namespace

void add_general_options(Options& options, GeneralOptions& target) {
  add_connection_options(options, target.connection);
  options.group("General");
  options.value("--config", "FILE", target.config,
                "configuration file (default: $RLCTL_CONFIG, else ~/.config/rlctl/config.toml, "
                "else /etc/rlctl/config.toml)");
  options.group("General", Repeats::kNo);
  options.flag("--json", target.json, "print results and errors as JSON");
  options
      .value("--color", "WHEN", into(target.colour, parse_colour),
             "colours: auto, always or never (default: auto; see ENVIRONMENT in rlctl(1))")
      .completes([](const CompletionContext&) { return to_completions(kColours); });
  options.flag("-h", target.short_help, "show the usage and the options in brief");
  options.flag("--help", target.help, "show all help");
  options.flag("-V,--version", target.version, "show the version");
  options.flag("-v", target.version, "");
}

}  // namespace rlctl::cli
