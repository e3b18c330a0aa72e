#include "cli/app/app.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/general_options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"
#include "limiter/algorithm.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

/// `hint` is for a name that is similar to none.
const Command& command_named(const std::string& name, const char* hint = "") {
  if (const auto* command = find_command(name)) return *command;
  std::vector<std::string_view> names;
  for (const auto* command : commands()) names.push_back(command->name);
  names.insert(names.end(), {kHelpCommand, kVersionCommand});
  const auto suggestion = did_you_mean(name, names);
  throw UsageError("unknown command " + in_quotes(name) + suggestion,
                   suggestion.empty() ? hint : "");
}

/// -h shows usage and options on one screen; --help shows everything.
enum class HelpExtent { kShort, kAll };

std::string general_help(HelpExtent extent) {
  std::string out =
      "Usage: rlctl [connection] COMMAND [options] [--] [KEY...]\n"
      "\n"
      "Limits request rates with scripts that run inside Redis.\n"
      "\n"
      "Commands:\n";
  const auto append_command = [&out](std::string_view name, std::string_view summary) {
    out.append("  ").append(name);
    out.append(name.size() < 12 ? 12 - name.size() : 1, ' ').append(summary).append("\n");
  };
  for (const auto* command : commands()) append_command(command->name, command->summary);
  for (const auto& [name, summary] : kOwnCommands) append_command(name, summary);
  if (extent == HelpExtent::kShort) {
    return out +
           "\n"
           "Options of a command: see rlctl COMMAND -h\n"
           "Connection and general options: see rlctl --help\n";
  }
  GeneralOptions ignored;
  Options options;
  add_general_options(options, ignored);
  out += options.help();
  out +=
      "\n"
      "Examples:\n"
      "  rlctl check --limit 5/60s login:alice\n"
      "  rlctl help check\n";
  return out;
}

/// A line for each status that the command explains; further lines of a text are indented.
void append_statuses(std::string& out, const Command& command) {
  if (command.statuses.front().empty()) return;
  out += "\nExit status:\n";
  for (std::size_t status = 0; status < command.statuses.size(); ++status) {
    const auto text = command.statuses[status];
    if (text.empty()) continue;
    out += fmt::format("  {}  ", status);
    for (const char c : text) out += c == '\n' ? "\n     " : std::string(1, c);
    out += '\n';
  }
}

std::string command_help(const Command& command, HelpExtent extent) {
  std::string out;
  std::string_view synopsis = command.synopsis;
  while (!synopsis.empty()) {
    const auto line = synopsis.substr(0, synopsis.find('\n'));
    out.append(out.empty() ? "Usage: rlctl " : "       rlctl ").append(line).append("\n");
    synopsis.remove_prefix(std::min(line.size() + 1, synopsis.size()));
  }
  const bool all = extent == HelpExtent::kAll;
  if (all) out.append("\n").append(command.about).append("\n");
  Options options;
  const Action never_run = command.add(options);
  out.append(options.help(!all));
  out.append("\nConnection and general options: see rlctl --help\n");
  if (!all) return out;
  if (command.notes != nullptr) out += command.notes();
  append_statuses(out, command);
  out += command.epilogue;
  return out;
}

/// The algorithms' scripts by the SHA1 with which EVALSHA calls them; with `json`, as JSON.
std::string version_text(bool json) {
  constexpr std::string_view kLicence = "MIT";
  std::string out;
  if (json) {
    JsonWriter writer(out);
    writer.begin_object().field("version", RLCTL_VERSION).field("licence", kLicence);
    writer.name("build").begin_object();
    writer.field("type", RLCTL_BUILD_TYPE).field("compiler", RLCTL_COMPILER).end_object();
    writer.name("scripts").begin_object();
    for (const auto& algorithm : limiter::algorithms()) {
      writer.field(algorithm.name, algorithm.sha1);
    }
    writer.end_object().end_object();
    return out += '\n';
  }
  out = fmt::format("rlctl {}\n{} licence; {} build by {}\n\nScripts:\n", RLCTL_VERSION, kLicence,
                    RLCTL_BUILD_TYPE, RLCTL_COMPILER);
  for (const auto& algorithm : limiter::algorithms()) {
    out += fmt::format("  {:24}{}\n", algorithm.name, algorithm.sha1);
  }
  return out;
}

/// The text for -V, --help or -h; none if none of these is given. -h alone gives the short help.
std::optional<std::string> asked_text(const GeneralOptions& general, const Command* command) {
  if (general.version) return version_text(general.json);
  if (!general.help && !general.short_help) return std::nullopt;
  const auto extent = general.help ? HelpExtent::kAll : HelpExtent::kShort;
  return command == nullptr ? general_help(extent) : command_help(*command, extent);
}

/// The arguments before and after the command, without a -- before it.
std::vector<std::string> without_command(std::span<const std::string> arguments,
                                         const Options::FirstOperand& command) {
  const auto before = arguments.first(command.at - (command.after_separator ? 1 : 0));
  const auto after = arguments.subspan(command.at + 1);
  std::vector<std::string> rest(before.begin(), before.end());
  rest.insert(rest.end(), after.begin(), after.end());
  return rest;
}

/// The command line with -- where it is missing: before the second operand, if the first is KEY.
std::string with_separator(const Command& command, Options& options,
                           std::span<const std::string> arguments) {
  const std::string forms(command.synopsis);
  const auto is_policy = [](const std::string& word) { return word.starts_with("--policy"); };
  if (std::any_of(arguments.begin(), arguments.end(), is_policy)) {
    // Its number of arguments is not known here. The last form is that of a policy.
    return "rlctl " + forms.substr(forms.rfind('\n') + 1);
  }
  const auto first_form = "rlctl " + forms.substr(0, forms.find('\n'));
  std::vector<std::string> words{"rlctl", std::string(command.name)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  try {
    const auto key = options.find_operand(arguments).at;
    if (key == arguments.size()) return first_form;
    const auto after = arguments.subspan(key + 1);
    const auto at = key + 1 + options.find_operand(after).at;
    if (at == arguments.size()) words.emplace_back("COMMAND");
    words.insert(words.begin() + 2 + static_cast<std::ptrdiff_t>(at), "--");
  } catch (const UsageError&) {
    return first_form;
  }
  return command_line(words);
}

/// Removes the first -- and what follows it, the program, from the arguments. Empty if help is
/// asked for instead.
std::vector<std::string> take_program(const Command& command, Options& options,
                                      std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  // Not -v: the program's own, where -- is forgotten, must not end in status 0.
  const auto is_help = [](const std::string& argument) {
    return argument == "--help" || argument == "-h" || argument == "--version" || argument == "-V";
  };
  if (std::any_of(arguments.begin(), separator, is_help)) {
    arguments.erase(separator, arguments.end());
    return {};
  }
  if (separator == arguments.end()) {
    throw UsageError("-- is missing before the command to run",
                     with_separator(command, options, arguments));
  }
  std::vector<std::string> program(separator + 1, arguments.end());
  if (program.empty()) throw UsageError("no command to run after --");
  arguments.erase(separator, arguments.end());
  return program;
}

/// The commands that have an option of this name.
std::vector<std::string_view> commands_with(std::string_view option) {
  std::vector<std::string_view> names;
  for (const auto* command : commands()) {
    Options options;
    const Action never_run = command->add(options);
    if (options.has(option)) names.push_back(command->name);
  }
  return names;
}

/// The hint about an option that the command does not have: the only other command that has it.
std::string only_command_with(std::string_view option) {
  if (!option.starts_with("--")) return {};
  const auto names = commands_with(option);
  return names.size() == 1 ? fmt::format("it is an option of rlctl {}", names[0]) : "";
}

/// The hint about an option before the command that rlctl itself does not have.
std::string belongs_after_command(std::string_view option) {
  return commands_with(option).empty() ? "" : "put the options of a command after the command";
}

void require_no_operands(std::string_view command, std::span<const std::string> operands) {
  if (operands.empty()) return;
  throw UsageError(std::string(command) + " takes no arguments; unexpected argument " +
                   in_quotes(operands[0]));
}

/// Whether --json is given, even if the command line is wrong: errors are then JSON too.
bool asks_for_json(std::span<const std::string> arguments) {
  for (const auto& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

std::vector<std::string> take_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (int i = 1; i < argc; ++i) mask_passwords(argv[i], std::strlen(argv[i]));
  return arguments;
}

// ---- Memory that is refused ----

// Known without any memory, for the last report.
const Command* probable_command = nullptr;
std::atomic<bool> lacks_memory{false};

const Command* find_probable_command(int argc, char** argv) noexcept {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (const auto* command = find_command(argument)) return command;
  }
  return nullptr;
}

[[noreturn]] void end_without_memory() noexcept {
  write_stderr("rlctl: out of memory; if a request was sent, it may have been counted\n");
  const auto status =
      probable_command == nullptr ? ExitStatus::kUsage : probable_command->unreported;
  ::_exit(static_cast<int>(status));
}

void note_lack_of_memory() {
  lacks_memory = true;
  throw std::bad_alloc();
}

std::terminate_handler default_terminate = std::abort;

/// An exception needs memory, too.
[[noreturn]] void terminate_cleanly() noexcept {
  if (lacks_memory) end_without_memory();
  default_terminate();
  std::abort();
}

class App {
 public:
  /// Throws on failure; report() handles the exception.
  [[nodiscard]] ExitStatus run(int argc, char** argv);

  [[nodiscard]] ExitStatus report(const std::exception& error);

 private:
  [[nodiscard]] ExitStatus run_arguments(std::span<const std::string> arguments, Output& out);
  [[nodiscard]] ExitStatus run_without_command(std::span<const std::string> arguments,
                                               Options& options, const GeneralOptions& general,
                                               Output& out);
  [[nodiscard]] Options::FirstOperand find_command_word(Options& options,
                                                        std::span<const std::string> arguments);
  [[nodiscard]] ExitStatus run_help(std::span<const std::string> arguments, Output& out);

  std::optional<Signals> signals_;
  const Command* command_ = nullptr;  ///< null until it is known
  bool json_ = false;                 ///< errors as JSON
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

ExitStatus App::run_arguments(std::span<const std::string> arguments, Output& out) {
  GeneralOptions general;
  Options options;
  add_general_options(options, general);
  const auto word = find_command_word(options, arguments);
  const auto at = word.at;
  if (at == arguments.size()) return run_without_command(arguments, options, general, out);
  if (arguments[at] == kHelpCommand) return run_help(arguments.subspan(at + 1), out);
  auto rest = without_command(arguments, word);
  if (arguments[at] == kVersionCommand) {
    require_no_operands(kVersionCommand, options.parse(rest));
    general.version = !general.help && !general.short_help;
    out.write(*asked_text(general, nullptr));
    return ExitStatus::kDone;
  }
  // redis-cli takes -h as the host, and a script could mistake status 0 of the help for an answer.
  const bool follows_h = at > 0 && arguments[at - 1] == "-h";
  const Command& command = command_named(
      arguments[at], follows_h ? "-h shows help; name the server with -H or --host" : "");
  command_ = &command;
  const Action action = command.add(options);

  options.explain_unknown(only_command_with);
  std::vector<std::string> program;
  if (command.takes_program) program = take_program(command, options, rest);
  auto operands = options.parse(rest);
  if (general.short_help && !operands.empty()) {
    throw UsageError("-h shows help and takes no KEY; name the server with -H or --host");
  }
  if (const auto text = asked_text(general, &command)) {
    out.write(*text);
    return ExitStatus::kDone;
  }
  options.require_consistent(operands);
  ConfigurationSource configuration(general.config);
  Invocation invocation{.command = command.name,
                        .operands = std::move(operands),
                        .program = std::move(program),
                        .options = options,
                        .connection = general.connection,
                        .configuration = configuration,
                        .json = general.json,
                        .interrupt = signals_->interrupt(),
                        .out = out};
  return action(invocation);
}

Options::FirstOperand App::find_command_word(Options& options,
                                             std::span<const std::string> arguments) {
  options.explain_unknown(belongs_after_command);
  try {
    return options.find_operand(arguments);
  } catch (const UsageError&) {
    // An option before the command is wrong; the command's statuses hold nevertheless.
    if (probable_command != nullptr && probable_command->report != nullptr) {
      command_ = probable_command;
    }
    throw;
  }
}

ExitStatus App::run_without_command(std::span<const std::string> arguments, Options& options,
                                    const GeneralOptions& general, Output& out) {
  options.parse(arguments);
  if (const auto text = asked_text(general, nullptr)) {
    out.write(*text);
    return ExitStatus::kDone;
  }
  if (general.json) throw UsageError("no command given", "rlctl --help lists the commands");
  write_stderr(general_help(HelpExtent::kShort));
  return ExitStatus::kUsage;
}

ExitStatus App::run_help(std::span<const std::string> arguments, Output& out) {
  if (arguments.size() > 1)
    throw UsageError("help takes one command; unexpected argument " + in_quotes(arguments[1]));
  const bool all = arguments.empty() || arguments[0].starts_with('-') ||
                   arguments[0] == kHelpCommand || arguments[0] == kVersionCommand;
  out.write(all ? general_help(HelpExtent::kAll)
                : command_help(command_named(arguments[0]), HelpExtent::kAll));
  return ExitStatus::kDone;
}

ExitStatus App::report(const std::exception& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr && signals_) {
    die_by(signals_->interrupt().signal());
  }
  if (dynamic_cast<const OutputClosed*>(&error) != nullptr) die_by(SIGPIPE);
  // It may not have got as far as the command's name; its statuses hold nevertheless.
  const bool has_no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (command_ == nullptr && has_no_memory) command_ = probable_command;
  const Problem problem = describe(error);
  if (command_ != nullptr && command_->report != nullptr) return command_->report(problem, json_);
  write_stderr(render(problem, command_ == nullptr ? "" : command_->name, json_));
  return problem.status;
}

}  // namespace

int run(int argc, char** argv) {
  probable_command = find_probable_command(argc, argv);
  std::set_new_handler(note_lack_of_memory);
  default_terminate = std::set_terminate(terminate_cleanly);
  App app;
  ExitStatus status{};
  try {
    try {
      status = app.run(argc, argv);
    } catch (const std::exception& error) {
      status = app.report(error);
    }
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  return static_cast<int>(status);
}

}  // namespace rlctl::cli
