#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/prometheus.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/app/command.h"
#include "cli/commands/check/plan.h"
#include "cli/options/holder_options.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {
namespace {

void add_options(Options& options, Plan& plan) {
  add_limit_options(options, plan.limit, true);
  options.value("--cost", "NUMBER", into(plan.cost, parse_cost), kCostHelp);
  options.flag("--peek", plan.peek, "ask without recording; deny if fewer than --cost remain");
  options
      .value("--reserve", "UNITS",
             into(plan.reserve, number_between("--reserve", 1, limiter::kLargestCost)),
             "hold UNITS of a budget (for a request whose cost is known later; see rlctl settle)")
      .excludes_each({"--cost", "--peek"})
      .needs("--hold", "", "--hold 30s frees the units after 30 seconds if nobody settles");
  options
      .value("--hold", "TIME", into(plan.hold, parse_hold),
             "how long --reserve, or each line of --batch, holds its units unless it is settled; "
             "the default --algorithm is then budget")
      .excludes_each({"--cost", "--peek"});
  options
      .value(
          "--id", "ID",
          into(plan.id, [](const std::string& text) { return parse_reservation_id(text, "--id"); }),
          "the reservation's name, of 1 to 20 bytes (default: a new one); asking again with the "
          "same one counts it once")
      .needs("--reserve")
      .excludes("--batch", "each line has its own: KEY<TAB>UNITS<TAB>ID");
  options
      .optional_value("--wait", "TIME", plan.wait, into(plan.wait_at_most, duration_of("--wait")),
                      "sleep until allowed, at most TIME; deny at once if that is not enough. Also "
                      "sleep for the delay of leaky-bucket")
      .excludes("--now", "--now fixes the clock")
      .excludes("--batch", "one key would delay all others")
      .excludes("--peek");
  options
      .flag("--shadow", plan.shadow,
            "let every request pass, and only report what would be denied; record as usual")
      .excludes("--wait");
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp);
  add_on_error_option(options, plan.on_error);
  options.flag("-q,--quiet", plan.quiet, kQuietHelp);
  options
      .flag("--headers", plan.headers,
            "print the answer as HTTP header fields: RateLimit-Policy, RateLimit, Retry-After")
      .excludes_each({"--json", "--quiet", "--batch"})
      .excludes("--shadow", "clients would keep to a limit that is not enforced");
  options
      .optional_value("--batch", "FILE", plan.is_batch, into(plan.batch_file),
                      "check each line of FILE or standard input: KEY or KEY<TAB>COST, "
                      "with --hold KEY<TAB>UNITS<TAB>ID; answers come in order, without delay. "
                      "FILE may also follow as an argument")
      .takes_stream();
  options
      .flag("--refunds", plan.refunds,
            "with --batch, let a COST below 0 give units back; otherwise such a line is an error")
      .needs("--batch")
      .excludes("--hold", "a reservation is given back by rlctl settle --release");
  options
      .value("--textfile", "FILE", into(plan.textfile, checked_textfile),
             "with --batch, count answers in this file for node_exporter's textfile collector; its "
             "name ends in .prom")
      .needs("--batch");
}

/// Throws unless the options for reservations go together.
void require_reservable(const Plan& plan) {
  if (!plan.reserve && !plan.is_batch) throw UsageError("--hold requires --reserve or --batch");
  if (plan.id || plan.is_batch) return;
  for (const auto& [name, is_given] :
       {std::pair{"--quiet", plan.quiet}, std::pair{"--headers", plan.headers}}) {
    if (!is_given) continue;
    throw UsageError(std::string(name) + " and --reserve require --id: nothing would print the ID");
  }
}

/// Throws unless one argument makes a key: a line of a batch has only one.
void require_batchable(const Plan& plan) {
  const auto* policy = plan.limiter.policy;
  if (policy == nullptr || limiter::argument_count(*policy) == 1) return;
  throw UsageError("--batch reads one argument from each line, but " + takes_arguments(*policy));
}

std::string batch_file(const Plan& plan, const Invocation& invocation) {
  auto files = invocation.operands;
  if (plan.batch_file) files.insert(files.begin(), *plan.batch_file);
  if (files.size() > 1) {
    throw UsageError("unexpected argument " + quoted_and_masked(files.back()) +
                     ": --batch reads its keys from one file or standard input");
  }
  if (files.empty()) return "-";
  if (files[0].empty()) throw UsageError("--batch: the file name is empty");
  return files[0];
}

// ---- One key ----

/// `states` are those of the keys, for the header fields.
void print(const Plan& plan, const Answer& result, std::span<const limiter::Decision> states,
           Invocation& invocation) {
  auto& out = invocation.out.buffer();
  if (plan.headers) {
    append_headers(out, plan.limiter, result, states, plan.now.value_or(system_time()));
  } else {
    AnswerFormat(plan.limiter, invocation.json, invocation.out.look().colour).append(out, result);
  }
  flush_answers(invocation.out, [&] {
    if (!is_counted(result)) return std::string();
    if (result.reservation == nullptr) return std::string(what_was_counted(result.cost));
    return std::string(kWasCounted) + ": its units are held as " +
           quoted_and_masked(result.reservation->id);
  });
}

/// The states of the keys after the request, for the header fields; empty if they cannot be read,
/// since the request has its answer.
std::vector<limiter::Decision> states_after(const limiter::Request& request,
                                            const limiter::Decision& decision, Asker& asker) {
  if (request.keys.size() == 1) return {decision};
  try {
    return asker.peek_each(request);
  } catch (const std::runtime_error&) {  // of the server
    return {};
  }
}

/// Sets the decision of `result`, and `states` for the header fields.
void decide(const Plan& plan, const limiter::Request& request, Invocation& invocation,
            Answer& result, std::vector<limiter::Decision>& states) {
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [name = plan.limiter.algorithm->name] { return needs_of(name); });
  Progress progress(!plan.quiet && is_terminal(STDERR_FILENO));
  Asker asker(connector, *plan.limiter.algorithm, invocation.interrupt, progress);
  result.decision = plan.peek   ? asker.peek(request)
                    : plan.wait ? asker.wait(request, plan.wait_at_most)
                                : asker.ask(request);
  if (auto conflict = conflict_of(result.decision, result.key, request.reservation, request.cost)) {
    throw ProblemError(*std::move(conflict));
  }
  if (plan.headers) states = states_after(request, result.decision, asker);
  if (!connector.is_private()) return;
  // Even with -q: a caller that relies on the exit status would never learn that it means nothing.
  write_stderr(render({.message = "warning: private: starts an empty server for this run only; no "
                                  "earlier request is counted",
                       .hint = kNamePersistentServer},
                      invocation.command, false));
}

ExitStatus check_key(const Plan& plan, Invocation& invocation) {
  const std::string key =
      only_key(plan.limiter, invocation.operands, "rlctl check KEY --limit 5/60s",
               plan.wait && !plan.wait_at_most
                   ? "write a time for --wait as --wait=5s"
                   : "--batch checks many keys; quote a key that contains blanks");
  limiter::Request request{.keys = limiter::redis_keys(key, plan.limiter.limits),
                           .limits = plan.limiter.limits,
                           .cost = plan.cost,
                           .now = plan.now,
                           .reservation = reservation_of(plan, plan.id)};
  Answer result{.key = key,
                .redis_keys = request.keys,
                .cost = plan.cost,
                .reservation = request.reservation ? &*request.reservation : nullptr,
                .peek = plan.peek,
                .shadow = plan.shadow};
  if (!plan.quiet) invocation.out.require_open();
  Problem problem;
  std::vector<limiter::Decision> states;
  try {
    decide(plan, request, invocation, result, states);
  } catch (const std::exception& error) {
    problem = describe(error);
    if (!plan.on_error.covers(problem)) throw;
    result.decision.allowed = *plan.on_error.allows;
    result.on_error = &problem;
    write_stderr(plan.on_error.warning(problem, invocation.command));
  }
  if (!plan.quiet) print(plan, result, states, invocation);
  return status_of(result);
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  if (plan.peek && plan.cost < 0) {
    throw UsageError("--peek takes nothing, so --cost must be 0 or more, not " +
                     quoted_and_masked(std::to_string(plan.cost)));
  }
  if (plan.hold) require_reservable(plan);
  plan.cost = plan.reserve.value_or(plan.cost);
  plan.limit.for_reservations = plan.hold.has_value();
  plan.limiter =
      resolve_limiter(plan.limit, plan.cost, invocation.configuration, invocation.operands);
  if (plan.is_batch) {
    require_batchable(plan);
    return run_batch(plan, batch_file(plan, invocation), invocation);
  }
  refuse_dash(invocation.operands, invocation.typed,
              fmt::format("--batch reads KEYs from standard input; {}", kDashAsKey));
  return check_key(plan, invocation);
}

constexpr const JsonObjectInfo* kObjects[] = {&kAnswerJson, &kWrongLineJson};
constexpr JsonOutput kJson{"One object for each request; in a batch, one for each line.", kObjects};

}  // namespace

std::optional<limiter::ReservationCall> reservation_of(const Plan& plan,
                                                       const std::optional<std::string>& id) {
  if (!plan.hold) return std::nullopt;
  if (id) return limiter::ReservationCall{.id = *id, .hold = *plan.hold};
  std::random_device random;
  return limiter::ReservationCall{.id = fmt::format("{:08x}{:08x}", random(), random()),
                                  .hold = *plan.hold};
}

const Command kCommand{
    .text =
        {.name = "check",
         .summary = "ask about a request, and record it if it is allowed",
         .synopsis = "[connection] check --limit LIMIT [options] [--] KEY\n"
                     "[connection] check --limit LIMIT [options] --batch [FILE]\n"
                     "[connection] check --policy NAME [options] [--] [ARGUMENT...]",
         .about =
             "Asks whether one more request for KEY is within the limit, and records it if so.\n"
             "KEY is the Redis key itself; with several --limit, the keys are {KEY}:60s and\n"
             "so on.",
         .brief = "--limit --algorithm --burst --policy --cost --peek "
                  "--reserve --wait --now --on-error --batch --quiet",
         .statuses =
             {
                 "allowed",
                 "denied",
                 kStatusOfUsage,
                 kStatusUnreachable,
                 kStatusRefused,
                 kStatusRejected,
             },
         .epilogue =
             R"(  A batch exits with the worst status of its lines; --on-error turns 3 to 5 into
  0 or 1, and --shadow turns 1 into 0.

Examples:
  if rlctl check -q --limit 5/60s -- "login:$user"; then ...; fi
  rlctl check --limit 10/s --limit 100/min api:acme --json
  rlctl check --policy login alice
  rlctl check --limit 100/s --algorithm leaky-bucket --wait=5s mail:out
  rlctl check --limit 100000/d --reserve 400 --hold 30s tokens:acme
  cut -f1 requests.tsv | rlctl check --limit 1000/h --batch
)",
         .notes = algorithm_help},
    .add = add_command<Plan, add_options, run>,
    .json = &kJson,
    .declares = CommandLine::Declares::kWhatMayBeGiven,
    .decides_dash = true};

}  // namespace rlctl::cli::check
