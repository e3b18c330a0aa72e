#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

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

/// Without `all`, the groups are one list.
void append_options(std::string& out, std::span<const OptionDetails* const> options, bool all) {
  if (!all && !options.empty()) out += "\nOptions:\n";
  std::string group;
  for (const auto* details : options) {
    const auto& option = *details->option;
    if (all && option.get_group() != group) {
      group = option.get_group();
      out.append("\n").append(group).append(":\n");
    }
    if (all || !details->only_in_long_help) append_row(out, option, all);
  }
}

void append_commands(std::string& out, const CLI::App& command) {
  std::vector<HelpRow> rows;
  for (const auto* inner : command.get_subcommands({})) {
    rows.push_back({inner->get_name(), inner->get_description()});
  }
  if (!rows.empty()) out += help_section("Commands", rows);
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

std::string general_help(const CLI::App& app, std::span<const OptionDetails* const> options,
                         bool all) {
  std::string out =
      "Usage: rlctl [connection] COMMAND [options] [--] [KEY...]\n"
      "\n"
      "Limits request rates with scripts that run inside Redis.\n";
  append_commands(out, app);
  if (!all) {
    return out +
           "\n"
           "Options of a command: see rlctl COMMAND -h\n"
           "Connection and general options: see rlctl --help\n";
  }
  append_options(out, options, true);
  return out +
         "\n"
         "Examples:\n"
         "  rlctl check --limit 5/60s login:alice\n"
         "  rlctl help check\n";
}

}  // namespace

std::string_view first_clause(std::string_view text) {
  return text.substr(0, std::min({text.find("; "), text.find(" ("), text.find(". ")}));
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode mode) const {
  const bool all = mode == CLI::AppFormatMode::All;
  if (app->get_parent() == nullptr) return general_help(*app, line_->own_options(*app), all);
  const auto& command = *line_->commands.at(app).text;
  auto out = usage(command.synopsis);
  if (all) out.append("\n").append(command.about).append("\n");
  append_commands(out, *app);
  append_options(out, line_->own_options(*app), all);
  out += "\nConnection and general options: see rlctl --help\n";
  if (!all) return out;
  if (command.notes != nullptr) out += command.notes();
  append_statuses(out, command);
  return out += command.epilogue;
}

}  // namespace rlctl::cli
