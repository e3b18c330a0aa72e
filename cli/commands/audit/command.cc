#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/errors/plugin_state.h"
#include "cli/errors/refused_keys.h"
#include "cli/options/values.h"
#include "cli/report/findings.h"
#include "cli/server/connection.h"
#include "cli/server/targets.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "redis/url.h"
#include "state/audit.h"
#include "state/survey.h"

namespace rlctl::cli::audit {
namespace {

using state::Finding;

constexpr std::int64_t kDefaultTop = 20;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

struct Plan {
  std::optional<std::int64_t> top;  ///< the keys that are shown for each kind of finding
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
}

report::Severity severity_of(bool critical) {
  return critical ? report::Severity::kCritical : report::Severity::kWarning;
}

/// Collects the findings, and writes them with the worst kinds first. Of each kind it keeps as many
/// as are shown.
class Report {
 public:
  Report(std::int64_t top, const redis::Url& url, Invocation& invocation)
      : top_(top),
        url_(url),
        invocation_(invocation),
        rlctl_words_(
            rlctl_words(invocation.options, invocation.connection, invocation.configuration)),
        written_(invocation.out, invocation.json) {}

  void add(Finding finding);
  /// Writes what was added, once.
  void write();
  /// What write() has written.
  [[nodiscard]] const report::Findings& written() const noexcept { return written_; }

 private:
  struct Kind {
    std::int64_t count = 0;
    std::vector<Finding> shown;
  };
  [[nodiscard]] std::string fix_for(const Finding& finding) const;

  std::int64_t top_;
  const redis::Url& url_;
  Invocation& invocation_;
  std::vector<std::string> rlctl_words_;
  report::Findings written_;
  /// By whether they are mere warnings, so that critical ones come first, and by kind.
  std::map<std::pair<bool, state::FindingKind>, Kind> kinds_;
};

void Report::add(Finding finding) {
  auto& kind = kinds_[{!finding.is_critical, finding.kind}];
  if (kind.count++ < top_) kind.shown.push_back(std::move(finding));
}

void Report::write() {
  for (auto& [id, kind] : kinds_) {
    const auto severity = severity_of(!id.first);
    std::ranges::sort(kind.shown, {}, &Finding::key);
    for (const auto& finding : kind.shown) {
      written_.add({.severity = severity,
                    .detail = finding.detail,
                    .fix = fix_for(finding),
                    .name = name_of(finding.kind),
                    .subject = finding.key.empty() ? "the server" : escaped_text(finding.key)},
                   [&](JsonWriter& json) {
                     finding.key.empty() ? json.name("key").null()
                                         : json.bytes_field("key", finding.key);
                   });
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

/// The words of a command of rlctl whose last word is a key, in base64 unless every shell passes
/// the key on unchanged.
std::vector<std::string> with_key_in_base64(std::vector<std::string> words) {
  if (every_shell_reads(words.back())) return words;
  words.back() = to_base64(words.back());
  words.insert(words.end() - 2, "--key-base64");  // before the --
  return words;
}

/// The command that fixes a finding, with the server, ready to paste into a shell; or advice.
std::string Report::fix_for(const Finding& finding) const {
  if (finding.command.empty()) return "# " + finding.advice;  // does no harm in a shell
  if (finding.command.front() == "rlctl") {
    auto words = rlctl_words_;
    const auto command = with_key_in_base64(finding.command);
    words.insert(words.end(), command.begin() + 1, command.end());
    return command_line(words);
  }
  std::vector<std::string> words;
  if (url_.scheme == redis::Scheme::kSentinel || url_.scheme == redis::Scheme::kPrivate) {
    words = {"redis-cli"};
  } else {
    auto url = url_;
    if (finding.server.find(':') != finding.server.npos) {
      const auto node = redis::parse_url("redis://" + finding.server);
      url.scheme = node.scheme;
      url.host = node.host;
      url.port = node.port;
    }
    words = redis_cli_words(url, "audit");
  }
  const std::vector<std::string_view> command(finding.command.begin() + 1, finding.command.end());
  append_redis_command(words, command);
  return command_line(words);
}

/// Audits keys as a scan finds them.
class KeyAudit {
 public:
  KeyAudit(redis::Connection& connection, const limiter::Configuration& configuration,
           Report& report)
      : connection_(connection), configuration_(configuration), report_(report) {}

  [[nodiscard]] state::InspectionRequest request_for(const std::string& key) const {
    return cli::request_for(found_target(key, configuration_));
  }
  void audit_page(std::span<const state::Surveyed> page);

  [[nodiscard]] std::int64_t limiters() const noexcept { return limiters_; }
  /// Readable keys that hold no limiter's state, or only look as if they did.
  [[nodiscard]] std::int64_t others() const noexcept { return readable_ - limiters_; }
  /// Limiters whose window is not known, so that their TTL cannot be compared with it.
  [[nodiscard]] std::int64_t unjudged() const noexcept { return unjudged_; }
  [[nodiscard]] const RefusedKeys& refused() const noexcept { return refused_; }

 private:
  void confirm(std::vector<Finding>& findings) const;

  redis::Connection& connection_;
  const limiter::Configuration& configuration_;
  Report& report_;
  std::int64_t readable_ = 0, limiters_ = 0, unjudged_ = 0;  ///< numbers of keys
  RefusedKeys refused_;
};

void KeyAudit::audit_page(std::span<const state::Surveyed> page) {
  std::vector<Finding> findings;
  for (const auto& [inspection, refused] : page) {
    if (refused) {
      refused_.add(inspection.key, *refused);
      continue;
    }
    if (!inspection.exists()) continue;  // removed since SCAN returned it
    ++readable_;
    refused_.found_readable();
    if (inspection.is_recognized()) {
      ++limiters_;
      if (!state::is_ttl_judged(inspection)) ++unjudged_;
    }
    for (auto& finding : state::audit(inspection, connection_.has_slots())) {
      findings.push_back(std::move(finding));
    }
  }
  // A key that was written after its TTL and before its contents were read looks wrong once.
  if (!findings.empty()) confirm(findings);
  // A busy key may be written at the same moment of the second look, too.
  const auto may_be_torn = [](const Finding& finding) {
    return finding.kind == state::FindingKind::kTtlShort;
  };
  if (std::ranges::any_of(findings, may_be_torn)) confirm(findings);
  for (auto& finding : findings) report_.add(std::move(finding));
}

/// Reads the keys of the findings again, and drops the findings that have gone.
void KeyAudit::confirm(std::vector<Finding>& findings) const {
  std::vector<state::InspectedKey> requests;
  for (const auto& finding : findings) {
    if (!requests.empty() && requests.back().key == finding.key) continue;
    requests.push_back({.key = finding.key, .request = request_for(finding.key)});
  }
  std::set<std::pair<std::string, state::FindingKind>> found;
  for (const auto& each : state::survey(connection_, requests)) {
    for (auto& finding : state::audit(each.inspection, connection_.has_slots())) {
      found.emplace(std::move(finding.key), finding.kind);
    }
  }
  std::erase_if(findings, [&](const Finding& finding) {
    return !found.contains({finding.key, finding.kind});
  });
}

void audit_all(const std::string& pattern, redis::Connection& connection, KeyAudit& audit,
               Invocation& invocation) {
  Progress progress(is_terminal(STDERR_FILENO));
  state::survey_all(connection,
                    {.pattern = pattern,
                     .ask = [&](const std::string& key) { return audit.request_for(key); },
                     .on_page =
                         [&](std::span<const state::Surveyed> page, double share) {
                           audit.audit_page(page);
                           progress.update(share, "the database");
                           invocation.interrupt.check();
                         }});
}

/// "2 warnings in 12 limiter keys, 340 other keys; not judged: the TTLs of 3, whose window no
/// policy gives"
std::string summary(const Report& report, const KeyAudit& audit) {
  auto text =
      fmt::format("{} in {}", report.written().counts(), counted(audit.limiters(), "limiter key"));
  if (audit.others() > 0) text += ", " + counted(audit.others(), "other key");
  if (audit.unjudged() > 0) {
    text += fmt::format("; not judged: the TTL{} of {}, whose window no policy gives",
                        plural(audit.unjudged()), audit.unjudged());
  }
  return text;
}

ExitStatus run(const Plan& plan, Invocation& invocation) {
  const auto pattern = only_pattern(invocation.operands);
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  Report report(plan.top.value_or(invocation.json ? kAll : kDefaultTop), connector.url(),
                invocation);
  auto connection = connector.open();
  KeyAudit audit(connection, invocation.configuration.policies(), report);
  state::ServerAudit servers;
  try {
    servers = state::audit_servers(connection);
    for (auto& finding : servers.findings) report.add(std::move(finding));
    audit_all(pattern, connection, audit, invocation);
  } catch (const redis::Error& error) {
    report.write();                                           // what was found before the error
    throw ProblemError(drop_in_doubt_note(describe(error)));  // audit changes nothing
  } catch (...) {
    report.write();
    throw;
  }
  audit.refused().require_readable();
  report.write();
  const bool is_complete = servers.is_complete && audit.refused().count() == 0;
  if (!servers.is_complete) {
    warn("warning: eviction is not checked: the user needs +info", invocation.command);
  }
  if (audit.refused().count() > 0) {
    warn("warning: not audited: " + audit.refused().text(), invocation.command);
  }
  if (!invocation.json) invocation.out.write(summary(report, audit) + "\n");
  invocation.out.flush();
  return report.written().status(is_complete);
}

}  // namespace
}  // namespace rlctl::cli::audit

namespace rlctl::cli {

const Command audit_command{
    .text = {.name = "audit",
             .summary = "find limiters that lock users out, open early, or waste memory",
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
)"},
    .add = add_command<audit::Plan, audit::declare_options, audit::run>,
    .judges = true};

}  // namespace rlctl::cli
