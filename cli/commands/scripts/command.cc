#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/scripts/describe.h"
#include "cli/options/completions.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/terminal/table.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "redis/connection.h"
#include "redis/error.h"

namespace rlctl::cli::scripts {
namespace {

using limiter::Algorithm;

/// Throws UsageError if there is no script with this name.
const Algorithm& script_named(const std::string& name) {
  return find_named(limiter::algorithms(), name, "unknown script");
}

/// The scripts with these names; all if there are none.
std::vector<const Algorithm*> chosen_scripts(std::span<const std::string> names) {
  std::vector<const Algorithm*> chosen;
  for (const auto& name : names) chosen.push_back(&script_named(name));
  if (!names.empty()) return chosen;
  for (const auto& algorithm : limiter::algorithms()) chosen.push_back(&algorithm);
  return chosen;
}

using namespace json_type;

/// The first fields of each object.
constexpr JsonField<Algorithm> kNameFields[] = {
    {"name", JsonType{R"("type": "string", "pattern": "^[a-z][a-z-]*$")"},
     "The name of the script.", [](const auto& script) { return script.name; }},
    {"sha1", kSha1, {}, [](const auto& script) { return script.sha1; }},
};
constexpr JsonObject<Algorithm> kName(kNameFields);

// ---- list ----

struct Parameters {
  std::string_view keys, arguments;
};
Parameters parameters_of(const Algorithm& script) {
  if (!limiter::counts_requests(script)) return {"1", "limit lease action id now"};
  return {"1 or more", "each key: limit window burst; cost now"};
}

constexpr JsonField<Algorithm> kListedFields[] = {
    {kName},
    {"bytes", kNumberFromOne, "The length of the script.",
     [](const auto& script) { return script.script.size(); }},
    {"keys", kString, "The names of its KEYS.",
     [](const auto& script) { return parameters_of(script).keys; }},
    {"arguments", kString,
     "The names of its ARGV. Those after 'each key:' are repeated for each key.",
     [](const auto& script) { return parameters_of(script).arguments; }},
    {"summary", kText, "What the script does.", [](const auto& script) { return script.summary; }},
};
constexpr JsonObject<Algorithm> kListed("list", "list: a script", kListedFields);

ExitStatus list_scripts(Invocation& invocation) {
  require_at_most(0, invocation.operands, "rlctl scripts show NAME prints a script");
  auto& out = invocation.out.buffer();
  std::vector<Cells> rows{{"name", "sha1", "bytes", "keys", "arguments"}};
  for (const auto& script : limiter::algorithms()) {
    if (invocation.json) {
      kListed.append_line(out, script);
    } else {
      const auto [keys, arguments] = parameters_of(script);
      rows.push_back({std::string(script.name), std::string(script.sha1),
                      std::to_string(script.script.size()), std::string(keys),
                      std::string(arguments)});
    }
  }
  if (!invocation.json) append_rows(out, rows);
  return ExitStatus::kDone;
}

// ---- show ----

constexpr JsonField<Algorithm> kShownFields[] = {
    {kName},
    {"text", kText, "The script itself.", [](const auto& script) { return script.script; }},
};
constexpr JsonObject<Algorithm> kShown("show", "show: a script", kShownFields);

ExitStatus show_script(Invocation& invocation) {
  constexpr const char* kUsage = "rlctl scripts show gcra";
  const auto& names = invocation.operands;
  if (names.empty()) throw UsageError("no NAME given", kUsage);
  require_at_most(1, names, kUsage);
  const auto& script = script_named(names[0]);
  auto& out = invocation.out.buffer();
  if (invocation.json) {
    kShown.append_line(out, script);
  } else {
    out += script.script;
  }
  return ExitStatus::kDone;
}

// ---- load ----

struct Loaded {
  const Algorithm& script;
  std::size_t servers;
};
constexpr JsonField<Loaded> kLoadedFields[] = {
    {kName, [](const Loaded& of) -> const Algorithm& { return of.script; }},
    {"servers", kNumberFromOne, "The number of servers that were sent the script.",
     [](const auto& of) { return of.servers; }},
};
constexpr JsonObject<Loaded> kLoaded("load", "load: a script", kLoadedFields);

ExitStatus load_scripts(Invocation& invocation) {
  const auto chosen = chosen_scripts(invocation.operands);
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt, [] {
    auto needs = needs_of("scripts load");
    needs.keys.clear();
    return needs;
  });
  auto connection = connector.open();
  const auto servers = connection.servers();
  auto& out = invocation.out.buffer();
  for (const auto* script : chosen) {
    const std::array<std::string_view, 3> load{"SCRIPT", "LOAD", script->script};
    for (const auto& server : servers) connection.append_to(server, load);
    while (connection.outstanding() > 0) limiter::require_loaded(connection.read());
    if (invocation.json) {
      kLoaded.append_line(out, {*script, servers.size()});
    } else {
      out.append("loaded name=").append(script->name).append(" sha1=").append(script->sha1);
      out.append(" servers=").append(std::to_string(servers.size())).append("\n");
    }
  }
  return ExitStatus::kDone;
}

// ---- The command ----

constexpr const JsonObjectInfo* kObjects[] = {&kListed, &kShown, &kLoaded, &kProposalJson};
constexpr JsonOutput kJson{"One object for each script.", kObjects};

Completions complete_script_named(const CompletionContext&) {
  return to_completions(limiter::algorithms(), &Algorithm::name);
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
    Subcommand{
        {.name = "describe",
         .summary = "propose a head for a script of your own",
         .synopsis = "scripts describe FILE",
         .about = "Proposes a head, which says how the script is called and read, from the names\n"
                  "in its source and from its replies on a private server, and says what could\n"
                  "not be found out.",
         .epilogue = R"(
Example:
  rlctl scripts describe my.lua
)",
         .complete_operand = complete_file},
        [](Options&) -> Action { return describe_script; }}};

Action add(Options& options) {
  return add_subcommands(options, kCommands, "rlctl scripts list");
}

}  // namespace
const Command kCommand{
    .text = {.name = "scripts",
             .summary = "list, print, load or describe Lua scripts",
             .synopsis = "scripts list\n"
                         "scripts show NAME\n"
                         "[connection] scripts load [NAME...]\n"
                         "scripts describe FILE",
             .about =
                 "list shows the name, SHA1, size and parameters of each script, show prints one,\n"
                 "load sends them to all masters with SCRIPT LOAD. describe proposes a head for\n"
                 "a script of your own. rlctl-scripts(7) describes the scripts, and how to call\n"
                 "them.",
             .statuses =
                 {
                     "done",
                     {},
                     "wrong usage, or a file cannot be read",
                     kStatusUnreachable,
                     kStatusRefused,
                     kStatusRejected,
                 },
             .epilogue = R"(
Examples:
  rlctl scripts list | grep e5d1
  rlctl scripts show gcra | sha1sum
  rlctl scripts load
  rlctl scripts describe my.lua
  rlctl scripts show gcra >gcra.lua
)"},
    .add = add,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::scripts
