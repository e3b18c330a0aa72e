#include "cli/commands/run/plan.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/options/options.h"
#include "cli/server/answer.h"
#include "cli/server/needs.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"

namespace rlctl::cli::run {
namespace {

// ---- Admission ----

/// Whether the command may run, and what it holds then.
struct Admitted {
  bool allowed = false;
  std::optional<HeldLease> lease = {};
  std::string denial = {};  ///< for standard error; empty: a warning was printed, or nothing is
};

/// How long to wait before asking for a lease again: at most a second, since one may be released at
/// any time; and random, so that the many that wait for it do not ask at the same time.
microseconds poll_interval(microseconds retry_after) {
  static std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::int64_t> between{500'000, 1'000'000};
  return std::min(retry_after, microseconds{between(random)});
}

/// A denial names no more lease holders than this.
constexpr std::int64_t kShownHolders = 3;

/// HOST:PID:SINCE, which no other process has. SINCE is when it asks.
std::string own_holder() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return std::string(host.data()) + ":" + std::to_string(::getpid()) + ":" +
         format_instant(system_time());
}

/// "web1:4711 since 09:30:04", in the time of this machine, with the date if that is another than
/// today's. Another program's holder is named as it is.
std::string held_by(const std::string& holder) {
  constexpr std::size_t kTime = std::string_view("2026-11-02T03:17:00.512345Z").size();
  if (holder.size() <= kTime) return holder;
  const auto colon = holder.size() - kTime - 1;
  const auto since = read_iso(holder.substr(colon + 1), IsoSource::kTyped).at;
  if (holder[colon] != ':' || !since) return holder;
  return holder.substr(0, colon) + " since " + local_time_text(*since, system_time());
}

limiter::Lease make_lease(const Plan& plan) {
  if (!plan.concurrency) return {};
  return {.key = plan.limiter ? limiter::leases_key(plan.key) : plan.key,
          .limit = *plan.concurrency,
          .duration = plan.lease_duration,
          .holder = {}};  // each attempt has its own
}

const limiter::Algorithm& concurrency() {
  return *limiter::find_algorithm("concurrency");
}

/// Makes the error of a request for a lease clearer.
Problem explain_lease(const redis::Error& error, const limiter::Lease& lease,
                      redis::Connection& connection) {
  Problem problem = describe(error);
  if (is_about_keys(problem)) {
    problem = explain_keys(std::move(problem), concurrency(), {&lease.key, 1}, connection);
  }
  return drop_in_doubt_note(std::move(problem));
}

/// Asks for what a command needs before it may run: a lease, then the limits.
class Admission {
 public:
  Admission(const Plan& plan, Connector& connector, Invocation& invocation)
      : plan_(plan),
        connector_(connector),
        invocation_(invocation),
        progress_(!plan.quiet && is_terminal(STDERR_FILENO)),
        asker_(connector, plan.limiter ? *plan.limiter->algorithm : concurrency(),
               invocation.interrupt, progress_),
        lease_(make_lease(plan)) {
    if (!plan.limiter) return;
    request_ = {.keys = limiter::redis_keys(plan.key, plan.limiter->limits),
                .limits = plan.limiter->limits,
                .cost = plan.cost,
                .now = {}};
  }

  /// Waits if requested. If the limits deny the request, or something fails, the lease has been
  /// given back, unless --on-error lets the command run: then it is kept. Throws what Asker throws
  /// and --on-error does not cover.
  Admitted take() {
    try {
      return try_to_take();
    } catch (const std::exception& error) {
      const Problem problem = describe(error);
      const bool covered = plan_.on_error.covers(problem);
      if (!covered || !*plan_.on_error.allows) give_back();
      if (!covered) throw;
      write_stderr(plan_.on_error.warning(problem, invocation_.command));
      return {.allowed = *plan_.on_error.allows, .lease = std::move(held_)};
    }
  }

 private:
  Admitted try_to_take() {
    while (true) {
      if (plan_.concurrency) {
        const auto decision = take_lease();
        if (!decision.allowed) {
          if (!plan_.wait || left() <= microseconds{0}) return {.denial = lease_denial(decision)};
          wait_for_lease(decision);
          continue;
        }
      }
      if (!plan_.limiter) return {.allowed = true, .lease = std::move(held_)};
      const auto decision = ask_limits();
      if (decision.allowed) {
        if (held_) keep_lease();
        return {.allowed = true, .lease = std::move(held_)};
      }
      give_back();
      const bool is_worth_waiting = plan_.wait && plan_.concurrency &&
                                    decision.retry_after != limiter::kNever &&
                                    decision.retry_after <= left();
      if (!is_worth_waiting) return {.denial = limit_denial(decision)};
      asker_.sleep(decision.retry_after, plan_.key);
    }
  }

  limiter::Decision take_lease() {
    auto connection = connector_.open();
    lease_.holder = own_holder();
    // Set before it is certain, so that an interrupted request is given back.
    held_ = HeldLease{.lease = lease_, .since = Clock::now()};
    try {
      const auto decision = limiter::acquire(connection, lease_);
      if (!decision.allowed) held_.reset();
      return decision;
    } catch (const redis::Error& error) {
      Problem problem = explain_lease(error, lease_, connection);
      if (!is_in_doubt(problem)) {
        held_.reset();
      } else if (!give_back()) {
        problem.message += "; a lease may be taken until it lapses";
      }
      throw ProblemError(std::move(problem));
    }
  }

  void wait_for_lease(const limiter::Decision& denial) {
    const auto nap = std::min(poll_interval(denial.retry_after), left());
    asker_.sleep(nap, [this](microseconds) {
      const auto at_most = plan_.wait_at_most ? ", at most " + seconds_up(left()) : "";
      return "waiting for a lease of " + escaped_text(plan_.key) + at_most;
    });
  }

  /// Renews the lease if asking the limits took so long that it may lapse before the command
  /// starts. The limits have counted the request, which an error says.
  void keep_lease() {
    if (Clock::now() - held_->since < lease_.duration / 3) return;
    auto connection = connector_.open();
    const auto sent = Clock::now();
    Problem problem{.status = ExitStatus::kUnreachable,
                    .code = kLeaseLost,
                    .message = "the lease of " + quoted_and_masked(plan_.key) +
                               " lapsed while the limits were being asked",
                    .hint = "use a longer --lease than " + period_text(plan_.lease_duration)};
    try {
      if (limiter::renew(connection, lease_).allowed) {
        held_->since = sent;
        return;
      }
    } catch (const redis::Error& error) {
      problem = explain_lease(error, lease_, connection);
    }
    problem.message += kWasCounted;
    throw ProblemError(std::move(problem));
  }

  limiter::Decision ask_limits() {
    // With a lease, the wait for the limits must not hold it: see try_to_take().
    if (plan_.wait && !plan_.concurrency) return asker_.wait(request_, plan_.wait_at_most);
    const auto decision = asker_.ask(request_);
    if (decision.allowed) asker_.sleep(decision.delay, plan_.key);
    return decision;
  }

  /// Returns false if that fails: then the lease lapses by itself.
  bool give_back() noexcept {
    if (!held_) return true;
    const auto lease = std::exchange(held_, std::nullopt)->lease;
    try {
      static_cast<void>(release(connector_, lease));
      return true;
    } catch (const std::exception& error) {
      return false;
    }
  }

  microseconds left() const {
    if (!plan_.wait_at_most) return microseconds::max();
    return *plan_.wait_at_most - std::chrono::duration_cast<microseconds>(Clock::now() - start_);
  }

  /// Returns the text of a denial: a sentence or, with --json, the object that `check --json`
  /// prints.
  std::string denial(const Limiter& limiter, std::span<const std::string> keys,
                     const limiter::Decision& decision, const std::string& message,
                     std::vector<std::string> holders = {}, std::string hint = {}) const {
    if (plan_.quiet) return {};
    if (!invocation_.json) {
      return render({.message = "denied: " + message, .hint = std::move(hint)}, invocation_.command,
                    false);
    }
    std::string out;
    AnswerFormat(limiter, true)
        .append(out, {.key = plan_.key,
                      .redis_keys = keys,
                      .cost = plan_.cost,
                      .decision = decision,
                      .holders = std::move(holders)});
    return out;
  }
  std::string limit_denial(const limiter::Decision& decision) const {
    const auto& limit = plan_.limiter->limits.at(static_cast<std::size_t>(decision.denied_by) - 1);
    return denial(*plan_.limiter, request_.keys, decision,
                  quoted_and_masked(plan_.key) + " has reached its limit of " +
                      limiter::format_limit(limit) +
                      (decision.retry_after == limiter::kNever
                           ? ", which never allows a cost of " + std::to_string(plan_.cost)
                           : "; retry in " + wait_text(decision.retry_after)));
  }
  std::string lease_denial(const limiter::Decision& decision) const {
    const bool is_one = lease_.limit == 1;
    const auto key = quoted_and_masked(plan_.key);
    auto holders = read_holders();
    auto text = is_one ? "the lease of " + key + " is held"
                       : "all " + std::to_string(lease_.limit) + " leases of " + key + " are held";
    for (const auto& holder : holders) {
      text += (&holder == &holders[0] ? " by " : ", ") + held_by(holder);
    }
    const bool are_all = lease_.limit <= kShownHolders;
    if (!are_all && !holders.empty()) text += " and others";
    const Limiter leases{.algorithm = &concurrency(),
                         .limits = {{.limit = lease_.limit, .window = lease_.duration}}};
    return denial(leases, {&lease_.key, 1}, decision, text, std::move(holders),
                  are_all ? "" : inspect_hint(plan_.key));
  }
  /// Empty if they cannot be read, which does not change the answer.
  std::vector<std::string> read_holders() const {
    if (plan_.quiet) return {};
    try {
      auto connection = connector_.open();
      return limiter::holders(connection, lease_, kShownHolders);
    } catch (const redis::Error&) {
      return {};
    } catch (const ProblemError&) {  // no second connection
      return {};
    }
  }

  const Plan& plan_;
  Connector& connector_;
  Invocation& invocation_;
  Progress progress_;
  Asker asker_;
  limiter::Request request_;
  limiter::Lease lease_;
  std::optional<HeldLease> held_;
  Clock::time_point start_ = Clock::now();
};

// ---- The command ----

microseconds parse_lease(const std::string& text) {
  const auto lease = parse_duration_of(text, "--lease");
  if (lease >= std::chrono::seconds{1}) return lease;
  throw UsageError("--lease: " + quoted_and_masked(text) + " is too short; use 1s or more");
}

ExitStatus parse_denied_status(const std::string& text) {
  return static_cast<ExitStatus>(parse_between(text, "--denied-status", 0, 255));
}

void add_options(Options& options, Plan& plan) {
  add_limit_options(options, plan.limit, false);
  options.value("--cost", "NUMBER",
                into(plan.cost, number_between("--cost", 0, limiter::kLargestCost)),
                "units of the limits that a run takes (default: 1)");
  options.value("--concurrency", "NUMBER",
                into(plan.concurrency, number_between("--concurrency", 1, limiter::kLargestLimit)),
                "run only while fewer than NUMBER others run (each holds a lease of KEY)");
  options
      .value("--lease", "TIME", into(plan.lease_duration, parse_lease),
             "how long the lease outlives rlctl if rlctl dies; renewed in time (default: 30s)")
      .needs("--concurrency");
  options
      .flag("--kill-on-loss", plan.kill_on_loss,
            "terminate the command if the lease is lost (or if rlctl is killed)")
      .needs("--concurrency");
  options.optional_value(
      "--wait", "TIME", plan.wait, into(plan.wait_at_most, duration_of("--wait")),
      "wait until allowed, at most TIME; deny as soon as that is known not to be "
      "enough");
  options.value("-E,--denied-status", "NUMBER", into(plan.denied_status, parse_denied_status),
                "exit status if denied, 0 to 255 (default: 75)");
  add_on_error_option(options, plan.on_error);
  options.flag("-q,--quiet", plan.quiet, "print nothing if denied, only set the exit status");
}

/// Sets what depends on the configuration and the operands, and refuses what does not go together.
void complete(Plan& plan, Invocation& invocation) {
  const bool has_limit = plan.limit.policy || !plan.limit.limits.empty();
  if (invocation.options.is_given("--cost") && !has_limit) {
    throw UsageError("--cost requires --limit");
  }
  if (has_limit) plan.limiter = resolve_limiter(plan.limit, plan.cost, invocation.configuration);
  if (!plan.limiter && !plan.concurrency) {
    throw UsageError("--limit or --concurrency is missing",
                     limit_hint(invocation.operands,
                                "--limit 1/10m allows a run in any 10 minutes, --concurrency 1 one "
                                "at a time"));
  }
  if (plan.concurrency && plan.limiter && plan.limiter->algorithm->has_delay) {
    throw UsageError("--concurrency cannot be combined with " +
                         std::string(plan.limiter->algorithm->name) +
                         ", whose delay would be spent holding a lease",
                     "another --algorithm, such as gcra, denies at once");
  }
  plan.key = only_key(plan.limiter.value_or(Limiter{}), invocation.operands,
                      "rlctl run backup --limit 1/10m -- ./backup",
                      "the command to run follows --; quote a key that contains blanks");
}

redis::Needs needs_of(const Plan& plan) {
  std::vector<std::string_view> algorithms;
  if (plan.concurrency) algorithms.push_back(concurrency().name);
  if (plan.limiter) algorithms.push_back(plan.limiter->algorithm->name);
  return cli::needs_of(algorithms.size() == 1 ? algorithms.front() : "run", algorithms);
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  complete(plan, invocation);
  const Program program = find_program(std::move(invocation.program));
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [&plan] { return needs_of(plan); });
  if (connector.is_private()) {
    throw UsageError("private: starts an empty server for this run only, which limits nothing",
                     kNamePersistentServer);
  }
  auto admitted = Admission(plan, connector, invocation).take();
  if (!admitted.allowed) {
    if (!admitted.denial.empty()) write_stderr(admitted.denial);
    return plan.denied_status;
  }
  if (!admitted.lease) replace_process(program, invocation.interrupt);
  return supervise(plan, program, std::move(*admitted.lease), connector, invocation);
}

ExitStatus report(const Problem& problem, bool json) {
  write_stderr(render(problem, "run", json));
  const bool is_own = problem.status == kCannotExecute || problem.status == kNotFound;
  return is_own ? problem.status : kFailed;
}

constexpr const JsonObjectInfo* kObjects[] = {&kAnswerJson};
constexpr JsonOutput kJson{
    "Standard output is the command's. A denial, a warning about a lost lease and an error are "
    "objects on standard error. If leases deny the run, algorithm is concurrency, limits has their "
    "key, their number and how long each outlives its holder, and retry_after_us is the time until "
    "the first of them lapses unless it is renewed.",
    kObjects};

}  // namespace

limiter::Decision release(Connector& connector, const limiter::Lease& lease) {
  auto connection = connector.open_uninterrupted();
  return limiter::release(connection, lease);
}

const Command kCommand{
    .text = {.name = "run",
             .summary = "run a command if a limiter allows it",
             .synopsis = "[connection] run --limit LIMIT [options] KEY -- COMMAND...\n"
                         "[connection] run --concurrency NUMBER [options] KEY -- COMMAND...\n"
                         "[connection] run --policy NAME [options] [ARG...] -- COMMAND...",
             .about =
                 "Asks whether one more request for KEY is within the limit, as check does, and\n"
                 "runs COMMAND if so. With --concurrency, at most NUMBER run at the same time, on\n"
                 "all machines. Standard input and output belong to COMMAND.",
             .brief = "--limit --algorithm --policy --cost --concurrency --lease "
                      "--kill-on-loss --wait --denied-status --on-error --quiet",
             .epilogue = R"(
Exit status:
  that of COMMAND, or 128+n if signal n killed it; otherwise
   75  denied (change it with -E)
  125  rlctl failed: usage, configuration, server
  126  COMMAND was found but cannot be run
  127  COMMAND was not found; nothing was taken

Examples:
  rlctl run backup --limit 1/10m -- ./backup --full
  rlctl run import --concurrency 3 --wait=5m -- ./import
  rlctl run -q -E 0 report --limit 1/d --on-error allow -- ./report
)",
             .notes = algorithm_help},
    .add = add_command<Plan, add_options, run>,
    .report = report,
    .json = &kJson,
    .declares = CommandLine::Declares::kWhatMayBeGiven,
    .takes_program = true};

}  // namespace rlctl::cli::run
