#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/list/listing.h"
#include "cli/commands/list/report.h"
#include "cli/options/completions.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/needs.h"
#include "cli/server/targets.h"
#include "cli/terminal/output.h"
#include "stored/forms.h"

namespace rlctl::cli::list {
namespace {

/// A debt may be many times the limit.
double parse_above(const std::string& text) {
  constexpr double kMax = 1e6;
  return parse_share(text, "--above", kMax);
}

Order parse_order(const std::string& text) {
  return find_named(kOrders, text, "--sort: unknown order");
}

limiter::Limit parse_one_limit(const std::string& text) {
  if (text.find(',') != text.npos) {
    throw UsageError("--limit takes one limit, not " + quoted_and_masked(text));
  }
  return parse_limits({&text, 1}, std::nullopt).front();
}

void declare_options(Options& options, Plan& plan) {
  constexpr std::int64_t kMaxRows = 1'000'000;
  options.group("Options");
  options.value(
      "--above", "SHARE", into(plan.above, parse_above),
      "only keys with at least this share of their limit used: 80%; 100% lists full ones");
  options.value("--top", "NUMBER", into(plan.top, number_between("--top", 1, kMaxRows)),
                "only the first NUMBER keys in the order of --sort (default: by ratio)");
  options
      .value("--sort", "KEY", into(plan.sort, parse_order),
             "sort by used, ratio, ttl, bytes (largest first) or key")
      .completes([](const CompletionContext&) { return to_completions(kOrders, &Order::name); });
  options
      .value("--limit", "LIMIT", into(plan.limit, parse_one_limit),
             "judge all keys by this limit, including those that store another one: 5/60s")
      .once("keys with different limits need policies");
  add_as_option(options, plan.as);
  options.flag(
      "--all", plan.include_unrecognized,
      "also keys that only look like a limiter's: numbers, hashes of counts, sorted sets of times");
  options.flag("--totals", plan.only_totals, "print totals by algorithm and policy, but no keys")
      .excludes("--top", "--totals always covers all keys")
      .excludes("--sort");
}

/// Lists the limiters of a database.
class Run {
 public:
  Run(const Plan& plan, Invocation& invocation)
      : plan_(plan),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt,
                   [] { return needs_of("list"); }),
        listing_(plan, invocation.configuration),
        first_(plan.sort.value_or(kOrders.back()), plan.top) {}

  /// Throws redis::Error.
  ExitStatus run() {
    auto connection = connector_.open_for_looks(invocation_.command);
    try {
      listing_.scan(connection, [&](std::vector<KeyState> keys, double share) {
        plan_.sort ? first_.add(std::move(keys)) : add(keys);
        progress_.update(share, "the database");
        invocation_.interrupt.check();
      });
    } catch (const redis::Error&) {
      progress_.clear();
      add(first_.take());  // of what was found before the error
      invocation_.out.flush();
      throw;
    }
    progress_.clear();
    add(first_.take());
    finish();
    invocation_.out.flush();
    listing_.skipped().refused.require_readable();
    return listed_ > 0 ? ExitStatus::kDone : ExitStatus::kDenied;
  }

 private:
  void add(const std::vector<KeyState>& keys) {
    listed_ += std::ssize(keys);
    for (const auto& key : keys) totals_.add(key);
    if (plan_.only_totals || keys.empty()) return;
    progress_.clear();
    auto& out = invocation_.out.buffer();
    constexpr std::size_t kPage = 1000;  // rows take more memory than keys
    for (std::span rest(keys); !rest.empty();) {
      const auto page = rest.first(std::min(kPage, rest.size()));
      rest = rest.subspan(page.size());
      if (!invocation_.json) table_.append(out, rows_of(page, look_));
      for (const auto& key : page) {
        if (invocation_.json) append_json(out, key);
      }
      invocation_.out.flush_if_large();
    }
    if (!plan_.sort) invocation_.out.flush();
  }

  void finish() {
    auto& out = invocation_.out.buffer();
    if (invocation_.json) {
      if (plan_.only_totals) totals_.append_json(out);
      // A program that reads the lines would take them for all limiters.
      const auto& skipped = listing_.skipped();
      if (skipped.refused.count() == 0 && skipped.unknown == 0) return;
    } else if (!plan_.top && totals_.all().keys > 0) {
      if (!plan_.only_totals) out += '\n';
      totals_.append_text(out, look_);
    }
    std::vector lines{skipped_text()};
    if (!invocation_.json) {
      lines.push_back(differing_text());
      lines.push_back(without_limit_text());
    }
    std::erase(lines, "");
    auto text = fmt::format("{}", fmt::join(lines, "\n"));
    if (listed_ == 0) {
      text = (plan_.has_filter() ? "no limiter matches" : "no limiters found") +
             (text.empty() ? text : "; " + text);
      // If the pattern matched, another option left the keys out.
      const bool has_match = listing_.skipped().filtered > 0;
      const auto hint = has_match ? "" : hint_at_nothing(plan_.pattern, connector_);
      if (!hint.empty()) text += "\n  hint: " + hint;
    }
    if (!text.empty()) {
      invocation_.out.flush();
      write_stderr(text + "\n");
    }
  }

  std::string without_limit_text() const {
    const auto count = totals_.all().without_limit;
    if (count == 0) return {};
    if (plan_.limit) return not_applied_text() + counted(count, "key");
    return fmt::format("{} {}; {}", counted(count, "key"),
                       count == 1 ? "does not store its limit" : "do not store their limits",
                       kAdvice);
  }

  /// "keys are judged by --limit 50/60s, not by the limits that they store"
  std::string differing_text() const {
    if (listing_.overrules_stored_limits()) {
      return fmt::format("keys are judged by --limit {}, not by the limits that they store",
                         limiter::format_limit(*plan_.limit));
    }
    const auto& all = totals_.all();
    if (all.differing == 0) return {};
    const bool is_one = all.differing == 1;
    return fmt::format("{} {} another limit than {} policy{}: {}", counted(all.differing, "key"),
                       is_one ? "stores" : "store", is_one ? "its" : "their",
                       is_one ? "" : ", such as", all.first_difference);
  }

  /// "not listed: 12 keys that may be a limiter's (--all lists them), 340 keys of other programs"
  std::string skipped_text() const {
    const auto& skipped = listing_.skipped();
    std::string text;
    const auto add = [&text](std::int64_t count, const std::string& keys) {
      if (count > 0) text += (text.empty() ? "not listed: " : ", ") + keys;
    };
    const auto unknown = counted(skipped.unknown, "key");
    add(skipped.unknown, plan_.limit
                             ? fmt::format("{} ({}{})", unknown, not_applied_text(),
                                           skipped.unknown == 1 ? "it" : "them")
                             : fmt::format("{} whose limit is not known ({})", unknown, kAdvice));
    add(skipped.unrecognized,
        counted(skipped.unrecognized, "key") + " that may be a limiter's (--all lists them)");
    add(static_cast<std::int64_t>(skipped.refused.count()), skipped.refused.text());
    add(skipped.others, counted(skipped.others, "key") + " of other programs");
    return text;
  }

  /// How users give keys their limits.
  static constexpr std::string_view kAdvice = "pass --limit or define a policy";

  /// --limit does not apply to keys whose names have another window, and a calendar's limit does
  /// not apply to algorithms without such windows.
  std::string not_applied_text() const {
    return "--limit " + limiter::format_limit(*plan_.limit) + " does not apply to ";
  }

  const Plan& plan_;
  Invocation& invocation_;
  Connector connector_;
  Listing listing_;
  Progress progress_{is_terminal(STDERR_FILENO)};
  FirstKeys first_;
  Totals totals_;
  Look look_ = look_of_table(invocation_.out);
  report::GrowingTable table_ = make_table(look_);
  std::int64_t listed_ = 0;
};

ExitStatus run(Plan& plan, Invocation& invocation) {
  plan.pattern = only_pattern(invocation.operands);
  if (plan.top && !plan.sort) plan.sort = parse_order("ratio");
  return Run(plan, invocation).run();
}

constexpr std::array kInstead{
    Instead{.option = "--match", .advice = "the pattern is an operand: rlctl list 'login:*'"},
    Instead{.option = "--watch", .advice = "watch(1) repeats a command: watch rlctl list"}};

}  // namespace

const Command kCommand{
    .text =
        {.name = "list",
         .summary = "list the keys of limiters in a database: who is limited, and why",
         .synopsis = "[connection] list [options] [--] [PATTERN]",
         .about =
             "Lists every limiter key that matches the pattern (* ? [ab]), of this program and\n"
             "of other libraries. Only reads, with SCAN, so that other clients are served\n"
             "meanwhile. Searches all masters of a Cluster.",
         .statuses =
             {
                 "limiters were listed",
                 "there are none",
                 kStatusOfUsage,
                 kStatusUnreachable,
                 kStatusRefused,
                 "the server failed",
             },
         .epilogue = R"(
Examples:
  rlctl list --above 80%
  rlctl list 'login:*' --top 20 --sort used
)",
         .instead = kInstead},
    .add = add_command<Plan, declare_options, run>,
    .only_looks = true,
    .json = &kJson};

}  // namespace rlctl::cli::list
