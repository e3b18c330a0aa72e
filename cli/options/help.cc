#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/cli11.h"
#include "cli/terminal/table.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 27;

void append_row(std::string& out, const CLI::Option& option, bool all) {
  std::string left = option.get_snames().empty() ? "      " : "  ";
  left += option.get_name(false, true);
  if (const auto comma = left.find(','); comma != left.npos) left.insert(comma + 1, " ");
  const auto type = option.get_type_name();
  if (!type.empty()) {
    left += option.get_items_expected_max() == 0 ? "[=" + type + "]" : " " + type;
  }
  out += left;
  if (left.size() + 2 > kColumn) {
    out += '\n';
    left.clear();
  }
  out.append(kColumn - left.size(), ' ');
  const std::string_view help = option.get_description();
  append_filled(out, all ? help : first_clause(help), kColumn, kWidth);
}

bool has_word(std::string_view text, std::string_view word) {
  return fmt::format(" {} ", text).find(fmt::format(" {} ", word)) != text.npos;
}

/// With `brief`, one list without groups: the options that it names, or all if it is empty.
void append_options(std::string& out, std::span<const OptionDetails* const> options,
                    std::optional<std::string_view> brief = {}) {
  std::string heading;
  for (const auto* details : options) {
    const auto& option = *details->option;
    if (brief && !brief->empty() && !has_word(*brief, long_name(option))) continue;
    const auto group = brief ? "Options" : option.get_group();
    if (group != heading) out += fmt::format("\n{}:\n", heading = group);
    append_row(out, option, !brief);
  }
}

/// A heading in the help of rlctl: it stands above the first of the commands that serve one
/// purpose, which follow each other in RLCTL_COMMANDS.
struct Purpose {
  std::string_view first_command, heading;
};
constexpr std::array<Purpose, 4> kPurposes{{
    {"check", "Commands that ask a limiter"},
    {"inspect", "Commands that look at what limiters store, or remove it"},
    {"burst", "Commands that test a limiter"},
    {"doctor", "Commands that set up rlctl"},
}};

void append_commands(std::string& out, const CLI::App& command) {
  std::vector<std::pair<std::string_view, std::vector<HelpRow>>> groups;
  std::size_t width = 0;
  for (const auto* inner : command.get_subcommands({})) {
    const auto& name = inner->get_name();
    const auto begun = std::ranges::find(kPurposes, name, &Purpose::first_command);
    const bool begins_group = command.get_parent() == nullptr && begun != kPurposes.end();
    if (begins_group || groups.empty())
      groups.push_back({begins_group ? begun->heading : "Commands", {}});
    groups.back().second.push_back({name, inner->get_description()});
    width = std::max(width, name.size() + 2);
  }
  for (const auto& [heading, rows] : groups) out += help_section(heading, rows, width);
}

/// The heading and the first two examples.
std::string_view first_examples(std::string_view epilogue) {
  epilogue.remove_prefix(std::min(epilogue.find("\nExample"), epilogue.size()));
  std::size_t end = 0;
  for (int lines = 0; lines < 3 && end != epilogue.npos; ++lines)
    end = epilogue.find('\n', end + 1);
  return epilogue.substr(0, end == epilogue.npos ? end : end + 1);
}

/// A line for each status that the command explains; further lines of a text are indented.
void append_statuses(std::string& out, const CommandText& command) {
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

std::string usage(std::string_view synopsis) {
  std::string out;
  while (!synopsis.empty()) {
    const auto line = synopsis.substr(0, synopsis.find('\n'));
    out.append(out.empty() ? "Usage: rlctl " : "       rlctl ").append(line).append("\n");
    synopsis.remove_prefix(std::min(line.size() + 1, synopsis.size()));
  }
  return out;
}

std::string general_help(const CLI::App& app, const CommandLineState& line, bool all) {
  std::string out =
      "Usage: rlctl [connection] COMMAND [options] [--] [KEY...]\n"
      "\n"
      "Limits request rates with scripts that run inside Redis.\n";
  append_commands(out, app);
  out +=
      "\n"
      "Examples:\n"
      "  rlctl check --limit 5/60s login:alice\n"
      "  rlctl burst --limit 1000/60s\n";
  if (all) {
    append_options(out, line.own_options(app));
  } else {
    out +=
        "\n"
        "Options of a command: see rlctl COMMAND -h\n"
        "Connection and general options: see rlctl --help\n";
  }
  return out;
}

}  // namespace

std::string_view first_clause(std::string_view text) {
  return text.substr(0, std::min({text.find("; "), text.find(" ("), text.find(". ")}));
}

std::string help_text(const CLI::App& app, const CommandLineState& line, HelpExtent extent) {
  const bool all = extent == HelpExtent::kAll;
  if (app.get_parent() == nullptr) return general_help(app, line, all);
  const auto& command = *line.commands.at(&app).text;
  const auto options = line.own_options(app);
  auto out = usage(command.synopsis);
  if (!all) {
    append_commands(out, app);
    append_options(out, options, command.brief);
    const bool is_inner = app.get_parent()->get_parent() != nullptr;
    out += fmt::format("\nMore: rlctl {}{} --help; connection options: rlctl --help\n",
                       is_inner ? app.get_parent()->get_name() + ' ' : "", command.name);
    return out.append(first_examples(command.epilogue));
  }
  out.append("\n").append(command.about).append("\n");
  append_commands(out, app);
  append_options(out, options);
  out += "\nConnection and general options: see rlctl --help\n";
  if (command.notes != nullptr) out += command.notes();
  append_statuses(out, command);
  return out += command.epilogue;
}

}  // namespace rlctl::cli
