#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/errors/failure.h"
#include "cli/options/holder_options.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/server/targets.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "limiter/check.h"
#include "limiter/limit.h"
#include "redis/error.h"
#include "redis/server.h"
#include "stored/forms.h"

namespace rlctl::cli::settle {
namespace {

using limiter::ReservationState;

struct Plan {
  LimitOptions limit = {.for_reservations = true};
  std::optional<std::chrono::microseconds> now = {};
  bool release = false;
};

void add_options(Options& options, Plan& plan) {
  add_limits_of_key(options, plan.limit);
  options.flag("--release", plan.release, "settle with 0, in place of ACTUAL: nothing was used");
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp);
}

/// The reservation that the operands name. Without --limit and --policy, `limiter` has no limits.
struct Target {
  Limiter limiter = {.algorithm = limiter::find_algorithm("budget")};
  std::string key = {}, id = {};
  std::int64_t actual = 0;
};

Target target_of(const Plan& plan, Invocation& invocation) {
  auto operands = invocation.operands;
  Target target;
  if (plan.limit.policy || !plan.limit.limits.empty()) {
    target.limiter = resolve_limiter(plan.limit, 1, invocation.configuration, operands);
  }
  const std::string example = "rlctl settle KEY ID ACTUAL";
  const std::size_t after_key = plan.release ? 1 : 2;
  if (operands.size() < after_key + (target.limiter.policy == nullptr ? 1 : 0)) {
    throw UsageError(plan.release ? "expected KEY and ID" : "expected KEY, ID and ACTUAL", example);
  }
  if (!plan.release) {
    target.actual = parse_between(operands.back(), "ACTUAL", 0, limiter::kLargestCost);
    operands.pop_back();
  }
  target.id = parse_reservation_id(operands.back(), "ID");
  operands.pop_back();
  target.key = only_key(
      target.limiter, operands, example,
      plan.release ? "--release takes no ACTUAL" : "quote a key or an ID that contains blanks");
  return target;
}

/// Returns the limit that the key stores, and std::nullopt if the key does not exist. Throws
/// UsageError if the limit must be named, and ProblemError.
std::optional<limiter::Limit> stored_limit(const std::string& key, const Plan& plan,
                                           redis::Connection& connection) {
  Problem problem{.status = ExitStatus::kRejected,
                  .code = "WRONGTYPE",
                  .message = quoted_and_masked(key) + " does not hold a budget"};
  try {
    const auto header = connection.call({"HGET", key, ""});
    if (header.is_error()) throw redis::to_error(header);
    if (header.is_nil()) {
      if (redis::number_in(connection.call({"EXISTS", key})) == 0) return std::nullopt;
    } else {
      redis::require_type(header, redis::ReplyType::kString);
    }
    const auto text = header.is_nil() ? std::string_view() : header.text();
    if (const auto budget = stored::decode_budget_header(text)) {
      const auto now = plan.now ? *plan.now : redis::server_time(connection.call({"TIME"}));
      return limit_to_settle(key, *budget, now);
    }
  } catch (const redis::Error& error) {
    problem = drop_in_doubt_note(describe(error));  // it only reads
  }
  if (is_about_keys(problem)) {
    const auto& budget = *limiter::find_algorithm("budget");
    problem = explain_keys(std::move(problem), budget, {&key, 1}, connection);
  }
  throw ProblemError(std::move(problem));
}

/// Whether the settle was counted: the reservation was neither settled before nor unknown.
bool is_counted(const limiter::Decision& decision) {
  const auto state = decision.reservation.value_or(ReservationState::kUnknown);
  return state == ReservationState::kHeld || state == ReservationState::kLapsed;
}

/// Whether the limit is known: not if neither an option nor the key has one.
bool is_limited(const Target& target) {
  return !target.limiter.limits.empty();
}

std::string to_text(const Target& target, const limiter::Decision& decision, bool colour) {
  const std::string_view word = is_counted(decision) ? "settled"
                                : decision.allowed   ? "already"
                                                     : "unknown";
  auto out = toned(word, decision.allowed ? Tone::kGood : Tone::kBad, colour);
  out += " key=" + escaped_text(target.key);
  if (is_limited(target)) out += " limit=" + limiter::format_limits(target.limiter.limits);
  out.append(" algorithm=").append(target.limiter.algorithm->name);
  out += " reservation=" + escaped_text(target.id);
  out.append(" was=").append(
      limiter::to_text(decision.reservation.value_or(ReservationState::kUnknown)));
  if (decision.allowed) out += " actual=" + std::to_string(target.actual);
  if (!is_limited(target)) return out + '\n';
  out += " remaining=" + std::to_string(decision.remaining) + " reset=";
  append_seconds(out, decision.reset_after);
  return out + '\n';
}

// ---- JSON ----

using namespace json_type;

struct Settled {
  const Target& target;
  std::span<const std::string> redis_keys;
  const limiter::Decision& decision;
};

constexpr JsonField<Settled> kReservationFields[] = {
    {"id", JsonType{"reservation_id"}, "Its ID.",
     [](const auto& of) { return JsonBytes{of.target.id}; }},
    {"was", JsonType{"reservation_state"},
     "What it was before: held or lapsed, and is settled now; settled, and nothing changed; or "
     "unknown, and nothing was recorded.",
     [](const auto& of) {
       return limiter::to_text(of.decision.reservation.value_or(ReservationState::kUnknown));
     }},
};
constexpr JsonObject<Settled> kReservation(kReservationFields);

constexpr JsonField<Settled> kSettledFields[] = {
    {"key", kBytes, "The key of the limiter. With --policy, the key made from the arguments.",
     [](const auto& of) { return JsonBytes{of.target.key}; }},
    {"algorithm", kAlgorithm, {}, [](const auto& of) { return of.target.limiter.algorithm->name; }},
    {"reservation", kReservation, "The reservation.",
     [](const Settled& of) -> const Settled& { return of; }},
    {"actual", kCountOrNull,
     "The units with which the reservation is settled, now or before; null if it is unknown.",
     [](const auto& of) {
       return of.decision.allowed ? std::optional(of.target.actual) : std::nullopt;
     }},
    {"remaining", kCountOrNull,
     "How many more requests of cost 1 would be allowed now; with several limits, the smallest of "
     "these numbers. Null if there is no key, and no option names the limit.",
     [](const auto& of) {
       return is_limited(of.target) ? std::optional(of.decision.remaining) : std::nullopt;
     }},
    {"reset_after_us", kDurationOrNull,
     "Microseconds until all keys are as if they had never been used, or null like remaining.",
     [](const auto& of) {
       return is_limited(of.target) ? std::optional(of.decision.reset_after) : std::nullopt;
     }},
    {"limits", array_of(kLimitOfKeyJson),
     "The limits, in their order on the command line or in the policy, or the limit that the key "
     "stores. Empty if there is neither.",
     [](const auto& of, const auto& add) {
       const auto& limiter = of.target.limiter;
       for (std::size_t i = 0; i < of.redis_keys.size(); ++i) {
         add({of.redis_keys[i], {*limiter.algorithm, limiter.limits[i]}});
       }
     }},
};
constexpr JsonObject<Settled> kSettled("settled", "What became of the reservation", kSettledFields);

constexpr const JsonObjectInfo* kObjects[] = {&kSettled};
constexpr JsonOutput kJson{"One object for a reservation.", kObjects};

// ---- The command ----

ExitStatus run(const Plan& plan, Invocation& invocation) {
  auto target = target_of(plan, invocation);
  invocation.out.require_open();
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [&] { return needs_of(target.limiter.algorithm->name); });
  Progress progress(false);
  Asker asker(connector, *target.limiter.algorithm, invocation.interrupt, progress);
  if (!is_limited(target)) {
    if (const auto limit = stored_limit(target.key, plan, asker.connection())) {
      target.limiter.limits = {*limit};
    } else {
      write_stderr(
          render({.message = quoted_and_masked(target.key) + " does not exist",
                  .hint = "a KEY with several limits has several keys: pass --limit or --policy"},
                 invocation.command, false));
    }
  }
  std::vector<std::string> redis_keys;
  limiter::Decision decision{.reservation = ReservationState::kUnknown};
  if (is_limited(target)) {
    redis_keys = limiter::redis_keys(target.key, target.limiter.limits);
    const limiter::ReservationCall settles{.settles = true, .id = target.id};
    decision = asker.ask({.keys = redis_keys,
                          .limits = target.limiter.limits,
                          .cost = target.actual,
                          .now = plan.now,
                          .reservation = settles});
    if (auto conflict = conflict_of(decision, target.key, settles, target.actual)) {
      throw ProblemError(*std::move(conflict));
    }
  }
  auto& out = invocation.out.buffer();
  if (invocation.json) {
    kSettled.append_line(out, {target, redis_keys, decision});
  } else {
    out += to_text(target, decision, invocation.out.look().colour);
  }
  flush_answers(invocation.out, [&] {
    return std::string(is_counted(decision) ? "; the reservation was settled" : "");
  });
  return decision.allowed ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace

const Command kCommand{
    .text = {.name = "settle",
             .summary = "record what a reservation has cost, and free the rest of it",
             .synopsis = "[connection] settle [options] [--] KEY ID ACTUAL\n"
                         "[connection] settle [options] --release [--] KEY ID\n"
                         "[connection] settle --policy NAME [options] [ARGUMENT...] ID ACTUAL",
             .about =
                 "Settles a reservation of rlctl check --reserve: its units are no longer held,\n"
                 "and ACTUAL units are spent, even if that exceeds the limit. Settling again\n"
                 "changes nothing, so a settle that got no answer can be repeated. A reservation\n"
                 "whose hold has ended can still be settled, for as long again. The key stores\n"
                 "its limit: name the limits only of a KEY that has several.",
             .statuses =
                 {
                     "settled, now or before",
                     "no such reservation, or it is forgotten: nothing was recorded",
                     kStatusOfUsage,
                     kStatusUnreachable,
                     kStatusRefused,
                     kStatusRejected,
                 },
             .epilogue =
                 R"(
Examples:
  rlctl settle tokens:acme 7f3a9c51e20b4d68 380
  rlctl settle tokens:acme 7f3a9c51e20b4d68 --release
  rlctl settle --policy tokens acme 7f3a9c51e20b4d68 380
)",
             .takes_numbers = true},
    .add = add_command<Plan, add_options, run>,
    .json = &kJson,
    .declares = CommandLine::Declares::kWhatMayBeGiven};

}  // namespace rlctl::cli::settle
