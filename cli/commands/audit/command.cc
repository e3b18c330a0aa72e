#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/report/findings.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/server/targets.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "redis/url.h"
#include "stored/audit.h"
#include "stored/survey.h"

namespace rlctl::cli::audit {
namespace {

using stored::Finding;

constexpr std::int64_t kDefaultTop = 20;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

/// The options of `rlctl audit`.
struct Plan {
  std::optional<std::int64_t> top;  ///< the keys that are shown for each kind of finding
  std::optional<std::string> as;    ///< what other limiters' keys hold
};

std::int64_t parse_top(const std::string& text) {
  constexpr std::int64_t kMax = 1'000'000'000;
  return text == "all" ? kAll : parse_between(text, "--top", 1, kMax);
}

void declare_options(Options& options, Plan& plan) {
  options.group("Options");
  options.value(
      "--top", "NUMBER", into(plan.top, parse_top),
      "show at most NUMBER keys for each finding, or all (default: 20; with --json: all)");
  add_as_option(options, plan.as);
}

using namespace json_type;

struct WrittenFinding {
  const report::Finding& finding;
  std::string_view key;  ///< empty: it is about the server
};
constexpr JsonType kKind{.names = [] {
  return std::vector(stored::kFindingNames.begin(), stored::kFindingNames.end());
}};
constexpr JsonField<WrittenFinding> kFindingFields[] = {
    {"finding", kKind, "The name of the finding.", [](const auto& of) { return of.finding.name; }},
    {"severity", JsonType{R"("enum": ["critical", "warning"])"}, "How bad it is.",
     [](const auto& of) { return name_of(of.finding.severity); }},
    {"key", kBytesOrNull, "The key in Redis; null if the finding is about the server.",
     [](const auto& of) { return known_bytes(of.key); }},
    {"detail", kText, "Why it hurts.", [](const auto& of) { return of.finding.detail; }},
    {"fix", kText,
     "How to fix it: a command with the server, database and user, but without a password; or "
     "advice, which begins with #, perhaps with a command to run once you know more.",
     [](const auto& of) { return of.finding.fix; }},
};
constexpr JsonObject<WrittenFinding> kFinding("finding", "A finding", kFindingFields);

constexpr const JsonObjectInfo* kObjects[] = {&kFinding};
constexpr JsonOutput kJson{"One object for each finding.", kObjects};

/// Looks for findings on the servers and in all keys that match a pattern, and writes them with the
/// worst kinds first. Of each kind it keeps as many as are shown.
class Audit {
 public:
  Audit(const Plan& plan, const redis::Url& url, redis::Connection& connection,
        Invocation& invocation)
      : top_(plan.top.value_or(invocation.json ? kAll : kDefaultTop)),
        look_(invocation.out.look()),
        url_(url),
        connection_(connection),
        invocation_(invocation),
        configuration_(invocation.configuration.policies()),
        libraries_(libraries_of(invocation.configuration, plan.as)),
        written_(invocation.out, invocation.json) {}

  ExitStatus run(const std::string& pattern);

 private:
  struct Kind {
    std::int64_t count = 0;
    std::vector<Finding> shown;
  };
  stored::InspectionRequest request_for(const std::string& key) const {
    auto request = cli::request_for(found_target(key, configuration_));
    request.reservations = true;
    return request;
  }
  std::vector<Finding> findings_about(const stored::Inspection& key) const {
    return stored::audit(key, connection_.has_slots(), servers_.clock_behind);
  }
  void audit_page(std::span<const stored::Surveyed> page);
  void confirm(std::vector<Finding>& findings) const;
  void add(std::vector<Finding> findings);
  void write();
  std::string fix_for(const Finding& finding) const;
  std::string summary() const;

  std::int64_t top_;
  Look look_;
  const redis::Url& url_;
  redis::Connection& connection_;
  Invocation& invocation_;
  const limiter::Configuration& configuration_;
  stored::Libraries libraries_;
  report::Findings written_;
  stored::ServerAudit servers_;
  /// By whether they are mere warnings, so that critical ones come first, and by kind.
  std::map<std::pair<bool, stored::FindingKind>, Kind> kinds_;
  std::int64_t readable_ = 0, limiters_ = 0;  ///< numbers of keys
  std::int64_t unjudged_ = 0;  ///< limiters whose window is not known: their TTL cannot be compared
  RefusedKeys refused_;
};

// ---- Looking ----

ExitStatus Audit::run(const std::string& pattern) {
  Progress progress(is_terminal(STDERR_FILENO));
  try {
    servers_ = stored::audit_servers(connection_);
    add(std::move(servers_.findings));
    stored::survey_all(connection_,
                       {.pattern = pattern,
                        .ask = [&](const std::string& key) { return request_for(key); },
                        .on_page =
                            [&](std::span<const stored::Surveyed> page, double share) {
                              audit_page(page);
                              progress.update(share, "the database");
                              invocation_.interrupt.check();
                            }},
                       libraries_);
    if (servers_.lost) throw *servers_.lost;
  } catch (...) {
    progress.clear();
    write();  // what was found before the error
    throw;
  }
  progress.clear();
  refused_.require_readable();
  write();
  if (!servers_.is_complete) {
    warn("warning: eviction is not checked: the user needs +info", invocation_.command);
  }
  if (refused_.count() > 0) warn("warning: not audited: " + refused_.text(), invocation_.command);
  if (!invocation_.json) invocation_.out.write(summary() + "\n");
  invocation_.out.flush();
  return written_.status(servers_.is_complete && refused_.count() == 0);
}

void Audit::audit_page(std::span<const stored::Surveyed> page) {
  std::vector<Finding> findings;
  for (const auto* inspection : refused_.add(page)) {
    ++readable_;
    if (inspection->is_recognized() && inspection->state.part_of.empty()) {
      ++limiters_;
      if (!stored::is_ttl_judged(*inspection)) ++unjudged_;
    }
    std::ranges::move(findings_about(*inspection), std::back_inserter(findings));
  }
  // A key that was written after its TTL and before its contents were read looks wrong once.
  if (!findings.empty()) confirm(findings);
  // A busy key may be written at the same moment of the second look, too.
  const auto may_be_torn = [](const Finding& finding) {
    return finding.kind == stored::FindingKind::kTtlShort;
  };
  if (std::ranges::any_of(findings, may_be_torn)) confirm(findings);
  add(std::move(findings));
}

/// Reads the keys of the findings again, and drops the findings that have gone.
void Audit::confirm(std::vector<Finding>& findings) const {
  std::vector<stored::InspectedKey> requests;
  for (const auto& finding : findings) {
    if (!requests.empty() && requests.back().key == finding.key) continue;
    requests.push_back({.key = finding.key, .request = request_for(finding.key)});
  }
  std::set<std::pair<std::string, stored::FindingKind>> found;
  for (const auto& each : stored::survey(connection_, requests, libraries_)) {
    for (auto& finding : findings_about(each.inspection)) {
      found.emplace(std::move(finding.key), finding.kind);
    }
  }
  std::erase_if(findings, [&](const Finding& finding) {
    return !found.contains({finding.key, finding.kind});
  });
}

void Audit::add(std::vector<Finding> findings) {
  for (auto& finding : findings) {
    auto& kind = kinds_[{!finding.is_critical, finding.kind}];
    if (kind.count++ < top_) kind.shown.push_back(std::move(finding));
  }
}

// ---- Writing ----

void Audit::write() {
  for (auto& [id, kind] : kinds_) {
    const auto severity = id.first ? report::Severity::kWarning : report::Severity::kCritical;
    std::ranges::sort(kind.shown, {}, &Finding::key);
    for (const auto& finding : kind.shown) {
      const report::Finding written{
          .severity = severity,
          .detail = finding.detail,
          .fix = fix_for(finding),
          .name = name_of(finding.kind),
          .subject = finding.key.empty() ? "the server" : key_text(finding.key, look_)};
      written_.add(written, kFinding, {written, finding.key});
    }
    const auto more = kind.count - std::ssize(kind.shown);
    written_.count_hidden(severity, more);
    if (more > 0 && !invocation_.json) {
      invocation_.out.write(
          fmt::format("and {} more with {}; --top all shows them\n", more, name_of(id.second)));
    }
  }
  invocation_.out.flush();
}

/// The command that fixes a finding, with the server, ready to paste into a shell. If it may do
/// harm or only helps to find out more, the line begins with a #, so that a shell ignores it.
std::string Audit::fix_for(const Finding& finding) const {
  if (finding.command.empty()) return "# " + finding.advice;
  if (!invocation_.json && finding.key.size() > kLongestShownKey) {
    return fmt::format("# the key has {} bytes: --json prints the command", finding.key.size());
  }
  auto advice = finding.advice;
  const auto advise = [&](std::string_view text) {
    advice.append(advice.empty() ? "" : ", ").append(text);
  };
  std::vector<std::string> words;
  if (finding.command.front() == "rlctl") {
    words = rlctl_words(invocation_.options, invocation_.connection, invocation_.configuration);
    words.insert(words.end(), finding.command.begin() + 1, finding.command.end());
    if (const auto& key = words.back(); !every_shell_reads(key)) {
      if (key.find('\0') != key.npos) return "# no shell can pass a key with a NUL byte to rlctl";
      advise("in bash, ksh or zsh");
    }
  } else {
    const bool has_address =
        url_.scheme != redis::Scheme::kSentinel && url_.scheme != redis::Scheme::kPrivate;
    words = has_address ? redis_cli_words(url_) : std::vector<std::string>{"redis-cli"};
    if (!has_address) advise("on the master");
    const std::vector<std::string_view> command(finding.command.begin() + 1, finding.command.end());
    append_redis_command(words, command);
  }
  const auto line = command_line(words);
  return advice.empty() ? line : "# " + advice + ": " + line;
}

/// "2 warnings in 12 limiter keys, 340 other keys; TTL not checked for 3 keys: no policy defines
/// their window"
std::string Audit::summary() const {
  auto text = fmt::format("{} in {}", written_.counts(), counted(limiters_, "limiter key"));
  // Other keys hold no limiter's state, or only look as if they did.
  if (readable_ > limiters_) text += ", " + counted(readable_ - limiters_, "other key");
  if (unjudged_ > 0) {
    text += fmt::format("; TTL not checked for {}: no policy defines {} window",
                        counted(unjudged_, "key"), unjudged_ == 1 ? "its" : "their");
  }
  return text;
}

ExitStatus run(const Plan& plan, Invocation& invocation) {
  const auto pattern = only_pattern(invocation.operands);
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [] { return needs_of("audit"); });
  auto connection = connector.open_for_looks(invocation.command);
  return Audit(plan, connector.url(), connection, invocation).run(pattern);
}

constexpr std::array kInstead{
    Instead{.option = "--match", .advice = "the pattern is an operand: rlctl audit 'login:*'"}};

}  // namespace

const Command kCommand{
    .text = {.name = "audit",
             .summary = "find keys that lock users out, open early, or waste memory",
             .synopsis = "[connection] audit [options] [--] [PATTERN]",
             .about =
                 "Searches all limiter keys that match the pattern (* ? [ab]) for problems in\n"
                 "production: keys that never expire or expire too early, times from a wrong\n"
                 "clock, large sorted sets, an eviction policy. Each finding comes with a fix.\n"
                 "Only reads, with SCAN.",
             .statuses =
                 {
                     "OK: no findings",
                     kStatusWarning,
                     kStatusCritical,
                     "UNKNOWN: the server cannot be queried, or wrong usage; or OK, but the user\n"
                     "may not read all keys or may not call INFO",
                 },
             .epilogue = R"(
Examples:
  rlctl audit
  rlctl audit 'rate:*' --top all
  rlctl audit --json | jq -r 'select(.severity == "critical") | .fix'
)",
             .instead = kInstead},
    .add = add_command<Plan, declare_options, run>,
    .judges = true,
    .only_looks = true,
    .json = &kJson};

}  // namespace rlctl::cli::audit
