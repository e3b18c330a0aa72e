#include "cli/commands/lint/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "adversary/search.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/options/holder_options.h"
#include "cli/options/limits.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::lint {
namespace {

/// The bundled algorithm with this source; null if there is none.
const limiter::Algorithm* algorithm_in(std::string_view source) {
  const auto all = limiter::algorithms();
  const auto found = std::ranges::find(all, source, &limiter::Algorithm::script);
  return found == all.end() ? nullptr : &*found;
}

/// How many leases a script that only gives leases is asked for, if --concurrency is not given.
constexpr std::int64_t kLeases = 2;

enum class LimiterKind { kAlgorithm, kScript, kProgram };

/// The `rlctl adversary` command that searches for the worst schedule of this limiter.
std::string adversary_command(const Invocation& invocation, const Plan& plan,
                              const limiter::Limit& limit, LimiterKind kind,
                              const std::string& name, const ScriptOptions& said,
                              bool limit_of_script = false) {
  std::map<std::string_view, std::vector<std::string>> values{{"--exec", {}}};
  if (plan.concurrency) {
    values["--concurrency"] = {std::to_string(*plan.concurrency)};
    values["--limit"] = {};
  } else {
    values["--limit"] = {limiter::format_limit(limit)};
    if (limit_of_script) values["--limit"].clear();
  }
  std::vector<std::string> words{"rlctl", "adversary"};
  if (kind != LimiterKind::kScript) values["--head"] = {};
  if (kind == LimiterKind::kProgram) {
    values["--exec"] = {name};
  } else {
    words.push_back(script_operand(name));
  }
  const auto options = invocation.options.repeated(values, false);
  words.insert(words.end(), options.begin(), options.end());
  if (kind != LimiterKind::kScript) {  // which --head is about
    for (const auto* word : {"burst", "cost"}) {
      if (const auto* text = said.find(word)) {
        words.insert(words.end(), {std::string("--") + word, *text});
      }
    }
  }
  const auto& timeout = invocation.connection.timeout;
  if (timeout && kind == LimiterKind::kProgram) words.insert(words.end(), {"--timeout", *timeout});
  return command_line(words);
}

Conduct conduct_of(const Plan& plan) {
  if (plan.concurrency) return Conduct::kLeases;
  return plan.reserve ? Conduct::kBudget : Conduct::kRequests;
}

/// The limit of --limit, else the one that is said about the script.
limiter::Limit limit_of(const Plan& plan, const ScriptOptions& options) {
  if (plan.concurrency) return {.limit = *plan.concurrency, .window = plan.lease};
  const std::vector<std::string> said{options.text("limit").value_or(kDefaultLimit)};
  const bool is_typed = !plan.limits.empty();
  LimitOrigins origins{.burst = options.origin_of("burst")};
  if (!is_typed) origins.limit = options.origin_of("limit");
  const auto limit =
      parse_limits(is_typed ? plan.limits : said, options.text("burst"), origins).front();
  require_lengths({&limit, 1}, "lint", origins.limit);
  if (!plan.reserve || *plan.reserve <= limit.limit) return limit;
  throw UsageError(fmt::format("--reserve: {} do not fit a limit of {}",
                               counted(*plan.reserve, "unit"), limit.limit));
}

std::vector<std::int64_t> costs_of(const ScriptOptions& options) {
  const auto* costs = options.find("cost");
  return costs == nullptr ? std::vector<std::int64_t>{} : parse_costs(*costs);
}

Subject bundled_subject(const limiter::Algorithm& algorithm, std::string place, Plan plan,
                        const ScriptOptions& options, const Invocation& invocation) {
  const bool counts = limiter::counts_requests(algorithm);
  if (plan.reserve && !algorithm.has_reservations) {
    throw UsageError(std::string(algorithm.name) + " has no reservations", "leave out --reserve");
  }
  if (plan.concurrency && counts) {
    throw UsageError(std::string(algorithm.name) + " counts requests and gives no leases",
                     "leave out --concurrency");
  }
  if (!counts && !plan.concurrency) plan.concurrency = kLeases;
  const auto limit = limit_of(plan, options);
  Subject subject{.place = std::move(place),
                  .source = std::string(algorithm.script),
                  .candidate = {.algorithm = &algorithm, .limits = {limit}},
                  .adversary = adversary_command(invocation, plan, limit, LimiterKind::kAlgorithm,
                                                 std::string(algorithm.name), plan.script),
                  .said_costs = costs_of(plan.script),
                  .costs_origin = plan.script.origin_of("cost")};
  subject.conduct = conduct_of(plan);
  if (!plan.concurrency) script::require_usable(subject.candidate);
  return subject;
}

Subject foreign_subject(const NamedScript& script, std::string place, std::string source,
                        const Plan& plan, const limiter::Limit& limit) {
  auto limiter = make_limiter(script, std::move(source));
  if (plan.concurrency) ask_for_leases(limiter, script.options);
  if (plan.reserve) ask_for_reservations(limiter, plan.hold, script.options);
  choose_function(limiter);
  script::require_usable(limiter, limit);
  limiter.name = place;  // errors name the file as it was typed
  return {
      .conduct = conduct_of(plan),
      .place = std::move(place),
      .source = limiter.source,
      .candidate = {.limits = {limit},
                    .foreign = std::make_shared<const script::ForeignLimiter>(std::move(limiter))}};
}

/// The program's file as it was typed, so that findings are shown there; its name if none is.
std::string place_of(const script::ProgramLimiter& program) {
  const auto is_named = [&](const std::string& word) {
    return std::filesystem::path(word).filename() == program.name;
  };
  const auto word = std::ranges::find_if(program.words, is_named);
  return word == program.words.end() ? program.name : *word;
}

Subject program_subject(std::shared_ptr<const script::ProgramLimiter> program, const Plan& plan,
                        const limiter::Limit& limit, std::string adversary) {
  return {.conduct = conduct_of(plan),
          .place = place_of(*program),
          .candidate = {.limits = {limit}, .program = std::move(program)},
          .adversary = std::move(adversary)};
}

/// Throws InputError for a script that cannot be read: the command line is right.
std::string source_of(const NamedScript& script) {
  std::string source;
  try {
    source = read_source("", script);
  } catch (const UsageError& error) {
    throw InputError(error.what(), error.hint());
  }
  if (source.find_first_not_of(" \t\r\n") != source.npos) return source;
  throw InputError("the script " + quoted_and_masked(script.path) + " is empty");
}

Subject make_subject(const std::string& word, Plan plan, const Invocation& invocation) {
  const auto* named = limiter::find_algorithm(word);
  NamedScript script{.options = plan.script};
  std::string place, source;
  if (named != nullptr) {
    script.name = place = std::string(named->name) + ".lua";
    source = named->script;
  } else {
    script = find_script("", word, plan.script, invocation.configuration);
    if (script.program) {
      require_no_call(plan.script, script.name);
      const auto limit = limit_of(plan, script.options);
      return program_subject(
          script.program, plan, limit,
          adversary_command(invocation, plan, limit, LimiterKind::kScript, word, plan.script));
    }
    place = script.path == kStandardInput ? script_name(script.path) : script.path;
    source = source_of(script);
  }
  const auto* algorithm = algorithm_in(source);
  add_head(script, source);
  if (algorithm != nullptr && !gives_call(plan.script)) {
    return bundled_subject(*algorithm, std::move(place), plan, script.options, invocation);
  }
  if (!plan.concurrency && !plan.reserve && tells_lease(make_limiter(script, {}))) {
    plan.concurrency = kLeases;
  }
  const auto limit = limit_of(plan, script.options);
  set_default_key(script.options);
  auto subject = foreign_subject(script, std::move(place), std::move(source), plan, limit);
  subject.said_costs = costs_of(script.options);
  subject.costs_origin = script.options.origin_of("cost");
  if (named == nullptr) {
    subject.adversary =
        adversary_command(invocation, plan, limit, LimiterKind::kScript, word, script.options,
                          plan.limits.empty() && script.options.find("limit") != nullptr);
  }
  return subject;
}

/// Whether a request's cost reaches the script.
bool takes_cost(const script::Candidate& candidate) {
  if (!candidate.foreign) return true;
  const auto tells_cost = [](const script::Template& text) { return text.holds("cost"); };
  return std::ranges::any_of(candidate.foreign->keys, tells_cost) ||
         std::ranges::any_of(candidate.foreign->arguments, tells_cost);
}

/// Sets the costs, and a smaller limit for one that the traffic does not exceed.
void set_requests(Subject& subject) {
  const auto& costs = subject.said_costs;
  auto& limit = subject.candidate.limits.front();
  constexpr std::int64_t kScaled = 20;
  if (const auto most = std::max(limit.limit, limit.burst_or_limit()); most > kLargestLimit) {
    subject.unscaled = limit;
    if (most > rlctl::adversary::kDefaultTries / rlctl::adversary::kMinFills)
      subject.adversary.clear();
    if (limit.burst.value_or(0) > kLargestLimit) {
      const auto bursts =
          static_cast<double>(*limit.burst) / static_cast<double>(std::max(limit.limit, kScaled));
      limit.burst = std::clamp<std::int64_t>(std::llround(bursts * kScaled), 1, kLargestLimit);
    }
    limit.limit = std::min(limit.limit, kScaled);
  }
  if (!takes_cost(subject.candidate)) {
    if (costs.empty()) return;
    refuse_value(
        subject.costs_origin.with(fmt::format("{}", fmt::join(costs, ","))),
        fmt::format("{} is not given the cost of a request", escape(name_of(subject.candidate))),
        "add {cost} to args");
  }
  const auto most = std::min(limit.limit, limit.burst_or_limit());
  if (!costs.empty()) require_cost_above_0(costs, subject.costs_origin);
  std::set<std::int64_t> all(costs.begin(), costs.end());
  if (all.empty()) {
    all = {1, (most + 1) / 2, most};
    const auto& typed = subject.unscaled.value_or(limit);
    if (most > 1 && !subject.candidate.is_bundled()) {
      subject.adversary_costs =
          fmt::format(" --cost 1,{}", std::min(typed.limit, typed.burst_or_limit()));
    }
  }
  subject.costs.assign(all.upper_bound(0), all.end());
  if (costs != std::vector<std::int64_t>{1}) subject.all_costs.assign(all.begin(), all.end());
}

}  // namespace

std::vector<Subject> make_subjects(const Plan& plan, const Invocation& invocation) {
  if (plan.limits.size() > 1) {
    throw UsageError("lint takes one --limit", kOneLimitHint);
  }
  const auto& operands = invocation.operands;
  if (operands.empty() && plan.exec.programs.empty()) {
    throw UsageError("no SCRIPT given", "rlctl lint my.lua --limit 5/60s --args '{now_ms}'");
  }
  if (operands.empty() && gives_call(plan.script)) {
    throw UsageError("--keys, --args and the like need a SCRIPT",
                     "a program gets the limit, the key, the cost and the time in each request");
  }
  std::vector<Subject> subjects;
  for (const auto& word : operands) {
    auto& subject = subjects.emplace_back(make_subject(word, plan, invocation));
    subject.excuses = rlctl::lint::read_excuses(subject.source, subject.place);
  }
  for (auto& program : parse_programs(plan.exec)) {
    const auto limit = limit_of(plan, plan.script);
    const auto adversary = adversary_command(invocation, plan, limit, LimiterKind::kProgram,
                                             command_line(program.words), plan.script);
    subjects.push_back(
        program_subject(std::make_shared<const script::ProgramLimiter>(std::move(program)), plan,
                        limit, adversary));
    subjects.back().said_costs = costs_of(plan.script);
    subjects.back().costs_origin = plan.script.origin_of("cost");
  }
  require_programs(invocation.options, std::ranges::any_of(subjects, [](const auto& subject) {
                     return subject.candidate.program != nullptr;
                   }));
  for (auto& subject : subjects) {
    if (subject.conduct == Conduct::kRequests) set_requests(subject);
  }
  return subjects;
}

void note_scaling(const Subject& subject, Observed& observed) {
  if (!subject.unscaled) return;
  auto limit = "the limit " + limiter::format_limit(*subject.unscaled);
  auto why = fmt::format("is scaled down to {}: the traffic must exceed it",
                         limiter::format_limit(subject.candidate.limits.front()));
  observed.warnings.insert(observed.warnings.begin(), fmt::format("{} {}", limit, why));
  observed.not_tested.push_back({std::move(limit), "it " + why});
}

}  // namespace rlctl::cli::lint
