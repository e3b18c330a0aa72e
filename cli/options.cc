#include "cli/options.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/failure.h"

// The only file that knows CLI11. It keeps the options and binds the values; what is an option and
// what is its value is decided before it, since version 2.1.2
// - reports a missing command or option instead of the misspelt one, and extras in reverse;
// - takes "--opt=" for "--opt NEXT", "-q-json" for "-q --json", and drops an operand "++";
// - cannot tie an optional value to '=', and accepts values for flags;
// - splits a value "[a,b]" of a list in two;
// - with fallthrough takes an operand for a subcommand of that name.
// So it gets one flat App, and "--name", "value" in pairs.

namespace rlctl::cli {
namespace {

/// One option as help shows it.
struct OptionSpec {
  enum class Kind { kFlag, kValue, kList, kOptionalValue };
  std::string_view group;
  std::string_view names;       ///< "-q,--quiet"
  std::string_view value_name;  ///< "LIMIT"; empty for a flag
  std::string_view help;        ///< empty: not shown
  Kind kind = Kind::kFlag;
};
using Kind = OptionSpec::Kind;

constexpr std::size_t kHelpWidth = 80;
constexpr std::size_t kHelpColumn = 27;

/// An option of the command line with its value, or an operand.
struct Token {
  const OptionSpec* option = nullptr;
  std::optional<std::string> value;
};

std::string_view long_name(const OptionSpec& spec) {
  return spec.names.substr(spec.names.find("--"));
}

/// Appends `text` in lines that begin at column `indent`, the first of which has been begun.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  std::size_t column = indent;
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, space);
    if (column > indent && column + 1 + word.size() > kHelpWidth) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  out += '\n';
}

void append_help_line(std::string& out, const OptionSpec& spec) {
  std::string left = spec.names.starts_with("--") ? "      " : "  ";
  left += spec.names;
  if (const auto comma = left.find(','); comma != left.npos) left.insert(comma + 1, " ");
  if (spec.kind == Kind::kOptionalValue) {
    left.append("[=").append(spec.value_name).append("]");
  } else if (!spec.value_name.empty()) {
    left.append(" ").append(spec.value_name);
  }
  out += left;
  if (left.size() + 2 > kHelpColumn) {
    out += '\n';
    left.clear();
  }
  out.append(kHelpColumn - left.size(), ' ');
  append_wrapped(out, spec.help, kHelpColumn);
}

}  // namespace

struct Options::State {
  CLI::App app;
  std::string_view group;
  std::vector<OptionSpec> specs;
  std::vector<const CLI::Option*> bound;  ///< of each spec

  void add(std::string_view names, std::string_view value_name, std::string_view help, Kind kind,
           CLI::callback_t bind) {
    auto* option = app.add_option(std::string(names), std::move(bind));
    option->multi_option_policy(kind == Kind::kList ? CLI::MultiOptionPolicy::TakeAll
                                                    : CLI::MultiOptionPolicy::TakeLast);
    specs.push_back({group, names, value_name, help, kind});
    bound.push_back(option);
  }

  [[nodiscard]] const OptionSpec* find(const std::string& name) const {
    const auto* option = app.get_option_no_throw(name);
    for (std::size_t i = 0; option != nullptr && i < bound.size(); ++i) {
      if (bound[i] == option) return &specs[i];
    }
    return nullptr;
  }

  [[noreturn]] void unknown(const std::string& name, const std::string& hint = {}) const {
    std::vector<std::string_view> names;
    for (const auto& spec : specs) {
      if (!spec.help.empty()) names.push_back(long_name(spec));
    }
    throw UsageError("unknown option " + in_quotes(name) + did_you_mean(name, names), hint);
  }

  std::size_t read_option(std::span<const std::string> arguments, std::size_t at,
                          std::vector<Token>& tokens) const;
  std::size_t read_long(std::span<const std::string> arguments, std::size_t at,
                        std::vector<Token>& tokens) const;
  std::size_t read_short(std::span<const std::string> arguments, std::size_t at,
                         std::vector<Token>& tokens) const;
  std::size_t take_next(std::span<const std::string> arguments, std::size_t at,
                        const OptionSpec& spec, const std::string& name,
                        std::vector<Token>& tokens) const;
};

namespace {

bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '-';
}

}  // namespace

/// The option's value is the next argument, whatever that looks like.
std::size_t Options::State::take_next(std::span<const std::string> arguments, std::size_t at,
                                      const OptionSpec& spec, const std::string& name,
                                      std::vector<Token>& tokens) const {
  if (at + 1 == arguments.size()) {
    throw UsageError("option " + in_quotes(name) + " needs a value: " + name + " " +
                     std::string(spec.value_name));
  }
  tokens.push_back({&spec, arguments[at + 1]});
  return at + 2;
}

std::size_t Options::State::read_long(std::span<const std::string> arguments, std::size_t at,
                                      std::vector<Token>& tokens) const {
  const std::string& argument = arguments[at];
  const auto equals = argument.find('=');
  const auto name = argument.substr(0, equals);
  const auto* spec = find(name);
  if (spec == nullptr) unknown(name);
  if (equals == argument.npos) {
    if (spec->kind != Kind::kFlag && spec->kind != Kind::kOptionalValue) {
      return take_next(arguments, at, *spec, name, tokens);
    }
    tokens.push_back({spec, std::nullopt});
    return at + 1;
  }
  if (spec->kind == Kind::kFlag) throw UsageError("option " + in_quotes(name) + " takes no value");
  tokens.push_back({spec, argument.substr(equals + 1)});
  return at + 1;
}

std::size_t Options::State::read_short(std::span<const std::string> arguments, std::size_t at,
                                       std::vector<Token>& tokens) const {
  const std::string& argument = arguments[at];
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const std::string name{'-', argument[i]};
    const auto* spec = find(name);
    if (spec == nullptr) {
      // "-limit": a long option with one dash too few.
      const auto whole = argument.substr(0, argument.find('='));
      if (find("-" + whole) != nullptr) unknown(whole);
      if (i > 1 || whole.size() == 2) unknown(name);
      unknown(argument, "a KEY that begins with '-' stands after --");
    }
    if (spec->kind == Kind::kFlag) {
      tokens.push_back({spec, std::nullopt});
    } else if (i + 1 < argument.size()) {
      tokens.push_back({spec, argument.substr(i + 1)});
      break;
    } else {
      return take_next(arguments, at, *spec, name, tokens);
    }
  }
  return at + 1;
}

/// Reads arguments[at], which is_option(), and its value; returns the index after them.
std::size_t Options::State::read_option(std::span<const std::string> arguments, std::size_t at,
                                        std::vector<Token>& tokens) const {
  return arguments[at].starts_with("--") ? read_long(arguments, at, tokens)
                                         : read_short(arguments, at, tokens);
}

Options::Options() : state_(std::make_unique<State>()) {
  state_->app.set_help_flag();
}
Options::~Options() = default;
Options::Options(Options&&) noexcept = default;
Options& Options::operator=(Options&&) noexcept = default;

void Options::group(std::string_view title) {
  state_->group = title;
}

void Options::flag(std::string_view names, bool& target, std::string_view help) {
  state_->add(names, "", help, Kind::kFlag,
              [&target](const CLI::results_t&) { return target = true; });
}

void Options::value(std::string_view names, std::string_view value_name,
                    std::optional<std::string>& target, std::string_view help) {
  state_->add(names, value_name, help, Kind::kValue, [&target](const CLI::results_t& values) {
    target = values.back();
    return true;
  });
}

void Options::list(std::string_view names, std::string_view value_name,
                   std::vector<std::string>& target, std::string_view help) {
  state_->add(names, value_name, help, Kind::kList, [&target](const CLI::results_t& values) {
    target = values;
    return true;
  });
}

void Options::optional_value(std::string_view names, std::string_view value_name,
                             OptionalValue& target, std::string_view help) {
  state_->add(names, value_name, help, Kind::kOptionalValue,
              [&target](const CLI::results_t& values) {
                target.given = true;
                // parse() marks a value by "=", so that none and an empty one differ.
                if (!values.back().empty()) target.value = values.back().substr(1);
                return true;
              });
}

std::size_t Options::find_operand(std::span<const std::string> arguments) const {
  std::vector<Token> ignored;
  std::size_t at = 0;
  while (at < arguments.size() && is_option(arguments[at])) {
    if (arguments[at] == "--") return at + 1;
    at = state_->read_option(arguments, at, ignored);
  }
  return at;
}

std::vector<std::string> Options::parse(std::span<const std::string> arguments) {
  std::vector<std::string> operands;
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < arguments.size()) {
    if (arguments[at] == "--") {
      operands.insert(operands.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      arguments.end());
      break;
    }
    if (is_option(arguments[at])) {
      at = state_->read_option(arguments, at, tokens);
    } else {
      operands.push_back(arguments[at++]);
    }
  }

  std::vector<std::string> reversed;  // as CLI11 wants it
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    const bool marked = token->option->kind == Kind::kOptionalValue && token->value;
    reversed.push_back((marked ? "=" : "") + token->value.value_or(""));
    reversed.emplace_back(long_name(*token->option));
  }
  try {
    state_->app.parse(std::move(reversed));
  } catch (const CLI::Error& error) {
    throw UsageError(error.what());
  }
  return operands;
}

std::string Options::help() const {
  std::string out;
  std::string_view group;
  for (const auto& spec : state_->specs) {
    if (spec.help.empty()) continue;
    if (spec.group != group) out.append("\n").append(spec.group).append(":\n");
    group = spec.group;
    append_help_line(out, spec);
  }
  return out;
}

}  // namespace rlctl::cli
