#include "cli/check/check.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "cli/term/progress.h"
#include "cli/term/terminal.h"
#include "limiter/limit.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

struct CheckOptions {
  LimitOptions limit;
  std::optional<std::string> cost, now, on_error;
  OptionalValue wait, batch;
  bool peek = false;
  bool quiet = false;
  bool key_base64 = false;
};

void add_check_options(Options& options, CheckOptions& target) {
  options.group("Options");
  add_limit_options(options, target.limit, true);
  options.value("--cost", "NUMBER", target.cost,
                "units to take (default: 1); 0 takes nothing, a negative number gives back");
  options.flag("--peek", target.peek, "ask without recording; deny if fewer than --cost remain");
  options
      .optional_value("--wait", "TIME", target.wait,
                      "sleep until allowed, at most TIME; deny at once if that is not enough. Also "
                      "sleep for the delay of leaky-bucket")
      .mistakable(is_time)
      .excludes("--now", "a given time does not advance")
      .excludes("--batch", "one key would delay all others")
      .excludes("--peek", "a peek takes no units");
  add_key_option(options, target.key_base64);
  options.value("--now", "TIME", target.now, kNowHelp);
  options.value("--on-error", "ANSWER", target.on_error,
                "fail, allow or deny when the server gives no answer (default: fail)");
  options.flag("-q,--quiet", target.quiet, "print no results, only set the exit status");
  options.optional_value("--batch", "FILE", target.batch,
                         "check each line of FILE or standard input: KEY or KEY<TAB>COST; "
                         "answers come in order, without delay. FILE may also follow as an "
                         "argument");
}

OnError parse_on_error(const std::string& text) {
  constexpr std::string_view kAnswers[] = {"fail", "allow", "deny"};
  if (text == "fail") return {};
  if (text == "allow" || text == "deny") return {.allows = text == "allow"};
  throw UsageError("--on-error: unknown answer " + in_quotes(text) + "; use " + one_of(kAnswers));
}

CheckPlan make_plan(const CheckOptions& options, ConfigurationSource& configuration) {
  CheckPlan plan{.peek = options.peek,
                 .wait = options.wait.given,
                 .quiet = options.quiet,
                 .key_base64 = options.key_base64};
  if (options.cost) plan.cost = parse_whole(masked(*options.cost), "--cost");
  if (plan.peek && plan.cost < 0) {
    throw UsageError("--peek takes nothing, so --cost must be 0 or more, not " +
                     in_quotes(*options.cost));
  }
  plan.limiter = resolve_limiter(options.limit, plan.cost, configuration);
  if (options.now) plan.now = parse_now(*options.now);
  if (options.on_error) plan.on_error = parse_on_error(*options.on_error);
  if (options.wait.value) plan.wait_at_most = parse_time(*options.wait.value, "--wait");
  return plan;
}

/// Throws unless one argument makes a key: a line of a batch has only one.
void require_batchable(const CheckPlan& plan) {
  const auto* policy = plan.limiter.policy;
  if (policy == nullptr || limiter::argument_count(*policy) == 1) return;
  throw UsageError("--batch reads one argument from each line, but " + takes_arguments(*policy));
}

std::string batch_file(const CheckOptions& options, const Invocation& invocation) {
  const auto& operands = invocation.operands;
  const std::size_t files = operands.size() + (options.batch.value ? 1 : 0);
  if (files > 1) {
    throw UsageError("unexpected argument " + in_quotes(operands.back()) +
                     ": --batch reads its keys from one file or standard input");
  }
  const std::string file =
      files == 0 ? "-" : options.batch.value.value_or(operands.empty() ? "" : operands[0]);
  if (file.empty()) throw UsageError("--batch: the file name is empty");
  return file;
}

// ---- One key ----

/// Before a longer sleep, the connection is closed: this saves the server a client, and middleboxes
/// drop idle connections.
constexpr std::chrono::seconds kKeepConnection{1};
/// Interval between updates of the time left on a terminal.
constexpr std::chrono::seconds kTick{1};

/// Sends a request to a limiter, and waits if requested. Connects when needed; closes the
/// connection before a long sleep. Throws what Connector::open() and limiter::Checker throw, with
/// an explanation if the key holds something else.
class Asker {
 public:
  /// `progress` shows the time left on a terminal.
  Asker(Connector& connector, const limiter::Algorithm& algorithm, const Interrupt& interrupt,
        Progress& progress)
      : connector_(connector), algorithm_(algorithm), interrupt_(interrupt), progress_(progress) {}

  /// Sends the request, which is recorded if allowed.
  [[nodiscard]] limiter::Decision ask(const limiter::Request& request);

  /// Sends the request, a refund. Sets `refunded` if that can be found out.
  [[nodiscard]] limiter::Decision refund(const limiter::Request& request,
                                         std::optional<std::int64_t>& refunded);

  /// Looks at each key separately and records nothing; allowed if request.cost units remain.
  [[nodiscard]] limiter::Decision peek(const limiter::Request& request);

  /// Repeats the request until it is allowed, sleeping in between; also sleeps for the delay of
  /// leaky-bucket. Returns a denial, without sleeping or recording, if waiting does not help or a
  /// total of `at_most` is known to be too short.
  [[nodiscard]] limiter::Decision wait(const limiter::Request& request,
                                       std::optional<std::chrono::microseconds> at_most);

 private:
  redis::Connection& connection();
  template <typename Exchange>
  auto exchange(const limiter::Request& request, bool records, Exchange exchange);
  [[nodiscard]] std::vector<limiter::Decision> look(const limiter::Request& request);
  void sleep(std::chrono::microseconds duration, const std::string& key);
  [[nodiscard]] std::optional<limiter::Decision> departure_later_than(
      const limiter::Request& request, std::chrono::microseconds left);

  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  const Interrupt& interrupt_;
  Progress& progress_;
  std::optional<redis::Connection> connection_;
};

redis::Connection& Asker::connection() {
  if (!connection_) connection_.emplace(connector_.open());
  return *connection_;
}

/// Runs `exchange(checker)`. Makes its errors clearer: adds whether the request may have been
/// counted, and about which key it is.
template <typename Exchange>
auto Asker::exchange(const limiter::Request& request, bool records, Exchange exchange) {
  auto& open = connection();
  try {
    limiter::Checker checker(open, algorithm_);
    return exchange(checker);
  } catch (const redis::Error& error) {
    Problem problem = describe(error);
    if (is_about_keys(problem)) {
      problem = explain_keys(std::move(problem), algorithm_, request.keys, open);
    }
    throw ProblemError(records ? may_have_been_counted(problem) : without_doubt(problem));
  }
}

limiter::Decision Asker::ask(const limiter::Request& request) {
  return exchange(request, true, [&](limiter::Checker& checker) { return checker.check(request); });
}

std::vector<limiter::Decision> Asker::look(const limiter::Request& request) {
  return exchange(request, false, [&](limiter::Checker& checker) {
    const auto look_once = [&] {
      checker.append_looks(request);
      std::vector<redis::Reply> replies;
      while (replies.size() < request.keys.size()) replies.push_back(connection_->read());
      return replies;
    };
    auto replies = look_once();
    if (std::any_of(replies.begin(), replies.end(), limiter::is_unknown_script)) {
      checker.load();
      replies = look_once();
    }
    std::vector<limiter::Decision> looks;
    for (const auto& reply : replies) looks.push_back(limiter::Checker::parse(reply));
    return looks;
  });
}

/// The script does not report how much came back. Looks in the same write tell, unless another
/// client's request comes in between.
limiter::Decision Asker::refund(const limiter::Request& request,
                                std::optional<std::int64_t>& refunded) {
  const auto send = [&](limiter::Checker& checker) {
    checker.append_looks(request);
    checker.append(request);
    checker.append_looks(request);
    std::vector<redis::Reply> replies;
    while (replies.size() < 2 * request.keys.size() + 1) replies.push_back(connection_->read());
    return replies;
  };
  return exchange(request, true, [&](limiter::Checker& checker) {
    auto replies = send(checker);
    // Whatever the looks replied: a refund must not be made twice.
    if (limiter::is_unknown_script(replies[request.keys.size()])) {
      checker.load();
      replies = send(checker);
    }
    const auto decision = limiter::Checker::parse(replies[request.keys.size()]);
    replies.erase(replies.begin() + std::ssize(request.keys));
    const auto failed = [](const redis::Reply& reply) { return reply.is_error(); };
    if (std::any_of(replies.begin(), replies.end(), failed)) return decision;
    std::vector<limiter::Decision> looks;
    for (const auto& reply : replies) looks.push_back(limiter::Checker::parse(reply));
    refunded = units_back(looks, request.cost);
    return decision;
  });
}

limiter::Decision Asker::peek(const limiter::Request& request) {
  return merge_looks(algorithm_, request.limits, request.cost, look(request));
}

/// A denial if the request would be allowed, but would depart later than `left` from now. A
/// departure cannot be given back, so this looks before the request is sent.
std::optional<limiter::Decision> Asker::departure_later_than(const limiter::Request& request,
                                                             microseconds left) {
  const auto looks = look(request);
  auto merged = merge_looks(algorithm_, request.limits, 0, looks);
  if (merged.reset_after <= left) return std::nullopt;
  const auto late = std::find_if(looks.begin(), looks.end(),
                                 [&](const auto& look) { return look.reset_after > left; });
  merged.allowed = false;
  merged.denied_by = static_cast<int>(late - looks.begin()) + 1;
  merged.retry_after = merged.reset_after - left;
  return merged;
}

limiter::Decision Asker::wait(const limiter::Request& request,
                              std::optional<microseconds> at_most) {
  const auto start = Clock::now();
  while (true) {
    const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - start);
    const auto left = at_most ? *at_most - waited : microseconds::max();
    if (at_most && algorithm_.has_delay) {
      if (const auto denied = departure_later_than(request, left)) return *denied;
    }
    const auto decision = ask(request);
    if (decision.allowed) {
      sleep(decision.delay, request.keys.front());
      return decision;
    }
    if (decision.retry_after == limiter::kNever || decision.retry_after > left) return decision;
    sleep(decision.retry_after, request.keys.front());
  }
}

void Asker::sleep(microseconds duration, const std::string& key) {
  if (duration > kKeepConnection) connection_.reset();
  const auto until = Clock::now() + duration;
  pollfd fd{interrupt_.fd(), POLLIN, 0};
  for (auto left = until - Clock::now(); left.count() > 0; left = until - Clock::now()) {
    progress_.update(std::chrono::ceil<microseconds>(left), key);
    const auto nap = progress_.enabled() ? std::min<Clock::duration>(left, kTick) : left;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(nap);
    const timespec time{.tv_sec = static_cast<time_t>(seconds.count()),
                        .tv_nsec = static_cast<long>((nap - seconds).count())};
    ::ppoll(&fd, 1, &time, nullptr);
    interrupt_.check();
  }
  progress_.clear();
}

void print(const CheckPlan& plan, const Result& result, Invocation& invocation) {
  if (plan.quiet) return;
  ResultFormat(plan.limiter, invocation.json).append(invocation.out.buffer(), result);
  flush_answers(invocation.out, [&] {
    if (!is_counted(result)) return "";
    return result.cost > 0 ? "; the request was counted" : "; the refund was counted";
  });
}

/// Even with -q: a caller that relies on the exit status would never learn that it means nothing.
void warn_of_private_server(const Invocation& invocation) {
  write_stderr(render({.message = "warning: private: starts an empty server for this run only; no "
                                  "earlier request is counted",
                       .hint = "use --url or RLCTL_URL to name a persistent server"},
                      invocation.command, false));
}

limiter::Decision decide(const CheckPlan& plan, const limiter::Request& request,
                         Invocation& invocation, std::optional<std::int64_t>& refunded) {
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  Progress progress(!plan.quiet && is_terminal(STDERR_FILENO));
  Asker asker(connector, *plan.limiter.algorithm, invocation.interrupt, progress);
  const auto decision = [&] {
    if (plan.peek) return asker.peek(request);
    if (plan.cost < 0 && !plan.quiet && !invocation.json) return asker.refund(request, refunded);
    if (plan.wait) return asker.wait(request, plan.wait_at_most);
    return asker.ask(request);
  }();
  if (connector.is_private()) warn_of_private_server(invocation);
  return decision;
}

ExitStatus check_key(const CheckPlan& plan, Invocation& invocation) {
  const std::string key =
      only_key(plan.limiter, invocation.operands, "rlctl check KEY --limit 5/60s",
               plan.wait && !plan.wait_at_most
                   ? "write a time for --wait as --wait=5s"
                   : "--batch checks many keys; quote a key that contains blanks");
  limiter::Request request{.keys = limiter::redis_keys(key, plan.limiter.limits),
                           .limits = plan.limiter.limits,
                           .cost = plan.cost,
                           .now = plan.now};
  Result result{.key = key, .redis_keys = request.keys, .cost = plan.cost, .peek = plan.peek};
  if (!plan.quiet) invocation.out.require_open();
  Problem problem;
  try {
    result.decision = decide(plan, request, invocation, result.refunded);
  } catch (const std::exception& error) {
    problem = describe(error);
    if (!plan.on_error.covers(problem)) throw;
    result.decision.allowed = *plan.on_error.allows;
    result.on_error = &problem;
    write_stderr(plan.on_error.warning(problem, invocation.command));
  }
  print(plan, result, invocation);
  return result.decision.allowed ? ExitStatus::kDone : ExitStatus::kDenied;
}

ExitStatus run_check(const CheckOptions& options, Invocation& invocation) {
  const CheckPlan plan = make_plan(options, invocation.configuration);
  if (options.batch.given) {
    require_batchable(plan);
    return run_batch(plan, batch_file(options, invocation), invocation);
  }
  invocation.operands = decode_operands(std::move(invocation.operands), plan.key_base64);
  return check_key(plan, invocation);
}

}  // namespace

const Command check_command{
    .name = "check",
    .summary = "ask a limiter, and record the request if it is allowed",
    .synopsis =
        "[connection] check --limit LIMIT [options] [--] KEY\n"
        "[connection] check --limit LIMIT [options] --batch [FILE]\n"
        "[connection] check --policy NAME [options] [--] [ARGUMENT...]",
    .about =
        "Asks whether one more request for KEY is within the limit, and records it if so.\n"
        "KEY is the Redis key itself; with several --limit, the keys are {KEY}:60s and\n"
        "so on.",
    .epilogue = R"(
Exit status:
  0  allowed
  1  denied
  2  wrong usage or input, or output that cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  the server or the script failed (WRONGTYPE, READONLY, OOM)
  A batch exits with the worst status of its lines; --on-error turns 3 to 5 into
  0 or 1.

Examples:
  if rlctl check -q --limit 5/60s -- "login:$user"; then ...; fi
  rlctl check --limit 10/s --limit 100/min api:acme --json
  rlctl check --policy login alice
  rlctl check --limit 100/s --algorithm leaky-bucket --wait=5s mail:out
  cut -f1 requests.tsv | rlctl check --limit 1000/h --batch
)",
    .add = add_command<CheckOptions, add_check_options, run_check>,
    .notes = algorithm_help};

}  // namespace rlctl::cli
