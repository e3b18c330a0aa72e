#include "cli/configuration.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "cli/failure.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {
namespace {

constexpr const char* kName = "/rlctl/config.toml";
/// An error lists at most this many policies.
constexpr std::size_t kMaxNames = 10;

/// A file that cannot be examined counts as existing: reading it gives the reason.
bool exists(const std::string& file) {
  return ::access(file.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::vector<std::string> default_places() {
  std::vector<std::string> places;
  const auto folder = environment("XDG_CONFIG_HOME");
  const auto home = environment("HOME");
  if (folder && folder->starts_with('/')) {
    places.push_back(*folder + kName);
  } else if (home) {
    places.push_back(*home + "/.config" + kName);
  }
  places.push_back(std::string("/etc") + kName);
  return places;
}

std::string list_policies(const std::vector<limiter::Policy>& policies) {
  std::string out;
  for (std::size_t i = 0; i < std::min(policies.size(), kMaxNames); ++i) {
    out.append(i == 0 ? "" : ", ").append(policies[i].name);
  }
  if (policies.size() > kMaxNames) {
    out += " and " + std::to_string(policies.size() - kMaxNames) + " more";
  }
  return out;
}

}  // namespace

std::string_view origin_name(Origin origin) {
  constexpr std::array<std::string_view, 4> kNames{"option", "environment", "file", "default"};
  return kNames[static_cast<std::size_t>(origin)];
}

ConfigurationSource::ConfigurationSource(const std::optional<std::string>& named) {
  if (named && named->empty()) {
    throw UsageError("--config: the name of the file is empty", "is the variable set?");
  }
  const auto file = named ? named : environment("RLCTL_CONFIG");
  if (!file) {
    places_ = default_places();
    return;
  }
  if (!exists(*file)) {
    throw UsageError(std::string(named ? "--config" : "RLCTL_CONFIG") + ": cannot read '" + *file +
                     "': " + errno_text(errno));
  }
  places_.push_back(*file);
}

std::optional<std::string> ConfigurationSource::path() const {
  const auto found = std::find_if(places_.begin(), places_.end(), exists);
  if (found == places_.end()) return std::nullopt;
  return *found;
}

const limiter::Configuration& ConfigurationSource::get() {
  if (!configuration_) {
    const auto file = path();
    configuration_ = file ? limiter::read_configuration(*file) : limiter::Configuration{};
  }
  return *configuration_;
}

const limiter::Policy& ConfigurationSource::policy(const std::string& name) {
  const auto& configuration = get();
  if (const auto* policy = limiter::find_policy(configuration, name)) return *policy;
  std::string message = "no policy " + in_quotes(name);
  if (configuration.file.empty()) {
    throw UsageError(message + ", since there is no configuration file", looked_for(*this));
  }
  message += " in " + display_path(configuration.file);
  const auto names = list_policies(configuration.policies);
  throw UsageError(message + (names.empty() ? ", which has none" : " (it has: " + names + ")"),
                   name.empty() ? "is the variable set?" : "");
}

std::string looked_for(const ConfigurationSource& source) {
  std::string out = "looked for ";
  for (const auto& place : source.places()) {
    if (&place != &source.places().front()) out += " and ";
    out += display_path(place);
  }
  return out;
}

std::string display_path(const std::string& path) {
  const auto home = environment("HOME");
  if (!home || home->size() < 2 || !path.starts_with(*home + "/")) return path;
  return std::string("~").append(path, home->size());
}

}  // namespace rlctl::cli
