#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/report.h"
#include "cli/terminal/table.h"
#include "cli/trial/holder_report.h"
#include "cli/trial/measures.h"
#include "cli/trial/picture.h"
#include "cli/trial/text.h"

namespace rlctl::cli::burst {
namespace {

using traffic::Suggestion;
using trial::append_sentence;
using trial::Plan;
using trial::Report;
using trial::Run;
using trial::TrafficPlan;

std::string lines_text(const replay::LineCounts& counts) {
  auto text =
      fmt::format("{} in {}", counted(counts.requests, "request"), counted(counts.lines, "line"));
  if (counts.bad > 0) text += fmt::format(", {} cannot be read", counts.bad);
  if (counts.blank > 0) text += fmt::format(", {} blank", counts.blank);
  return text;
}

/// What was sent, besides its name.
std::string about_text(const Report& report) {
  const auto& plan = report.plan;
  if (report.recording) {
    const auto cost = report.recording->max_cost();
    return cost > 1 ? fmt::format("a request costs up to {}", cost) : std::string();
  }
  auto about = fmt::format("seed {}", plan.request.seed);
  if (plan.request.keys > 1) about += fmt::format(", {} keys", plan.request.keys);
  if (!plan.reserve && plan.costs.front() > 1)
    about += fmt::format(", cost {}", plan.costs.front());
  return about;
}

std::string limit_text(std::int64_t limit, const Report& report) {
  return fmt::format("{} per {}", limit, window_text(report.plan.limits.front()));
}

/// Appends a report for people.
class TextReport {
 public:
  /// All arguments must outlive this.
  TextReport(std::string& out, const Report& report, const Look& look)
      : out_(out),
        report_(report),
        plan_(report.plan),
        traffic_(*report.plan.traffic()),
        look_(look),
        block_(out, look) {}

  void append() {
    append_header();
    append_traffic();
    append_command(out_, plan_, look_);
  }

 private:
  void append_file(const replay::RecordedFile& file, std::string_view label) {
    const auto name = escaped_message(replay::input_name(file.name));
    if (file.format.empty() && file.counts.bad == 0) {
      block_.row(label, name, "empty");
    } else {
      const auto format = file.format.empty() ? "unknown format" : escaped_message(file.format);
      const auto after = file.prefix.empty() ? "" : " after " + file.prefix;
      block_.row(label, name, fmt::format("{}{}, {}", format, after, lines_text(file.counts)));
    }
  }

  void append_replay_rows(const replay::Recording& recording) {
    constexpr std::size_t kMaxFiles = 8;  // the last line counts the rest
    const auto& files = recording.files();
    const auto shown = files.size() > kMaxFiles ? kMaxFiles - 1 : files.size();
    for (std::size_t i = 0; i < shown; ++i) append_file(files[i], i == 0 ? "replay" : "");
    if (shown < files.size()) block_.row("", fmt::format("and {} files", files.size() - shown));
    const auto keys = static_cast<std::int64_t>(recording.keys());
    block_.row("requests", fmt::to_string(recording.counts().requests), counted(keys, "key"));
    block_.row("from", instant_text(recording.first()), "to " + instant_text(recording.last()));
    if (recording.out_of_order() == 0) return;
    block_.row(
        "sorted", fmt::to_string(recording.out_of_order()),
        fmt::format("behind later ones, by up to {}", span_text(recording.out_of_order_by())));
  }

  /// The traffic, the limiters and the clock.
  void append_header() {
    if (report_.recording) {
      append_replay_rows(*report_.recording);
    } else {
      block_.row("pattern", traffic_name(report_), traffic_text(report_));
    }
    if (plan_.concurrency) {
      block_.row("limit", leases_text(plan_), holds_text(plan_));
      if (!report_.recording) block_.row("", about_text(report_));
    } else {
      block_.row("limit", trial::limits_text(plan_.limits), about_text(report_));
    }
    if (plan_.reserve) block_.row("units", reservations_text(plan_));
    append_limiters(block_, report_);
  }

  void append_decided() {
    const auto axis = picture_of(report_, 2).axis;
    decisions_table(report_, look_, axis.origin).append(out_, look_);
    if (shows_dates(report_)) return;
    const auto* origin = axis.is_about_edge  ? "from the edge of a window"
                         : report_.recording ? "from the first request"
                                             : "from the beginning";
    const bool each_its_own = traffic_.is_real && report_.runs.size() > 1;
    block_.row("times", origin,
               each_its_own ? "each run from its own"
                            : instant_text(report_.runs.front().begin + axis.origin));
  }

  /// Where the remaining and the reset_after that a script or a program reports differ from an
  /// exact log.
  void append_misreports() {
    for (std::size_t i = 0; i < std::min(report_.runs.size(), plan_.candidates.size()); ++i) {
      if (plan_.candidates[i].is_bundled()) continue;
      const auto& run = report_.runs[i];
      const auto& remaining = run.outcome.measured.remaining_error;
      const auto& reset = run.outcome.measured.reset_error;
      if (remaining.too_many > 0 || remaining.too_few > 0) {
        block_.row(
            "remaining", shown_name(run),
            fmt::format("at most {} too many, {} too few", remaining.too_many, remaining.too_few));
      }
      if (reset.too_early.count() > 0 || reset.too_late.count() > 0) {
        block_.row("reset", shown_name(run),
                   fmt::format("at most {} too early, {} too late", span_text(reset.too_early),
                               span_text(reset.too_late)));
      }
    }
  }

  /// The most denied keys of a log, which are real clients.
  void append_top_denied() {
    for (const auto& run : report_.runs) {
      if (run.top_denied.empty()) continue;
      const auto all = static_cast<double>(run.outcome.measured.denied);
      std::vector<Cells> rows{{"denied most by " + shown_name(run), "requests", "of all denied"}};
      for (const auto& [key, denied] : run.top_denied) {
        rows.push_back({escaped_text(key), fmt::to_string(denied),
                        fmt::format("{:.1f} %", 100 * static_cast<double>(denied) / all)});
      }
      out_ += '\n';
      trial::append_rows(out_, rows, look_);
    }
  }

  void append_verdict(const Suggestion& suggestion, const Run& run) {
    const auto share = denied_share_text(*traffic_.suggest);
    if (!suggestion.chosen) {
      auto text = fmt::format("denies at most {}", share);
      if (run.requests()->burst) text += fmt::format(" with a burst of {}", *run.requests()->burst);
      block_.row("suggested", "no limit", text);
      return;
    }
    const auto& tried = suggestion.tried[*suggestion.chosen];
    block_.row("suggested", limit_text(tried.limit, report_),
               fmt::format("smallest with at most {} denied", share));
  }

  void append_tried(const Suggestion& suggestion, const Run& run) {
    std::vector<Cells> rows{{shown_name(run), "denied", "of all", "keys denied"}};
    for (const auto& tried : suggestion.tried) {
      const bool is_chosen = suggestion.chosen && &tried == &suggestion.tried[*suggestion.chosen];
      rows.push_back({toned((is_chosen ? "* " : "  ") + limit_text(tried.limit, report_),
                            is_chosen ? Tone::kGood : Tone::kPlain, look_.colour),
                      fmt::to_string(tried.denied), trial::percent_text(tried.share(false)),
                      fmt::format("{} of {}  {}", tried.keys_denied, tried.keys,
                                  trial::percent_text(tried.share(true)))});
    }
    trial::append_rows(out_, rows, look_);
  }

  void append_suggestions() {
    if (!traffic_.suggest) return;
    for (const auto& run : report_.runs) {
      if (!run.requests()->suggestion) continue;
      append_tried(*run.requests()->suggestion, run);
      append_verdict(*run.requests()->suggestion, run);
      out_ += '\n';
    }
  }

  /// Appends whether the two limiters of --compare decide alike, or where they first differ.
  void append_difference() {
    if (report_.difference) {
      append_sentence(out_, "differ", "yes, " + difference_text(plan_, *report_.difference), look_);
      return;
    }
    const auto one = name_of(plan_.candidates[0]), other = name_of(plan_.candidates[1]);
    const auto requests = report_.runs.front().outcome.measured.sent;
    append_sentence(
        out_, "differ",
        fmt::format(
            "no: {} and {} decide {} alike; other traffic may show a difference", escape(one),
            escape(other),
            requests == 1 ? "the request" : fmt::format("all {} requests", grouped(requests))),
        look_);
  }

  void append_traffic() {
    out_ += '\n';
    if (!report_.runs.empty()) {
      append_decided();
      if (!has_holders(plan_)) append_misreports();
      for (const auto& run : report_.runs) {
        append_remarks(
            out_, has_holders(plan_) ? remarks_on_holders(report_, run) : remarks_on(report_, run),
            look_);
      }
      if (traffic_keys(report_) > 1 && report_.recording) append_top_denied();
      out_ += '\n';
      append_suggestions();
      append_plot(out_, report_, look_);
      out_ += '\n';
    }
    if (tells_difference(report_)) {
      append_difference();
      out_ += '\n';
    }
  }

  std::string& out_;
  const Report& report_;
  const Plan& plan_;
  const TrafficPlan& traffic_;
  const Look& look_;
  TextBlock block_;
};

}  // namespace

void append_text(std::string& out, const Report& report, const Look& look) {
  TextReport(out, report, look).append();
}

}  // namespace rlctl::cli::burst
