#include "limiter/check.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>

namespace rlctl::limiter {

namespace {

constexpr std::size_t kDigits = 20;  // enough for any 64-bit number with its sign

/// Writes numbers one after another into one string, which must not grow.
class NumberWriter {
 public:
  NumberWriter(std::string& buffer, std::size_t most) : buffer_(buffer) {
    if (buffer_.size() < most * kDigits) buffer_.resize(most * kDigits);
  }

  std::string_view write(std::int64_t value) {
    const char* begin = buffer_.data() + used_;
    append(value);
    return {begin, buffer_.data() + used_};
  }

  /// "START-END"
  std::string_view write(const Period& period) {
    const char* begin = buffer_.data() + used_;
    append(period.start.count());
    buffer_[used_++] = '-';
    append(period.end.count());
    return {begin, buffer_.data() + used_};
  }

 private:
  void append(std::int64_t value) {
    char* begin = buffer_.data() + used_;
    const char* end = std::to_chars(begin, buffer_.data() + buffer_.size(), value).ptr;
    used_ += static_cast<std::size_t>(end - begin);
  }

  std::string& buffer_;
  std::size_t used_ = 0;
};

/// How many integers a reply begins with; after them, a reservation has its state, units and hold.
constexpr std::size_t kNumbers = 6;

/// Whether a script can have computed this reply: see rlctl-scripts(7). Callers sleep for these
/// times and then ask again, so a server that lies must not make them do so without end, or for
/// years.
bool are_in_range(const std::array<std::int64_t, kNumbers>& reply, bool has_delay) {
  // A wait lasts at most until the latest time that a script computes.
  constexpr auto kLongest = kLatestComputed.count();
  const auto& [allowed, remaining, retry_after, reset_after, delay, denied_by] = reply;
  const auto is_within = [](std::int64_t value, std::int64_t least, std::int64_t most) {
    return value >= least && value <= most;
  };
  const bool is_in_range = is_within(allowed, 0, 1) && is_within(remaining, 0, kLargestLimit + 1) &&
                           is_within(retry_after, kNever.count(), kLongest) &&
                           is_within(reset_after, 0, kLongest) && is_within(delay, 0, kLongest) &&
                           is_within(denied_by, 0, INT_MAX);
  if (!is_in_range) return false;
  if (allowed == 0) return retry_after != 0 && delay == 0 && denied_by > 0;
  return retry_after == 0 && denied_by == 0 && (delay == 0 || has_delay);
}

[[noreturn]] void not_a_decision(redis::ReplyView reply) {
  throw redis::error_about(reply, {redis::Failure::kRejected,
                                   "the reply is not that of a limiter script: six integers"});
}

std::int64_t integer_at(redis::ReplyView reply, std::size_t index) {
  if (reply[index].type() != redis::ReplyType::kInteger) not_a_decision(reply);
  return reply[index].integer();
}

/// Sets the units and the hold of a decision whose other members are set.
void read_reservation(redis::ReplyView reply, Decision& decision) {
  decision.units = integer_at(reply, kNumbers + 1);
  decision.hold = microseconds{integer_at(reply, kNumbers + 2)};
  const bool is_known = decision.reservation != ReservationState::kUnknown;
  const bool is_in_range = decision.units >= 0 && decision.units <= kLargestCost &&
                           decision.hold.count() >= 0 && decision.hold <= kLatestComputed &&
                           (is_known || (decision.units == 0 && decision.hold.count() == 0));
  // A key denies only a reservation that is not made.
  const bool fits = decision.allowed ? is_known : !is_known || decision.denied_by == 0;
  if (!fits || !is_in_range) not_a_decision(reply);
}

}  // namespace

redis::Error not_of_script() {
  return {redis::Failure::kProtocol, "the reply is not that of the script"};
}

bool is_without_evalsha_ro(redis::ReplyView reply) {
  if (!reply.is_error()) return false;
  const auto text = lower_case(reply.text());
  // "ERR unknown command 'EVALSHA_RO', with args ...", in quotes of either kind
  constexpr std::string_view kUnknown = "err unknown command ";
  if (text.starts_with(kUnknown)) return text.find("evalsha_ro") == kUnknown.size() + 1;
  return text.starts_with("noperm ") && text.find("run the 'evalsha_ro' ") != text.npos;
}

Decision Checker::check(const Request& request) {
  const auto ask = [&] { return call_script(connection_, algorithm_, command_.of(request)); };
  const auto reply =
      ask_within_period(ask, [&](const redis::Reply& each) { return note_wrong_period(each); });
  return parse(reply, request.reservation, algorithm_);
}

bool CheckCommand::note_wrong_period(redis::ReplyView reply) {
  // "PERIOD the period of KEYS[1] must hold NOW, not be 'START-END'"
  constexpr std::string_view kCode = "PERIOD ", kBeforeNow = " must hold ";
  if (!reply.is_error() || !reply.text().starts_with(kCode)) return false;
  auto rest = reply.text();
  const auto at = rest.find(kBeforeNow);
  if (at == rest.npos) return false;
  rest.remove_prefix(at + kBeforeNow.size());
  const auto digits = take_digits(rest);
  const auto now = bounded_value(digits, kLatestNow.count());
  if (digits.empty() || now > kLatestNow.count()) return false;
  server_ahead_ = microseconds{now} - system_time();
  return true;
}

ScriptCall CheckCommand::of(const Request& request) {
  NumberWriter numbers(numbers_, 4 * request.limits.size() + 3);
  std::optional<microseconds> now = request.now;
  keys_.assign(request.keys.begin(), request.keys.end());
  arguments_.clear();
  for (const Limit& limit : request.limits) {
    arguments_.push_back(numbers.write(limit.limit));
    if (limit.calendar == nullptr) {
      arguments_.push_back(numbers.write(limit.window.count()));
    } else {
      if (!now) now = system_time() + server_ahead_;
      arguments_.push_back(numbers.write(period_of(limit, *now)));
    }
    arguments_.push_back(limit.burst ? numbers.write(*limit.burst) : "");
  }
  const auto& reservation = request.reservation;
  arguments_.push_back(request.cost != 1 || reservation ? numbers.write(request.cost) : "");
  arguments_.push_back(request.now ? numbers.write(request.now->count()) : "");
  if (reservation) {
    arguments_.push_back(reservation->settles ? "settle" : "reserve");
    arguments_.push_back(reservation->id);
    if (!reservation->settles) arguments_.push_back(numbers.write(reservation->hold.count()));
  }
  // A missing argument at the end takes its default, as an empty string does in the middle. The
  // last window is never empty.
  while (!arguments_.empty() && arguments_.back().empty()) arguments_.pop_back();
  return {.sha1 = algorithm_.sha1, .keys = keys_, .arguments = arguments_};
}

void Checker::append_read_only_peeks(const Request& request) {
  Request peek{.keys = {""}, .limits = {{}}, .cost = 0, .now = request.now};
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    peek.keys[0] = request.keys[i];
    peek.limits[0] = request.limits[i];
    const auto call = command_.of(peek);
    has_evalsha_ro_ ? call.append_read_only_to(connection_) : call.append_to(connection_);
  }
}

bool Checker::note_missing_evalsha_ro(redis::ReplyView reply) {
  if (!is_without_evalsha_ro(reply)) return false;
  has_evalsha_ro_ = false;
  return true;
}

Decision Checker::parse(redis::ReplyView reply, const Algorithm* algorithm) {
  if (reply.is_error()) {
    throw redis::to_error(reply, algorithm == nullptr ? std::string_view() : algorithm->script);
  }
  std::array<std::int64_t, kNumbers> numbers{};
  if (reply.type() != redis::ReplyType::kArray) not_a_decision(reply);
  std::optional<ReservationState> reservation;
  if (reply.size() == kNumbers + 3 && (algorithm == nullptr || algorithm->has_reservations)) {
    reservation = parse_reservation_state(reply[kNumbers].text());
  }
  if (reply.size() != kNumbers + (reservation ? 3 : 0)) not_a_decision(reply);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = integer_at(reply, i);
  // No key denies the settle of an unknown reservation, and what conflicts with a known one.
  const bool is_by_no_key =
      reservation && numbers[0] == 0 && numbers[2] == kNever.count() && numbers[5] == 0;
  if (is_by_no_key) numbers[5] = 1;
  if (!are_in_range(numbers, algorithm == nullptr || algorithm->has_delay)) not_a_decision(reply);
  Decision decision{.allowed = numbers[0] == 1,
                    .remaining = numbers[1],
                    .retry_after = std::chrono::microseconds{numbers[2]},
                    .reset_after = std::chrono::microseconds{numbers[3]},
                    .delay = std::chrono::microseconds{numbers[4]},
                    .denied_by = is_by_no_key ? 0 : static_cast<int>(numbers[5]),
                    .reservation = reservation};
  if (reservation) read_reservation(reply, decision);
  return decision;
}

Decision Checker::parse(redis::ReplyView reply, const std::optional<ReservationCall>& asked,
                        const Algorithm& algorithm) {
  auto decision = parse(reply, &algorithm);
  if (decision.reservation.has_value() != asked.has_value()) not_a_decision(reply);
  return decision;
}

void require_loaded(redis::ReplyView reply) {
  redis::require_type(reply, redis::ReplyType::kString);
  constexpr std::size_t kSha1Size = 40;
  if (reply.text().size() == kSha1Size) return;
  throw redis::error_about(reply, {redis::Failure::kProtocol, "the answer is not a SHA1"});
}

void load_script(redis::Connection& connection, std::string_view text) {
  require_loaded(connection.call({"SCRIPT", "LOAD", text}));
}

redis::Reply call_script(redis::Connection& connection, const Algorithm& algorithm,
                         const ScriptCall& call) {
  const auto send = [&] {
    call.append_to(connection);
    return connection.read();
  };
  return send_loading(connection, algorithm.script, send, redis::is_unknown_script);
}

namespace {

Decision call_concurrency(redis::Connection& connection, const Lease& lease,
                          std::string_view action) {
  const Algorithm& algorithm = *find_algorithm("concurrency");
  const auto limit = std::to_string(lease.limit);
  const auto duration = std::to_string(lease.duration.count());
  const std::array<std::string_view, 1> keys{lease.key};
  const std::array<std::string_view, 4> arguments{limit, duration, action, lease.holder};
  const ScriptCall call{.sha1 = algorithm.sha1, .keys = keys, .arguments = arguments};
  return Checker::parse(call_script(connection, algorithm, call), &algorithm);
}

}  // namespace

Decision acquire(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "acquire");
}

Decision renew(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "renew");
}

Decision release(redis::Connection& connection, const Lease& lease) {
  return call_concurrency(connection, lease, "release");
}

std::vector<std::string> holders(redis::Connection& connection, const Lease& lease,
                                 std::int64_t most) {
  const auto last = std::min(most - lease.limit - 1, std::int64_t{-1});
  const auto reply =
      connection.call({"ZRANGE", lease.key, std::to_string(-lease.limit), std::to_string(last)});
  if (reply.is_error()) throw redis::to_error(reply);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto member = reply[i].text();
    if (member.starts_with(kLeasePrefix)) found.emplace_back(member.substr(kLeasePrefix.size()));
  }
  return found;
}

}  // namespace rlctl::limiter
