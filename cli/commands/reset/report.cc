#include "cli/commands/reset/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"
#include "redis/server_info.h"

namespace rlctl::cli::reset {
namespace {

using state::LeftReason;
using state::ResetOutcome;
using state::ResetResult;

/// The names of the results and reasons, in the order of the enumerators.
constexpr std::array<std::string_view, 4> kResults{"removed", "would-remove", "left", "none"};
constexpr std::array<std::string_view, 6> kReasons{"no-limiter-state", "foreign", "uncertain",
                                                   "changing",         "changed", "too-large"};

std::string_view text_of(ResetResult result) {
  return kResults[static_cast<std::size_t>(result)];
}

std::string_view text_of(LeftReason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

std::string_view type_of(const ResetOutcome& outcome) {
  return outcome.result == ResetResult::kNone ? "" : outcome.type;
}

bool has_form(const ResetOutcome& outcome) {
  return outcome.result != ResetResult::kNone && outcome.form != nullptr;
}

std::string_view algorithm_of(const ResetOutcome& outcome) {
  return has_form(outcome) ? outcome.form->name : "";
}

std::string_view library_of(const ResetOutcome& outcome) {
  return has_form(outcome) ? outcome.form->library : "";
}

}  // namespace

void KindCounts::add(std::string_view kind) {
  ++total_;
  ++counts_[std::string(kind)];
}

std::string KindCounts::text() const {
  std::vector<std::pair<std::string_view, std::size_t>> sorted(counts_.begin(), counts_.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [kind, count] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  }
  return text;
}

void Report::add(const ResetOutcome& outcome) {
  const bool change =
      outcome.result == ResetResult::kRemoved || outcome.result == ResetResult::kWouldRemove;
  if (change) {
    removed_.add(kind_of(outcome));
  } else if (outcome.reason == LeftReason::kNoLimiterState) {
    other_.add(outcome.type);
  } else if (outcome.reason == LeftReason::kChanging) {
    ++changing_;
  } else if (outcome.reason == LeftReason::kChanged) {
    ++changed_;
  } else if (outcome.reason == LeftReason::kTooLarge) {
    ++too_large_;
  } else if (outcome.reason) {
    foreign_.add(kind_of(outcome));
  }
  const bool expected =
      change || outcome.reason == LeftReason::kChanged || outcome.reason == LeftReason::kTooLarge;
  if (plan_.quiet || (plan_.match && !plan_.verbose && !expected)) return;
  append_line(invocation_.out.buffer(),
              {.key = outcome.key,
               .result = text_of(outcome.result),
               .type = type_of(outcome),
               .library = library_of(outcome),
               .algorithm = algorithm_of(outcome),
               .reason = outcome.reason ? text_of(*outcome.reason) : "",
               .shows_type = outcome.result == ResetResult::kLeft},
              invocation_.json);
}

std::string Report::summary() const {
  std::string text = fmt::format("{} {}", plan_.dry_run ? "would remove" : "removed",
                                 removed() == 0 ? "no key" : count_of_keys(removed()));
  if (removed() > 0) text += fmt::format(" ({})", removed_.text());
  if (other_.total() > 0) {
    text += fmt::format("; left {} without limiter state ({})", other_.total(), other_.text());
  }
  if (foreign_.total() > 0) {
    text += fmt::format("; left {} that may belong to another program ({})", foreign_.total(),
                        foreign_.text());
  }
  if (foreign_.total() > 0 && other_.total() == 0) text += "; --force removes them";
  if (foreign_.total() > 0 && other_.total() > 0) {
    text += fmt::format("; --force removes all {}", foreign_.total() + other_.total());
  }
  if (changing_ > 0) {
    text += fmt::format("; left {} that other clients kept changing", changing_);
  }
  if (changed_ > 0) {
    text += fmt::format("; left {} that now hold something else", changed_);
  }
  if (too_large_ > 0) text += fmt::format("; left {} too large to be saved", too_large_);
  if (refused_.count() > 0) text += "; left " + refused_.text();
  return text;
}

void append_line(std::string& out, const Line& line, bool json) {
  const auto append = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out.append(" ").append(name).append("=").append(value);
  };
  if (json) {
    std::string result(line.result);
    std::replace(result.begin(), result.end(), '-', '_');
    JsonWriter(out)
        .begin_object()
        .bytes_field("key", line.key)
        .field("result", result)
        .known_field("type", line.type)
        .known_field("library", line.library)
        .known_field("algorithm", line.algorithm)
        .known_field("reason", line.reason)
        .end_object();
  } else {
    out.append(line.result).append(" key=");
    escape_text(out, line.key);
    if (line.shows_type || line.algorithm.empty()) append("type", line.type);
    if (line.library != state::kOurLibrary) append("library", line.library);
    append("algorithm", line.algorithm);
    append("reason", line.reason);
  }
  out += '\n';
}

std::string kind_of(const ResetOutcome& outcome) {
  return outcome.form != nullptr ? outcome.form->label() : std::string(outcome.type);
}

std::string count_of_keys(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "key");
}

std::string first_keys(std::span<const std::string> keys) {
  constexpr std::size_t kShown = 3, kLongest = 60;
  const auto shown = keys.first(std::min(keys.size(), kShown));
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool last = i + 1 == keys.size();
    if (i > 0) text += last ? " and " : ", ";
    const std::string_view key = shown[i];
    escape_text(text, key.substr(0, kLongest));
    if (key.size() > kLongest) text += "...";
  }
  if (keys.size() > kShown) text += fmt::format(" and {} more", keys.size() - kShown);
  return text;
}

// ---- The session ----

Session::Session(const Plan& plan_in, Invocation& invocation_in)
    : plan(plan_in),
      invocation(invocation_in),
      connector(invocation.connection, invocation.configuration, invocation.interrupt),
      progress(!plan.quiet && is_terminal(STDERR_FILENO)),
      report(plan, invocation) {
  if (!plan.quiet) invocation.out.require_open();
  if (plan.save && !plan.dry_run) save_file.emplace(*plan.save);
}

void Session::run(redis::Connection& connection, bool dry_run,
                  const state::Resetter::Report& on_outcome,
                  const std::function<void(state::Resetter&)>& work) {
  auto* save_to = dry_run || !save_file ? nullptr : &*save_file;
  state::Resetter resetter(connection,
                           {.force = plan.force,
                            .dry_run = dry_run,
                            .on_looked = [this] { flush(); },
                            .save_to = save_to},
                           on_outcome);
  try {
    if (save_to != nullptr) save_to->begin(redis::version_of(connection));
    work(resetter);
    flush();
  } catch (const OutputClosed&) {
    throw;
  } catch (const Interrupted& error) {
    const Problem bare = describe(error);
    const Problem problem = explain(bare, resetter.in_doubt());
    progress.clear();
    if (problem != bare) write_stderr(render(problem, invocation.command, invocation.json));
    flush();
    explain_undo();
    throw;
  } catch (const std::exception& error) {
    const Problem problem = explain(describe(error), resetter.in_doubt());
    progress.clear();
    flush();
    explain_undo();
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

void Session::flush() {
  if (!invocation.out.pending()) return;
  progress.clear();
  invocation.out.flush();
}

void Session::summarize() {
  progress.clear();
  if (!is_for_people()) return;
  write_stderr(report.summary() + "\n");
}

void Session::explain_undo() {
  if (!save_file || save_file->keys() == 0 || !is_for_people()) return;
  auto words = rlctl_words(invocation.options, invocation.connection, invocation.configuration);
  words.insert(words.end(), {"reset", "--restore", save_file->path()});
  write_stderr("saved in " + shell_quoted(save_file->path()) + "; to undo: " + command_line(words) +
               "\n");
}

Problem Session::explain(Problem problem, std::span<const std::string> in_doubt) const {
  problem = drop_in_doubt_note(std::move(problem));
  if (!in_doubt.empty()) {
    problem.message += "; " + first_keys(in_doubt) + " may have been removed";
  }
  if (report.removed() > 0 && !plan.dry_run) {
    problem.message += "; " + count_of_keys(report.removed()) + " had already been removed";
  }
  return problem;
}

}  // namespace rlctl::cli::reset
