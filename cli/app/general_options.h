#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "cli/server/connection.h"

namespace rlctl::cli {

/// The options that all commands accept.
struct GeneralOptions {
  ConnectionOptions connection;
  std::optional<std::string> config;
  bool json = false;
  Colour colour = Colour::kAuto;
  bool short_help = false;
  bool help = false;
  bool version = false;

  [[nodiscard]] bool asks_help() const { return help || short_help || version; }
};

void add_general_options(Options& options, GeneralOptions& target);

}  // namespace rlctl::cli
