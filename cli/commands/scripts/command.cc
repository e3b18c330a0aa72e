#include "cli/commands/scripts/call.h"

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/options/completions.h"
#include "cli/options/values.h"
#include "cli/server/complete_key.h"
#include "cli/terminal/table.h"
#include "limiter/check.h"
#include "redis/connection.h"

namespace rlctl::cli::scripts {

const BundledScript& script_named(const std::string& name) {
  return find_named(bundled_scripts(), name, "unknown script");
}

namespace {

/// The scripts with these names; if there are none, those of the algorithms.
std::vector<const BundledScript*> chosen_scripts(std::span<const std::string> names) {
  std::vector<const BundledScript*> chosen;
  for (const auto& name : names) chosen.push_back(&script_named(name));
  if (!names.empty()) return chosen;
  for (const auto& script : bundled_scripts()) {
    if (script.is_algorithm) chosen.push_back(&script);
  }
  return chosen;
}

// ---- list ----

ExitStatus list_scripts(Invocation& invocation) {
  require_at_most(0, invocation.operands, "rlctl scripts show NAME prints a script");
  auto& out = invocation.out.buffer();
  std::vector<Cells> rows{{"name", "sha1", "bytes", "keys", "arguments"}};
  for (const auto& script : bundled_scripts()) {
    if (!invocation.json) {
      rows.push_back({std::string(script.name), std::string(script.sha1),
                      std::to_string(script.text.size()), std::string(script.keys),
                      std::string(script.arguments)});
      continue;
    }
    JsonWriter(out)
        .begin_object()
        .field("name", script.name)
        .field("sha1", script.sha1)
        .field("bytes", script.text.size())
        .field("keys", script.keys)
        .field("arguments", script.arguments)
        .field("is_algorithm", script.is_algorithm)
        .field("summary", script.summary)
        .end_object();
    out += '\n';
  }
  if (!invocation.json) append_rows(out, rows);
  return ExitStatus::kDone;
}

// ---- show ----

ExitStatus show_script(Invocation& invocation) {
  constexpr const char* kUsage = "rlctl scripts show gcra";
  const auto& names = invocation.operands;
  if (names.empty()) throw UsageError("no NAME given", kUsage);
  require_at_most(1, names, kUsage);
  const auto& script = script_named(names[0]);
  auto& out = invocation.out.buffer();
  if (invocation.json) {
    JsonWriter(out)
        .begin_object()
        .field("name", script.name)
        .field("sha1", script.sha1)
        .field("text", script.text)
        .end_object();
    out += '\n';
  } else {
    out += script.text;
  }
  return ExitStatus::kDone;
}

// ---- load ----

ExitStatus load_scripts(Invocation& invocation) {
  const auto chosen = chosen_scripts(invocation.operands);
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  auto connection = connector.open();
  const auto servers = connection.servers();
  auto& out = invocation.out.buffer();
  for (const auto* script : chosen) {
    const std::array<std::string_view, 3> load{"SCRIPT", "LOAD", script->text};
    for (const auto& server : servers) connection.append_to(server, load);
    connection.take_all();
    if (invocation.json) {
      JsonWriter(out)
          .begin_object()
          .field("name", script->name)
          .field("sha1", script->sha1)
          .field("servers", servers.size())
          .end_object();
      out += '\n';
    } else {
      out.append("loaded name=").append(script->name).append(" sha1=").append(script->sha1);
      out.append(" servers=").append(std::to_string(servers.size())).append("\n");
    }
  }
  return ExitStatus::kDone;
}

// ---- export ----

struct ExportedFile {
  const BundledScript* script;
  std::string path;
  bool is_there = false;  ///< with these contents
};

/// Throws UsageError if a file has other contents.
std::vector<ExportedFile> files_to_export(const std::filesystem::path& folder) {
  std::vector<ExportedFile> files;
  for (const auto* script : chosen_scripts({})) {
    ExportedFile file{script, (folder / (std::string(script->name) + ".lua")).string()};
    std::error_code ignored;
    if (std::filesystem::exists(file.path, ignored)) {
      try {
        // One byte more shows that it is longer.
        file.is_there = read_all(open_file(file.path), script->text.size() + 1) == script->text;
      } catch (const std::system_error& error) {
        throw InputError("cannot read " + in_quotes(file.path) + ": " +
                         errno_text(error.code().value()));
      }
      if (!file.is_there) {
        throw UsageError(in_quotes(file.path) + " has other contents",
                         "remove it first; nothing was written");
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

ExitStatus export_scripts(Invocation& invocation) {
  constexpr const char* kUsage = "rlctl scripts export lua";
  const auto& folders = invocation.operands;
  require_at_most(1, folders, kUsage);
  if (folders.empty() || folders[0].empty()) throw UsageError("no DIR given", kUsage);
  const auto files = files_to_export(folders[0]);
  std::error_code failed;
  std::filesystem::create_directories(folders[0], failed);
  if (failed) {
    throw OutputError("cannot make the folder " + in_quotes(folders[0]) + ": " +
                      errno_text(failed.value()));
  }
  auto& out = invocation.out.buffer();
  for (const auto& file : files) {
    if (!file.is_there) {
      OutputFile written("export", file.path);
      written.write(file.script->text);
      written.commit();
    }
    const std::string_view result = file.is_there ? "unchanged" : "written";
    if (invocation.json) {
      JsonWriter(out)
          .begin_object()
          .field("name", file.script->name)
          .field("sha1", file.script->sha1)
          .bytes_field("file", file.path)
          .field("result", result)
          .end_object();
    } else {
      out.append(result).append(" file=").append(escaped_text(file.path));
    }
    out += '\n';
  }
  return ExitStatus::kDone;
}

// ---- The command ----

void add_call_options(Options& options, CallOptions& target) {
  add_limit_options_of_algorithm(options, target.limit);
  options.value("--cost", "NUMBER", into(target.cost, parse_cost), "units to take (default: 1)");
  options.value("--now", "TIME", into(target.now, parse_now), kNowHelp);
  add_key_option(options, target.key_base64);
  options.flag("--print", target.print, "print the redis-cli command line instead of calling");
}

Completions complete_script_named(const CompletionContext&) {
  return to_completions(bundled_scripts(), &BundledScript::name);
}

Completions complete_call(const CompletionContext& typed) {
  return typed.operands.empty() ? complete_counting_algorithm(typed) : complete_key(typed);
}

constexpr std::array kCommands{
    Subcommand{{.name = "list",
                .summary = "list the scripts with their SHA1, size and parameters",
                .synopsis = "scripts list",
                .about = "Lists the name, SHA1, size and parameters of each script.",
                .epilogue = R"(
Example:
  rlctl scripts list | grep e5d1
)"},
               [](Options&) -> Action { return list_scripts; }},
    Subcommand{{.name = "show",
                .summary = "print a script",
                .synopsis = "scripts show NAME",
                .about = "Prints a script.",
                .epilogue = R"(
Example:
  rlctl scripts show gcra | sha1sum
)",
                .complete_operand = complete_script_named},
               [](Options&) -> Action { return show_script; }},
    Subcommand{
        {.name = "load",
         .summary = "send scripts to all masters with SCRIPT LOAD",
         .synopsis = "[connection] scripts load [NAME...]",
         .about = "Sends the scripts to all masters with SCRIPT LOAD; without a NAME, those\n"
                  "of the algorithms.",
         .epilogue = R"(
Example:
  rlctl scripts load
)",
         .complete_operand = complete_script_named},
        [](Options&) -> Action { return load_scripts; }},
    Subcommand{{.name = "export",
                .summary = "write the scripts of the algorithms to files",
                .synopsis = "scripts export DIR",
                .about = "Writes the scripts of the algorithms to files in DIR.",
                .epilogue = R"(
Example:
  rlctl scripts export lua
)",
                .complete_operand = complete_file},
               [](Options&) -> Action { return export_scripts; }},
    Subcommand{
        {.name = "call",
         .summary = "make the one call that check would make",
         .synopsis = "[connection] scripts call NAME --limit LIMIT [options] [--] KEY\n"
                     "[connection] scripts call NAME --policy POLICY [options] [ARG...]",
         .about = "Makes the one call that check would make, and prints the script's reply; with\n"
                  "--print, the redis-cli command line that makes it.",
         .statuses = {"allowed", "denied", "wrong usage", kStatusUnreachable, kStatusRefused,
                      kStatusRejected},
         .epilogue = R"(
Examples:
  rlctl scripts call gcra login:alice --limit 5/60s
  rlctl scripts call gcra login:alice --limit 5/60s --print
)",
         .notes = [] { return list_algorithms(""); },
         .complete_operand = complete_call},
        add_command<CallOptions, add_call_options, call_script_once>}};

Action add(Options& options) {
  return add_subcommands(options, kCommands, "rlctl scripts list");
}

}  // namespace
}  // namespace rlctl::cli::scripts

namespace rlctl::cli {

const Command scripts_command{
    .text = {.name = "scripts",
             .summary = "list, print, load or call the Lua scripts",
             .synopsis = "scripts list\n"
                         "scripts show NAME\n"
                         "[connection] scripts load [NAME...]\n"
                         "scripts export DIR\n"
                         "[connection] scripts call NAME --limit LIMIT [options] [--] KEY\n"
                         "[connection] scripts call NAME --policy POLICY [options] [ARG...]",
             .about =
                 "list shows the name, SHA1, size and parameters of each script, show prints one,\n"
                 "load sends them to all masters with SCRIPT LOAD, export writes those of the\n"
                 "algorithms to files. call makes the one call that check would make, and prints\n"
                 "the script's reply; with --print, the redis-cli command line that makes it.\n"
                 "rlctl-scripts(7) describes the scripts.",
             .statuses =
                 {
                     "done; call: allowed",
                     "call: denied",
                     "wrong usage, or a file cannot be written",
                     kStatusUnreachable,
                     kStatusRefused,
                     kStatusRejected,
                 },
             .epilogue = R"(
Examples:
  rlctl scripts list | grep e5d1
  rlctl scripts show gcra | sha1sum
  rlctl scripts load
  rlctl scripts call gcra login:alice --limit 5/60s
  rlctl scripts call gcra login:alice --limit 5/60s --print
)"},
    .add = scripts::add};

}  // namespace rlctl::cli
