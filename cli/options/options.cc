#include "cli/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/completions.h"
#include "cli/terminal/table.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::size_t kHelpColumn = 27;

/// The text before a default or a detail.
std::string_view first_clause(std::string_view text) {
  return text.substr(0, std::min({text.find("; "), text.find(" ("), text.find(". ")}));
}

bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '-';
}

std::string with_reason(std::string message, std::string_view why) {
  if (!why.empty()) message.append(": ").append(why);
  return message;
}

/// A value that begins with '-' follows '='.
void append_words(std::vector<std::string>& words, std::string_view name,
                  const std::string& value) {
  if (value.size() > 1 && value.front() == '-') {
    words.push_back(fmt::format("{}={}", name, value));
  } else {
    words.insert(words.end(), {std::string(name), value});
  }
}

/// A time in microseconds is never that close to January 1970.
void refuse_seconds(std::chrono::microseconds now, std::string_view option) {
  using std::chrono::microseconds;
  constexpr microseconds kYears = std::chrono::years{10};
  const auto today = system_time();
  for (const auto& [name, scale] : {std::pair{"seconds", 1'000'000}, {"milliseconds", 1'000}}) {
    if (std::chrono::abs(now - today / scale) > kYears / scale) continue;
    throw UsageError(std::string(option) + ": '" + std::to_string(now.count()) + "' looks like " +
                         name + " since 1970, but is read as microseconds",
                     "use the output of date +%s%6N, or ISO 8601");
  }
}

}  // namespace

// ---- Rows ----

Options::Row& Options::Row::excludes(std::string_view condition, std::string_view why,
                                     std::string_view hint) {
  rules_.push_back({true, condition, why, hint});
  return *this;
}

Options::Row& Options::Row::needs(std::string_view condition, std::string_view why,
                                  std::string_view hint) {
  rules_.push_back({false, condition, why, hint});
  return *this;
}

Options::Row& Options::Row::unless(std::string_view condition) {
  rules_.back().unless.push_back(condition);
  return *this;
}

Options::Row& Options::Row::once(std::string_view hint) {
  once_hint_ = hint;
  return *this;
}

Options::Row& Options::Row::repeats(Repeats at) {
  when_ = at;
  return *this;
}

Options::Row& Options::Row::comma_separated() {
  comma_separated_ = true;
  return *this;
}

Options::Row& Options::Row::mistakable(bool (*is_value)(const std::string& text)) {
  is_value_ = is_value;
  return *this;
}

Options::Row& Options::Row::completes(Completer complete) {
  complete_ = complete;
  return *this;
}

std::string_view Options::Row::name() const {
  return names_.substr(names_.find(',') + 1);
}

bool Options::Row::is_named(std::string_view wanted) const {
  return wanted == name() || wanted == names_.substr(0, names_.find(','));
}

void Options::Row::set(std::optional<std::string> text) {
  if (!once_hint_.empty() && given_ > 0) {
    throw UsageError(fmt::format("{} may be given only once, but {} follows {}", name(),
                                 in_quotes(*text), in_quotes(values_.back())),
                     std::string(once_hint_));
  }
  ++given_;
  auto* list = target<std::vector<std::string>>();
  if (list == nullptr) values_.clear();
  if (text) values_.push_back(*text);
  if (auto* flag = target<bool>()) *flag = true;
  if (auto* value = target<std::optional<std::string>>()) *value = text;
  if (auto* optional = target<OptionalValue>()) *optional = {.given = true, .value = text};
  if (list != nullptr) list->push_back(*text);
}

/// The option is given without a value; `next` follows it.
void Options::Row::refuse_detached(const std::string& next) const {
  if (is_value_ == nullptr || !is_value_(next)) return;
  throw UsageError(
      fmt::format("{} takes its value after '=', not as the next argument {}", name(),
                  in_quotes(next)),
      fmt::format("write {}={}, or -- before an argument that only looks like it", name(), next));
}

Options::Row& Options::add(std::string_view names, std::string_view value_name, Row::Target target,
                           std::string_view help) {
  auto& row = rows_.emplace_back();
  row.group_ = group_;
  row.names_ = names;
  row.value_name_ = value_name;
  row.help_ = help;
  row.target_ = target;
  if (!group_needs_.empty()) row.needs(group_needs_);
  return row;
}

// ---- Parsing ----

const Options::Row* Options::find(std::string_view name) const {
  const auto found = std::find_if(rows_.rbegin(), rows_.rend(),
                                  [name](const Row& row) { return row.is_named(name); });
  return found == rows_.rend() ? nullptr : &*found;
}

Options::Row* Options::row(std::string_view name) {
  return const_cast<Row*>(find(name));
}

void Options::throw_unknown(const std::string& name, const std::string& hint) const {
  if (auto known = unknown_hint_ ? unknown_hint_(name) : ""; !known.empty()) {
    throw UsageError("unknown option " + in_quotes(name), std::move(known));
  }
  std::vector<std::string_view> names;
  for (const auto& row : rows_) {
    if (!row.help_.empty() && row.name().starts_with("--")) names.push_back(row.name());
  }
  throw UsageError("unknown option " + in_quotes(name) + did_you_mean(name, names), hint);
}

/// Reads arguments[at], which must be is_option(), and its value; returns the index after them.
std::size_t Options::read_option(std::span<const std::string> arguments, std::size_t at,
                                 std::vector<Token>& tokens) {
  const auto next = arguments[at].starts_with("--") ? read_long(arguments, at, tokens)
                                                    : read_short(arguments, at, tokens);
  if (next <= arguments.size()) return next;
  const auto& argument = arguments[at];
  const auto name = argument.starts_with("--") ? argument : std::string{'-', argument.back()};
  throw UsageError(fmt::format("option {} needs a value: {} {}", in_quotes(name), name,
                               find(name)->value_name_));
}

// The next argument may be the value of an option, whatever it looks like. If there is none, these
// functions return more than arguments.size().

std::size_t Options::read_long(std::span<const std::string> arguments, std::size_t at,
                               std::vector<Token>& tokens) {
  const std::string& argument = arguments[at];
  const auto equals = argument.find('=');
  const auto name = argument.substr(0, equals);
  auto* row = this->row(name);
  if (row == nullptr) throw_unknown(name);
  if (equals != argument.npos) {
    if (row->is_flag()) {
      throw UsageError("option " + in_quotes(name) + " takes no value");
    }
    tokens.push_back({row, argument.substr(equals + 1)});
    return at + 1;
  }
  if (row->is_flag() || row->target<OptionalValue>() != nullptr) {
    if (at + 1 < arguments.size()) row->refuse_detached(arguments[at + 1]);
    tokens.push_back({row, std::nullopt});
    return at + 1;
  }
  if (at + 1 < arguments.size()) tokens.push_back({row, arguments[at + 1]});
  return at + 2;
}

std::size_t Options::read_short(std::span<const std::string> arguments, std::size_t at,
                                std::vector<Token>& tokens) {
  const std::string& argument = arguments[at];
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const std::string name{'-', argument[i]};
    auto* row = this->row(name);
    if (row == nullptr) {
      // "-limit": a long option with one dash missing.
      const auto whole = argument.substr(0, argument.find('='));
      if (find("-" + whole) != nullptr) throw_unknown(whole);
      if (i > 1 || whole.size() == 2) throw_unknown(name);
      throw_unknown(argument, "write -- before a KEY that begins with '-'");
    }
    if (row->is_flag()) {
      tokens.push_back({row, std::nullopt});
    } else if (i + 1 < argument.size()) {
      tokens.push_back({row, argument.substr(i + 1)});
      break;
    } else {
      if (at + 1 < arguments.size()) tokens.push_back({row, arguments[at + 1]});
      return at + 2;
    }
  }
  return at + 1;
}

bool Options::has(std::string_view name) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [name](const Row& row) { return !row.help_.empty() && row.is_named(name); });
}

Options::FirstOperand Options::find_operand(std::span<const std::string> arguments) {
  std::vector<Token> ignored;
  std::size_t at = 0;
  while (at < arguments.size() && is_option(arguments[at])) {
    if (arguments[at] == "--") return {.at = at + 1, .after_separator = true};
    at = read_option(arguments, at, ignored);
  }
  return {.at = at};
}

/// Reads the arguments in any order; passes an option, at its index, to `read`, which returns the
/// index after it.
Options::Unfinished Options::read_each(std::span<const std::string> arguments,
                                       const std::function<std::size_t(std::size_t)>& read) {
  Unfinished line;
  line.first_operand = arguments.size();
  std::size_t at = 0;
  while (at < arguments.size()) {
    if (line.after_separator || !is_option(arguments[at])) {
      if (line.operands.empty()) line.first_operand = at;
      line.operands.push_back(arguments[at++]);
    } else if (arguments[at] == "--") {
      line.after_separator = true;
      ++at;
    } else {
      at = read(at);
    }
  }
  if (at > arguments.size()) {
    const auto& last = arguments.back();
    line.awaiting = find(last.starts_with("--") ? last : std::string{'-', last.back()});
  }
  return line;
}

std::vector<std::string> Options::parse(std::span<const std::string> arguments) {
  std::vector<Token> tokens;
  auto line = read_each(arguments, [&](auto at) { return read_option(arguments, at, tokens); });
  set(tokens);
  return std::move(line.operands);
}

void Options::set(std::vector<Token>& tokens) {
  for (auto& [row, value] : tokens) {
    for (; row->comma_separated_ && value->find(',') != value->npos;
         value->erase(0, value->find(',') + 1)) {
      row->set(value->substr(0, value->find(',')));
    }
    row->set(std::move(value));
  }
}

// ---- Rules ----

bool Options::holds(std::string_view condition, std::span<const std::string> operands) const {
  if (!condition.starts_with("--")) return !operands.empty() && operands[0] == condition;
  const auto space = condition.find(' ');
  const auto* row = find(condition.substr(0, space));
  if (row == nullptr || row->given_ == 0) return false;
  return space == condition.npos ||
         (!row->values_.empty() && row->values_.back() == condition.substr(space + 1));
}

/// Whether the rule's option may not be given.
bool Options::applies(const Row::Rule& rule, std::span<const std::string> operands) const {
  return holds(rule.condition, operands) == rule.excludes &&
         std::none_of(rule.unless.begin(), rule.unless.end(),
                      [&](auto condition) { return holds(condition, operands); });
}

void Options::require(bool excludes, std::span<const std::string> operands) {
  for (const auto& row : rows_) {
    if (row.given_ == 0) continue;
    for (const auto& rule : row.rules_) {
      if (rule.excludes != excludes || !applies(rule, operands)) continue;
      const auto format = excludes ? "{} and {} cannot be combined" : "{} requires {}";
      throw UsageError(
          with_reason(fmt::format(fmt::runtime(format), row.name(), rule.condition), rule.why),
          std::string(rule.hint));
    }
  }
}

void Options::require_consistent(std::span<const std::string> operands) {
  require(true, operands);
  require(false, operands);
}

// ---- Completion ----

Options::Unfinished Options::parse_unfinished(std::span<const std::string> arguments) {
  std::vector<Token> tokens;
  auto line = read_each(arguments, [&](std::size_t at) {
    try {
      return arguments[at].starts_with("--") ? read_long(arguments, at, tokens)
                                             : read_short(arguments, at, tokens);
    } catch (const UsageError&) {
      return at + 1;
    }
  });
  try {
    set(tokens);
  } catch (const UsageError&) {
    // One that may be given only once was given again.
  }
  return line;
}

Completer Options::Row::completion() const {
  if (complete_ != nullptr) return complete_;
  return value_name_ == "FILE" || value_name_ == "PATH" ? complete_file : nullptr;
}

bool Options::is_given(std::string_view name) const {
  const auto* row = find(name);
  return row != nullptr && row->given_ > 0;
}

std::vector<Completion> Options::completions(std::span<const std::string> operands) {
  const auto is_excluded = [&](const Row& row) {
    const auto rules_out = [&](const Row::Rule& rule) {
      return rule.excludes && applies(rule, operands);
    };
    if (std::any_of(row.rules_.begin(), row.rules_.end(), rules_out)) return true;
    return std::any_of(rows_.begin(), rows_.end(), [&](const Row& other) {
      return other.given_ > 0 &&
             std::any_of(other.rules_.begin(), other.rules_.end(), [&](const Row::Rule& rule) {
               return rule.excludes && rule.unless.empty() && rule.condition == row.name();
             });
    });
  };
  std::vector<Completion> found;
  for (const auto& row : rows_) {
    const bool is_list = row.target<std::vector<std::string>>() != nullptr;
    const bool is_used = row.given_ > 0 && (!is_list || !row.once_hint_.empty());
    if (row.help_.empty() || is_used || is_excluded(row)) continue;
    found.push_back({std::string(row.name()), std::string(first_clause(row.help_))});
  }
  return found;
}

// ---- What is made of the rows ----

std::vector<std::string> Options::repeated(
    Repeats when, const std::map<std::string_view, std::vector<std::string>>& resolved) const {
  std::vector<std::string> words;
  for (const auto& row : rows_) {
    if (row.when_ != when) continue;
    const auto found = resolved.find(row.name());
    if (row.is_flag()) {
      if (row.given_ > 0 && found == resolved.end()) words.emplace_back(row.name());
      continue;
    }
    for (const auto& value : found == resolved.end() ? row.values_ : found->second) {
      append_words(words, row.name(), value);
    }
  }
  return words;
}

std::vector<std::string> Options::repeated(
    const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const {
  auto words = repeated(Repeats::kAlways, resolved);
  if (!with_server) return words;
  for (auto& word : repeated(Repeats::kWithServer, resolved)) words.push_back(std::move(word));
  return words;
}

std::string Options::help(bool brief) const {
  std::string out = brief && !rows_.empty() ? "\nOptions:\n" : "";
  std::string_view group;
  for (const auto& row : rows_) {
    if (row.help_.empty()) continue;
    if (!brief && row.group_ != group) out.append("\n").append(row.group_).append(":\n");
    group = row.group_;
    std::string left = row.names_.starts_with("--") ? "      " : "  ";
    left += row.names_;
    if (const auto comma = left.find(','); comma != left.npos) left.insert(comma + 1, " ");
    if (row.target<OptionalValue>() != nullptr) {
      left.append("[=").append(row.value_name_).append("]");
    } else if (!row.value_name_.empty()) {
      left.append(" ").append(row.value_name_);
    }
    out += left;
    if (left.size() + 2 > kHelpColumn) {
      out += '\n';
      left.clear();
    }
    out.append(kHelpColumn - left.size(), ' ');
    append_filled(out, brief ? first_clause(row.help_) : row.help_, kHelpColumn, kHelpWidth);
  }
  return out;
}

// ---- Refusals ----

void require_not_empty(std::string_view text, const std::string& what) {
  if (text.empty()) throw UsageError(what + " is empty", "is the variable set?");
}

void require_at_most(std::size_t most, std::span<const std::string> operands, std::string hint) {
  if (operands.size() <= most) return;
  throw UsageError("unexpected argument " + in_quotes(operands[most]), std::move(hint));
}

void refuse_word(const std::string& message, std::string_view word,
                 std::span<const std::string_view> names) {
  throw UsageError(message + did_you_mean(word, names), "it is one of " + one_of(names));
}

// ---- Values ----

std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most) {
  const auto value = parse_whole(masked(text), option);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", option, least, most, value));
}

std::chrono::microseconds parse_duration_of(const std::string& text, std::string_view option) {
  return parsed(option, [&] { return parse_duration(masked(text)); });
}

bool is_duration(const std::string& text) {
  try {
    static_cast<void>(parse_duration(text));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

std::chrono::microseconds parse_now(const std::string& text, std::string_view option) {
  const auto now = parsed(option, [&] { return parse_instant(masked(text)); });
  refuse_seconds(now, option);
  return now;
}

}  // namespace rlctl::cli
