#include "cli/options/configuration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "cli/terminal/terminal.h"
#include "stored/libraries.h"

namespace rlctl::cli {
namespace {

constexpr const char* kName = "/rlctl/config.toml";
/// The part of a file that holds the policies: see limiter::ConfigurationMistake.
constexpr std::string_view kPolicy = "policy";
/// The part with the scripts.
constexpr std::string_view kScripts = "script";
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

std::string list_policies(std::span<const std::string_view> names) {
  if (names.size() <= kMaxNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.first(kMaxNames), ", "),
                     names.size() - kMaxNames);
}

/// "'rlctl config check' shows 3 more errors"
std::string and_more(std::size_t count) {
  return "'rlctl config check' shows " + counted(static_cast<std::int64_t>(count), "more error");
}

/// How to do without a part of the file, or without the file if none of it can be used.
std::string way_around(std::string_view part, bool whole_file) {
  if (part.starts_with(kPolicy)) {
    return whole_file ? "pass --limit and --config /dev/null" : "pass --limit instead of --policy";
  }
  if (part.starts_with(kScripts) && !whole_file) return "name the file of the script instead";
  if (whole_file || part.empty()) return "pass --config /dev/null to ignore it";
  return fmt::format("pass --{}, or --config /dev/null to ignore the file", part);
}

/// Throws a mistake that stops a call, with a hint at how to go on.
[[noreturn]] void stop(limiter::ConfigurationMistake mistake, const std::string& way,
                       std::size_t others) {
  if (mistake.hint.empty()) mistake.hint = "correct the file";
  mistake.hint += ", or " + way;
  if (others > 0) mistake.hint += "; " + and_more(others);
  throw limiter::ConfigurationError({std::move(mistake)});
}

}  // namespace

ConfigurationSource::ConfigurationSource(const std::optional<std::string>& named) {
  if (named) require_not_empty(*named, "--config: the name of the file");
  const auto file = named ? named : environment("RLCTL_CONFIG");
  if (!file) {
    places_ = default_places();
    return;
  }
  if (*file == "-") {
    throw UsageError("RLCTL_CONFIG: '-' is not a file", "a file of that name is ./-");
  }
  if (!exists(*file)) {
    throw UsageError(std::string(named ? "--config" : "RLCTL_CONFIG") + ": cannot read '" + *file +
                     "': " + errno_text(errno));
  }
  places_.push_back(*file);
  is_named_ = true;
}

std::optional<std::string> ConfigurationSource::path() const {
  const auto found = std::find_if(places_.begin(), places_.end(), exists);
  if (found == places_.end()) return std::nullopt;
  return *found;
}

const limiter::Configuration& ConfigurationSource::read() {
  if (!configuration_) {
    const auto file = path();
    configuration_ = file ? limiter::read_configuration(*file) : limiter::Configuration{};
  }
  return *configuration_;
}

const limiter::Configuration& ConfigurationSource::get_correct() {
  read();
  check_tables();
  limiter::require_correct(*configuration_);
  return *configuration_;
}

/// The file, without a mistake in this part, if it is not empty: see limiter::ConfigurationMistake.
const limiter::Configuration& ConfigurationSource::use(std::string_view part) {
  try {
    read();
  } catch (const limiter::ConfigurationError& error) {
    stop(error.mistakes().front(), way_around(part, true), 0);
  }
  if (part.starts_with(kScripts)) check_tables();
  const auto& mistakes = configuration_->mistakes;
  for (const auto& mistake : mistakes) {
    if (part.empty() || mistake.part != part) continue;
    const auto found = mistake;
    check_tables();
    stop(found, way_around(part, false), configuration_->mistakes.size() - 1);
  }
  return *configuration_;
}

const limiter::Configuration& ConfigurationSource::policies() {
  const auto& configuration = use({});
  warn_of_mistakes();
  return configuration;
}

const limiter::Policy& ConfigurationSource::policy(const std::string& name) {
  const auto& configuration = use(std::string(kPolicy) + "." + name);
  if (const auto* policy = limiter::find_policy(configuration, name)) return *policy;
  use(kPolicy);
  std::string message = "no policy " + quoted_and_masked(name);
  if (configuration.file.empty()) {
    throw UsageError(message + ", since there is no configuration file", looked_for(*this));
  }
  message += " in " + display_path(configuration.file);
  const auto names = names_of(configuration.policies);
  const auto list = list_policies(names);
  throw UsageError(message + (list.empty() ? ", which has none" : " (it has: " + list + ")") +
                       did_you_mean(name, names),
                   name.empty() ? "is the variable set?" : "");
}

/// The files, templates and readings of scripts, and the rows of libraries, which little else
/// needs.
void ConfigurationSource::check_tables() {
  if (std::exchange(has_checked_tables_, true)) return;
  limiter::merge_mistakes(configuration_->mistakes, script_mistakes(*configuration_));
  limiter::merge_mistakes(configuration_->mistakes, stored::library_mistakes(*configuration_));
}

const limiter::ScriptSection* ConfigurationSource::script(const std::string& name) {
  const auto& configuration = use(std::string(kScripts) + "." + name);
  const auto* script = limiter::find_script(configuration, name);
  if (script == nullptr) use(kScripts);
  return script;
}

std::optional<std::string> ConfigurationSource::named_file() const {
  return is_named_ ? path() : std::nullopt;
}

void ConfigurationSource::warn_of_mistakes() {
  if (!configuration_ || configuration_->mistakes.empty()) return;
  if (std::exchange(has_warned_, true)) return;
  check_tables();
  const auto& mistakes = configuration_->mistakes;
  auto message = "warning: " + mistakes.front().message;
  if (mistakes.size() > 1) message += "; " + and_more(mistakes.size() - 1);
  warn(message, {});
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
