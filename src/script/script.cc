#include "script/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "lua/calls.h"
#include "lua/compiled.h"
#include "lua/lexer.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "script/key_aging.h"

namespace rlctl::script {
namespace {

// ---- Bundled scripts ----

redis::Error script_is_gone() {
  return {redis::Failure::kRejected, "the script was removed from the server while it was in use",
          "NOSCRIPT", "someone ran SCRIPT FLUSH; run the command again"};
}

void load_bundled(ScriptHost& host, const limiter::Algorithm& algorithm) {
  limiter::require_loaded(
      host.call(std::array<std::string_view, 3>{"SCRIPT", "LOAD", algorithm.script}));
}

/// The script of a bundled algorithm.
class BundledScript final : public Script {
 public:
  BundledScript(const Candidate& candidate, const traffic::Traffic& traffic, std::string prefix)
      : algorithm_(*candidate.algorithm),
        traffic_(traffic),
        prefix_(std::move(prefix)),
        command_(algorithm_) {
    require_usable(candidate);
    request_.limits = candidate.limits;
  }

  std::string_view name() const override { return algorithm_.name; }
  void load(ScriptHost& host) override { load_bundled(host, algorithm_); }
  limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    request_.keys = redis_keys(arrival.key);
    request_.cost = arrival.cost;
    request_.now = arrival.sent_at();
    set_reservation(arrival);
    return command_.of(request_);
  }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (const auto& keys : redis_keys_) all.insert(all.end(), keys.begin(), keys.end());
    return all;
  }

 private:
  limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& /*arrival*/,
                         std::int64_t /*number*/) const override {
    return limiter::Checker::parse(reply, &algorithm_);
  }
  void set_reservation(const traffic::Arrival& arrival) {
    request_.reservation.reset();
    if (!is_of_reservation(arrival.event)) return;
    const bool settles = arrival.event == traffic::Event::kSettle;
    request_.reservation = {
        .settles = settles, .id = traffic::reservation_name(arrival.holder), .hold = arrival.hold};
    if (settles) request_.cost = arrival.actual;
  }
  const std::vector<std::string>& redis_keys(std::uint32_t key) {
    if (key >= redis_keys_.size()) redis_keys_.resize(key + std::size_t{1});
    auto& keys = redis_keys_[key];
    if (keys.empty()) keys = keys_named(traffic_.key_name(key));
    return keys;
  }
  std::vector<std::string> keys_named(std::string_view key) const {
    auto name = prefix_ + std::string(key);
    // A hash tag after the prefix, so that all names begin with the prefix. The colon is there for
    // names that are empty or begin with a brace.
    if (request_.limits.size() > 1) name = fmt::format("{}{{:{}}}", prefix_, key);
    return limiter::redis_keys(name, request_.limits);
  }

  const limiter::Algorithm& algorithm_;
  const traffic::Traffic& traffic_;
  std::string prefix_;
  limiter::CheckCommand command_;
  limiter::Request request_;
  std::vector<std::vector<std::string>> redis_keys_;  ///< for each of the traffic's keys
};

/// The script `concurrency`.
class BundledLeaseScript final : public Script {
 public:
  BundledLeaseScript(const Candidate& candidate, const traffic::Traffic& traffic,
                     std::string prefix)
      : algorithm_(*candidate.algorithm),
        traffic_(traffic),
        prefix_(std::move(prefix)),
        limit_(std::to_string(candidate.limits.front().limit)),
        lease_(std::to_string(candidate.limits.front().window.count())) {}

  std::string_view name() const override { return algorithm_.name; }
  void load(ScriptHost& host) override { load_bundled(host, algorithm_); }
  limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    if (arrival.key >= redis_keys_.size()) redis_keys_.resize(arrival.key + std::size_t{1});
    auto& key = redis_keys_[arrival.key];
    if (key.empty()) key = prefix_ + std::string(traffic_.key_name(arrival.key));
    holder_ = traffic::holder_name(arrival.holder);
    now_ = std::to_string(arrival.sent_at().count());
    key_ = {key};
    arguments_ = {limit_, lease_, event_name(arrival.event), holder_, now_};
    return {.sha1 = algorithm_.sha1, .keys = key_, .arguments = arguments_};
  }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (const auto& key : redis_keys_) {
      if (!key.empty()) all.push_back(key);
    }
    return all;
  }

 private:
  limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& /*arrival*/,
                         std::int64_t /*number*/) const override {
    return limiter::Checker::parse(reply, &algorithm_);
  }

  const limiter::Algorithm& algorithm_;
  const traffic::Traffic& traffic_;
  std::string prefix_, limit_, lease_, holder_, now_;
  std::deque<std::string> redis_keys_;  ///< by the traffic's keys; views stay valid
  std::array<std::string_view, 1> key_;
  std::array<std::string_view, 5> arguments_;
};

// ---- Foreign scripts ----

constexpr std::size_t kMaxShown = 60;     // bytes of a key or an argument, in a message
constexpr std::size_t kNumberedKeys = 4;  // {key1} to {key4}

lua::Substitutes substitutes_for(const ForeignLimiter& limiter,
                                 const ScriptEnvironment& environment) {
  std::vector<std::string_view> words;
  for (const auto& argument : limiter.arguments) words.push_back(argument.source());
  auto needed = lua::needed_substitutes(limiter.source, words);
  if (environment.time == ScriptTime::kHost) needed.time = needed.expiry = false;
  needed.other_keys = environment.time == ScriptTime::kVirtual || environment.keys_only;
  return needed;
}

/// Whether this holds of an argument as written.
template <typename Predicate>
bool any_argument(const ForeignLimiter& limiter, Predicate holds) {
  return std::any_of(limiter.arguments.begin(), limiter.arguments.end(),
                     [&](const Template& argument) { return holds(argument.source()); });
}

/// Whether this ends as a command that sets a TTL, or an option that does: PEXPIREAT, SETEX, PX.
bool sets_ttl(std::string_view word) {
  static constexpr std::array kOptions{"ex", "px", "exat", "pxat"};
  static constexpr std::array kEnds{"expire", "expireat", "setex", "getex", "restore"};
  return std::ranges::find(kOptions, word) != kOptions.end() ||
         std::ranges::any_of(kEnds, [&](const char* end) { return word.ends_with(end); });
}

/// Whether its source, or an argument, may name a command that sets a TTL.
bool may_set_ttl(const ForeignLimiter& limiter) {
  return lua::any_word(limiter.source, sets_ttl) ||
         any_argument(limiter,
                      [](std::string_view text) { return lua::any_word_in_text(text, sets_ttl); });
}

/// Throws UsageError if it may set TTLs of the fields of a hash. They do not age under KeyAging;
/// and HLEN counts expired fields until the server removes them in the background, which no virtual
/// clock sets off.
void require_no_field_ttls(const ForeignLimiter& limiter) {
  for (const auto* command : {"HEXPIRE", "HPEXPIRE", "HSETEX", "HGETEX"}) {
    const auto word = lower_case(command);
    const bool is_argument = any_argument(
        limiter, [&](std::string_view text) { return contains_in_any_case(text, word); });
    const bool is_source = contains_in_any_case(limiter.source, word) &&
                           lua::any_word(limiter.source, [&](std::string_view each) {
                             return contains_in_any_case(each, word);
                           });
    if (!is_argument && !is_source) continue;
    throw UsageError(fmt::format("{}{} the word {}: virtual time does not pass for the TTLs of a "
                                 "hash's fields",
                                 escape(limiter.name), is_argument ? " is given" : " has", command),
                     kUseRealClock);
  }
}

/// For a source that compiles as it is, but not with its substitutes.
UsageError no_room(const ForeignLimiter& limiter, const lua::Globals& globals, bool keys_only) {
  const bool has_server = globals.contains("server");
  return UsageError(
      fmt::format(
          "{} {}, so that {}", escape(limiter.name),
          has_server ? "has a variable `server` and uses the global `server`"
                     : "has a function with as many upvalues or locals as Lua allows",
          keys_only ? "rlctl cannot see which keys it touches" : "it cannot get the virtual time"),
      fmt::format("use {}--clock real, or {}", keys_only ? "--url private: and " : "",
                  has_server ? "another name for the variable" : "fewer variables"));
}

/// Throws UsageError if it may find the server's `redis` rather than ours, which sees its keys.
void require_visible_keys(std::string_view source, std::string_view name) {
  const auto globals = lua::read_globals(source);
  if (!globals) return;  // the server tells why
  for (const auto* const way : {"_G", "getfenv", "load", "loadstring"}) {
    if (!globals->contains(way)) continue;
    throw UsageError(fmt::format("{} uses {}, so that rlctl cannot see which keys it touches",
                                 escape(name), way),
                     "use --url private:, where it may touch any");
  }
}

/// The largest n for which the source contains TABLE[n]; 0 if there is none.
std::size_t largest_index(const std::vector<lua::Token>& tokens, std::string_view table) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i].text != table || !tokens[i + 1].is("[") || !tokens[i + 3].is("]")) continue;
    largest = std::max(largest, to_number<std::size_t>(tokens[i + 2].text).value_or(0));
  }
  return largest;
}

/// Removes the name that Redis gives the script, which means nothing to its author.
std::string without_script_name(std::string message) {
  const auto at = message.find("user_script:");
  if (at == message.npos) return message;
  const auto end = message.find(": ", at);
  // "Error compiling script (new function): user_script:3: ..." would name the place twice.
  const bool is_start = at == 0 || std::string_view(message).substr(0, at).ends_with("): ");
  if (!is_start || end == message.npos) return message;
  return message.erase(at, end + 2 - at);
}

/// What other_keys.lua refuses: how its message ends, and what to do.
constexpr std::array<std::array<std::string_view, 2>, 2> kRefusals{{
    {", which is not one of its KEYS",
     "use --url private: instead, where it may touch any key, or name all of its keys in --keys"},
    {", which is not limited to its KEYS", "it may do so with --url private: and --clock real"},
}};

std::string hint_at_refusal(std::string_view error) {
  for (const auto& [end, hint] : kRefusals) {
    if (error.ends_with(end)) return std::string(hint);
  }
  return {};
}

/// The hint for an error that a script returned, perhaps as its way to deny; may be empty.
std::string hint_at_denial(const redis::Error& error) {
  if (error.failure() != redis::Failure::kRejected) return {};
  if (error.code().empty() || error.code() == "ERR") {
    return "an error is not taken for a denial: let the script return a value for it, and say "
           "which with --allowed-when";
  }
  return fmt::format("if this error is how the script denies, use --head 'denied_error {}'",
                     escape(error.code()));
}

/// The error of an error reply, with the file and the line that raised it.
redis::Error error_of(redis::ReplyView reply, std::string_view name, std::string_view source) {
  const auto error = redis::to_error(reply);
  auto line = redis::script_line(reply.text());
  // The server may report a syntax error on the line after the last.
  if (line) line = std::min(*line, static_cast<int>(lua::source_lines(source).size()));
  auto hint = error.hint().empty() ? hint_at_refusal(error.what()) : error.hint();
  if (hint.empty() && !line) hint = hint_at_denial(error);
  return redis::Error(error.failure(),
                      line
                          ? fmt::format("{}:{}: {}", name, *line, without_script_name(error.what()))
                          : fmt::format("{}: {}", name, error.what()),
                      error.code(), std::move(hint))
      .from(error.server(), error.command());
}

std::string quoted_words(std::span<const std::string_view> words) {
  std::string out;
  for (const auto word : words) out += " '" + escape(word, kMaxShown) + "'";
  return words.empty() ? " none" : out;
}

/// The hint where an argument is a number in quotes, as JSON writes a string; empty if none is.
std::string quoted_number(std::span<const std::string_view> arguments) {
  for (const auto text : arguments) {
    const bool has_quotes = text.size() > 2 && text.front() == '"' && text.back() == '"';
    if (!has_quotes || !to_number<double>(text.substr(1, text.size() - 2))) continue;
    return fmt::format("tonumber() of {} is nil, since its quotes are a part of it: leave them out",
                       escape(text, kMaxShown));
  }
  return {};
}

// ---- Setups ----

constexpr std::string_view kRunsCommand = "return redis.pcall(unpack(ARGV))";

/// A step of the limiter's setup, as a script of its own.
ForeignLimiter script_of(const SetupStep& step, const ForeignLimiter& limiter) {
  const bool is_command = step.source.empty();
  return {.name = step.name,
          .source = is_command ? std::string(kRunsCommand) : step.source,
          .keys = limiter.keys,
          .arguments = is_command ? step.words : limiter.arguments,
          .origins = limiter.origins,
          .has_leases = limiter.has_leases,
          .hold = limiter.hold};
}

bool names_numbered_key(const ForeignLimiter& limiter) {
  return std::ranges::any_of(limiter.arguments, [](const Template& argument) {
    for (std::size_t number = 1; number <= kNumberedKeys; ++number) {
      if (argument.holds(fmt::format("key{}", number))) return true;
    }
    return false;
  });
}

/// Whether a step must run once for each key that is requested, since its words differ by key.
bool differs_by_key(const SetupStep& step, const ForeignLimiter& limiter) {
  const auto holds_key = [](const Template& text) { return text.holds("key"); };
  const bool keys_differ = std::ranges::any_of(limiter.keys, holds_key);
  const auto call = script_of(step, limiter);
  return std::ranges::any_of(call.arguments, holds_key) ||
         (keys_differ && (!step.source.empty() || names_numbered_key(call)));
}

/// The script of a foreign limiter.
class ForeignScript final : public Script {
 public:
  ForeignScript(const ForeignLimiter& limiter, const limiter::Limit& limit,
                const traffic::Traffic& traffic, std::string prefix,
                const ScriptEnvironment& environment)
      : limiter_(limiter),
        limit_(limit),
        traffic_(traffic),
        prefix_(std::move(prefix)),
        keys_only_(environment.keys_only),
        substitutes_(substitutes_for(limiter, environment)) {
    require_usable(limiter, limit);
    names_keys_ = names_numbered_key(limiter);
    if (environment.time != ScriptTime::kHost) require_no_field_ttls(limiter);
    for (const auto& step : limiter.setup) {
      steps_.push_back(
          {.limiter = script_of(step, limiter), .differs_by_key = differs_by_key(step, limiter)});
      auto& made = steps_.back();
      made.script =
          std::make_unique<ForeignScript>(made.limiter, limit, traffic, prefix_, environment);
      made.script->is_command_ = step.source.empty();
    }
    if (limiter.ending) {
      ending_ =
          std::make_unique<ForeignScript>(*limiter.ending, limit, traffic, prefix_, environment);
    }
    if (substitutes_.any() && limiter.source.size() > lua::kLongestSubstituted) {
      throw UsageError(fmt::format("{} has more than {} KiB: it cannot get the virtual time",
                                   escape(limiter.name), lua::kLongestSubstituted >> 10),
                       "use --clock real");
    }
    auto text = limiter.function.empty()
                    ? lua::with_substitutes(limiter.source, substitutes_)
                    : lua::library_with_substitutes(limiter.source, substitutes_);
    if (keys_only_) require_visible_keys(limiter.source, limiter.name);
    // A source that does not compile is reported with its line when it is loaded.
    const auto globals = text ? std::nullopt : lua::read_globals(limiter.source);
    if (globals) throw no_room(limiter, *globals, environment.keys_only);
    if (!text) substitutes_ = {};
    text_ = text.value_or(limiter.source);
  }

  std::string_view name() const override { return limiter_.name; }
  bool may_call_time() const override {
    return lua::may_call_time(limiter_.source) || (ending_ && ending_->may_call_time());
  }
  std::optional<std::string> key_of_ttls() const override {
    const auto sets_ttl = [](const Step& step) { return may_set_ttl(step.limiter); };
    if (!may_set_ttl(limiter_) && std::ranges::none_of(steps_, sets_ttl)) {
      return ending_ ? ending_->key_of_ttls() : std::nullopt;
    }
    return prefix_ + KeyAging::kHashName;
  }
  const limiter::Limit* limit() const override { return &limit_; }
  bool may_read_ttl() const override {
    return script::may_read_ttl(limiter_) || (ending_ && ending_->may_read_ttl());
  }
  void load(ScriptHost& host) override {
    for (const auto& step : steps_) step.script->load(host);
    if (ending_) ending_->load(host);
    if (keys_only_) require_key_names(host);
    if (limiter_.function.empty()) {
      auto accepted = load_accepted(host, text_, limiter_.name);
      sha1_ = std::move(accepted.sha1);
      change_ = std::move(accepted.change);
      return;
    }
    const auto reply =
        host.call(std::array<std::string_view, 4>{"FUNCTION", "LOAD", "REPLACE", text_});
    if (reply.is_error()) throw error_of(reply, limiter_.name, limiter_.source);
  }
  std::string change() const override { return change_; }
  limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    const auto call = script_for(arrival).fill(last_call_, arrival, ++calls_);
    for (const auto key : call.keys) {
      if (keys_.find(key) == keys_.end()) keys_.emplace(key);
    }
    return call;
  }
  redis::Error with_request(const redis::Error& error, const traffic::Arrival& arrival,
                            std::int64_t number) const override {
    const auto& script = script_for(arrival);
    if (&script != this) return script.with_request(error, arrival, number);
    CallBuffer buffer;
    const auto call = fill(buffer, arrival, number);
    const auto arguments = call.arguments.first(limiter_.arguments.size());
    auto hint = error.hint();
    if (hint.empty()) {
      hint = missing_element(limiter_.source, limiter_.keys.size(), limiter_.arguments.size());
    }
    if (hint.empty() && std::strstr(error.what(), "nil") != nullptr)
      hint = quoted_number(arguments);
    return redis::Error(error.failure(),
                        fmt::format("{}; request {} had KEYS{} and ARGV{}", error.what(), number,
                                    quoted_words(call.keys), quoted_words(arguments)),
                        error.code(), std::move(hint))
        .from(error.server(), error.command());
  }
  /// Sorted by bytes.
  std::vector<std::string> keys() const override {
    auto all = keys_;
    for (const auto& step : steps_)
      all.insert(step.script->keys_.begin(), step.script->keys_.end());
    std::vector<std::string> sorted(all.begin(), all.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  std::vector<limiter::ScriptCall> preparation(const traffic::Arrival& arrival) override {
    std::vector<limiter::ScriptCall> calls;
    for (auto& step : steps_) {
      if (!step.done.insert(step.differs_by_key ? arrival.key : 0).second) continue;
      calls.push_back(step.script->call(arrival));
      prepared_.emplace_back(&step, arrival);
    }
    return calls;
  }
  void require_prepared(redis::ReplyView reply) override {
    const auto [step, arrival] = prepared_.front();
    prepared_.pop_front();
    if (redis::is_unknown_script(reply)) throw script_is_gone();
    if (reply.is_error()) throw step->script->setup_error(reply, arrival);
  }
  void restart() override {
    for (auto& step : steps_) step.done.clear();
    prepared_.clear();
  }

 private:
  /// Throws redis::Error if the user may not ask what other_keys.lua asks.
  static void require_key_names(ScriptHost& host) {
    const auto reply =
        host.call(std::array<std::string_view, 4>{"COMMAND", "GETKEYS", "GET", "key"});
    if (reply.is_error()) throw redis::to_error(reply);
  }

  /// Names the command, or the script with its KEYS and ARGV.
  redis::Error setup_error(redis::ReplyView reply, const traffic::Arrival& arrival) const {
    const auto error =
        is_command_ ? redis::to_error(reply) : error_of(reply, limiter_.name, limiter_.source);
    CallBuffer buffer;
    const auto call = fill(buffer, arrival, 1);
    const auto words = call.arguments.first(limiter_.arguments.size());
    auto message = is_command_
                       ? fmt::format("'{}': {}", escape(fmt::format("{}", fmt::join(words, " "))),
                                     without_script_name(error.what()))
                       : fmt::format("{}; it had KEYS{} and ARGV{}", error.what(),
                                     quoted_words(call.keys), quoted_words(words));
    return redis::Error(error.failure(),
                        origin_of(limiter_.origins, kSetupWord).place + ": " + message,
                        error.code(), hint_at_refusal(error.what()))
        .from(error.server(), error.command());
  }

  /// The words of a call: the keys, then the arguments.
  struct CallBuffer {
    std::string text;                     ///< all words
    std::vector<std::size_t> ends;        ///< where each word ends in `text`
    std::vector<std::string_view> words;  ///< a view of each word
    std::vector<std::string> names;       ///< of the keys, if arguments contain them
    std::string holder;                   ///< the name of the arrival's, or of its reservation
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& arrival,
                         std::int64_t number) const override {
    const auto& limiter = script_for(arrival).limiter_;
    if (reply.is_error() && !is_denial(reply, limiter.reading)) {
      throw error_of(reply, limiter.name, limiter.source);
    }
    if (ends(arrival.event)) return {.allowed = !reply.is_error()};
    std::string holder;
    const auto values = values_of(arrival, number, holder);
    const auto decision = read_reply(reply, limiter.reading, values, limiter.name, seen_);
    if (seen_.size() < kMostSeen) seen_.push_back({redis::Reply::copy_of(reply), values});
    return decision;
  }

  /// `holder` is what the values refer to.
  TemplateValues values_of(const traffic::Arrival& arrival, std::int64_t number,
                           std::string& holder) const {
    const bool reserves = is_of_reservation(arrival.event);
    if (arrival.holder > 0) {
      holder = reserves ? traffic::reservation_name(arrival.holder)
                        : traffic::holder_name(arrival.holder);
    }
    return {.key = traffic_.key_name(arrival.key),
            .limit = limit_,
            .cost = arrival.cost,
            .id = arrival.index_within_key > 0 ? arrival.index_within_key : number,
            .now = arrival.sent_at(),
            .event = event_name(arrival.event),
            .holder = reserves ? std::string_view() : holder,
            .reservation = reserves ? holder : std::string_view(),
            .actual = arrival.actual,
            .hold = arrival.hold};
  }

  /// Whether it ends what another began, for which there may be a script of its own.
  static bool ends(traffic::Event event) {
    return event == traffic::Event::kRelease || event == traffic::Event::kSettle;
  }

  const ForeignScript& script_for(const traffic::Arrival& arrival) const {
    return ending_ && ends(arrival.event) ? *ending_ : *this;
  }

  /// The call for request `number`; its views refer to `buffer`.
  limiter::ScriptCall fill(CallBuffer& buffer, const traffic::Arrival& arrival,
                           std::int64_t number) const {
    auto values = values_of(arrival, number, buffer.holder);
    buffer.text.clear();
    buffer.ends.clear();
    const auto add = [&](std::string_view prefix, const Template& word) {
      buffer.text += prefix;
      word.append(buffer.text, values);
      buffer.ends.push_back(buffer.text.size());
    };
    for (const auto& key : limiter_.keys) add(prefix_, key);
    std::vector<std::string_view> names;
    if (names_keys_) {
      buffer.names.clear();
      std::size_t start = 0;
      for (const auto end : buffer.ends) {
        buffer.names.push_back(buffer.text.substr(start, end - start));
        start = end;
      }
      names.assign(buffer.names.begin(), buffer.names.end());
      values.keys = names;
    }
    for (const auto& argument : limiter_.arguments) {
      add(is_command_ && is_key(argument) ? std::string_view(prefix_) : "", argument);
    }
    add_hidden(buffer, arrival);
    // The text is complete, so views of it stay valid.
    buffer.words.clear();
    std::size_t begin = 0;
    for (const auto end : buffer.ends) {
      buffer.words.push_back(std::string_view(buffer.text).substr(begin, end - begin));
      begin = end;
    }
    const redis::Arguments words(buffer.words);
    return {.sha1 = sha1_,
            .keys = words.first(limiter_.keys.size()),
            .arguments = words.subspan(limiter_.keys.size()),
            .function = limiter_.function};
  }

  /// Whether a word is written as one of the keys is: in a command, it stands for that key.
  bool is_key(const Template& word) const {
    return std::ranges::any_of(limiter_.keys,
                               [&](const Template& key) { return key.source() == word.source(); });
  }

  /// The arguments for the substitutes, which the script does not see.
  void add_hidden(CallBuffer& buffer, const traffic::Arrival& arrival) const {
    auto& text = buffer.text;
    const auto add = [&](const auto& word) {
      text += word;
      buffer.ends.push_back(text.size());
    };
    if (!substitutes_.any()) return;
    if (substitutes_.other_keys) add(keys_only_ ? "" : prefix_ + KeyAging::kHashName);
    add(fmt::format_int(arrival.at.count() / kMicros).c_str());
    add(fmt::format_int(arrival.at.count() % kMicros).c_str());
  }

  static constexpr std::int64_t kMicros = 1'000'000;

  /// A step of the setup.
  struct Step {
    ForeignLimiter limiter = {};
    bool differs_by_key = false;
    std::unique_ptr<ForeignScript> script = {};
    std::unordered_set<std::uint32_t> done = {};  ///< the keys, or 0, for which it was sent
  };

  const ForeignLimiter& limiter_;
  limiter::Limit limit_;
  const traffic::Traffic& traffic_;
  std::string prefix_, sha1_;
  bool keys_only_;
  bool names_keys_ = false;  ///< arguments contain {key1} or the like
  bool is_command_ = false;  ///< a command of a setup, whose words are the arguments
  lua::Substitutes substitutes_;
  std::string text_;    ///< the source, with the substitutes
  std::string change_;  ///< see change()
  std::int64_t calls_ = 0;
  CallBuffer last_call_;  ///< reused, so that the next call allocates nothing
  std::unordered_set<std::string, Hash, std::equal_to<>> keys_;
  std::deque<Step> steps_;
  std::unique_ptr<ForeignScript> ending_;
  std::deque<std::pair<const Step*, traffic::Arrival>> prepared_;  ///< sent, and not yet answered
  static constexpr std::size_t kMostSeen = 100;
  mutable std::vector<SeenReply> seen_;  ///< the first replies that were read
};

void require_key_numbers(const std::vector<Template>& words, std::size_t keys,
                         const ValueOrigin& origin) {
  for (auto number = keys + 1; number <= kNumberedKeys; ++number) {
    const auto name = fmt::format("key{}", number);
    if (std::ranges::none_of(words, [&](const auto& word) { return word.holds(name); })) continue;
    refuse_value(origin,
                 fmt::format("{{{}}} is KEYS[{}], but there {}", name, number,
                             keys == 1 ? "is 1 key" : fmt::format("are {} keys", keys)),
                 "give --keys once for each key");
  }
}

}  // namespace

bool may_read_ttl(const ForeignLimiter& limiter) {
  return lua::may_read_ttl(limiter.source) ||
         any_argument(limiter, [](std::string_view text) { return lower_case(text) == "lt"; });
}

void require_key_numbers(const ForeignLimiter& limiter, std::size_t keys) {
  for (std::size_t number = 1; number <= kNumberedKeys; ++number) {
    const auto name = fmt::format("key{}", number);
    const auto is_held = [&](const Template& text) { return text.holds(name); };
    if (std::any_of(limiter.keys.begin(), limiter.keys.end(), is_held)) {
      refuse_value(origin_of(limiter.origins, kKeysWord),
                   fmt::format("{{{}}} is for args, which come after the keys", name));
    }
  }
  require_key_numbers(limiter.arguments, keys, origin_of(limiter.origins, kArgumentsWord));
  for (const auto& step : limiter.setup) {
    require_key_numbers(step.words, keys, origin_of(limiter.origins, kSetupWord));
  }
}

void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit) {
  require_key_numbers(limiter, limiter.keys.size());
  const bool has_leases = limiter.has_leases;
  const auto hold = limiter.hold;
  require_usable(limiter.reading, limit, has_leases, hold);
  const auto require_all = [&](std::string_view word, const std::vector<Template>& templates) {
    parsed(origin_of(limiter.origins, word), [&] {
      for (const auto& text : templates) text.require_usable(limit, has_leases, hold);
    });
  };
  require_all(kKeysWord, limiter.keys);
  require_all(kArgumentsWord, limiter.arguments);
  for (const auto& step : limiter.setup) {
    require_all(kSetupWord, step.words);
    if (std::ranges::none_of(step.words, [](const auto& word) { return word.holds("id"); })) {
      continue;
    }
    refuse_value(origin_of(limiter.origins, kSetupWord),
                 "{id} is the number of a request, which comes after the setup");
  }
  if (limiter.ending) require_usable(*limiter.ending, limit);
}

AcceptedScript load_accepted(ScriptHost& host, const std::string& source, std::string_view name) {
  AcceptedScript accepted{.source = source};
  std::optional<redis::Error> error;  // the first
  const auto loads = [&] {
    const auto reply =
        host.call(std::array<std::string_view, 3>{"SCRIPT", "LOAD", accepted.source});
    if (!reply.is_error()) {
      accepted.sha1 = reply.text();
    } else if (!error) {
      error = error_of(reply, name, source);
    }
    return !reply.is_error();
  };
  if (loads()) return accepted;
  if (const auto flags = lua::unknown_flags(source); !flags.empty()) {
    accepted.source = lua::without_unknown_flags(source);
    accepted.change = fmt::format("ignored the flag{} {}, which this server does not know",
                                  plural(flags.size()), fmt::join(flags, ", "));
    if (loads()) return accepted;
  }
  if (const auto shebang = lua::read_shebang(source); shebang && shebang->library.empty()) {
    accepted.source = lua::without_shebang(source);
    accepted.change = "ignored its first line, \"#!lua\", which this server does not know";
    if (loads()) return accepted;
  }
  throw redis::Error(*error);
}

void choose_function(ForeignLimiter& limiter) {
  const auto shebang = lua::read_shebang(limiter.source);
  const bool is_library = shebang && !shebang->library.empty();
  auto& function = limiter.function;
  const auto refuse = [&](const std::string& message, std::string hint = {}) {
    refuse_value(origin_of(limiter.origins, kFunctionWord), message, std::move(hint));
  };
  if (!is_library) {
    if (function.empty()) return;
    refuse(
        fmt::format("{} is not a library of functions: its first line is not "
                    "\"#!lua name=...\"",
                    limiter.name));
  }
  const auto names = lua::registered_functions(limiter.source);
  // A name that is not a literal is not among them; the server knows it.
  if (names.empty() || std::find(names.begin(), names.end(), function) != names.end()) {
    if (!function.empty()) return;
    refuse(limiter.name + " is a library of functions, but no function is given",
           "name it with --head 'function NAME'");
  }
  if (!function.empty()) {
    refuse(fmt::format("{} has no function '{}'{}", limiter.name, escape(function),
                       did_you_mean(function, names)),
           fmt::format("it has {}", fmt::join(names, ", ")));
  }
  if (names.size() > 1) {
    refuse(limiter.name + " has several functions: " + fmt::format("{}", fmt::join(names, ", ")),
           "choose one with --head 'function NAME'");
  }
  function = names.front();
}

std::string missing_element(std::string_view source, std::size_t keys, std::size_t arguments) {
  const auto lexed = lua::lex(source);
  if (!lexed) return {};
  constexpr auto kHint = "the script uses {0}[{1}], but #{0} is {2}; {3}";
  const auto used_keys = largest_index(lexed->tokens, "KEYS");
  if (used_keys > keys) {
    return fmt::format(kHint, "KEYS", used_keys, keys, "give --keys once for each key");
  }
  const auto used_arguments = largest_index(lexed->tokens, "ARGV");
  if (used_arguments <= arguments) return {};
  return fmt::format(kHint, "ARGV", used_arguments, arguments, "give all of them in one --args");
}

bool lacks_clock(const ForeignLimiter& limiter) {
  const auto lacks = [](const ForeignLimiter& script, bool is_command) {
    return coarsest_time(script) == nullptr && !may_set_ttl(script) &&
           (is_command || !lua::may_call_time(script.source)) &&
           lua::read_globals(script.source).has_value();
  };
  return lacks(limiter, false) && std::ranges::all_of(limiter.setup, [&](const SetupStep& step) {
           return lacks(script_of(step, limiter), step.source.empty());
         });
}

namespace {

/// The placeholders in its keys and arguments that contain the time of the request.
std::vector<const Placeholder*> times_of(const ForeignLimiter& limiter) {
  std::vector<const Placeholder*> all;
  for (const auto* words : {&limiter.keys, &limiter.arguments}) {
    for (const auto& word : *words) {
      const auto times = word.times();
      all.insert(all.end(), times.begin(), times.end());
    }
  }
  return all;
}

}  // namespace

bool names_time(const ForeignLimiter& limiter) {
  return lua::needed_substitutes(limiter.source, {}).time;
}

const Placeholder* coarsest_time(const ForeignLimiter& limiter) {
  const auto times = times_of(limiter);
  const auto found = std::ranges::max_element(times, {}, &Placeholder::tick);
  return found == times.end() ? nullptr : *found;
}

const Placeholder* finest_time(const ForeignLimiter& limiter) {
  const auto times = times_of(limiter);
  const auto found = std::ranges::min_element(times, {}, &Placeholder::tick);
  return found == times.end() ? nullptr : *found;
}

std::string_view name_of(const Candidate& candidate) {
  if (candidate.program) return candidate.program->name;
  return candidate.foreign ? std::string_view(candidate.foreign->name) : candidate.algorithm->name;
}

void require_usable(const Candidate& candidate) {
  if (candidate.program) return;
  if (candidate.foreign) {
    require_usable(*candidate.foreign, candidate.limits.front());
    return;
  }
  for (const auto& limit : candidate.limits) {
    limiter::require_usable(*candidate.algorithm, limit);
  }
}

limiter::Decision Script::parse(redis::ReplyView reply, const traffic::Arrival& arrival,
                                std::int64_t number) const {
  if (redis::is_unknown_script(reply)) throw script_is_gone();
  return read(reply, arrival, number);
}

redis::Reply ScriptServer::call(redis::Arguments words) {
  return connection_.call(words);
}

void Script::load(redis::Connection& connection) {
  ScriptServer server(connection);
  load(server);
}

std::size_t queue_preparation(Script& script, redis::Connection& connection,
                              const traffic::Arrival& arrival) {
  const auto calls = script.preparation(arrival);
  for (const auto& call : calls) call.append_to(connection);
  return calls.size();
}

bool prepare(Script& script, redis::Connection& connection, const traffic::Arrival& arrival) {
  const auto queued = queue_preparation(script, connection, arrival);
  // After an error, the keys are removed through the same connection, so no reply may be left.
  std::vector<redis::Reply> replies;
  while (replies.size() < queued) replies.push_back(connection.read());
  for (const auto& reply : replies) script.require_prepared(reply);
  return queued > 0;
}

redis::Error without_answer(const redis::Error& error, const Script& script,
                            const traffic::Arrival& arrival, std::int64_t number, bool is_first) {
  if (error.failure() != redis::Failure::kTimeout) return error;
  const auto explained = script.with_request(error, arrival, number);
  // The bundled scripts end.
  if (std::string_view(explained.what()) == error.what()) return error;
  const std::string hint =
      error.server() != nullptr
          ? "if the script never ends, SCRIPT KILL on that server stops one call of it, unless it "
            "has "
            "written; if it is slow, use a longer --timeout"
          : "the script may never end: step through it with rlctl debug; if it is slow, use a "
            "longer --timeout";
  return redis::Error(error.failure(),
                      fmt::format("{}: {}{}", script.name(), explained.what(),
                                  is_first ? ", unless one sent with it is to blame" : ""),
                      error.code(), hint)
      .from(error.server(), error.command());
}

std::unique_ptr<Script> make_script(const Candidate& candidate, const traffic::Traffic& traffic,
                                    std::string prefix, const ScriptEnvironment& environment) {
  if (candidate.is_bundled_lease()) {
    return std::make_unique<BundledLeaseScript>(candidate, traffic, std::move(prefix));
  }
  if (!candidate.foreign) {
    return std::make_unique<BundledScript>(candidate, traffic, std::move(prefix));
  }
  return std::make_unique<ForeignScript>(*candidate.foreign, candidate.limits.front(), traffic,
                                         std::move(prefix), environment);
}

}  // namespace rlctl::script
