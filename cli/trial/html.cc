#include "cli/trial/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/trial/measures.h"
#include "cli/trial/picture.h"
#include "embedded_page.h"
#include "embedded_page_sha256.h"

namespace rlctl::cli::trial {
namespace {

using std::chrono::microseconds;

// --- What the page shows -------------------------------------------------------------------------

/// Some requests, and what limiters did with them: all runs of a report, or one finding of a
/// search, since each finding has requests of its own.
struct Scene {
  /// A run, and its requests.
  struct Shown {
    const Run* run = nullptr;
    const Events* events = nullptr;
    traffic::Worst worst = {};
    std::string worst_key = {};
  };
  std::string_view title = {};  ///< the finding's; empty for the most allowed
  const rlctl::adversary::Finding* finding = nullptr;  ///< null: not of a search
  std::vector<Shown> shown = {};
};

Events events_of(const rlctl::adversary::Finding& finding) {
  Events events{.keys = {""}};
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const auto at = finding.schedule[i].at;
    const auto cost = finding.schedule[i].cost;
    const auto& answer = finding.answers[i];
    events.single.push_back({.at = at,
                             .wait = answer.allowed ? answer.delay : answer.retry_after,
                             .remaining = answer.remaining,
                             .cost = cost,
                             .number = static_cast<std::uint32_t>(i + 1),
                             .allowed = answer.allowed});
  }
  return events;
}

/// The scenes of a report; `made` gets the events that are not the report's own.
std::vector<Scene> scenes_of(const Report& report, std::vector<std::unique_ptr<Events>>& made) {
  std::vector<Scene> scenes;
  if (!report.plan.search()) {
    auto& scene = scenes.emplace_back();
    for (const auto& run : report.runs) {
      scene.shown.push_back({.run = &run,
                             .events = &*run.requests()->events,
                             .worst = run.outcome.measured.worst,
                             .worst_key = std::string(run.worst_key())});
    }
    return scenes;
  }
  for (const auto& run : report.runs) {
    const auto add = [&](std::string_view title, const rlctl::adversary::Finding& finding) {
      if (finding.schedule.empty()) return;
      made.push_back(std::make_unique<Events>(events_of(finding)));
      const auto& score = finding.score;
      scenes.push_back({.title = title,
                        .finding = &finding,
                        .shown = {{.run = &run,
                                   .events = made.back().get(),
                                   .worst = {.allowed = score.worst,
                                             .ratio = run.search()->ratio_of(finding),
                                             .from = score.worst_from,
                                             .span = score.worst_span}}}});
    };
    const auto& result = run.search()->result;
    add("", result.most);
    if (result.most_stepping_back) add("if the clock steps back", *result.most_stepping_back);
    if (result.by_rounding) add("what rounding lets through", *result.by_rounding);
    if (result.wrongly_denied) add("a wrong denial", *result.wrongly_denied);
  }
  return scenes;
}

// --- Sentences -----------------------------------------------------------------------------------

/// The words for a window: "a minute" and "minute", or "per 10 s" and "window of 10 s".
struct PeriodWords {
  std::string each, noun;
};
PeriodWords words_of(microseconds period) {
  using namespace std::chrono_literals;
  constexpr std::pair<std::chrono::seconds, std::string_view> kNamed[] = {
      {1s, "a second"}, {60s, "a minute"}, {3600s, "an hour"}, {86400s, "a day"}};
  for (const auto& [length, each] : kNamed) {
    if (period == length) return {std::string(each), std::string(each.substr(each.find(' ') + 1))};
  }
  const auto text = period_text(period);
  return {"per " + text, "window of " + text};
}

/// "00:01:00": the time of day of an instant.
std::string time_of_day(microseconds instant) {
  constexpr std::size_t kDate = std::string_view("2026-01-01T").size();
  auto text = instant_text(instant).substr(kDate);
  text.pop_back();
  return text;
}

/// Text for HTML, in which a number and its unit stay on one line.
std::string sentence(std::string_view text) {
  constexpr std::string_view kUnits[] = {"µs", "ms", "s", "min", "h", "d"};
  const auto escaped = xml(text);
  std::string out;
  for (std::string_view rest = escaped; !rest.empty(); rest.remove_prefix(1)) {
    const auto unit = rest.substr(1, rest.find_first_of(" ,;:.)", 1) - 1);
    const bool is_unit = rest.front() == ' ' && !out.empty() && is_digit(out.back()) &&
                         std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
    out += is_unit ? "&#160;" : rest.substr(0, 1);
  }
  return out;
}

/// The sentences, tables and data of a page.
class Page {
 public:
  explicit Page(const Report& report)
      : report_(report), plan_(report.plan), scenes_(scenes_of(report, made_)) {
    for (const auto& scene : scenes_) {
      for (const auto& shown : scene.shown) {
        for (const auto& event : shown.events->single) costs_ |= event.cost != 1;
        if (!scene.title.empty()) continue;
        if (worst_ != nullptr && shown.worst.ratio <= worst_->worst.ratio) continue;
        worst_ = &shown;
        open_ = id_of(&scene - scenes_.data(), &shown - scene.shown.data());
      }
    }
  }

  std::string draw() const {
    const std::map<std::string_view, std::string> parts{
        {"title", xml(heading())},
        {"style", std::string(embedded::k_page_css.text)},
        {"heading", sentence(heading())},
        {"lead", lead()},
        {"claim", sentence(claim())},
        {"cards", cards()},
        {"picture", to_base64(draw_svg(report_))},
        {"about", about()},
        {"sections", sections()},
        {"command", command()},
        {"data", data()},
        {"script-hash", script_hash()},
        {"script", std::string(embedded::k_page_js.text)}};
    std::string out;
    for (std::string_view rest = embedded::k_page_html.text; !rest.empty();) {
      const auto begin = rest.find("{{");
      out += rest.substr(0, begin);
      if (begin == rest.npos) break;
      rest.remove_prefix(begin + 2);
      const auto end = rest.find("}}");
      out += parts.at(rest.substr(0, end));
      rest.remove_prefix(end + 2);
    }
    return out;
  }

 private:
  /// Returns the name of the page's script in its Content-Security-Policy: the base64 of its
  /// SHA-256.
  static std::string script_hash() {
    std::string bytes;
    for (std::string_view hex = embedded::kPageScriptSha256; !hex.empty(); hex.remove_prefix(2)) {
      unsigned char byte = 0;
      std::from_chars(hex.data(), hex.data() + 2, byte, 16);
      bytes += static_cast<char>(byte);
    }
    return "sha256-" + to_base64(bytes);
  }
  /// What a card and page.js call a run of a scene.
  static std::string id_of(std::ptrdiff_t scene, std::ptrdiff_t run) {
    return fmt::format("{}-{}", scene, run);
  }
  const limiter::Limit& limit_of(const traffic::Worst& worst) const {
    return plan_.limits[worst.limit];
  }
  std::string units(std::int64_t count) const {
    return grouped(count) + (costs_ ? " unit" : " request") + std::string(plural(count));
  }
  bool has_keys() const { return traffic_keys(report_) > 1; }

  // ---- The head ----

  /// What the page shows, as one sentence without a full stop.
  std::string heading() const {
    if (tells_difference(report_)) return difference();
    if (worst_ == nullptr) return "Nothing was sent";
    const auto& worst = worst_->worst;
    const auto& limit = limit_of(worst);
    const auto words = words_of(limit.window);
    if (worst.allowed == 0) return "Nothing was allowed";
    const auto to = has_keys() ? " to one key" : "";
    if (worst.ratio > 1) {
      const auto span = plan_.search()                  ? within_text(worst.span)
                        : worst.span == microseconds{0} ? "at one instant"
                                                        : "within " + span_text(worst.span);
      return fmt::format("{} allowed {}{} {}, with a limit of {} {}",
                         escaped_message(worst_->run->name), units(worst.allowed), to, span,
                         grouped(limit.limit), words.each);
    }
    return fmt::format("At most {} allowed{} within any {}, with a limit of {} {}",
                       units(worst.allowed), to, words.noun, grouped(limit.limit), words.each);
  }

  std::string difference() const {
    const auto one = escape(name_of(plan_.candidates[0])),
               other = escape(name_of(plan_.candidates[1]));
    if (report_.difference) {
      return fmt::format("{} and {} differ at request {}", one, other,
                         grouped(report_.difference->request));
    }
    return fmt::format("{} and {} decide all {} requests alike", one, other,
                       grouped(report_.runs.front().outcome.measured.sent));
  }

  /// Paragraphs about the traffic.
  std::string lead() const {
    std::string out;
    const auto add = [&out](const std::string& text) {
      out += fmt::format("<p class=\"lead\">{}.</p>\n", sentence(text));
    };
    if (report_.difference) add("They differ " + difference_text(plan_, *report_.difference));
    if (!report_.runs.empty()) add(traffic());
    return out;
  }

  std::string traffic() const {
    const auto runs = report_.runs.size();
    const auto first = escaped_message(report_.runs.front().name);
    if (plan_.search()) {
      return fmt::format(
          "For {}, the schedule that makes it allow the most, of all that were tried",
          runs == 1 ? first : "each limiter");
    }
    const auto sent = report_.runs.front().outcome.measured.sent;
    const bool same = runs > 1 && !plan_.is_real();
    auto text =
        fmt::format("{} {}{}",
                    runs == 1   ? first + " gets"
                    : runs == 2 ? first + " and " + escaped_message(report_.runs[1].name) + " get"
                                : fmt::format("All {} limiters get", runs),
                    same ? "the same " : "", counted_requests(sent));
    if (has_keys()) text += fmt::format(" of {} keys", grouped(traffic_keys(report_)));
    return text + details();
  }

  static std::string counted_requests(std::int64_t count) {
    return fmt::format("{} request{}", grouped(count), plural(count));
  }

  /// What follows the number of requests.
  std::string details() const {
    if (report_.recording) {
      const auto& files = report_.recording->files();
      const auto from = files.size() == 1 ? escaped_message(replay::input_name(files.front().name))
                                          : fmt::format("{} logs", files.size());
      return fmt::format(" in {}, from {} to {}", from, instant_text(report_.recording->first()),
                         instant_text(report_.recording->last()));
    }
    const auto clock =
        plan_.is_real() ? " (real time, " + counted(plan_.traffic()->clients, "client") + ")" : "";
    const auto& run = report_.runs.front();
    const auto& events = run.requests()->events->single;
    const auto& limit = plan_.limits.front();
    const auto edge = events.empty() || !run.requests()->events->is_complete ? microseconds{0}
                      : limit.calendar != nullptr
                          ? limit.calendar->period_at(events.back().at).start
                          : events.back().at - (events.back().at - run.begin) % limit.window;
    const auto before = std::count_if(events.begin(), events.end(),
                                      [edge](const Event& event) { return event.at < edge; });
    if (plan_.pattern()->first_in_window == nullptr || before == 0) {
      return fmt::format(": {}{}", traffic_text(report_), clock);
    }
    return fmt::format(": {} just before {}, {} just after{}", grouped(before),
                       plan_.is_real() ? "the edge of a window" : time_of_day(edge),
                       grouped(run.outcome.measured.sent - before), clock);
  }

  /// Whether windows of the clock keep the limit under which the worst run is worst; none if the
  /// requests of its key are not all known.
  std::optional<bool> clock_keeps() const {
    const auto& events = *worst_->events;
    const auto& limit = limit_of(worst_->worst);
    const auto key = index_of(events, worst_->worst_key);
    const bool is_whole = events.is_complete || std::find(events.whole.begin(), events.whole.end(),
                                                          key) != events.whole.end();
    if (!is_whole || has_refunds(report_)) return std::nullopt;
    std::map<microseconds, std::int64_t> counts;
    for (const auto& event : events.single) {
      if (!event.allowed || event.key != key) continue;
      auto& count = counts[period_of(limit, event.at + event.wait).start];
      count += event.cost;
      if (count > limit.limit) return false;
    }
    return true;
  }

  std::string claim() const {
    if (worst_ == nullptr || worst_->worst.allowed == 0) return {};
    const auto window = limit_of(worst_->worst).window;
    const auto span = "span of " + period_text(window);
    if (worst_->worst.ratio <= 1) return fmt::format("No {} exceeds the limit.", span);
    const auto keeps = clock_keeps();
    if (!keeps) return fmt::format("A {} exceeds the limit.", span);
    const auto noun = words_of(window).noun;
    if (!*keeps) return fmt::format("Even one {} of the clock exceeds the limit.", noun);
    return fmt::format("Every {} of the clock stays within the limit. Another {} does not.", noun,
                       span);
  }

  // ---- Cards ----

  /// One for each run of each scene.
  std::string cards() const {
    std::string out;
    double most = 1;
    for (const auto& scene : scenes_) {
      for (const auto& shown : scene.shown) most = std::max(most, shown.worst.ratio);
    }
    for (const auto& scene : scenes_) {
      for (const auto& shown : scene.shown) {
        out +=
            card(scene, shown, id_of(&scene - scenes_.data(), &shown - scene.shown.data()), most);
      }
    }
    return out;
  }

  std::string card(const Scene& scene, const Scene::Shown& shown, const std::string& id,
                   double most) const {
    const auto& worst = shown.worst;
    const auto& limit = limit_of(worst);
    const auto kept = verdict_within_limit(worst.allowed, worst.ratio);
    auto verdict =
        kept ? std::string(kept->text) : ratio_text(worst.ratio) + "× the limit at worst";
    if (has_keys() && worst.allowed > 0) verdict += ", key " + escaped_message(shown.worst_key);
    auto name = escaped_message(shown.run->name);
    if (!scene.title.empty()) name += fmt::format(", {}", scene.title);
    return fmt::format(
        R"(<article class="card{0}" data-id="{1}">
<h3><button type="button" disabled>{2}</button></h3>{9}
<p class="count"><strong>{3}</strong> <span>allowed {4}; limit {5}</span></p>
<div class="bar"><i style="width:{6:.2f}%"></i><b style="left:{7:.2f}%"></b></div>
<p class="verdict">{8}</p>
<p class="request"></p>
</article>
)",
        worst.ratio > 1 ? " over" : "", id, xml(name), grouped(worst.allowed),
        worst.allowed == 0 ? "at all" : within_text(worst.span), grouped(limit.limit),
        100 * worst.ratio / most, 100 / most, xml(verdict), box(scene, *shown.run));
  }

  /// What hides one of several runs.
  static std::string box(const Scene& scene, const Run& run) {
    if (scene.shown.size() < 2) return {};
    return fmt::format(
        "<label class=\"script\" hidden><input type=\"checkbox\" checked aria-label=\"Show {} in "
        "the chart\">chart</label>",
        xml(run.name));
  }

  // ---- Sections ----

  static std::string section(std::string_view title, const std::string& content) {
    if (content.empty()) return {};
    return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, content);
  }

  /// A table from columns, each with its title first, or from rows.
  static std::string table(std::string_view label, const std::vector<Cells>& rows) {
    auto out = fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n",
        xml(label));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      out += "<tr>";
      for (std::size_t column = 0; column < rows[row].size(); ++column) {
        const std::string_view tag = rows[row][column].empty() ? "td"
                                     : row == 0                ? "th scope=\"col\""
                                     : column == 0             ? "th scope=\"row\""
                                                               : "td";
        out += fmt::format("<{}>{}</{}>", tag, xml(rows[row][column]), tag.substr(0, 2));
      }
      out += "</tr>\n";
    }
    return out + "</table></div>\n";
  }

  /// A table of the text's, in the words of the page.
  static std::vector<Cells> rows_of(const Table& source) {
    const auto& columns = source.columns();
    std::vector<Cells> rows(columns.front().size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (const auto& column : columns) rows[row].push_back(column[row]);
    }
    for (auto& title : rows.front()) std::ranges::replace(title, '_', ' ');
    return rows;
  }

  static std::string table(std::string_view label, const Table& source) {
    return table(label, rows_of(source));
  }

  static std::string list(const std::vector<Remark>& remarks, std::string_view name = {}) {
    std::string out;
    for (const auto& [label, text] : remarks) {
      const auto word = label == "why" ? std::string() : fmt::format("<b>{}</b> ", label);
      const auto whose = name.empty() ? std::string() : escaped_message(name) + ": ";
      out += fmt::format("<li>{}{}.</li>\n", word, sentence(whose + text));
    }
    return out;
  }

  std::string sections() const {
    std::string out;
    if (report_.difference) out += section("The first difference", first_difference());
    if (plan_.search()) out += section("Step by step", steps());
    out += section(fmt::format("Denied most"), denied_most());
    out += section("Suggested limit", suggestions());
    std::string remarks;
    for (const auto& run : report_.runs) {
      remarks += plan_.search() ? list(remarks_on_search(report_, run), run.name)
                                : list(with_times_of_day(remarks_on(report_, run), run));
    }
    if (!remarks.empty()) remarks = "<ul>\n" + remarks + "</ul>\n";
    out += section(plan_.search() ? "What is known" : "Why", remarks);
    return out + section("Numbers", numbers());
  }

  /// The remarks on a run, in which the edge of a window reads as in the charts. Only a log has
  /// dates.
  std::vector<Remark> with_times_of_day(std::vector<Remark> remarks, const Run& run) const {
    if (!plan_.pattern()) return remarks;
    const auto edge = run.outcome.measured.worst.edge;
    const auto from = instant_text(edge);
    for (auto& remark : remarks) {
      if (const auto at = remark.text.find(from); at != remark.text.npos) {
        remark.text.replace(at, from.size(), time_of_day(edge));
      }
    }
    return remarks;
  }

  std::string numbers() const {
    if (plan_.search() || report_.runs.empty()) return {};
    const Look look{.utf8 = true};
    const auto origin = picture_of(report_, 2).axis.origin;
    return table("Decisions",
                 without_empty_columns(rows_of(decisions_table(report_, look, origin))));
  }

  std::string first_difference() const {
    std::vector<Cells> rows{{"limiter", "decision", "remaining", "retry after"}};
    for (const auto& run : report_.runs) {
      const auto& events = run.requests()->events->single;
      const auto found = std::find_if(events.begin(), events.end(), [&](const Event& event) {
        return event.number == report_.difference->request;
      });
      if (found == events.end()) continue;
      rows.push_back({escaped_message(run.name), decision_text(*found), remaining_text(*found),
                      retry_text(*found)});
    }
    if (rows.size() == 1) return {};
    return table("The decisions about this request", rows);
  }

  static std::string decision_text(const Event& event) {
    return event.allowed ? "allowed" : "denied";
  }
  static std::string remaining_text(const Event& event) {
    return event.remaining != limiter::kNotTold ? grouped(event.remaining) : std::string(kNoValue);
  }
  static std::string retry_text(const Event& event) {
    if (event.allowed || event.wait == limiter::kTimeNotTold) return std::string(kNoValue);
    return event.wait == limiter::kNever ? "never" : exact_text(event.wait);
  }

  std::string steps() const {
    std::string out;
    for (std::size_t s = 0; s < scenes_.size(); ++s) {
      const auto& scene = scenes_[s];
      const auto& shown = scene.shown.front();
      auto name = escaped_message(shown.run->name);
      if (!scene.title.empty()) name += fmt::format(", {}", scene.title);
      out +=
          fmt::format("<div>\n<h3>{}</h3>\n<p>{}</p>\n", xml(name),
                      xml(finding_verdict(*scene.finding, *shown.run->search(), {.utf8 = true})));
      out += fmt::format("<div data-steps=\"{}\">\n{}</div>\n</div>\n", s,
                         table(name, rows_of_steps(scene)));
    }
    return beside(out) +
           fmt::format("<p class=\"soft\">Times from the beginning of a window, {}.</p>\n",
                       instant_text(search_base(plan_)));
  }

  /// A row for each request, with what an exact log would have held before it.
  std::vector<Cells> rows_of_steps(const Scene& scene) const {
    constexpr std::size_t kMostRows = 200;
    const auto& limit = plan_.limits.front();
    const auto& shown = scene.shown.front();
    const auto& events = shown.events->single;
    rlctl::adversary::ExactLog log(limit.window);
    microseconds latest{0};
    std::vector<Cells> rows{{"request", "at", costs_ ? "cost" : "", "decision", "remaining",
                             "retry after", fmt::format("in {} before", period_text(limit.window)),
                             "why"}};
    for (std::size_t i = 0; i < std::min(events.size(), kMostRows); ++i) {
      const auto& event = events[i];
      latest = std::max(latest, event.at);
      rows.push_back({grouped(event.number), exact_offset_text(event.at - search_base(plan_)),
                      costs_ ? fmt::to_string(event.cost) : "", decision_text(event),
                      remaining_text(event), retry_text(event),
                      fmt::format("{} of {}", log.counted(latest), limit.limit),
                      step_reason(*shown.run, plan_, *scene.finding, i)});
      if (event.allowed) log.add(latest, event.cost);
    }
    return without_empty_columns(std::move(rows));
  }

  /// Without the columns in which no row but the first has a text or a value.
  static std::vector<Cells> without_empty_columns(std::vector<Cells> rows) {
    for (auto column = rows.front().size(); column-- > 0;) {
      const bool is_empty = std::all_of(rows.begin() + 1, rows.end(), [column](const Cells& row) {
        return row[column].empty() || row[column] == kNoValue;
      });
      if (!is_empty) continue;
      for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
    return rows;
  }

  std::string denied_most() const {
    std::string out;
    if (!has_keys()) return out;
    for (const auto& run : report_.runs) {
      if (run.top_denied.empty()) continue;
      const auto all = static_cast<double>(run.outcome.measured.denied);
      std::vector<Cells> rows{{"by " + escaped_message(run.name), "requests", "of all denied"}};
      for (const auto& [key, denied] : run.top_denied) {
        rows.push_back({escaped_text(key), grouped(denied),
                        fmt::format("{:.1f} %", 100 * static_cast<double>(denied) / all)});
      }
      out += table(rows.front().front(), rows);
    }
    return beside(out);
  }

  static std::string beside(const std::string& blocks) {
    return blocks.empty() ? blocks : "<div class=\"beside\">\n" + blocks + "</div>\n";
  }

  std::string suggestions() const {
    std::string out;
    for (const auto& run : report_.runs) {
      const auto* requests = run.requests();
      if (requests == nullptr || !requests->suggestion) continue;
      out += "<div>\n" + suggestion(run, *requests->suggestion) + "</div>\n";
    }
    return beside(out);
  }

  /// The limits that were tried, as a curve and a table.
  std::string suggestion(const Run& run, const traffic::Suggestion& found) const {
    const auto& wanted = *plan_.traffic()->suggest;
    const auto window = words_of(plan_.limits.front().window);
    const auto name = escaped_message(run.name);
    const auto verdict = found.chosen
                             ? fmt::format("{} {} is the smallest limit with at most {} denied",
                                           grouped(found.tried[*found.chosen].limit), window.each,
                                           denied_share_text(wanted))
                             : fmt::format("no limit denies at most {}", denied_share_text(wanted));
    std::vector<Cells> rows{{"limit " + window.each, "denied", "of all", "keys denied"}};
    for (const auto& tried : found.tried) {
      rows.push_back({grouped(tried.limit), grouped(tried.denied), percent_text(tried.share(false)),
                      percent_text(tried.share(true))});
    }
    return fmt::format("<h3>{}</h3>\n<p>{}.</p>\n", xml(name), xml(verdict)) +
           curve(found, wanted) + table("Limits tried with " + name, rows);
  }

  static std::string curve(const traffic::Suggestion& found, const traffic::DeniedShare& wanted) {
    if (found.tried.size() < 2) return {};
    constexpr double kLeft = 60, kRight = 330, kTop = 12, kBottom = 130, kHeadroom = 1.1;
    const auto first = static_cast<double>(found.tried.front().limit),
               last = static_cast<double>(found.tried.back().limit);
    double most = wanted.most;
    for (const auto& tried : found.tried) most = std::max(most, tried.share(wanted.of_keys));
    const auto x_of = [&](std::int64_t limit) {
      return kLeft + (kRight - kLeft) * (static_cast<double>(limit) - first) / (last - first);
    };
    const auto y_of = [&](double share) {
      return kBottom - (kBottom - kTop) * share / (std::max(most, 1e-9) * kHeadroom);
    };
    std::string line, dots;
    for (const auto& tried : found.tried) {
      const auto x = x_of(tried.limit), y = y_of(tried.share(wanted.of_keys));
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
      const bool is_chosen = found.chosen && &tried == &found.tried[*found.chosen];
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, is_chosen ? 6 : 3);
      if (!is_chosen && &tried != &found.tried.front() && &tried != &found.tried.back()) continue;
      dots += fmt::format("<text x=\"{:.1f}\" y=\"150\" text-anchor=\"middle\">{}</text>", x,
                          grouped(tried.limit));
    }
    return fmt::format(
        "<svg class=\"curve\" viewBox=\"0 0 360 160\" role=\"img\" aria-label=\"Share denied, by "
        "limit\"><path class=\"most\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text><path class=\"axis\" d=\"M{0} {6}H{2}\"/><path "
        "class=\"line\" d=\"{7}\"/>{8}</svg>\n",
        kLeft, y_of(wanted.most), kRight, kLeft - 6, y_of(wanted.most) + 4,
        xml(fmt::format("{:.3g} %", 100 * wanted.most)), kBottom, line, dots);
  }

  std::string command() const {
    std::string out;
    for (const auto& line : command_lines(plan_.command, 80)) out += xml(line) + '\n';
    return out;
  }

  /// What the page leaves out, and how it was made.
  std::string about() const {
    std::string out;
    for (const auto& shown : scenes_.empty() ? std::vector<Scene::Shown>() : scenes_[0].shown) {
      if (shown.events->is_complete) continue;
      out = fmt::format(
          "<p class=\"soft\">Of more than {} requests, the charts show counts over time; single "
          "requests are those of the keys in the list and around the worst window.</p>\n",
          grouped(static_cast<std::int64_t>(Events::kMost)));
    }
    return out;
  }

  // ---- Data ----

  /// The position of a key's name; 0 if it is not there.
  static std::uint32_t index_of(const Events& events, const std::string& key) {
    const auto found = std::find(events.keys.begin(), events.keys.end(), key);
    return found == events.keys.end() ? 0 : static_cast<std::uint32_t>(found - events.keys.begin());
  }

  /// A column of numbers, of which all but the first are differences.
  template <typename Number>
  static void column(JsonWriter& json, std::string_view name, const std::vector<Event>& events,
                     const Number& number) {
    json.name(name).begin_array();
    std::int64_t last = 0;
    for (const auto& event : events) {
      const std::int64_t value = number(event);
      json.value(value - last);
      last = value;
    }
    json.end_array();
  }

  static bool have_same_requests(const Events& one, const Events& other) {
    if (!one.is_complete || !other.is_complete) return false;
    return std::equal(one.single.begin(), one.single.end(), other.single.begin(),
                      other.single.end(), [&](const Event& a, const Event& b) {
                        return a.at == b.at && a.cost == b.cost &&
                               one.keys[a.key] == other.keys[b.key];
                      });
  }

  std::string data() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object().name("limits").begin_array();
    for (const auto& limit : plan_.limits) {
      json.begin_object().field("limit", limit.limit).field("window", limit.window);
      json.field("name", limiter::format_limit(limit)).end_object();
    }
    json.end_array().field("clock", !plan_.is_real());
    json.field("edges", !plan_.is_real() || (plan_.pattern() && plan_.pattern()->first_in_window));
    json.field("dates", shows_dates(report_)).name("scenes").begin_array();
    for (const auto& scene : scenes_) write_scene(json, scene);
    json.end_array();
    if (!open_.empty()) json.field("open", open_);
    if (report_.difference) {
      json.field("difference", report_.difference->at - report_.runs.front().begin * own_time());
      json.field("differing", report_.difference->request);
    }
    json.end_object();
    std::string safe;
    for (const char c : out) {
      if (c == '<' || c == '>' || c == '&') {
        safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        safe += c;
      }
    }
    return safe;
  }

  /// 1 if each run has a time of its own, as under the real clock; else 0.
  int own_time() const { return plan_.is_real() ? 1 : 0; }

  void write_scene(JsonWriter& json, const Scene& scene) const {
    json.begin_object().field("title", scene.title);
    json.field("back",
               scene.finding != nullptr && rlctl::adversary::steps_back(scene.finding->schedule));
    std::vector<const Scene::Shown*> sources;
    std::vector<std::size_t> source_of;
    for (const auto& shown : scene.shown) {
      const auto source = std::find_if(sources.begin(), sources.end(), [&](const auto* one) {
        return !plan_.is_real() && have_same_requests(*one->events, *shown.events);
      });
      source_of.push_back(static_cast<std::size_t>(source - sources.begin()));
      if (source == sources.end()) sources.push_back(&shown);
    }
    json.name("traffic").begin_array();
    for (const auto* source : sources) write_requests(json, *source);
    json.end_array().name("runs").begin_array();
    for (std::size_t i = 0; i < scene.shown.size(); ++i) {
      write_run(json, scene.shown[i], source_of[i], *sources[source_of[i]]->events);
    }
    json.end_array().end_object();
  }

  void write_requests(JsonWriter& json, const Scene::Shown& shown) const {
    const auto& events = *shown.events;
    const auto begin = shown.run->begin * own_time();
    json.begin_object().name("keys").begin_array();
    for (const auto& key : events.keys) json.value(escaped_text(key));
    json.end_array();
    column(json, "at", events.single, [&](const Event& e) { return (e.at - begin).count(); });
    if (events.keys.size() > 1) {
      column(json, "key", events.single, [](const Event& e) { return e.key; });
    }
    if (costs_) column(json, "cost", events.single, [](const Event& e) { return e.cost; });
    if (!events.is_complete) {
      column(json, "number", events.single, [](const Event& e) { return e.number; });
    }
    json.end_object();
  }

  /// The requests of a run are those of `source`. Times are shortened to what is left of them.
  void write_run(JsonWriter& json, const Scene::Shown& shown, std::size_t source_number,
                 const Events& source) const {
    const auto& [run, events, worst, worst_key] = shown;
    const auto begin = run->begin * own_time();
    json.begin_object().field("name", escaped_message(run->name)).field("source", source_number);
    json.field("sent", plan_.search() ? static_cast<std::int64_t>(events->single.size())
                                      : run->outcome.measured.sent);
    json.name("worst").begin_object().field("count", worst.allowed);
    json.field("at", worst.from + worst.span - begin).field("key", index_of(source, worst_key));
    json.field("limit", worst.limit).end_object();
    // Allowed 1, allowed with a delay 2, denied 0.
    std::string decisions;
    for (const auto& event : events->single) {
      decisions += !event.allowed ? '0' : event.wait.count() > 0 ? '2' : '1';
    }
    json.field("decisions", decisions);
    column(json, "remaining", events->single, [](const Event& e) { return e.remaining; });
    // When a denied request may try again, or a delayed one proceeds, after the one before; below
    // 0: never, or not told.
    json.name("until").begin_array();
    microseconds last = begin;
    for (const auto& event : events->single) {
      if (event.allowed && event.wait.count() <= 0) continue;
      if (event.wait.count() < 0) {
        json.value(event.wait == limiter::kNever ? "never" : "");
      } else {
        json.value((event.at + event.wait - last).count());
        last = event.at + event.wait;
      }
    }
    json.end_array();
    if (plan_.limits.size() > 1) {
      column(json, "by", events->single, [](const Event& e) { return e.denied_by; });
    }
    if (!events->is_complete) write_bins(json, *run, *events);
    json.end_object();
  }

  void write_bins(JsonWriter& json, const Run& run, const Events& events) const {
    const auto begin = run.begin * own_time();
    json.name("whole").begin_array();
    for (const auto key : events.whole) json.value(key);
    json.end_array().field("from", events.from - begin).field("to", events.to - begin);
    const auto write = [&](std::string_view name, const traffic::Timeline& timeline,
                           bool with_denied) {
      const auto& bins = timeline.bins();
      json.name(name).begin_object().field("from", timeline.first() - begin);
      json.field("width", timeline.width()).name("allowed").begin_array();
      for (const auto& bin : bins) json.value(bin.allowed);
      json.end_array();
      if (with_denied) {
        json.name("denied").begin_array();
        for (const auto& bin : bins) json.value(bin.denied);
        json.end_array();
      }
      json.end_object();
    };
    write("requests", run.outcome.timeline, true);
    write("units", run.outcome.departures, false);
  }

  const Report& report_;
  const Plan& plan_;
  std::vector<std::unique_ptr<Events>> made_;
  std::vector<Scene> scenes_;
  const Scene::Shown* worst_ = nullptr;  ///< the run that exceeds the limit the most
  std::string open_ = {};                ///< its id
  bool costs_ = false;                   ///< some request costs more than 1, or is a refund
};

}  // namespace

std::string draw_page(const Report& report) {
  return Page(report).draw();
}

}  // namespace rlctl::cli::trial
