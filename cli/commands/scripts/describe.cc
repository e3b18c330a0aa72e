#include "cli/commands/scripts/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/number.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "cli/server/connection.h"
#include "lua/lexer.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "script/script.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// A head is guessed in two steps. The names of the variables to which the source assigns ARGV[1]
// and so on suggest placeholders, some in several units. Each combination of these is then called
// for requests whose decisions are known for any limiter of 5 per 60 s. Only a combination whose
// replies can be read as these decisions is proposed: a script that replies the same to everything
// gets no `allowed`.
//
// What the reply tells is then compared with what the script does: how many further requests it
// allows at the same instant, and from when on it allows a request, or the whole limit, again. A
// part of the reply that was wrong once is not proposed.

namespace rlctl::cli::scripts {

struct Proposal {
  std::string file = {};
  std::vector<std::string> head = {};     ///< "args {limit} {window_ms}"
  std::vector<std::string> unknown = {};  ///< what could not be found out, and why
};

namespace {

using std::chrono::microseconds;
using namespace std::chrono_literals;

constexpr const char* kLimitText = "5/60s";

// ---- What the source says ----

/// The name of the variable to which a statement assigns the expression at this token, which may be
/// one of several; empty if it is used in another way.
std::string_view variable_of(const std::vector<lua::Token>& tokens, std::size_t at) {
  int depth = 0;
  std::size_t place = 0, i = at;
  for (; i > 0 && !tokens[i].is("="); --i) {
    const auto& token = tokens[i - 1];
    if (token.is(")") || token.is("]") || token.is("}")) ++depth;
    if ((token.is("(") || token.is("[") || token.is("{")) && depth-- == 0) {
      depth = 0;
      place = 0;
    }
    if (token.is(",") && depth == 0) ++place;
    if (token.kind == lua::Token::Kind::kKeyword && !token.is("or") && !token.is("and")) return {};
  }
  std::vector<std::string_view> names;
  while (i > 0 && tokens[i - 1].kind == lua::Token::Kind::kName) {
    names.insert(names.begin(), tokens[i - 1].text);
    i -= i > 1 && tokens[i - 2].is(",") ? std::size_t{2} : std::size_t{1};
    if (!tokens[i].is(",")) break;
  }
  return place < names.size() ? names[place] : std::string_view();
}

/// The variables that get TABLE[1], TABLE[2] and so on, up to the last that is used; each empty if
/// none does.
std::vector<std::string> elements_of(const std::vector<lua::Token>& tokens,
                                     std::string_view table) {
  constexpr std::size_t kMost = 32;
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i].text != table || !tokens[i + 1].is("[") || !tokens[i + 3].is("]")) continue;
    const auto number = to_number<std::size_t>(tokens[i + 2].text).value_or(0);
    if (number == 0 || number > kMost) continue;
    names.resize(std::max(names.size(), number));
    if (names[number - 1].empty()) names[number - 1] = variable_of(tokens, i);
  }
  return names;
}

/// The placeholders whose value a variable of this name may hold; empty if the name tells nothing.
std::vector<std::string> placeholders_for(std::string_view variable) {
  // A time without a unit in its name may have any.
  const bool has_unit = variable != "now" && variable != "window";
  if (has_unit && script::find_placeholder(variable) != nullptr) return {std::string(variable)};
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kMeanings{{
      {"now", "now_"},       {"timestamp", "now_"}, {"clock", "now_"},
      {"window", "window_"}, {"period", "window_"}, {"interval", "window_"},
      {"ttl", "window_"},    {"expir", "window_"},  {"duration", "window_"},
      {"burst", "burst"},    {"capacity", "burst"}, {"rate", "rate"},
      {"refill", "rate"},    {"leak", "rate"},      {"limit", "limit"},
      {"max", "limit"},      {"quota", "limit"},    {"cost", "cost"},
      {"requested", "cost"}, {"_id_", "id"},        {"member", "id"},
      {"size", "limit"},
  }};
  std::string name = "_";
  for (const char c : variable) name += lower_case(c);
  for (const auto& [word, meaning] : kMeanings) {
    if ((name + '_').find(word) == name.npos) continue;
    if (!meaning.ends_with('_')) return {std::string(meaning)};
    std::vector<std::string> units;
    for (const std::string unit : {"ms", "s", "us"}) units.push_back(std::string(meaning) + unit);
    units.emplace_back(meaning.substr(0, meaning.size() - 1));
    for (const auto& unit : units) {
      const auto suffix = unit.find('_');
      if (suffix != unit.npos && name.ends_with(unit.substr(suffix))) return {unit};
    }
    return units;
  }
  return {};
}

// ---- What the script does ----

/// What a script that is told its limit keeps, whichever of these it is.
constexpr std::array<limiter::Limit, 2> kLimits{
    {{.limit = 5, .window = 60s}, {.limit = 3, .window = 20s}}};

/// Two clients. One asks for twice its limit within half a window, so that any limiter must deny
/// it; the other asks for all of its limit, and again two windows later.
std::vector<traffic::Arrival> probe(const limiter::Limit& limit) {
  constexpr microseconds kStart = 1'767'225'660s;
  std::vector<traffic::Arrival> arrivals;
  for (int i = 0; i < 2 * limit.limit; ++i) {
    arrivals.push_back({.at = kStart + i * limit.window / (4 * limit.limit), .key = 0});
  }
  for (const auto after : {limit.window / 2, 5 * limit.window / 2 + 1s}) {
    for (int i = 0; i < limit.limit; ++i) arrivals.push_back({.at = kStart + after, .key = 1});
  }
  return arrivals;
}

/// Whether a limiter may decide the requests of probe() so.
bool is_sound(const limiter::Limit& limit, const std::vector<limiter::Decision>& decisions) {
  const auto is_allowed = [](const auto& decision) { return decision.allowed; };
  const auto full = decisions.begin() + limit.limit, other = full + limit.limit;
  return std::all_of(decisions.begin(), full, is_allowed) &&
         !std::all_of(full, other, is_allowed) && std::all_of(other, decisions.end(), is_allowed);
}

class Keys final : public traffic::Traffic {
 public:
  bool next(traffic::Arrival&) override { return false; }
  std::string_view key_name(std::uint32_t key) const override { return key == 0 ? "a" : "b"; }
  std::int64_t size() const override { return 0; }
};

/// How the script is called, and how its reply is read as a decision.
struct Call {
  std::vector<std::string> arguments = {}, keys = {};
  std::string allowed = {};
};

/// A further word about the reply, and its value; none if it is empty.
struct Reading {
  std::string_view word = {};
  std::string text = {};
};

/// The script on a private server.
class Subject {
 public:
  Subject(std::string name, std::string source, Invocation& invocation)
      : name_(std::move(name)),
        source_(std::move(source)),
        connector_(private_server(invocation)) {}

  /// How the replies are to be read with these ARGV; none if no reading makes sense of them.
  std::optional<std::string> reading(Call call) {
    std::vector<std::string> readings;
    for (const auto* named : {"nonzero", "always"}) {
      call.allowed = named;
      const auto run = ask(kLimits.front(), call, probe(kLimits.front()));
      if (!run) continue;
      if (run->as_read.fits(kLimits.front())) readings.emplace_back("nonzero");
      // Nil counts as zero, too: "nil" comes first, since it says more.
      readings.emplace_back("nil");
      if (run->inverted.fits(kLimits.front())) readings.emplace_back("zero");
      for (const auto& [expression, other] : run->others) readings.push_back(expression.source());
    }
    for (const auto& text : readings) {
      const bool keeps_both = std::ranges::all_of(kLimits, [&](const limiter::Limit& limit) {
        call.allowed = text;
        return ask(limit, call, probe(limit)) && is_sound(limit, decisions_);
      });
      if (keeps_both) return text;
    }
    return std::nullopt;
  }
  const std::string& error() const { return error_; }  ///< of the last call that failed

  /// Sends the requests, from no keys on, and returns the decisions; none if a call fails, or if a
  /// reply does not fit the reading.
  std::optional<std::vector<limiter::Decision>> decide(
      const limiter::Limit& limit, const Call& call, const std::vector<traffic::Arrival>& arrivals,
      const Reading& reading) {
    if (!ask(limit, call, arrivals, reading)) return std::nullopt;
    return decisions_;
  }

 private:
  static Connector private_server(Invocation& invocation) {
    auto connection = invocation.connection;
    connection.url = "private:";
    return {connection, invocation.configuration, invocation.interrupt};
  }

  std::optional<simulation::RepliesSeen> ask(const limiter::Limit& limit, const Call& call,
                                             const std::vector<traffic::Arrival>& arrivals,
                                             const Reading& reading = {}) {
    auto limiter = std::make_shared<script::ForeignLimiter>();
    limiter->name = name_;
    limiter->source = source_;
    for (const auto& key : call.keys) limiter->keys.emplace_back(key);
    for (const auto& argument : call.arguments) limiter->arguments.emplace_back(argument);
    limiter->reading.allowed_when = script::parse_allowed_when(call.allowed);
    if (!reading.word.empty()) {
      std::ranges::find(script_words(), reading.word, &ScriptWord::name)
          ->parse(reading.text, *limiter);
    }
    const script::Candidate candidate{.limits = {limit}, .foreign = limiter};
    try {
      auto connection = connector_.open();
      constexpr int kMostTries = 5;
      for (int tries = 1;; ++tries) {
        connector_.private_server()->remove_keys();
        const Keys names;
        const auto script = script::make_script(candidate, names, "");
        simulation::ScriptDecider decider(connection, *script);
        decisions_.assign(arrivals.size(), {});
        decider.decide(arrivals, decisions_);
        if (!decider.was_stalled() || tries == kMostTries) return decider.replies();
      }
    } catch (const redis::Error& error) {
      if (error.failure() == redis::Failure::kTimeout) {
        throw InputError(name_ + " did not end in time", "step through it: rlctl debug FILE");
      }
      error_ = error.what();
      return std::nullopt;
    }
  }

  std::string name_, source_;
  Connector connector_;
  std::vector<limiter::Decision> decisions_;
  std::string error_;
};

// ---- What the reply tells ----

/// A unit of a wait, and how an expression of a wait in it ends.
struct WaitForm {
  std::string_view end;
  microseconds unit;
};
constexpr std::array<WaitForm, 6> kWaitForms{{{" ms", 1ms},
                                              {" s", 1s},
                                              {" us", 1us},
                                              {" - now_ms ms", 1ms},
                                              {" - now_s s", 1s},
                                              {" - now_us us", 1us}}};

/// Tries whether what the replies of a script say about later requests comes true.
class Reports {
 public:
  Reports(Subject& subject, Call call)
      : subject_(subject), call_(std::move(call)), fields_(numbers_of_reply()) {}

  /// The value of this word that was right whenever it could be checked; none if there is none.
  std::optional<std::string> find(std::string_view word) {
    for (const auto& field : fields_) {
      if (word == "remaining") {
        for (const auto& text : {field, "limit - " + field}) {
          if (is_right([&](const auto& limit) { return tells_remaining(limit, text); }))
            return text;
        }
        continue;
      }
      for (const auto& form : kWaitForms) {
        const Reading reading{.word = word, .text = field + std::string(form.end)};
        const auto tells = [&](const auto& limit) {
          return word == "retry_after" ? tells_retry_after(limit, reading, form.unit)
                                       : tells_reset_after(limit, reading, form.unit);
        };
        if (is_right(tells)) return reading.text;
      }
    }
    return std::nullopt;
  }

 private:
  using Arrivals = std::vector<traffic::Arrival>;

  template <typename Tells>
  static bool is_right(Tells tells) {
    return std::ranges::all_of(kLimits, tells);
  }

  /// Groups of requests at one instant, at times in whole seconds. All but one of the groups ask
  /// for more than the limit, so that they show how many requests are allowed. If the script is
  /// told costs, the first request of the last group costs 2.
  Arrivals requests(const limiter::Limit& limit) const {
    constexpr microseconds kStart = 1'767'225'667s;
    constexpr int kParts = 20, kFew = 62, kWithCost = 110;
    const bool tells_cost = std::ranges::find(call_.arguments, "{cost}") != call_.arguments.end();
    Arrivals arrivals;
    for (const int parts : {0, 7, 16, 26, kFew, 66, kWithCost}) {
      const auto count = parts == kFew ? 2 : limit.limit + 2;
      for (int i = 0; i < count; ++i) {
        const bool is_large = tells_cost && parts == kWithCost && i == 0;
        arrivals.push_back(
            {.at = kStart + parts * limit.window / kParts, .cost = is_large ? 2 : 1});
      }
    }
    return arrivals;
  }

  /// The elements of the reply, or the reply itself, that are numbers or nil in each reply, and a
  /// number in one.
  std::vector<std::string> numbers_of_reply() {
    constexpr int kMostElements = 8;
    std::vector<std::string> elements{"r"}, numbers;
    for (int i = 1; i <= kMostElements; ++i) elements.push_back(fmt::format("r[{}]", i));
    const auto& limit = kLimits.front();
    for (const auto& element : elements) {
      for (const auto& text : {element, fmt::format("tonumber({})", element)}) {
        const auto decisions = subject_.decide(limit, call_, requests(limit), {"remaining", text});
        if (!decisions) continue;
        const bool is_told = std::ranges::any_of(*decisions, [](const auto& decision) {
          return decision.remaining != limiter::kNotTold;
        });
        if (is_told) numbers.push_back(text);
        break;
      }
    }
    return numbers;
  }

  /// Whether each reply tells how many requests are allowed after its own at the same instant,
  /// where a denial shows this.
  bool tells_remaining(const limiter::Limit& limit, const std::string& text) {
    const auto arrivals = requests(limit);
    const auto decisions = subject_.decide(limit, call_, arrivals, {"remaining", text});
    if (!decisions) return false;
    std::int64_t left = 0;
    bool is_known = false;
    for (auto i = arrivals.size(); i-- > 0;) {
      if (i + 1 == arrivals.size() || arrivals[i + 1].at != arrivals[i].at) {
        left = 0;
        is_known = false;
      }
      const auto& decision = (*decisions)[i];
      is_known |= !decision.allowed;
      if (is_known && decision.remaining != left) return false;
      if (decision.allowed) left += arrivals[i].cost;
    }
    return true;
  }

  /// Whether `count` requests are all allowed at this time, after the first `sent` of the others.
  bool allows(const limiter::Limit& limit, std::size_t sent, std::int64_t count, microseconds at) {
    auto arrivals = requests(limit);
    arrivals.resize(sent);
    for (std::int64_t i = 0; i < count; ++i) arrivals.push_back({.at = at});
    const auto decisions = subject_.decide(limit, call_, arrivals, {});
    return decisions &&
           std::all_of(decisions->begin() + static_cast<std::ptrdiff_t>(sent), decisions->end(),
                       [](const auto& decision) { return decision.allowed; });
  }

  /// Whether `count` requests are allowed after this wait, which request `i` was told, and not all
  /// of them one unit earlier. The TTL of a key, which the reply may tell, is exact to about 10 ms.
  bool is_wait(const limiter::Limit& limit, std::size_t i, std::int64_t count, microseconds wait,
               microseconds unit) {
    if (wait <= 0us || wait > 100 * limit.window) return false;
    const auto at = requests(limit)[i].at, slack = limit.window / 100;
    if (!allows(limit, i + 1, count, at + wait + slack)) return false;
    const auto early = wait - unit - slack;
    return early < 0us || !allows(limit, i + 1, count, at + early);
  }

  /// Whether each first denial of a group tells when a request is allowed again.
  bool tells_retry_after(const limiter::Limit& limit, const Reading& reading, microseconds unit) {
    const auto arrivals = requests(limit);
    const auto decisions = subject_.decide(limit, call_, arrivals, reading);
    if (!decisions) return false;
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      const auto& decision = (*decisions)[i];
      const bool is_first = (*decisions)[i - 1].allowed || arrivals[i - 1].at != arrivals[i].at;
      if (decision.allowed || !is_first) continue;
      if (!is_wait(limit, i, 1, decision.retry_after, unit)) return false;
    }
    return true;
  }

  /// Whether the first and the last reply of each group tell when the whole limit is free again.
  bool tells_reset_after(const limiter::Limit& limit, const Reading& reading, microseconds unit) {
    const auto arrivals = requests(limit);
    const auto decisions = subject_.decide(limit, call_, arrivals, reading);
    if (!decisions) return false;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const bool is_first = i == 0 || arrivals[i - 1].at != arrivals[i].at,
                 is_last = i + 1 == arrivals.size() || arrivals[i + 1].at != arrivals[i].at;
      if (!is_first && !is_last) continue;
      if (!is_wait(limit, i, limit.limit, (*decisions)[i].reset_after, unit)) return false;
    }
    return true;
  }

  Subject& subject_;
  Call call_;
  std::vector<std::string> fields_;  ///< expressions of numbers in the reply
};

// ---- The proposal ----

constexpr std::size_t kMostCombinations = 256;
/// Every combination of one placeholder for each argument, at most kMostCombinations of them.
std::vector<std::vector<std::string>> combinations(
    const std::vector<std::vector<std::string>>& choices) {
  std::vector<std::vector<std::string>> all{{}};
  for (const auto& choice : choices) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& begin : all) {
      for (const auto& word : choice) {
        longer.push_back(begin);
        longer.back().push_back("{" + word + "}");
      }
    }
    if (longer.size() > kMostCombinations) longer.resize(kMostCombinations);
    all = std::move(longer);
  }
  return all;
}

constexpr const char* kWhichKeys = "keys: which names the script's callers give them";

std::string args_text(const Call& call) {
  return fmt::format("{}", fmt::join(call.arguments, " "));
}

/// Adds the words about the reply that are right, and lists the others.
void add_reports(Proposal& proposal, Reports reports) {
  std::vector<std::string_view> missing;
  for (const std::string_view word : {"remaining", "retry_after", "reset_after"}) {
    if (const auto text = reports.find(word)) {
      proposal.head.push_back(fmt::format("{} {}", word, *text));
    } else {
      missing.push_back(word);
    }
  }
  if (missing.empty()) return;
  proposal.unknown.push_back(
      fmt::format("{}: no part of the reply was right each time", fmt::join(missing, ", ")));
}

Proposal propose(const std::string& name, const std::string& source, Invocation& invocation) {
  const auto lexed = lua::lex(source);
  if (!lexed) throw InputError(name + " is not Lua");
  Proposal proposal;
  std::vector<std::string> keys{"{key}"};
  const auto used_keys = elements_of(lexed->tokens, "KEYS").size();
  for (std::size_t i = 2; i <= used_keys; ++i) keys.push_back(fmt::format("{{{{key}}}}:{}", i));
  if (keys.size() > 1) {
    keys.front() = "{{key}}";
    proposal.head.push_back(fmt::format("keys {}", fmt::join(keys, " ")));
    proposal.unknown.emplace_back(kWhichKeys);
  }
  std::vector<std::vector<std::string>> choices;
  const auto variables = elements_of(lexed->tokens, "ARGV");
  for (std::size_t i = 0; i < variables.size(); ++i) {
    choices.push_back(placeholders_for(variables[i]));
    if (!choices.back().empty()) continue;
    choices.back() = {"limit", "window_ms", "window_s", "now_ms", "now_s", "cost"};
    proposal.unknown.push_back(
        fmt::format("args: what ARGV[{}] is{}; tried: {}", i + 1,
                    variables[i].empty() ? "" : ", which becomes " + escape(variables[i]),
                    fmt::join(choices.back(), ", ")));
  }
  std::size_t count = 1;
  for (const auto& choice : choices) count *= choice.size();
  if (count > kMostCombinations) {
    proposal.unknown.push_back(
        fmt::format("args: only {} of the {} combinations were tried", kMostCombinations, count));
  }
  Subject subject(name, source, invocation);
  std::vector<Call> fitting;
  for (const auto& arguments : combinations(choices)) {
    invocation.interrupt.check();
    Call call{.arguments = arguments, .keys = keys};
    if (const auto allowed = subject.reading(call)) {
      call.allowed = *allowed;
      fitting.push_back(std::move(call));
    }
  }
  if (fitting.empty()) {
    const auto& error = subject.error();
    proposal.unknown.push_back(
        "limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s" +
        (error.empty() ? "; its limit may be its own" : "; the last error: " + escape(error)));
    return proposal;
  }
  if (fitting.size() == 1) {
    proposal.head.insert(proposal.head.begin(), std::string("limit ") + kLimitText);
    proposal.head.push_back("args " + args_text(fitting.front()));
    proposal.unknown.clear();
    if (keys.size() > 1) proposal.unknown.emplace_back(kWhichKeys);
  } else {
    for (const auto& call : fitting) {
      proposal.unknown.push_back("args: one of several that fit: " + args_text(call));
    }
  }
  const auto& allowed = fitting.front().allowed;
  if (std::ranges::all_of(fitting, [&](const auto& each) { return each.allowed == allowed; })) {
    proposal.head.push_back("allowed " + allowed);
  }
  if (fitting.size() == 1) {
    add_reports(proposal, Reports(subject, fitting.front()));
  } else {
    proposal.unknown.emplace_back(
        "remaining, retry_after, reset_after: not tried, since args are unknown");
  }
  return proposal;
}

constexpr JsonField<Proposal> kProposalFields[] = {
    {"file", json_type::kText, "The file of the script.",
     [](const auto& proposal) { return proposal.file; }},
    {"head", json_type::kStrings, "The lines of the head, each a word and its value.",
     [](const auto& proposal) { return std::span(proposal.head); }},
    {"unknown", json_type::kStrings, "What could not be found out.",
     [](const auto& proposal) { return std::span(proposal.unknown); }},
};

}  // namespace

constinit const JsonObject<Proposal> kProposalJson("describe", "describe: a proposed head",
                                                   kProposalFields);

ExitStatus describe_script(Invocation& invocation) {
  constexpr const char* kUsage = "rlctl scripts describe my.lua";
  const auto& operands = invocation.operands;
  if (operands.empty()) throw UsageError("no FILE given", kUsage);
  require_at_most(1, operands, kUsage);
  const auto source = read_source("", {.path = operands[0]});
  const auto name = script_name(operands[0]);
  NamedScript script{.name = name, .path = operands[0]};
  add_head(script, source);
  std::vector<std::string_view> said;
  for (const auto& [word, value] : script.options.words) said.push_back(word);
  if (!said.empty()) {
    std::vector<std::string> lint{"rlctl", "lint"};
    if (operands[0].starts_with('-')) lint.emplace_back("--");
    lint.push_back(operands[0]);
    throw InputError(fmt::format("{} has a head already: {}", quoted_and_masked(operands[0]),
                                 one_of(said, "and")),
                     command_line(lint) + " tests the script as its head says");
  }
  auto proposal = propose(name, source, invocation);
  proposal.unknown.emplace_back(
      "release, settle: not tried; a limiter of leases or reservations has them");
  auto& out = invocation.out.buffer();
  if (invocation.json) {
    proposal.file = operands[0];
    kProposalJson.append_line(out, proposal);
    return ExitStatus::kDone;
  }
  for (const auto& line : proposal.head) out += "-- rlctl: " + line + '\n';
  if (!proposal.unknown.empty()) out += "Not found out:\n";
  for (const auto& line : proposal.unknown) out += "    " + line + '\n';
  return ExitStatus::kDone;
}

}  // namespace rlctl::cli::scripts
