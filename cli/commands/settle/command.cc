#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/options/completions.h"
#include "cli/options/holder_options.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "limiter/check.h"
#include "limiter/limit.h"

namespace rlctl::cli::settle {
namespace {

using limiter::ReservationState;

struct Plan {
  LimitOptions limit = {.for_reservations = true};
  std::optional<std::chrono::microseconds> now = {};
  bool release = false;
  bool quiet = false;
  bool key_base64 = false;
};

void add_options(Options& options, Plan& plan) {
  add_limit_options(options, plan.limit, true);
  options.flag("--release", plan.release, "settle with 0, in place of ACTUAL: nothing was used");
  add_key_option(options, plan.key_base64);
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp);
  options.flag("-q,--quiet", plan.quiet, kQuietHelp);
}

/// What the operands name.
struct Target {
  Limiter limiter = {};
  std::string key = {}, id = {};
  std::int64_t actual = 0;
};

Target target_of(const Plan& plan, Invocation& invocation) {
  auto operands = invocation.operands;
  Target target{.limiter = resolve_limiter(plan.limit, 1, invocation.configuration, operands)};
  const std::string example = "rlctl settle KEY ID ACTUAL --limit 100000/d";
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
      target.limiter, decode_operands(std::move(operands), plan.key_base64), example,
      plan.release ? "--release takes no ACTUAL" : "quote a key or an ID that contains blanks");
  return target;
}

/// Whether the settle was counted: the reservation was neither settled before nor unknown.
bool is_counted(const limiter::Decision& decision) {
  const auto state = decision.reservation.value_or(ReservationState::kUnknown);
  return state == ReservationState::kHeld || state == ReservationState::kLapsed;
}

std::string to_text(const Target& target, const limiter::Decision& decision, bool colour) {
  const std::string_view word = is_counted(decision) ? "settled"
                                : decision.allowed   ? "already"
                                                     : "unknown";
  auto out = toned(word, decision.allowed ? Tone::kGood : Tone::kBad, colour);
  out += " key=" + escaped_text(target.key);
  out += " limit=" + limiter::format_limits(target.limiter.limits);
  out.append(" algorithm=").append(target.limiter.algorithm->name);
  out += " reservation=" + escaped_text(target.id);
  out.append(" was=").append(
      limiter::to_text(decision.reservation.value_or(ReservationState::kUnknown)));
  if (is_counted(decision)) out += " actual=" + std::to_string(target.actual);
  out += " remaining=" + std::to_string(decision.remaining) + " reset=";
  append_seconds(out, decision.reset_after);
  return out + '\n';
}

std::string to_json(const Target& target, std::span<const std::string> redis_keys,
                    const limiter::Decision& decision) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", target.key)
      .field("algorithm", target.limiter.algorithm->name)
      .name("reservation")
      .begin_object()
      .bytes_field("id", target.id)
      .field("was", limiter::to_text(decision.reservation.value_or(ReservationState::kUnknown)))
      .end_object()
      .field("actual", is_counted(decision) ? std::optional(target.actual) : std::nullopt)
      .field("remaining", decision.remaining)
      .field("reset_after_us", decision.reset_after)
      .name("limits")
      .begin_array();
  for (std::size_t i = 0; i < redis_keys.size(); ++i) {
    json.begin_object().bytes_field("key", redis_keys[i]);
    append_limit_fields(json, *target.limiter.algorithm, target.limiter.limits[i]);
    json.end_object();
  }
  json.end_array().end_object();
  return out + '\n';
}

ExitStatus run(const Plan& plan, Invocation& invocation) {
  const auto target = target_of(plan, invocation);
  const limiter::Request request{
      .keys = limiter::redis_keys(target.key, target.limiter.limits),
      .limits = target.limiter.limits,
      .cost = target.actual,
      .now = plan.now,
      .reservation = limiter::ReservationCall{.settles = true, .id = target.id}};
  if (!plan.quiet) invocation.out.require_open();
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [&] { return needs_of(target.limiter.algorithm->name); });
  Progress progress(false);
  Asker asker(connector, *target.limiter.algorithm, invocation.interrupt, progress);
  const auto decision = asker.ask(request);
  if (!plan.quiet) {
    invocation.out.buffer() += invocation.json
                                   ? to_json(target, request.keys, decision)
                                   : to_text(target, decision, invocation.out.look().colour);
    flush_answers(invocation.out, [&] {
      return std::string(is_counted(decision) ? "; the reservation was settled" : "");
    });
  }
  return decision.allowed ? ExitStatus::kDone : ExitStatus::kDenied;
}

Completions complete_operand(const CompletionContext& typed) {
  return typed.operands.empty() ? complete_key(typed) : Completions{};
}

}  // namespace

const Command kCommand{
    .text = {.name = "settle",
             .summary = "record what a reservation has cost, and free the rest of it",
             .synopsis = "[connection] settle --limit LIMIT [options] [--] KEY ID ACTUAL\n"
                         "[connection] settle --limit LIMIT [options] --release [--] KEY ID\n"
                         "[connection] settle --policy NAME [options] [ARGUMENT...] ID ACTUAL",
             .about =
                 "Settles a reservation of rlctl check --reserve: its units are no longer held,\n"
                 "and ACTUAL units are spent, even if that exceeds the limit. Settling again\n"
                 "changes nothing, so a settle that got no answer can be repeated. A reservation\n"
                 "whose hold has ended can still be settled, for as long again.",
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
  rlctl settle --limit 100000/d tokens:acme 7f3a9c51e20b4d68 380
  rlctl settle --limit 100000/d tokens:acme 7f3a9c51e20b4d68 --release
  rlctl settle --policy tokens acme 7f3a9c51e20b4d68 380
)",
             .complete_operand = complete_operand},
    .add = add_command<Plan, add_options, run>,
    .declares = CommandLine::Declares::kWhatMayBeGiven};

}  // namespace rlctl::cli::settle
