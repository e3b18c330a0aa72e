#include "cli/trial/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
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

// --- The page ------------------------------------------------------------------------------------

/// The sentences, cards and data of a page.
class Page {
 public:
  /// `text`: the report for people.
  Page(const Report& report, std::string_view text)
      : report_(report), plan_(report.plan), text_(text), scenes_(scenes_of(report, made_)) {
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
        {"heading", xml(heading())},
        {"lead", lead()},
        {"claim", xml(claim())},
        {"cards", cards()},
        {"picture", to_base64(draw_svg(report_))},
        {"text", text()},
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
    const auto window = period_text(limit.window);
    if (worst.allowed == 0) return "Nothing was allowed";
    const auto to = has_keys() ? " to one key" : "";
    if (worst.ratio > 1) {
      const auto span = plan_.search()                  ? within_text(worst.span)
                        : worst.span == microseconds{0} ? "at one instant"
                                                        : "within " + span_text(worst.span);
      return fmt::format("{} allowed {}{} {}, with a limit of {} per {}",
                         escaped_message(worst_->run->name), units(worst.allowed), to, span,
                         grouped(limit.limit), window);
    }
    return fmt::format("At most {} allowed{} within any {}, with a limit of {} per {}",
                       units(worst.allowed), to, window, grouped(limit.limit), window);
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
      out += fmt::format("<p class=\"lead\">{}.</p>\n", xml(text));
    };
    if (report_.difference) add("They differ " + difference_text(plan_, *report_.difference));
    if (!report_.runs.empty()) add(traffic());
    return out;
  }

  std::string traffic() const {
    const auto runs = report_.runs.size();
    if (plan_.search()) {
      return "For each limiter, the schedule that makes it allow the most, of all that were tried";
    }
    const auto sent = report_.runs.front().outcome.measured.sent;
    auto text =
        fmt::format("Each limiter gets {}{} request{}",
                    runs > 1 && !plan_.is_real() ? "the same " : "", grouped(sent), plural(sent));
    if (has_keys()) text += fmt::format(" of {} keys", grouped(traffic_keys(report_)));
    return text + ": " + traffic_text(report_);
  }

  /// Whether windows of the clock keep the limit under which the worst run is worst; none if there
  /// are refunds.
  std::optional<bool> clock_keeps() const {
    const auto& events = *worst_->events;
    const auto& limit = limit_of(worst_->worst);
    const auto key = index_of(events, worst_->worst_key);
    if (has_refunds(report_)) return std::nullopt;
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
    if (!*keeps) return "Even one window of the clock exceeds the limit.";
    return fmt::format("Every window of the clock stays within the limit. Another {} does not.",
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
    auto verdict = kept ? kept->text : ratio_text(worst.ratio) + "× the limit at worst";
    if (has_keys() && worst.allowed > 0) verdict += ", key " + escaped_message(shown.worst_key);
    auto name = escaped_message(shown.run->name);
    if (!scene.title.empty()) name += fmt::format(", {}", scene.title);
    return fmt::format(
        R"(<article class="card{0}" data-id="{1}">
<h3><button type="button" disabled>{2}</button></h3>
<p class="count"><strong>{3}</strong> <span>allowed {4}; limit {5}</span></p>
<div class="bar"><i style="width:{6:.2f}%"></i><b style="left:{7:.2f}%"></b></div>
<p class="verdict">{8}</p>
<p class="request"></p>
</article>
)",
        worst.ratio > 1 ? " over" : "", id, xml(name), grouped(worst.allowed),
        worst.allowed == 0 ? "at all" : within_text(worst.span), grouped(limit.limit),
        100 * worst.ratio / most, 100 / most, xml(verdict));
  }

  /// The lines of the report for people.
  std::string text() const {
    std::string out;
    for (auto rest = text_; !rest.empty();) {
      const auto end = std::min(rest.find('\n'), rest.size() - 1);
      out += xml(rest.substr(0, end)) + '\n';
      rest.remove_prefix(end + 1);
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
    // Under the virtual clock, all runs have the same requests.
    const auto sources = std::span(scene.shown).first(plan_.is_real() ? scene.shown.size() : 1);
    json.name("traffic").begin_array();
    for (const auto& source : sources) write_requests(json, source);
    json.end_array().name("runs").begin_array();
    for (const auto& shown : scene.shown) {
      const auto number = &shown - scene.shown.data();
      write_run(json, shown, std::min(number, std::ssize(sources) - 1));
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
    json.end_object();
  }

  /// `source`: which traffic of the scene has the run's requests.
  void write_run(JsonWriter& json, const Scene::Shown& shown, std::int64_t source) const {
    const auto& [run, events, worst, worst_key] = shown;
    const auto begin = run->begin * own_time();
    json.begin_object().field("name", escaped_message(run->name)).field("source", source);
    json.field("sent", plan_.search() ? static_cast<std::int64_t>(events->single.size())
                                      : run->outcome.measured.sent);
    json.name("worst").begin_object().field("key", index_of(*events, worst_key));
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
    json.end_object();
  }

  const Report& report_;
  const Plan& plan_;
  std::string_view text_;
  std::vector<std::unique_ptr<Events>> made_;
  std::vector<Scene> scenes_;
  const Scene::Shown* worst_ = nullptr;  ///< the run that exceeds the limit the most
  std::string open_ = {};                ///< its id
  bool costs_ = false;                   ///< some request costs more than 1, or is a refund
};

}  // namespace

std::string draw_page(const Report& report, std::string_view text) {
  return Page(report, text).draw();
}

}  // namespace rlctl::cli::trial
