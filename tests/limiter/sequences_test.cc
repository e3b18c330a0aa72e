// needs: server
// Runs the sequences in sequences/*.calls and ../stored/dumps/*.calls: calls, each with the
// decision that the algorithm's script and its model in C++ must both make. A denied call and a
// look must also write nothing, and run under EVALSHA_RO.
//
//   algorithm gcra token-bucket   each of these, in the sequences that follow
//   start 2023-11-14T22:13:00Z    the time 0s
//
//   ## a heading                  a sequence, with an empty server; may have its own algorithms
//   limit 5/60s burst 9           of the calls that name no limit
//   limit login: 1/1s             the same for a key
//   TIME CALL DECISION
//
// TIME counts from the start, as 10s, -30s or 60s-1us, or is @ and µs since 1970. CALL is one of
//
//   COST                          as for `rlctl check`: 0 looks, and less than 0 refunds
//   reserve ID UNITS for TIME     of budget; with an ID such as r0..9, ten calls
//   settle ID COST
//   acquire ID for TIME           of concurrency, and so are renew and release
//
// Its keys may stand before it, with a colon after the last; otherwise the key is k. "of LIMIT" may
// follow it, with a limit for each key. DECISION is what `rlctl check` prints, but with exact
// times, without reset=0s, and with denied_by unless it is the first key. It may end with …, or
// with allowed or denied: script and model agree about the rest. Other lines of a sequence:
//
//   stored …                      what k contains now: the members of a list, or with =SCORE of a
//                                 sorted set; the fields of rlctl-stored(7), without what is 0, on
//                                 one line, and each reservation on another; nothing: no such key
//   header …                      only the first line
//   ids ID…                       only the IDs of the reservations
//   dump HEX                      what DUMP replied for k in an earlier version. Each call that
//                                 follows, a look or a denied one, is made of each such dump.
//
// To record a dump, write "dump" alone and copy what the failure says, on the oldest server that is
// supported: a newer server reads it, but not the reverse. A dump that has been released stays.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "support/contract.h"
#include "support/lease_calls.h"
#include "support/limiters.h"

namespace rlctl::test::sequences_test {
namespace {

using namespace std::chrono_literals;
using Words = std::deque<std::string>;

Words words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string take(Words& words) {
  REQUIRE_FALSE(words.empty());
  auto word = std::move(words.front());
  words.pop_front();
  return word;
}

bool take_if(Words& words, std::string_view word) {
  const bool is_next = !words.empty() && words.front() == word;
  if (is_next) words.pop_front();
  return is_next;
}

template <typename Texts>
std::string joined(const Texts& texts, const char* between = " ") {
  return fmt::format("{}", fmt::join(texts, between));
}

std::int64_t to_count(std::string_view text) {
  const auto number = to_number<std::int64_t>(text);
  REQUIRE_MESSAGE(number.has_value(), text);
  return *number;
}

microseconds to_time(std::string_view text) {
  microseconds sum{0};
  while (!text.empty()) {
    const int sign = text.front() == '-' ? -1 : 1;
    if (text.front() == '-' || text.front() == '+') text.remove_prefix(1);
    const auto end = std::min(text.find_first_of("+-"), text.size());
    sum += sign * parse_duration(text.substr(0, end));
    text.remove_prefix(end);
  }
  return sum;
}

std::string time_text(microseconds time) {
  if (time == limiter::kNever) return "never";
  const auto rest = time % 1s;
  if (time < 1s || rest % 1ms == 0us) return format_duration(time);
  return format_duration(time - rest) + "+" + format_duration(rest);
}

/// As a line has it.
std::string decision_text(const Decision& decision) {
  std::string text = decision.allowed ? "allowed" : "denied";
  if (decision.reservation) {
    text += fmt::format(" state={} units={} hold={}", to_text(*decision.reservation),
                        decision.units, time_text(decision.hold));
  }
  text += fmt::format(" remaining={}", decision.remaining);
  if (!decision.allowed) text += " retry_after=" + time_text(decision.retry_after);
  if (decision.reset_after != 0us) text += " reset=" + time_text(decision.reset_after);
  if (decision.delay != 0us) text += " delay=" + time_text(decision.delay);
  if (decision.denied_by == (decision.allowed ? 0 : 1)) return text;
  return text + fmt::format(" denied_by={}", decision.denied_by);
}

Limit take_limit(Words& words) {
  const auto text = take(words);
  if (text.find('/') == text.npos) return {.limit = to_count(text)};
  auto limit = limiter::parse_limit(text);
  if (take_if(words, "burst")) limit.burst = to_count(take(words));
  return limit;
}

/// The keys in front of a colon.
Strings take_keys(Words& words) {
  const auto last = std::ranges::find_if(words, [](auto& word) { return word.ends_with(':'); });
  if (last == words.end()) return {};
  last->pop_back();
  Strings keys(words.begin(), last + 1);
  words.erase(words.begin(), last + 1);
  return keys;
}

std::string from_hexadecimal(std::string_view text) {
  std::string bytes;
  for (; text.size() > 1; text.remove_prefix(2)) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(0, 2)), nullptr, 16));
  }
  return bytes;
}

/// How an algorithm packs a string, or the header of a hash, according to rlctl-stored(7): the
/// format of struct.pack(), and the names of the numbers that follow the text at its start.
struct Layout {
  const char *format = "", *names = "";
};
const std::map<std::string_view, Layout> kLayouts{
    {"fixed-window", {"<c6dI4I4d", "start count limit window"}},
    {"sliding-window-log", {}},
    {"sliding-window-zset", {}},
    {"sliding-window-counter", {"<c8dI4I4I4d", "start previous current limit window"}},
    {"token-bucket", {"<c7ddI4dI4", "tokens at limit window burst"}},
    {"gcra", {"<c5dI4I4dI4", "tat rest limit window burst"}},
    {"leaky-bucket", {"<c6dI4I4dI4", "last rest limit window burst"}},
    {"budget",
     {"<c6I7I6I4I6I4I7I7I7I7I2I1", "end window limit spent held next time last expires ids sweep"}},
    {"concurrency", {}}};
const Layout kReservation{"<c1I4I7I7", "units until forgotten"};
const std::set<std::string> kTimes{"at",   "end",   "expires", "forgotten", "last",
                                   "next", "start", "tat",     "time",      "until"};

/// Returns the lines of Run::stored(), but with the numbers alone.
constexpr const char* kRead = R"(
local key, kind = KEYS[1], redis.call('TYPE', KEYS[1]).ok
local function unpacked(format, bytes)
  local values = {struct.unpack(format, bytes)}
  assert(table.remove(values) == #bytes + 1, 'the length is another')
  for i = 2, #values do values[i] = string.format('%.17g', values[i]) end
  return table.concat(values, ' ')
end
local lines = {}
if kind == 'string' then
  lines[1] = unpacked(ARGV[1], redis.call('GET', key))
elseif kind == 'list' then
  lines[1] = table.concat(redis.call('LRANGE', key, 0, -1), ' ')
elseif kind == 'zset' then
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do all[(i + 1) / 2] = all[i] .. '=' .. all[i + 1] end
  lines[1] = table.concat(all, ' ', 1, #all / 2)
elseif kind == 'hash' then
  local ids = redis.call('HKEYS', key)
  table.sort(ids)
  for i, id in ipairs(ids) do
    lines[i] = unpacked(id == '' and ARGV[1] or ARGV[2], redis.call('HGET', key, id))
    if id ~= '' then lines[i] = id .. ' ' .. lines[i] end
  end
end
return lines
)";

struct Sequence {
  std::string file, heading;
  std::vector<std::string> algorithms;
  microseconds start{0};
  std::vector<std::pair<int, Words>> lines;  ///< numbers and words
};

std::vector<Sequence> read_sequences(const std::string& folder) {
  std::vector<Sequence> all;
  for (const auto& entry : std::filesystem::directory_iterator(RLCTL_TESTS_DIR "/" + folder)) {
    if (entry.path().extension() != ".calls") continue;
    Sequence head;
    head.file = folder + "/" + entry.path().filename().string();
    auto* open = &head;
    std::ifstream file(entry.path());
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      auto words = words_of(line);
      if (line.starts_with("## ")) {
        open = &all.emplace_back(head);
        open->heading = line.substr(3);
      } else if (take_if(words, "algorithm")) {
        open->algorithms = {words.begin(), words.end()};
      } else if (take_if(words, "start")) {
        open->start = parse_instant(take(words));
      } else if (!line.empty() && !line.starts_with('#')) {
        open->lines.emplace_back(number, std::move(words));
      }
    }
    REQUIRE_MESSAGE(head.lines.empty(), head.file);
  }
  REQUIRE_FALSE(all.empty());
  return all;
}

/// Runs a sequence with one algorithm.
class Run {
 public:
  Run(TestServer& server, const Algorithm& algorithm, microseconds start)
      : server_(server),
        algorithm_(algorithm),
        start_(start),
        script_(server, algorithm),
        model_(algorithm),
        has_read_only_(
            !contains(server.call({"EVAL_RO", "return 1", "0"}).text(), "unknown command")) {
    (void)server.call({"FLUSHALL"});
  }

  /// An empty line is the end.
  void line(Words words) {
    if (!stored_.empty() && (words.empty() || words.front() != "stored")) {
      CHECK(joined(stored(), "\n") == joined(std::exchange(stored_, {}), "\n"));
    }
    if (words.empty()) return;
    if (take_if(words, "limit")) {
      const auto keys = take_keys(words);
      limits_[keys.empty() ? "" : keys.front()] = take_limit(words);
    } else if (take_if(words, "stored")) {
      if (!words.empty()) return stored_.push_back(joined(words));
      CHECK(joined(stored()).empty());
    } else if (take_if(words, "header")) {
      CHECK(stored().front() == joined(words));
    } else if (take_if(words, "ids")) {
      Words ids;
      for (const auto& line : stored()) ids.push_back(line.substr(0, line.find('=')));
      ids.pop_front();
      CHECK(joined(ids) == joined(words));
    } else if (take_if(words, "dump")) {
      if (words.empty()) FAIL("not recorded:\n", lines_to_record());
      dumps_.push_back(from_hexadecimal(take(words)));
    } else {
      check_calls(words);
    }
  }

 private:
  void check_calls(Words& words) {
    const auto decision = std::ranges::find_if(
        words, [](const auto& word) { return word == "allowed" || word == "denied"; });
    REQUIRE(decision != words.end());
    const Words expected(decision, words.end());
    words.erase(decision, words.end());
    const auto range =
        std::ranges::find_if(words, [](const auto& word) { return word.find("..") != word.npos; });
    if (range == words.end()) return check_call(words, expected);
    const auto text = *range;
    const auto first = text.find_first_of("0123456789"), dots = text.find("..");
    const auto last = to_count(text.substr(dots + 2));
    for (auto i = to_count(text.substr(first, dots - first)); i <= last; ++i) {
      *range = text.substr(0, first) + std::to_string(i);
      check_call(words, expected);
    }
  }

  void check_call(Words words, const Words& expected) {
    const auto time = take(words);
    const auto now = time.starts_with('@') ? parse_instant(time.substr(1)) : start_ + to_time(time);
    Request request{.keys = take_keys(words), .limits = {}, .now = now};
    if (request.keys.empty()) request.keys = {"k"};
    LeaseCall lease{.action = take(words), .id = {}, .now = now};
    const auto& verb = lease.action;
    auto& reservation = request.reservation;
    if (is_of_leases()) {
      lease.id = take(words);
    } else if (verb == "reserve" || verb == "settle") {
      reservation = limiter::ReservationCall{.settles = verb == "settle", .id = take(words)};
      request.cost = to_count(take(words));
    } else {
      request.cost = to_count(verb);
    }
    if (take_if(words, "for")) {
      lease.lease = to_time(take(words));
      if (reservation) reservation->hold = lease.lease;
    }
    const bool has_limits = take_if(words, "of");
    for (const auto& key : request.keys) {
      request.limits.push_back(has_limits ? take_limit(words)
                                          : limits_.at(limits_.contains(key) ? key : ""));
    }
    lease.limit = request.limits.front().limit;
    REQUIRE(words.empty());
    check_decision(request, lease, expected);
  }

  void check_decision(const Request& request, const LeaseCall& lease, const Words& expected) {
    const auto by_model = is_of_leases() ? ask(leases_, lease) : model_.ask(request);
    auto begin = expected;
    const bool is_open = expected.size() == 1 || expected.back() == "…";
    if (expected.back() == "…") begin.pop_back();
    const auto text = decision_text(by_model) + " ", wanted = joined(begin) + " ";
    CHECK(text.substr(0, is_open ? wanted.size() : text.npos) == wanted);
    if (dumps_.empty()) check_script(request, lease, by_model);
    for (const auto& dump : dumps_) {
      REQUIRE_FALSE(server_.call(Strings{"RESTORE", "k", "0", dump, "REPLACE"}).is_error());
      check_script(request, lease, by_model);
    }
  }

  void check_script(const Request& request, const LeaseCall& lease, const Decision& by_model) {
    const auto before = look_up(server_, request.keys).dumps;
    const auto decision =
        is_of_leases()
            ? limiter::Checker::parse(server_.eval(algorithm_.script, {"k"}, lease.arguments()))
            : script_.ask(request);
    CHECK(decision_text(decision) == decision_text(by_model));
    const auto after = look_up(server_, request.keys).dumps;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const bool exists = is_of_leases() ? !leases_.empty() : model_.exists(request.keys[i]);
      CHECK(after[i].empty() != exists);
    }
    // A reservation or a settle that is repeated writes nothing either.
    const bool is_repeated = request.reservation && after == before;
    const bool is_look = request.cost == 0 && !request.reservation;
    if (decision.allowed && !is_repeated && !is_look) return;
    CHECK(after == before);
    if (!has_read_only_) return;
    Strings command{"EVALSHA_RO", std::string(algorithm_.sha1),
                    std::to_string(request.keys.size())};
    command.insert(command.end(), request.keys.begin(), request.keys.end());
    limiter::CheckCommand calls(algorithm_);
    const auto add = [&](const auto& arguments) {
      command.insert(command.end(), arguments.begin(), arguments.end());
    };
    is_of_leases() ? add(lease.arguments()) : add(calls.of(request).arguments);
    CHECK(decision_text(limiter::Checker::parse(server_.call(command))) == decision_text(by_model));
  }

  bool is_of_leases() const { return algorithm_.make_model == nullptr; }

  /// The contents of the key `k`, in the words of `stored` lines.
  Strings stored() {
    const auto& layout = kLayouts.at(algorithm_.name);
    const auto reply = server_.eval(kRead, {"k"}, {layout.format, kReservation.format});
    REQUIRE_MESSAGE(!reply.is_error(), reply.text());
    Strings lines;
    for (std::size_t i = 0; i < reply.size(); ++i) {
      auto words = words_of(std::string(reply[i].text()));
      // A reservation's line begins with its ID; any other with a text or an entry.
      auto line = take(words);
      const bool is_id = i > 0;
      if (is_id) line += "=" + take(words);
      for (const auto& name : words_of(is_id ? kReservation.names : layout.names)) {
        const auto word = take(words);
        if (word == "0") continue;
        const microseconds time{static_cast<std::int64_t>(std::stod(word))};
        line += " " + name + "=";
        line += name == "window"        ? time_text(time)
                : kTimes.contains(name) ? time_text(time - start_)
                                        : word;
      }
      for (const auto& more : words) line += " " + more;
      lines.push_back(line);
    }
    return lines;
  }

  std::string dump_line() {
    std::string line = "\ndump ";
    for (const char byte : server_.dump("k"))
      line += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return line;
  }

  /// If `k` is a string, also the state of a call by the server's clock: a blank stands for the ~.
  std::string lines_to_record() {
    auto lines = "stored " + joined(stored(), "\nstored ") + dump_line();
    if (server_.call({"TYPE", "k"}).text() != "string") return lines;
    std::string bytes(server_.call({"GET", "k"}).text());
    bytes.at(bytes.find('~')) = ' ';
    (void)server_.call({"SET", "k", bytes});
    return lines + dump_line();
  }

  TestServer& server_;
  const Algorithm& algorithm_;
  microseconds start_;
  ScriptLimiter script_;
  ModelLimiter model_;
  limiter::LeaseModel leases_;
  std::map<std::string, Limit> limits_;  ///< the limit of each key; "" is that of all others
  Strings dumps_;
  bool has_read_only_;
  Strings stored_;  ///< the lines since the last call
};

void run(const std::vector<Sequence>& sequences) {
  TestServer server;
  for (const auto& sequence : sequences) {
    REQUIRE_MESSAGE(!(sequence.algorithms.empty() || sequence.lines.empty()), sequence.heading);
    for (const auto& name : sequence.algorithms) {
      Run run(server, algorithm(name), sequence.start);
      for (const auto& line : sequence.lines) {
        INFO("tests/", sequence.file, ":", line.first, ": ", name, ": ", sequence.heading);
        CHECK_NOTHROW(run.line(line.second));
      }
      CHECK_NOTHROW(run.line({}));
    }
  }
}

}  // namespace

TEST_CASE("script and model decide each call as its sequence says") {
  run(read_sequences("limiter/sequences"));
}

TEST_CASE("every state that was ever stored is read with its meaning, and written to the byte") {
  const auto sequences = read_sequences("stored/dumps");
  run(sequences);
  std::set<std::string> recorded;
  for (const auto& sequence : sequences) recorded.insert(sequence.algorithms.front());
  CHECK(recorded.size() == limiter::algorithms().size());
}

TEST_CASE("no algorithm mistakes another's state for its own") {
  TestServer server;
  for (const auto& sequence : read_sequences("stored/dumps")) {
    for (const auto& line : sequence.lines) {
      if (line.second.front() != "dump") continue;
      const auto dump = from_hexadecimal(line.second.back());
      for (const auto& other : limiter::algorithms()) {
        if (other.name == sequence.algorithms.front()) continue;
        INFO("tests/", sequence.file, ":", line.first, ": ", other.name);
        REQUIRE_FALSE(server.call(Strings{"RESTORE", "k", "0", dump, "REPLACE"}).is_error());
        const auto before = server.dump("k");
        Strings arguments{"5", "60000000"};
        if (other.make_model == nullptr) arguments.insert(arguments.end(), {"acquire", "me"});
        const auto reply = server.eval(other.script, {"k"}, arguments);
        REQUIRE(reply.is_error());
        CHECK(redis::error_code(reply.text()) == "WRONGTYPE");
        CHECK(server.dump("k") == before);
      }
    }
  }
}

}  // namespace rlctl::test::sequences_test
