#include "cli/options/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/cli11.h"
#include "cli/options/options.h"

namespace rlctl::cli {
namespace {

bool is_option(std::string_view argument) {
  return argument.size() > 1 && argument.front() == '-';
}

/// Whether the argument is a whole number below 0.
bool is_number(std::string_view argument) {
  return is_option(argument) && is_digits(argument.substr(1));
}

/// Whether CLI11 misunderstands the argument: it takes "--name= next" for "--name next", and drops
/// an operand "++".
bool is_misunderstood(std::string_view argument) {
  return argument == "++" ||
         (argument.starts_with("--") && argument.find('=') == argument.size() - 1);
}

void refuse_misunderstood(std::span<const std::string> arguments) {
  const auto found = std::ranges::find_if(arguments, is_misunderstood);
  if (found == arguments.end()) return;
  if (*found == "++") throw UsageError("unexpected argument '++'", "write -- before it");
  throw UsageError(
      "option " + quoted_and_masked(found->substr(0, found->size() - 1)) + " has an empty value",
      "is the variable set?");
}

void read_words(CommandLineState& line, std::span<const std::string> words) {
  std::vector<std::string> last_first;
  std::remove_copy_if(words.rbegin(), words.rend(), std::back_inserter(last_first),
                      is_misunderstood);
  line.app.parse(std::move(last_first));
}

// ---- Mistakes ----

/// The commands that have an option of this name that is shown.
std::vector<std::string> commands_with(CommandLineState& line, CLI::App& parent,
                                       const std::string& option, const std::string& path = "") {
  std::vector<std::string> names;
  for (auto* command : parent.get_subcommands({})) {
    line.declare(*command);
    const auto name = path + command->get_name();
    const auto* found = command->get_option_no_throw(option);
    if (found != nullptr && !found->get_description().empty()) names.push_back(name);
    for (auto& inner : commands_with(line, *command, option, name + " ")) names.push_back(inner);
  }
  return names;
}

/// What to type for an unknown option; empty if that is not clear.
std::string advice_for(CommandLineState& line, const std::string& option) {
  if (const auto chosen = line.commands.find(&line.chosen()); chosen != line.commands.end()) {
    for (const auto& row : chosen->second.text->instead) {
      if (row.option == option) return std::string(row.advice);
    }
  }
  const auto names = commands_with(line, line.app, option);
  const auto chosen = line.app.get_subcommands();
  const bool has_options =
      !chosen.empty() && !line.is_before_command &&
      !(line.own_options(*chosen.front()).empty() && chosen.front()->get_subcommands({}).empty());
  if (!has_options) return names.empty() ? "" : "put the options of a command after the command";
  const bool is_clear = names.size() == 1 && option.starts_with("--");
  return is_clear ? fmt::format("it is an option of rlctl {}", names[0]) : "";
}

[[noreturn]] void throw_unknown_name(CommandLineState& line, const std::string& name,
                                     const std::string& hint = {}) {
  if (auto advice = advice_for(line, name); !advice.empty()) {
    throw UsageError("unknown option " + quoted_and_masked(name), std::move(advice));
  }
  std::vector<std::string> names;
  auto* command = line.is_before_command ? &line.app : &line.chosen();
  for (; command != nullptr; command = command->get_parent()) {
    for (const auto* option : line.own_options(*command)) {
      if (!option->option->get_lnames().empty()) names.push_back(long_name(*option->option));
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError("unknown option " + quoted_and_masked(name) + did_you_mean(name, views), hint);
}

/// `argument` looks like an option, but CLI11 knows none.
[[noreturn]] void throw_unknown(CommandLineState& line, const std::string& argument) {
  const auto name = argument.substr(0, argument.find('='));
  if (name.starts_with("--") || name.size() == 2) throw_unknown_name(line, name);
  // "-limit": a long option with one dash missing.
  if (line.find(line.chosen(), "-" + name) != nullptr) throw_unknown_name(line, name);
  throw_unknown_name(line, argument, "write -- before a KEY that begins with '-'");
}

/// Exclusions come first: what an option needs may be excluded by another one.
void require_rules(CommandLineState& line) {
  std::stable_partition(line.rules.begin(), line.rules.end(), std::mem_fn(&OptionRule::excludes));
  for (const auto& rule : line.rules) {
    if (rule.option->option->count() == 0) continue;
    const auto* other = line.find(*rule.option->command, rule.other);
    if ((other != nullptr && other->option->count() > 0) != rule.excludes) continue;
    const auto name = long_name(*rule.option->option);
    if (rule.excludes) refuse_both(name, rule.other, rule.why, rule.hint);
    auto message = fmt::format("{} requires {}", name, rule.other);
    if (!rule.why.empty()) message.append(": ").append(rule.why);
    throw UsageError(message, std::string(rule.hint));
  }
}

/// The option that CLI11's error begins with.
const OptionDetails* find_wrong_option(CommandLineState& line, const CLI::Error& error) {
  const std::string message = error.what();
  auto name = message.substr(0, message.find_first_of(" :,"));
  if (!name.starts_with('-')) name.insert(0, name.size() == 1 ? "-" : "--");
  return line.find(line.chosen(), name);
}

UsageError to_usage_error(CommandLineState& line, const CLI::Error& error) {
  const auto* found = find_wrong_option(line, error);
  if (found == nullptr) return UsageError(error.what());
  const auto name = long_name(*found->option);
  if (found->option->get_items_expected_max() == 0) {
    return UsageError("option " + quoted_and_masked(name) + " takes no value");
  }
  return UsageError(fmt::format("option {} needs a value: {} {}", quoted_and_masked(name), name,
                                found->option->get_type_name()));
}

bool is_duration(const std::string& text) {
  try {
    static_cast<void>(parse_duration(text));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

/// Refuses what the Take of a given option cannot see.
void require_values(const OptionDetails& details, std::span<const std::string> operands) {
  const auto& option = *details.option;
  const auto& values = option.results();
  const auto name = long_name(option);
  const auto type = option.get_type_name();
  if (!details.once_hint.empty() && values.size() > 1) {
    throw UsageError(fmt::format("{} may be given only once, but {} follows {}", name,
                                 quoted_and_masked(values[1]), quoted_and_masked(values[0])),
                     std::string(details.once_hint));
  }
  if (type == "TIME" && values.back() == kNoValue) {
    const auto found = std::ranges::find_if(operands, is_duration);
    if (found == operands.end()) return;
    throw UsageError(
        fmt::format("{} takes its value after '=', not as the next argument {}", name,
                    quoted_and_masked(*found)),
        fmt::format("write {}={}, or -- before an argument that only looks like it", name, *found));
  }
  const bool is_key = type == "KEY";
  if (details.has_stream || (!is_key && type != "FILE" && type != "PATH")) return;
  if (std::ranges::find(values, "-") == values.end()) return;
  throw UsageError(fmt::format("{}: '-' is not a {}", name, is_key ? "KEY" : "file"),
                   is_key ? std::string() : "a file of that name is ./-");
}

[[noreturn]] void throw_unknown_command(CLI::App& parent, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto* command : parent.get_subcommands({})) names.push_back(command->get_name());
  if (parent.get_parent() != nullptr) {
    throw UsageError("unknown subcommand " + quoted_and_masked(name) +
                     did_you_mean_or_all(name, names));
  }
  // redis-cli takes -h as the host.
  const auto suggestion = did_you_mean(name, names);
  const bool is_host = suggestion.empty() && parent.get_option("-h")->count() > 0;
  throw UsageError("unknown command " + quoted_and_masked(name) + suggestion,
                   is_host ? "-h shows help; name the server with -H or --host" : "");
}

/// CLI11 looks for what is missing before it looks for what is unknown.
void require_known(CommandLineState& line) {
  const bool has_command = !line.is_before_command && !line.app.get_subcommands().empty();
  const auto command = line.commands.find(&line.chosen());
  const bool takes_numbers = command != line.commands.end() && command->second.text->takes_numbers;
  for (const auto& argument : line.app.remaining(true)) {
    if (takes_numbers && is_number(argument)) continue;
    if (is_option(argument)) throw_unknown(line, argument);
    if (!has_command) throw_unknown_command(line.app, argument);
  }
}

std::vector<Completion> names_of_commands(const CLI::App& parent) {
  std::vector<Completion> names;
  for (const auto* command : parent.get_subcommands({})) {
    names.push_back({command->get_name(), command->get_description()});
  }
  return names;
}

std::optional<CommandLine::Value> to_value(const OptionDetails* details) {
  const auto type = details == nullptr ? "" : details->option->get_type_name();
  if (type.empty()) return std::nullopt;
  const bool is_file = details->complete == nullptr && (type == "FILE" || type == "PATH");
  return CommandLine::Value{.complete = is_file ? complete_file : details->complete,
                            .comma_separated = details->splits_at_commas};
}

}  // namespace

// ---- The state ----

CommandLineState::CommandLineState() {
  // rlctl's own flags: CLI11's are inherited by each command, in a group that differs.
  app.set_help_flag();
  // At most one: an operand that is the name of another command is an operand.
  app.fallthrough()->require_subcommand(0, 1)->allow_extras();
}

bool CommandLineState::wants(std::string_view names) const {
  const auto comma = names.find(',');
  const auto name = names.substr(comma == names.npos ? 0 : comma + 1);
  const auto is_spelled = [=](std::string_view word) {
    if (!is_option(word)) return false;
    if (word.starts_with("--")) return word.substr(0, word.find('=')) == name;
    // Several letters may follow one dash.
    return !names.starts_with("--") && word.find(names[1]) != word.npos;
  };
  return declares_all || std::ranges::any_of(before_separator, is_spelled);
}

void CommandLineState::add(CLI::App& parent, const CommandText& text,
                           std::function<void(Options&)> declare) {
  auto* command = parent.add_subcommand(std::string(text.name), std::string(text.summary));
  commands.emplace(command, CommandDetails{.text = &text, .declare = std::move(declare)});
  command->preparse_callback([this, command, &parent](std::size_t) {
    // Whatever stands before the command's name is neither an option nor a command.
    if (parent.get_parent() == nullptr && !is_unfinished && !app.remaining().empty()) {
      is_before_command = true;
      require_known(*this);
    }
    this->declare(*command);
  });
}

void CommandLineState::declare(CLI::App& command) {
  auto& details = commands.at(&command);
  if (std::exchange(details.is_declared, true)) return;
  Options declared(command, *this);
  declared.group("Options");
  details.declare(declared);
}

CLI::App& CommandLineState::chosen() {
  auto* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

const OptionDetails* CommandLineState::find(const CLI::App& command, std::string_view name) const {
  for (const auto* at = &command; at != nullptr; at = at->get_parent()) {
    for (const auto& details : options) {
      if (details.command == at && details.option->check_name(std::string(name))) return &details;
    }
  }
  return nullptr;
}

std::vector<const OptionDetails*> CommandLineState::own_options(const CLI::App& command) const {
  std::vector<const OptionDetails*> own;
  for (const auto& details : options) {
    const bool is_shown = !details.option->get_description().empty();
    if (details.command == &command && is_shown) own.push_back(&details);
  }
  return own;
}

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "-" + option.get_snames().front()
                                     : "--" + option.get_lnames().front();
}

// ---- Parsing ----

CommandLine::CommandLine() : state_(std::make_unique<CommandLineState>()) {}
CommandLine::~CommandLine() = default;

void CommandLine::set_general(std::function<void(Options&)> declare) {
  declare_general_ = std::move(declare);
}

void CommandLine::add_command(const CommandText& text, std::function<void(Options&)> declare) {
  commands_.emplace_back(&text, std::move(declare));
}

void CommandLine::begin(std::span<const std::string> arguments, Declares declares) {
  state_ = std::make_unique<CommandLineState>();
  state_->declares_all = declares == Declares::kAll;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  state_->before_separator.assign(arguments.begin(), separator);
  if (separator != arguments.end()) state_->after_separator.emplace(separator + 1, arguments.end());
  Options general(state_->app, *state_);
  general.group("Options");  // CLI11's default differs between versions
  if (declare_general_) declare_general_(general);
  for (const auto& [text, declare] : commands_) {
    const auto& words = state_->before_separator;
    const bool is_named = std::ranges::find(words, text->name) != words.end();
    if (is_named || state_->declares_all) state_->add(state_->app, *text, declare);
  }
}

void CommandLine::parse(std::span<const std::string> arguments,
                        const std::function<bool()>& asks_help, Declares declares) {
  begin(arguments, declares);
  std::exception_ptr mistake;
  try {
    read_words(*state_, state_->before_separator);
    require_rules(*state_);
    const auto operands = operands_before_separator();
    for (const auto& details : state_->options) {
      if (details.option->count() > 0) require_values(details, operands);
    }
  } catch (const CLI::Error& error) {
    mistake = std::make_exception_ptr(to_usage_error(*state_, error));
  } catch (const UsageError&) {
    mistake = std::current_exception();
  }
  const bool is_plain = !mistake && !asks_help() && command() != nullptr &&
                        std::ranges::none_of(operands_before_separator(), is_option);
  if (!is_plain && declares == Declares::kWhatMayBeGiven) return parse(arguments, asks_help);
  refuse_misunderstood(state_->before_separator);
  require_known(*state_);
  if (mistake && !asks_help()) std::rethrow_exception(mistake);
}

const CommandText* CommandLine::command() const {
  const auto chosen = state_->app.get_subcommands();
  return chosen.empty() ? nullptr : state_->commands.at(chosen.front()).text;
}

bool CommandLine::fails_before_command() const {
  return state_->is_before_command;
}

const CommandText* CommandLine::innermost_command() const {
  const auto found = state_->commands.find(&state_->chosen());
  return found == state_->commands.end() ? nullptr : found->second.text;
}

std::vector<std::string> CommandLine::operands_before_separator() const {
  return state_->app.remaining(true);
}

std::vector<std::string> CommandLine::operands() const {
  auto operands = operands_before_separator();
  if (const auto& after = state_->after_separator) {
    operands.insert(operands.end(), after->begin(), after->end());
  }
  return operands;
}

const std::optional<std::vector<std::string>>& CommandLine::after_separator() const {
  return state_->after_separator;
}

Options CommandLine::options() const {
  return {state_->chosen(), *state_};
}

void CommandLine::require_command() const {
  auto& chosen = state_->chosen();
  const auto operands = this->operands();
  const auto found = state_->commands.find(&chosen);
  if (found == state_->commands.end()) throw_unknown_command(chosen, operands.front());
  if (found->second.example.empty()) return;
  if (!operands.empty()) throw_unknown_command(chosen, operands.front());
  std::vector<std::string_view> names;
  for (const auto* command : chosen.get_subcommands({})) names.push_back(command->get_name());
  throw UsageError("no subcommand given: use " + one_of(names), std::string(found->second.example));
}

// ---- Help ----

std::string CommandLine::help(HelpExtent extent) const {
  return help_text(path().empty() ? state_->app : state_->chosen(), *state_, extent);
}

std::string CommandLine::path() const {
  std::string path;
  for (const auto* command = &state_->chosen(); command->get_parent() != nullptr;
       command = command->get_parent()) {
    // rlctl's own commands have no help.
    if (state_->commands.at(command).text->synopsis.empty()) return {};
    path.insert(0, command->get_name() + (path.empty() ? "" : " "));
  }
  return path;
}

// ---- A line that is still being typed ----

void CommandLine::parse_unfinished(std::span<const std::string> arguments) {
  begin(arguments, Declares::kAll);
  state_->is_unfinished = true;
  std::span<const std::string> words = state_->before_separator;
  const auto read = [&] {
    try {
      read_words(*state_, words);
    } catch (const CLI::ArgumentMismatch& error) {
      return find_wrong_option(*state_, error);
    } catch (const std::exception&) {
      // What has been read up to the mistake is known.
    }
    return static_cast<const OptionDetails*>(nullptr);
  };
  state_->awaiting = read();
  if (state_->awaiting == nullptr) return;
  words = words.first(words.size() - 1);
  read();
}

std::optional<CommandLine::Value> CommandLine::awaited_value() const {
  return state_->after_separator ? std::nullopt : to_value(state_->awaiting);
}

std::optional<CommandLine::Value> CommandLine::value_of(const std::string& option) const {
  return to_value(state_->find(state_->chosen(), option));
}

std::vector<Completion> CommandLine::options_to_follow() const {
  std::vector<Completion> found;
  const auto is_given = [](const OptionDetails* one) {
    return one != nullptr && one->option->count() > 0;
  };
  for (const CLI::App* command = &state_->chosen(); command != nullptr;
       command = command->get_parent()) {
    for (const auto* details : state_->own_options(*command)) {
      const auto* option = details->option;
      const bool is_list = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                           option->get_items_expected_max() > 0 && details->once_hint.empty();
      if (is_given(details) && !is_list) continue;
      const auto rules_out = [&](const OptionRule& rule) {
        const auto* other = state_->find(*rule.option->command, rule.other);
        return rule.excludes && ((rule.option == details && is_given(other)) ||
                                 (other == details && is_given(rule.option)));
      };
      if (std::ranges::any_of(state_->rules, rules_out)) continue;
      found.push_back({long_name(*option), std::string(first_clause(option->get_description()))});
    }
  }
  return found;
}

std::vector<Completion> CommandLine::commands() const {
  return names_of_commands(state_->app);
}

std::vector<Completion> CommandLine::subcommands() const {
  return names_of_commands(state_->chosen());
}

}  // namespace rlctl::cli
