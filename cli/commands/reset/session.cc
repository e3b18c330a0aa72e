#include "cli/commands/reset/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "cli/server/needs.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"
#include "redis/server.h"

namespace rlctl::cli::reset {
namespace {

using stored::KeptReason;
using stored::ResetOutcome;
using stored::ResetResult;

/// The names of the results and reasons, in the order of the enumerators.
constexpr std::array<std::string_view, 4> kResults{"removed", "would-remove", "left", "none"};
constexpr std::array<std::string_view, 7> kReasons{
    "no-limiter-state", "foreign", "uncertain", "part", "changing", "changed", "too-large"};

using namespace json_type;

constexpr JsonField<Line> kLineFields[] = {
    {"key", kBytes, "The key in Redis.", [](const auto& line) { return JsonBytes{line.key}; }},
    {"result", JsonType{R"("enum": ["removed", "would_remove", "restored", "would_restore", "left",
                                    "none"])"},
     "What happened to the key.",
     [](const auto& line) {
       std::string result(line.result);
       std::replace(result.begin(), result.end(), '-', '_');
       return result;
     }},
    {"type", kTextOrNull, "The type that TYPE reports; null if the key does not exist.",
     [](const auto& line) { return known_text(line.type); }},
    {"library", kLibrary,
     "The library that wrote the key; null if the key does not exist, or the library is not known.",
     [](const auto& line) { return known_text(line.library); }},
    {"algorithm", kTextOrNull,
     "The algorithm whose state the key holds; null if the key does not exist, or holds no limiter "
     "state. With --restore, the name is the one in the file, which another version may have "
     "written.",
     [](const auto& line) { return known_text(line.algorithm); }},
    {"reason", JsonType{R"("enum": ["no-limiter-state", "foreign", "uncertain", "part", "changing",
                                    "changed", "too-large", "identical", "exists", "expired",
                                    "dump-format", null])"},
     "Why the key was left, in the words of the text, or null.",
     [](const auto& line) { return known_text(line.reason); }},
    {"part_of", kTextOrNull, "The key to whose state this one belongs, or null.",
     [](const auto& line) { return known_text(line.part_of); }},
    {"holder?", kText, "The holder of the lease. Present only with --holder.",
     [](const auto& line) {
       return line.holder ? std::optional(JsonBytes{*line.holder}) : std::nullopt;
     }},
    {"looked_at?", JsonType{R"("type": "array", "items": { "type": "string" }, "minItems": 1)"},
     "The names in Redis that were looked at. Present only in the first line of a KEY whose limits "
     "are not given; a limit with another window has another name.",
     [](const auto& line) {
       return line.looked_at.empty() ? std::nullopt : std::optional(line.looked_at);
     }},
};
constexpr JsonObject<Line> kLine("key", "What happened to a key, or with --holder to a lease",
                                 kLineFields);

constexpr const JsonObjectInfo* kObjects[] = {&kLine};

/// What the command needs with these options.
redis::Needs needs_of(const Plan& plan) {
  std::vector<std::string_view> uses;
  if (plan.restore) {
    uses = {plan.dry_run ? "reset --restore --dry-run" : "reset --restore"};
  } else if (plan.holder) {
    uses = {"inspect"};
    if (!plan.limiter) uses.push_back(kSearch);
    if (!plan.dry_run) uses.insert(uses.end(), {"concurrency", "budget"});
  } else {
    uses = {plan.dry_run ? "reset --dry-run" : "reset"};
    if (plan.match) uses.push_back(kSearch);
    if (plan.save && !plan.dry_run) uses.push_back("reset --save");
  }
  return cli::needs_of("reset", uses);
}

std::size_t total_of(const KindCounts& counts) {
  std::size_t total = 0;
  for (const auto& kind : counts) total += kind.second;
  return total;
}

}  // namespace

constinit const JsonOutput kJson{"One object for each key in Redis.", kObjects};

std::string text_of(const KindCounts& counts) {
  std::vector<std::pair<std::string_view, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [kind, count] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  }
  return text;
}

std::string kind_of(const ResetOutcome& outcome) {
  if (!outcome.part_of.empty()) return "part of another key";
  return escaped_message(outcome.form != nullptr ? outcome.form->label() : outcome.type);
}

std::string count_of_keys(std::size_t count) {
  return count == 0 ? "no key" : counted(static_cast<std::int64_t>(count), "key");
}

std::string first_keys(std::span<const std::string> keys) {
  constexpr std::size_t kShown = 3, kLongest = 60;
  const auto shown = keys.first(std::min(keys.size(), kShown));
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool last = i + 1 == keys.size();
    if (i > 0) text += last ? " and " : ", ";
    const std::string_view key = shown[i];
    text += escaped_text(key.substr(0, kLongest));
    if (key.size() > kLongest) text += "...";
  }
  if (keys.size() > kShown) text += fmt::format(" and {} more", keys.size() - kShown);
  return text;
}

// ---- The session ----

Session::Session(const Plan& plan_in, Invocation& invocation_in)
    : plan(plan_in),
      invocation(invocation_in),
      connector(invocation.connection, invocation.configuration, invocation.interrupt,
                [&plan_in] { return needs_of(plan_in); }),
      libraries(libraries_of(invocation.configuration)),
      look(invocation.out.look()),
      progress(!plan.quiet && is_terminal(STDERR_FILENO)) {
  if (!plan.quiet) invocation.out.require_open();
  if (plan.save && !plan.dry_run) save_file.emplace(*plan.save);
}

void Session::run(redis::Connection& connection, bool dry_run,
                  const stored::Resetter::Report& on_outcome,
                  const std::function<void(stored::Resetter&)>& work) {
  auto* save_to = dry_run || !save_file ? nullptr : &*save_file;
  stored::Resetter resetter(connection,
                            {.force = plan.force,
                             .dry_run = dry_run,
                             .on_looked =
                                 [this](std::size_t removable) {
                                   flush();
                                   suggest_save(removable);
                                 },
                             .save_to = save_to,
                             .libraries = &libraries},
                            on_outcome);
  const auto explain = [&](Problem problem) {
    problem = drop_in_doubt_note(std::move(problem));
    if (const auto in_doubt = resetter.in_doubt(); !in_doubt.empty()) {
      problem.message += "; " + first_keys(in_doubt) + " may have been removed";
    }
    if (removed() > 0 && !plan.dry_run) {
      problem.message += "; " + count_of_keys(removed()) + " had already been removed";
    }
    return problem;
  };
  guard(
      [&] {
        if (save_to != nullptr) save_to->begin(redis::version_of(connection));
        work(resetter);
      },
      explain);
}

void Session::guard(const std::function<void()>& work,
                    const std::function<Problem(Problem)>& explain) {
  try {
    work();
    flush();
  } catch (const OutputClosed&) {
    // Before SIGPIPE ends the process.
    const Problem closed{.code = "output", .message = "standard output is closed"};
    const Problem problem = explain(closed);
    progress.clear();
    if (problem != closed) write_stderr(render(problem, invocation.command, invocation.json));
    explain_undo();
    throw;
  } catch (const std::exception& error) {
    const bool is_signal = dynamic_cast<const Interrupted*>(&error) != nullptr;
    const Problem bare = describe(error), problem = explain(bare);
    progress.clear();
    if (is_signal && problem != bare) {
      write_stderr(render(problem, invocation.command, invocation.json));
    }
    flush();
    explain_undo();
    if (is_signal) throw;
    throw ProblemError(problem);
  }
}

void Session::search(const std::function<void()>& work) {
  try {
    work();
  } catch (const redis::Error& error) {
    progress.clear();
    Problem problem = drop_in_doubt_note(describe(error));
    if (error.code() == "NOPERM") {
      problem.hint += ", or pass --limit or --policy to avoid the search";
    }
    throw ProblemError(problem);
  }
  progress.clear();
}

void Session::write(const Line& line) {
  if (plan.quiet) return;
  auto& out = invocation.out.buffer();
  const auto append = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out.append(" ").append(name).append("=").append(escaped_text(value));
  };
  if (invocation.json) {
    kLine.append_line(out, line);
    return;
  }
  out.append(line.result).append(" key=");
  out += key_text(line.key, look);
  if (line.shows_type || line.algorithm.empty()) append("type", line.type);
  if (line.library != stored::kOurLibrary) append("library", line.library);
  append("algorithm", line.algorithm);
  append("reason", line.reason);
  append("part_of", line.part_of);
  if (line.holder) append("holder", *line.holder);
  out += '\n';
}

void Session::add(const ResetOutcome& outcome, std::span<const std::string> looked_at) {
  // The pattern matched a key that has gone since.
  if (plan.match && outcome.result == ResetResult::kNone) return;
  const auto hash = std::hash<std::string_view>{}(outcome.key);
  if (outcome.result == ResetResult::kKept && !left_keys.insert(hash).second) return;
  const bool change =
      outcome.result == ResetResult::kRemoved || outcome.result == ResetResult::kWouldRemove;
  if (change) {
    ++removed_kinds[kind_of(outcome)];
  } else if (outcome.reason == KeptReason::kNoLimiterState) {
    ++left_kinds[KeptReason::kNoLimiterState][std::string(outcome.type)];
  } else if (outcome.reason) {
    const bool is_foreign =
        outcome.reason == KeptReason::kUncertain || outcome.reason == KeptReason::kPart;
    ++left_kinds[is_foreign ? KeptReason::kForeign : *outcome.reason][kind_of(outcome)];
  }
  const bool expected =
      change || outcome.reason == KeptReason::kChanged || outcome.reason == KeptReason::kTooLarge;
  if (plan.match && !expected) return;
  const bool is_there = outcome.result != ResetResult::kNone;
  const auto* form = is_there ? outcome.form : nullptr;
  write({.key = outcome.key,
         .result = kResults[static_cast<std::size_t>(outcome.result)],
         .type = is_there ? outcome.type : "",
         .library = form != nullptr ? form->library : "",
         .algorithm = form != nullptr ? form->name : "",
         .reason = outcome.reason ? kReasons[static_cast<std::size_t>(*outcome.reason)] : "",
         .part_of = outcome.part_of,
         .shows_type = outcome.result == ResetResult::kKept,
         .looked_at = looked_at});
}

std::size_t Session::removed() const {
  return total_of(removed_kinds);
}

bool Session::found_none() const {
  return removed() == 0 && left_kinds.empty() && refused.count() == 0;
}

std::size_t Session::left(KeptReason reason) const {
  const auto found = left_kinds.find(reason);
  return found == left_kinds.end() ? 0 : total_of(found->second);
}

std::string Session::summary() const {
  if (found_none()) return "nothing to remove";
  std::string text = (plan.dry_run ? "would remove " : "removed ") + count_of_keys(removed());
  if (removed() > 0) text += fmt::format(" ({})", text_of(removed_kinds));
  const auto other = left(KeptReason::kNoLimiterState), foreign = left(KeptReason::kForeign);
  if (other > 0) {
    text += fmt::format("; left {} without limiter state ({})", other,
                        text_of(left_kinds.at(KeptReason::kNoLimiterState)));
  }
  if (foreign > 0) {
    text += fmt::format("; left {} that may belong to another program ({}); --force removes {}",
                        foreign, text_of(left_kinds.at(KeptReason::kForeign)),
                        other == 0 ? "them" : fmt::format("all {}", foreign + other));
  }
  const auto append = [&](KeptReason reason, std::string_view what) {
    if (left(reason) > 0) text += fmt::format("; left {} {}", left(reason), what);
  };
  append(KeptReason::kChanging, "that other clients kept changing");
  append(KeptReason::kChanged, "that now hold something else");
  append(KeptReason::kTooLarge, "too large to be saved");
  if (refused.count() > 0) text += "; left " + refused.text();
  return text;
}

void Session::flush() {
  if (!invocation.out.pending()) return;
  progress.clear();
  invocation.out.flush();
}

void Session::summarize(const std::string& text) {
  progress.clear();
  if (is_for_people()) write_stderr(text + "\n");
}

void Session::suggest_save(std::size_t removable) {
  if (has_suggested || removable + removed() <= 1 || plan.save || plan.dry_run) return;
  has_suggested = true;
  progress.clear();
  if (is_for_people()) {
    write_stderr("not saved: --save FILE keeps what is removed, and --restore puts it back\n");
  }
}

void Session::explain_undo() {
  if (!save_file || !save_file->is_kept() || !is_for_people()) return;
  auto words = rlctl_words(invocation.options, invocation.connection, invocation.configuration);
  const auto file = std::filesystem::absolute(save_file->path()).string();
  words.insert(words.end(), {"reset", "--restore", file});
  write_stderr("saved in " + shell_quoted(save_file->path()) + "; to undo: " + command_line(words) +
               "\n");
}

}  // namespace rlctl::cli::reset
