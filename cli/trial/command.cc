#include "cli/trial/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <optional>

#include "base/text.h"
#include "cli/app/worker.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/trial/assertions.h"
#include "cli/trial/html.h"
#include "cli/trial/wording.h"

namespace rlctl::cli::trial {
namespace {

/// The ending of a file's name for each format of -o, as in ReportFormat.
constexpr std::array<std::string_view, 4> kEndings{".svg", ".html", ".json", ".jsonl"};

ReportFile parse_file(const std::string& path, bool has_lines) {
  const auto ending = std::ranges::find_if(
      kEndings, [&path](std::string_view each) { return path.ends_with(each); });
  const auto format = static_cast<ReportFormat>(ending - kEndings.begin());
  if (ending != kEndings.end() && (has_lines || format != ReportFormat::kJsonl)) {
    return {format, path};
  }
  throw UsageError(fmt::format("-o {}: the name must end in .svg, .html{}", quoted_and_masked(path),
                               has_lines ? ", .json or .jsonl" : " or .json"));
}

/// Writes a report in every requested format.
class ReportOutput {
 public:
  /// Opens the files. Throws UsageError if more than one output goes to standard output.
  ReportOutput(const Plan& plan, Invocation& invocation, const Kind& kind)
      : kind_(kind), quiet_(plan.quiet), invocation_(invocation) {
    bool has_log_on_stdout = false;
    for (const auto& [format, path] : plan.files) {
      const bool is_log = format == ReportFormat::kLog;
      files_.emplace_back(
          format, std::make_unique<Destination>(is_log ? "--write" : "-o", path, invocation.out));
      has_log_on_stdout |= is_log && files_.back().second->to_stdout();
      has_lines_ |= format == ReportFormat::kJsonl;
    }
    require_one_on_stdout(has_log_on_stdout + invocation.json,
                          "use only one of --json and --write -");
    // Then nothing else goes to standard output.
    if (has_log_on_stdout) quiet_ = true;
  }

  WriteLines write_lines() {
    if (!has_lines_) return {};
    return [this](std::string_view lines) {
      lines_ += lines;
      if (lines_.size() > Output::kLarge) flush_lines();
    };
  }

  /// Writes all outputs; for an interrupted report only the text or the JSON, since the other
  /// formats cannot state that it was interrupted.
  void finish(const Report& report) {
    flush_lines();
    // JSON and logs need none.
    std::optional<Document> made;
    const auto document = [&]() -> const Document& {
      if (made) return *made;
      made = kind_.make_document(report);
      if (report.confirmation) {
        made->sections.push_back({confirmation_fact(report)});
      }
      return *made;
    };
    for (auto& [format, file] : files_) {
      if (report.interrupted && format != ReportFormat::kJson) continue;
      file->write(text_of(format, report, document));
      file->commit();
    }
    if (quiet_) return;
    auto& out = invocation_.out;
    if (invocation_.json) {
      out.buffer() += json_of(report, false) + '\n';
    } else {
      out.buffer() += write_text(document(), out.look());
    }
    out.flush();
  }

 private:
  /// The text that completes a file.
  std::string text_of(ReportFormat format, const Report& report,
                      const std::function<const Document&()>& document) const {
    switch (format) {
      case ReportFormat::kSvg:
        return draw_svg(document());
      case ReportFormat::kHtml:
        return draw_page(fmt::format("rlctl {}: {}", invocation_.command, traffic_name(report)),
                         write_text(document(), {.utf8 = true}), json_of(report, true));
      case ReportFormat::kJson:
        return json_of(report, true) + '\n';
      case ReportFormat::kJsonl:
        break;  // Its lines have been written already.
      case ReportFormat::kLog:
        return kind_.log(report);
    }
    return {};
  }

  std::string json_of(const Report& report, bool with_events) const {
    std::string out;
    JsonWriter json(out);
    kind_.write_json(json, report, with_events);
    return out;
  }

  void flush_lines() {
    for (auto& [format, file] : files_) {
      if (format == ReportFormat::kJsonl && !lines_.empty()) file->write(lines_);
    }
    lines_.clear();
  }

  const Kind& kind_;
  bool quiet_, has_lines_ = false;
  Invocation& invocation_;
  std::vector<std::pair<ReportFormat, std::unique_ptr<Destination>>> files_;
  std::string lines_;
};

/// Runs the plan and writes the report; after an error or Ctrl-C it covers the runs so far.
Report run_and_report(const Plan& plan, Invocation& invocation, const Kind& kind) {
  ReportOutput output(plan, invocation, kind);
  Report report{.plan = plan};
  if (kind.read != nullptr) kind.read(report, invocation);
  std::exception_ptr error;
  try {
    kind.run(report, invocation, output.write_lines());
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the run may have caused the error; any other error must not lose the
    // finished runs.
    report.interrupted = true;
    report.failed = invocation.interrupt.signal() == 0;
    if (report.failed && report.runs.empty()) throw;
    error = std::current_exception();
  }
  output.finish(report);
  if (report.failed) std::rethrow_exception(error);
  return report;
}

void warn_of_missing_clock(const Plan& plan, const Invocation& invocation) {
  if (plan.is_real()) return;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign || !script::lacks_clock(*candidate.foreign)) continue;
    warn(
        fmt::format("warning: no time passes for {}: it calls neither TIME nor a command that "
                    "sets a TTL, and --keys and --args do not contain the time, such as {{now_ms}}",
                    escape(candidate.foreign->name)),
        invocation.command);
  }
}

}  // namespace

void add_report(Options& options, Plan& plan, bool has_lines) {
  static constexpr std::string_view kHelp =
      "write the report to a file (its name says how: .svg draws the plot, .html is a page for "
      "a browser, .json is the report of --json)";
  static constexpr std::string_view kHelpWithLines =
      "write the report to a file (its name says how: .svg draws the plot, .html is a page for "
      "a browser, .json is the report of --json, .jsonl has a line for each decision)";
  options.group("Report", Repeats::kNo);
  options.list("--assert", "EXPRESSION", plan.assertion_texts,
               "exit with status 1 unless this holds: 'worst<=1'; it must hold for each algorithm");
  options.list(
      "-o,--output", "FILE",
      [&plan, has_lines](const std::string& path) {
        plan.files.push_back(parse_file(path, has_lines));
      },
      has_lines ? kHelpWithLines : kHelp);
  options.flag("-q,--quiet", plan.quiet, "print no report, only set the exit status");
}

ExitStatus run_command(Plan& plan, Invocation& invocation, const Kind& kind) {
  if (const auto ended = run_in_worker(invocation)) return *ended;
  std::vector<Assertion> assertions;
  kind.complete(plan, invocation);
  warn_of_missing_clock(plan, invocation);
  for (const auto& text : plan.assertion_texts) assertions.push_back(parse_assertion(text, plan));
  const auto report = run_and_report(plan, invocation, kind);
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  for (const auto& text : warnings_of(assertions, report.runs)) warn(text, invocation.command);
  auto failures = failures_of(assertions, report.runs);
  if (plan.quiet && report.difference) {
    failures.push_back("the limiters differ, " + difference_text(report.plan, *report.difference));
  }
  for (const auto& failure : failures) {
    write_stderr(render({.status = ExitStatus::kDenied, .code = "assertion", .message = failure},
                        invocation.command, invocation.json));
  }
  return failures.empty() && !report.difference ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace rlctl::cli::trial
