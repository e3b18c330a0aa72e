#include "cli/app/app.h"

#include <fmt/format.h>
#include <unistd.h>
#ifdef RLCTL_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/worker.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"
#include "limiter/algorithm.h"

namespace rlctl::cli {
namespace {

using namespace json_type;

struct Build {
  std::string_view type = RLCTL_BUILD_TYPE, compiler = RLCTL_COMPILER;
};
constexpr JsonField<Build> kBuildFields[] = {
    {"type", kString, "CMake's type of build, such as Release.",
     [](const auto& build) { return build.type; }},
    {"compiler", kText, "The compiler and its version.",
     [](const auto& build) { return build.compiler; }},
};
constexpr JsonObject<Build> kBuild(kBuildFields);

struct Version {
  std::string_view version = RLCTL_VERSION, licence = "MIT";
  Build build = {};
  /// With their scripts, by the SHA1 with which EVALSHA calls them.
  std::span<const limiter::Algorithm> algorithms = limiter::algorithms();
};
constexpr JsonType kSha1ByAlgorithm{R"(
  "type": "object", "minProperties": 1,
  "propertyNames": { "$ref": "urn:rlctl:schema:1:common#/$defs/algorithm" },
  "additionalProperties": { "$ref": "urn:rlctl:schema:1:common#/$defs/sha1" })"};
constexpr JsonField<Version> kVersionFields[] = {
    {"version", JsonType{R"("type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+")"},
     "The version of rlctl.", [](const auto& of) { return of.version; }},
    {"licence", kText, "The licence of rlctl.", [](const auto& of) { return of.licence; }},
    {"build", kBuild, "How rlctl was built.",
     [](const Version& of) -> const Build& { return of.build; }},
    {"scripts", kSha1ByAlgorithm,
     "The SHA1 of the script of each algorithm, by which EVALSHA calls it.",
     [](JsonWriter& json, const Version& of) {
       json.begin_object();
       for (const auto& algorithm : of.algorithms) json.field(algorithm.name, algorithm.sha1);
       json.end_object();
     }},
};
constexpr JsonObject<Version> kVersion("version", "The version", kVersionFields);

constexpr const JsonObjectInfo* kVersionObjects[] = {&kVersion};

std::string version_text(bool json) {
  const Version version;
  std::string out;
  if (json) {
    kVersion.append_line(out, version);
    return out;
  }
  out = fmt::format("rlctl {}\n{} licence; {} build by {}\n\nScripts:\n", version.version,
                    version.licence, version.build.type, version.build.compiler);
  for (const auto& algorithm : version.algorithms) {
    out += fmt::format("  {:24}{}\n", algorithm.name, algorithm.sha1);
  }
  return out;
}

/// Whether --json is given, even if the command line is wrong: errors are then JSON too.
bool asks_for_json(std::span<const std::string> arguments) {
  const auto separator = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), separator, "--json") != separator;
}

std::vector<std::string> take_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (int i = 1; i < argc; ++i) mask_passwords(argv[i], std::strlen(argv[i]));
  return arguments;
}

/// The command line with -- where it is missing: before the second operand, if the first is KEY.
std::string with_separator(const CommandText& command, std::span<const std::string> operands,
                           std::span<const std::string> arguments) {
  const std::string forms(command.synopsis);
  const auto is_policy = [](const std::string& word) { return word.starts_with("--policy"); };
  if (std::any_of(arguments.begin(), arguments.end(), is_policy)) {
    // Its number of arguments is not known here. The last form is that of a policy.
    return "rlctl " + forms.substr(forms.rfind('\n') + 1);
  }
  if (operands.empty()) return "rlctl " + forms.substr(0, forms.find('\n'));
  std::vector<std::string> words{"rlctl"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (operands.size() == 1) {
    words.insert(words.end(), {"--", "COMMAND"});
  } else {
    const auto key = std::find(words.begin(), words.end(), operands[0]);
    words.insert(std::find(key + 1, words.end(), operands[1]), "--");
  }
  return command_line(words);
}

class App {
 public:
  /// Throws on failure; report() handles the exception.
  ExitStatus run(int argc, char** argv);
  ExitStatus report(const std::exception& error);

 private:
  ExitStatus run_arguments(std::span<const std::string> arguments, Output& out);
  ExitStatus run_command(const Command& command, Output& out);
  void parse(std::span<const std::string> arguments);
  std::optional<std::string> asked_text();

  std::optional<Signals> signals_;
  RlctlLine line_;
  bool json_ = false;  ///< errors as JSON
};

ExitStatus App::run(int argc, char** argv) {
  guard_standard_descriptors();
  const auto arguments = take_arguments(argc, argv);
  json_ = asks_for_json(arguments);
  signals_.emplace();
  Output out(1, signals_->interrupt());
  const auto status = run_arguments(arguments, out);
  out.flush();
  return status;
}

/// What the command needs, which is one of those that the line names; all if it may be `help`.
CommandLine::Declares declares(std::span<const std::string> arguments) {
  const auto is_named = [&](const CommandText& text) {
    return std::ranges::find(arguments, text.name) != arguments.end();
  };
  auto declares = CommandLine::Declares::kAll;
  if (is_named(kHelpCommand)) return declares;
  for (const auto* command : commands()) {
    if (!is_named(command->text)) continue;
    declares = command->declares;
    if (declares == CommandLine::Declares::kAll) break;
  }
  return declares;
}

/// Throws first if the line has no --, and so the options of a program were read as rlctl's own.
void App::parse(std::span<const std::string> arguments) {
  std::exception_ptr mistake;
  try {
    line_.parse(
        arguments, [this] { return line_.general.asks_help(); }, declares(arguments));
  } catch (const UsageError&) {
    mistake = std::current_exception();
  }
  const auto* command = chosen_command(line_);
  // Not -v: the program's own, where -- is forgotten, must not end in status 0.
  const auto is_help = [](const std::string& argument) {
    return argument == "--help" || argument == "-h" || argument == "--version" || argument == "-V";
  };
  if (command != nullptr && command->takes_program && !line_.after_separator() &&
      std::none_of(arguments.begin(), arguments.end(), is_help)) {
    throw UsageError("-- is missing before the command to run",
                     with_separator(command->text, line_.operands_before_separator(), arguments));
  }
  if (mistake) std::rethrow_exception(mistake);
}

/// The text for -V, --help or -h; none if none of these is given. -h alone gives the short help.
std::optional<std::string> App::asked_text() {
  if (line_.general.version) return version_text(line_.general.json);
  if (!line_.general.asks_help()) return std::nullopt;
  if (line_.general.help) return line_.help(HelpExtent::kAll);
  if (line_.command() != nullptr && !line_.operands().empty()) {
    // redis-cli takes -h as the host, and a script could mistake status 0 of the help for an
    // answer.
    throw UsageError("-h shows help and takes no KEY; name the server with -H or --host");
  }
  return line_.help(HelpExtent::kShort);
}

ExitStatus App::run_arguments(std::span<const std::string> arguments, Output& out) {
  parse(arguments);
  if (line_.command() == &kHelpCommand) {
    auto words = line_.operands();
    words.emplace_back("--help");
    return run_arguments(words, out);
  }
  out.set_colour(line_.general.colour);
  if (const auto text = asked_text()) {
    out.write(*text);
    return ExitStatus::kDone;
  }
  if (line_.command() == nullptr && line_.operands().empty()) {
    if (line_.general.json) throw UsageError("no command given", "rlctl --help lists the commands");
    write_stderr(line_.help(HelpExtent::kShort));
    return ExitStatus::kUsage;
  }
  line_.require_command();
  if (const auto* command = chosen_command(line_)) return run_command(*command, out);
  if (const auto operands = line_.operands(); !operands.empty()) {
    throw UsageError("version takes no arguments; unexpected argument " +
                     quoted_and_masked(operands[0]));
  }
  out.write(version_text(line_.general.json));
  return ExitStatus::kDone;
}

ExitStatus App::run_command(const Command& command, Output& out) {
  std::vector<std::string> program;
  if (command.takes_program) program = *line_.after_separator();
  if (command.takes_program && program.empty()) {
    throw UsageError("no command to run after --");
  }
  const auto typed = line_.operands_before_separator();
  if (!command.decides_dash) {
    refuse_dash(typed, typed.size(), command.takes_program ? "" : kDashAsKey);
  }
  ConfigurationSource configuration(line_.general.config);
  Invocation invocation{.command = command.text.name,
                        .operands = command.takes_program ? typed : line_.operands(),
                        .typed = typed.size(),
                        .program = std::move(program),
                        .options = line_.options(),
                        .connection = line_.general.connection,
                        .configuration = configuration,
                        .json = line_.general.json,
                        .interrupt = signals_->interrupt(),
                        .out = out};
  return line_.actions.at(&command)(invocation);
}

ExitStatus App::report(const std::exception& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr && signals_) {
    die_by(signals_->interrupt().signal());
  }
  if (dynamic_cast<const OutputClosed*>(&error) != nullptr) die_by(SIGPIPE);
  Problem problem = describe(error);
  if (!line_.fails_before_command()) problem.help_of = line_.path();
  const auto* command = chosen_command(line_);
  if (command != nullptr && command->only_looks) problem = drop_in_doubt_note(std::move(problem));
  // What stands before the command may be wrong; the command's statuses hold nevertheless.
  if (command != nullptr && command->report != nullptr) return command->report(problem, json_);
  const bool is_of_command = command != nullptr && !line_.fails_before_command();
  write_stderr(render(problem, is_of_command ? command->text.name : "", json_));
  const bool is_unknown = command != nullptr && command->judges;
  return is_unknown ? to_status(PluginState::kUnknown) : problem.status;
}

int run_app(int argc, char** argv) {
  App app;
  try {
    return static_cast<int>(app.run(argc, argv));
  } catch (const std::exception& error) {
    return static_cast<int>(app.report(error));
  }
}

}  // namespace

constinit const JsonOutput kVersionJson{
    "One object, which rlctl --version --json writes too. The errors of a command line without a "
    "command fit this schema.",
    kVersionObjects};

int run_command_line(int argc, char** argv) {
  const auto status = run_app(argc, argv);
  if (!is_worker()) return status;
    // Whatever else is in this process is its parent's.
#ifdef RLCTL_UNDER_ASAN
  __lsan_do_leak_check();
#endif
  ::_exit(status);
}

}  // namespace rlctl::cli
