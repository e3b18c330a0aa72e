#include "ldb/probes.h"

#include "base/text.h"
#include "embedded_ldb.h"
#include "ldb/session.h"
#include "ldb/value.h"
#include "lua/lexer.h"
#include "lua/scopes.h"
#include "lua/substitute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

namespace rlctl::ldb {

// ---- Inserting probes ----

namespace {

/// Lua that loads a text, which is on one line: the debugger checks each new line, also in a chunk
/// of another name, and that would take most of the time.
std::string loaded(std::string_view one_line) {
  return fmt::format("loadstring({},\"@rl_shim\")", string_literal(one_line));
}

/// [n] is n for each line of the source, [0] is 0. The lexer counts one more line after a final
/// line end; the source does not have that line, so its number is 0.
std::vector<int> line_numbers(std::string_view source, const lua::Scopes& scopes) {
  std::vector<int> numbers(lua::source_lines(source).size() + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  numbers.resize(scopes.line_offsets.size() + 1);
  return numbers;
}

/// Text to insert into the source.
struct Insertion {
  std::size_t offset = 0;
  std::string text = {};  ///< if it contains a line end, it ends with one
};

/// Writes the text of a script with probes.
class ProbeWriter {
 public:
  ProbeWriter(std::string_view source, const lua::Scopes& scopes, const ProbeOptions& options)
      : source_(source),
        scopes_(scopes),
        options_(options),
        name_(lua::unused_name(scopes)),
        plans_(scopes.functions.size()) {}

  /// Returns false if probes cannot be added.
  bool run() {
    // In a function that takes "...", `arg` is a local.
    if (is_wrapped() && scopes_.functions[0].uses_varargs && mentions(0, "arg")) return false;
    if (!choose_functions()) return false;
    if (options_.probes) {
      choose_markers();
      insert_probes();
      for (const auto& place : scopes_.returned) {
        insertions_.push_back({place.begin, name_ + ".returned("});
      }
    }
    insert_prefix();
    insert_aliases();
    for (const auto& place : scopes_.returned) {
      if (options_.probes) insertions_.push_back({place.end, ")"});
    }
    insertions_.insert(insertions_.end(), following_.begin(), following_.end());
    // Make the main function return at its original line, not at that of our `end`.
    if (is_wrapped() && !scopes_.ends_in_return && scopes_.code_end > 0) {
      insertions_.push_back({scopes_.code_end, " return"});
    }
    write();
    return true;
  }

  ProbedScript script;

 private:
  struct Plan {
    bool probed = true;       ///< the function may have probes
    bool can_mark = false;    ///< it has room for a marker
    bool has_marker = false;  ///< it has a local with the number of its activation
  };

  bool is_wrapped() const { return options_.wrapped || options_.stops_at_errors; }

  // Chooses the functions that may have probes; returns false if one has no room for `redis`.
  bool choose_functions() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      auto& plan = plans_[i];
      const auto& function = scopes_.functions[i];
      plan.probed = plans_[function.parent].probed && upvalues_of(i) <= lua::kMaxUpvalues;
      plan.can_mark = plan.probed && i > 0 && function.most_locals < lua::kMaxLocals;
      const std::size_t ours = (mentions(i, "redis") ? 1U : 0U) + (mentions(i, "server") ? 1U : 0U);
      if (i > 0 && ours > 0 && function.outer.size() + ours > lua::kMaxUpvalues) return false;
    }
    return true;
  }

  // Gives a marker to the functions with a variable that a probe reports.
  void choose_markers() {
    for (const auto& statement : scopes_.statements) {
      if (!begins_probe(statement)) continue;
      for (const auto local : reported_at(statement)) {
        auto& plan = plans_[scopes_.locals[local].function];
        plan.has_marker = plan.can_mark;
      }
    }
  }

  // How many upvalues a function will have: its own, the probe, `redis`, and outer markers.
  std::size_t upvalues_of(std::size_t function) const {
    const auto& outer = scopes_.functions[function].outer;
    std::set<std::size_t> owners;
    for (const auto local : outer) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].can_mark) owners.insert(owner);
    }
    return outer.size() + owners.size() + 1 + (mentions(function, "redis") ? 1 : 0);
  }

  bool mentions(std::size_t function, std::string_view global) const {
    return scopes_.functions[function].globals.contains(global);
  }
  // The locals that a probe reports, outer ones first.
  std::vector<std::size_t> reported_at(const lua::ScopedStatement& statement) const {
    std::vector<std::size_t> reported;
    std::set<std::string_view> own;
    for (const auto local : statement.locals) own.insert(scopes_.locals[local].name);
    for (const auto local : scopes_.functions[statement.function].outer) {
      if (!own.contains(scopes_.locals[local].name)) reported.push_back(local);
    }
    std::sort(reported.begin(), reported.end());
    reported.insert(reported.end(), statement.locals.begin(), statement.locals.end());
    std::erase_if(reported, [&](std::size_t local) {
      return scopes_.locals[local].is_hidden || scopes_.locals[local].name == lua::kLibraryLocal;
    });
    return reported;
  }

  bool begins_probe(const lua::ScopedStatement& statement) const {
    return options_.probes && statement.begins_line && plans_[statement.function].probed;
  }
  std::string marker(std::size_t function) const { return fmt::format("{}{}", name_, function); }

  void insert_prefix() {
    const bool has_shebang = source_.substr(0, 2) == "#!";
    Insertion prefix{has_shebang ? scopes_.line_offsets[1] : 0, {}};
    const bool names_probe = options_.probes || mentions(0, "server");
    static const auto kShim = fmt::format("{}({}", loaded(lua::one_line(embedded::k_probe.text)),
                                          loaded(lua::one_line(embedded::k_encode.text)));
    prefix.text =
        fmt::format("local redis{}{}={},{}", names_probe ? "," : "", names_probe ? name_ : "",
                    kShim, options_.probes ? fmt::to_string(script.parts.size()) : "nil");
    // The loop's jump back is where the debugger stops: the line of `b()` is not a new one.
    prefix.text +=
        options_.probes ? ",function(b)for i=1,2 do if i==1 then b()end end end" : ",nil";
    prefix.text += options_.arguments ? fmt::format(",{}", *options_.arguments) : ",nil";
    if (options_.now) {
      prefix.text += fmt::format(",{},{}", time_strings(*options_.now), redis_at(*options_.now));
    }
    prefix.text += ");";
    if (is_wrapped()) {
      prefix.text +=
          fmt::format("return {}(function({})", options_.stops_at_errors ? name_ + ".run" : "",
                      scopes_.functions[0].uses_varargs ? "..." : "");
    }
    // A CR after the LF would be part of that line end.
    const bool cr_follows = source_.substr(prefix.offset, 1) == "\r";
    prefix.text += !options_.probes ? " " : cr_follows ? "\n " : "\n";
    insertions_.insert(insertions_.begin(), std::move(prefix));
  }

  void insert_probes() {
    for (const auto& statement : scopes_.statements) {
      std::string text;
      if (statement.begins_function && plans_[statement.function].has_marker) {
        text = fmt::format("local {}={}.new();", marker(statement.function), name_);
      }
      if (begins_probe(statement)) {
        const auto calls = probe_before(statement);
        if (statement.follows > 0) {
          following_.push_back({statement.follows, " " + calls});
        } else {
          text += calls + '\n' + setter_;
        }
      }
      if (!text.empty()) insertions_.push_back({statement.offset, std::move(text)});
    }
  }

  // Wraps each read of `server`, Valkey's other name for `redis`, since it may not exist.
  void insert_aliases() {
    for (const auto& read : scopes_.global_reads) {
      if (read.name != "server") continue;
      insertions_.push_back({read.offset, name_ + ".script("});
      insertions_.push_back({read.offset + read.name.size(), ")"});
    }
  }

  // Notes a probe; returns the Lua that calls it.
  std::string probe_before(const lua::ScopedStatement& statement) {
    Probe probe{statement.line, reported_at(statement), {}, statement.function};
    for (const auto local : probe.locals) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].has_marker && std::find(probe.functions.begin(), probe.functions.end(),
                                                owner) == probe.functions.end()) {
        probe.functions.push_back(owner);
      }
    }
    const auto others = std::count_if(
        scopes_.statements.begin(), scopes_.statements.end(),
        [&](const auto& other) { return other.line == statement.line && other.follows == 0; });
    probe.is_alone = others == (statement.follows > 0 ? 0 : 1);
    probe.can_set = can_set_at(statement);
    auto calls = calls_of(probe);
    script.probes.push_back(std::move(probe));
    return calls;
  }

  // Whether code can be put in front of a statement without a stop that would not be there.
  bool can_set_at(const lua::ScopedStatement& statement) const {
    if (statement.follows > 0 || !options_.settable.contains(statement.line)) return false;
    // The line's instructions might all be those of a function that it only begins.
    return std::none_of(
        scopes_.statements.begin(), scopes_.statements.end(), [&](const auto& other) {
          return other.line == statement.line && other.function != statement.function &&
                 scopes_.functions[other.function].last_line > statement.line;
        });
  }

  // The calls of a probe's parts. A part with a negative number is reported with the next one. If
  // the last part is off, all are.
  std::string calls_of(Probe& probe) {
    std::vector<std::string> values;
    for (const auto owner : probe.functions) values.push_back(marker(owner));
    for (const auto local : probe.locals) values.emplace_back(scopes_.locals[local].name);
    std::string calls, setters;
    std::size_t next = 0;
    probe.part = script.parts.size() + 1;
    do {
      const auto end = std::min(next + ProbePart::kMaxValues, values.size());
      const char* more = end < values.size() ? "-" : "";
      script.parts.push_back({script.probes.size(), next});
      const auto place = ProbePart::place_text(probe.function, next);
      const auto names = fmt::to_string(fmt::join(values.data() + next, values.data() + end, ","));
      calls += fmt::format("{0}[{1}]({2}{1},{3}{4}{5})", name_, script.parts.size(), more, place,
                           names.empty() ? "" : ",", names);
      if (end < values.size()) calls += ';';
      setters += fmt::format("{0}={1}.set({2},{0}) ", names, name_, place);
      next = end;
    } while (next < values.size());
    probe.can_set = probe.can_set && !values.empty();
    setter_ = probe.can_set ? fmt::format("if {}.set then {}end ", name_, setters) : "";
    return fmt::format("if {}[{}]then {}end", name_, script.parts.size(), calls);
  }

  void write() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    script.lines = {0};
    const auto numbers = line_numbers(source_, scopes_);
    std::size_t position = 0;
    auto insertion = insertions_.begin();
    const auto count = scopes_.line_offsets.size();
    for (std::size_t line = 0; line < count; ++line) {
      const bool is_last = line + 1 == count;
      const auto end = is_last ? source_.size() : scopes_.line_offsets[line + 1];
      for (; insertion != insertions_.end() && (insertion->offset < end || is_last); ++insertion) {
        script.text += source_.substr(position, insertion->offset - position);
        script.text += insertion->text;
        position = insertion->offset;
        if (insertion->text.find('\n') != std::string::npos) script.lines.push_back(0);
      }
      script.text += source_.substr(position, end - position);
      position = end;
      script.lines.push_back(numbers[line + 1]);
    }
    if (is_wrapped()) {
      script.text += fmt::format(" \nend{}{})", options_.stops_at_errors ? "," : ")(",
                                 scopes_.functions[0].uses_varargs ? "..."
                                 : options_.stops_at_errors        ? "nil"
                                                                   : "");
      script.lines.push_back(0);
    }
  }

  std::string_view source_;
  const lua::Scopes& scopes_;
  const ProbeOptions& options_;
  std::string name_;  ///< the probe's name, and the prefix of the markers' names
  std::vector<Plan> plans_;
  std::vector<Insertion> insertions_;
  std::string setter_;  ///< what to put in front of the statement behind the last probe
  std::vector<Insertion> following_;  ///< after an insertion at the same offset
};

}  // namespace

std::string time_strings(std::chrono::microseconds now) {
  return fmt::format("\"{}\",\"{}\"", now.count() / 1'000'000, now.count() % 1'000'000);
}

std::string redis_at(std::chrono::microseconds now) {
  std::string redis = "redis";
  for (const auto& chunk : lua::virtual_clock_chunks()) {
    redis = fmt::format("{}({},{})", loaded(chunk), redis, time_strings(now));
  }
  return redis;
}

int ProbedScript::line_of(int line) const noexcept {
  return source_line(line, lines);
}

const Probe* ProbedScript::probe_at(int line) const noexcept {
  const auto found = std::find_if(probes.begin(), probes.end(),
                                  [line](const Probe& probe) { return probe.line == line; });
  return found == probes.end() ? nullptr : &*found;
}

std::size_t ProbedScript::function_around(int line) const noexcept {
  std::size_t innermost = 0;
  // Each function comes after those that enclose it.
  for (std::size_t i = 1; i < functions.size(); ++i) {
    if (functions[i].first < line && line < functions[i].last) innermost = i;
  }
  return innermost;
}

std::optional<ProbedScript> add_probes(std::string_view source, const ProbeOptions& options) {
  const auto scopes = lua::find_scopes(source);
  if (!scopes) return std::nullopt;
  ProbeWriter writer(source, *scopes, options);
  if (!options.probes && !options.now) {
    writer.script.text = source;
    writer.script.lines = line_numbers(source, *scopes);
  } else if (!writer.run()) {
    return std::nullopt;
  }
  auto& script = writer.script;
  for (const auto& local : scopes->locals) {
    script.locals.push_back(
        {std::string(local.name), local.line, local.function, local.is_set_within});
  }
  for (const auto& function : scopes->functions) {
    script.functions.push_back({function.first_line, function.last_line});
  }
  return std::move(script);
}

// ---- Reading reports ----

namespace {

// probe.lua describes the form of the lines.
constexpr std::string_view kTag = "~rl:";
constexpr int kDeepestValue = 200;

/// Thrown for a line that has the form of a report only at its start: the script wrote it.
struct NotAReport {};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw NotAReport{};
}

template <typename Number>
Number parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // from_chars() may report 5e-324 as out of range; other values out of range do not occur.
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) throw NotAReport{};
  return number;
}

std::string decode(std::string_view word) {
  std::string bytes;
  bytes.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      bytes += word[i];
      continue;
    }
    if (word.size() - i < 3) throw NotAReport{};
    bytes += static_cast<char>(hex_digit(word[i + 1]) * 16 + hex_digit(word[i + 2]));
    i += 2;
  }
  return bytes;
}

/// The unparsed rest of a line.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  bool accept(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw NotAReport{};
  }
  void expect_end() const {
    if (!text_.empty()) throw NotAReport{};
  }
  /// Takes the text up to the next separator.
  std::string_view word() {
    const auto word = text_.substr(0, text_.find_first_of(";=:{}~"));
    text_.remove_prefix(word.size());
    return word;
  }
  std::size_t index() { return parse_number<std::size_t>(word()); }

  Value value(int depth = 0) {
    using Kind = Value::Kind;
    Value value;
    if (depth > kDeepestValue) throw NotAReport{};
    if (accept('{')) {
      value.kind = Kind::kTable;
      table(value, depth);
      return value;
    }
    const auto text = word();
    if (text.empty()) throw NotAReport{};
    const auto rest = text.substr(1);
    switch (text.front()) {
      case 'n':
        break;
      case 't':
      case 'f':
        value.kind = Kind::kBoolean;
        value.boolean = text.front() == 't';
        break;
      case 'd':
        value.kind = Kind::kNumber;
        value.number = parse_number<double>(rest);
        break;
      case 's':
        value.kind = Kind::kString;
        value.text = decode(rest);
        break;
      case 'o':
        value.kind = Kind::kOpaque;
        value.text = rest;
        break;
      case 'c':
        value.kind = Kind::kCycle;
        break;
      default:
        throw NotAReport{};
    }
    return value;
  }

 private:
  void table(Value& table, int depth) {
    double next = 1;
    while (!accept('}')) {
      if (accept('~')) {
        index();
        table.is_cut = true;
      } else {
        auto field = value(depth + 1);
        Value key;
        if (accept('=')) {
          key = std::exchange(field, value(depth + 1));
        } else {
          key.kind = Value::Kind::kNumber;
          key.number = next++;
        }
        table.fields.emplace_back(std::move(key), std::move(field));
      }
      expect(';');
    }
    sort_fields(table);
  }

  std::string_view text_;
};

// A number as servers write it into a command since 7.2 (their fpconv): with the fewest digits, and
// an exponent instead of many zeros.
std::string server_digits(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                                 std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const auto e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  const auto sign_at = e + (text.substr(e + 1, 1) == "+" ? 2 : 1);
  const int exponent = parse_number<int>(text.substr(sign_at));
  const int count = static_cast<int>(digits.size());
  const int zeros = exponent - count + 1;
  const std::string minus = number < 0 ? "-" : "";
  if (zeros >= 0 && exponent < count + 7) {
    return minus + digits + std::string(static_cast<std::size_t>(zeros), '0');
  }
  if (zeros < 0 && (zeros > -7 || std::abs(exponent) < 4)) {
    if (exponent < 0) digits.insert(0, static_cast<std::size_t>(-exponent), '0');
    return minus + digits.insert(static_cast<std::size_t>(std::max(exponent, 0)) + 1, ".");
  }
  if (count > 1) digits.insert(1, ".");
  return minus + digits + 'e' + (exponent < 0 ? '-' : '+') + std::to_string(std::abs(exponent));
}

std::vector<std::string> read_words(Rest& rest) {
  std::vector<std::string> words;
  do {
    const auto word = rest.word();
    if (word.substr(0, 1) == "#") {
      words.push_back(server_digits(parse_number<double>(decode(word.substr(1)))));
    } else {
      words.push_back(decode(word));
    }
  } while (rest.accept(';'));
  return words;
}

ScriptMessage read_log(Rest& rest) {
  constexpr std::array<std::string_view, 4> kLevels{"debug", "verbose", "notice", "warning"};
  ScriptMessage message{.level =
                            std::string(kLevels.at(std::min(rest.index(), kLevels.size() - 1)))};
  rest.expect(';');
  message.text = decode(rest.word());
  return message;
}

}  // namespace

std::optional<Value> parse_value(std::string_view text) {
  try {
    Rest rest(text);
    auto value = rest.value();
    rest.expect_end();
    return value;
  } catch (const NotAReport&) {
    return std::nullopt;
  }
}

/// Takes over the values that the parts of a probe report; returns the probe.
std::size_t ProbeReader::read_values(std::string_view text) {
  Rest rest(text);
  std::size_t probe = 0;
  do {
    const auto number = rest.index();
    if (number == 0 || number > script_.parts.size()) throw NotAReport{};
    const auto& part = script_.parts[number - 1];
    probe = part.probe;
    auto& values = last_[ProbePart::place_of(script_.probes[probe].function, part.first)];
    while (rest.accept(';')) {
      const auto index = rest.index();
      rest.expect('=');
      if (index == 0 || index > values.size()) throw NotAReport{};
      values[index - 1] = rest.value();
    }
  } while (rest.accept(':'));
  rest.expect_end();
  return probe;
}

ProbeReading ProbeReader::reading_of(std::size_t index) {
  const auto& probe = script_.probes[index];
  const auto value = [&](std::size_t i) -> const Value& {
    return last_[ProbePart::place_of(probe.function, i)][i % ProbePart::kMaxValues];
  };
  const auto activation_of = [&](std::size_t function) -> std::int64_t {
    for (std::size_t i = 0; i < probe.functions.size(); ++i) {
      if (probe.functions[i] != function) continue;
      // Whatever a server writes, it is a number that exists.
      constexpr double kMax = 1e15;
      const auto number = value(i).number;
      return number >= 0 && number <= kMax ? static_cast<std::int64_t>(number) : 0;
    }
    return 0;
  };
  ProbeReading reading{index, activation_of(probe.function), {}};
  for (std::size_t i = 0; i < probe.locals.size(); ++i) {
    const auto local = probe.locals[i];
    reading.variables.push_back(
        {local, activation_of(script_.locals[local].function), value(probe.functions.size() + i)});
  }
  return reading;
}

ProbeReader::Line ProbeReader::read(std::string_view text) {
  const auto report = without_quotes(text);
  try {
    if (report.starts_with(kTag)) return read_report(report.substr(kTag.size()));
  } catch (const NotAReport&) {
    // The script wrote it.
  }
  return {.message = {.text = std::string(text)}};
}

ProbeReader::Line ProbeReader::read_report(std::string_view text) {
  Line line;
  Rest rest(text);
  if (rest.accept('P')) {
    line.kind = Line::Kind::kProbe;
    line.reading = reading_of(read_values(text.substr(1)));
    return line;
  }
  if (rest.accept('R')) {
    line.kind = Line::Kind::kReturned;
    rest.expect(';');
    line.returned = rest.value();
  } else if (rest.accept('C')) {
    line.kind = Line::Kind::kCall;
    rest.expect(';');
    line.words = read_words(rest);
    if (rest.accept('=')) line.answer = read_words(rest);
  } else if (rest.accept('L')) {
    rest.expect(';');
    line.message = read_log(rest);
  } else if (rest.accept('B')) {
    line.kind = Line::Kind::kHit;
    line.part = rest.index();
    rest.expect(';');
    line.done = rest.accept('t');
    if (!line.done) rest.expect('f');
  } else if (text.starts_with('G') || text.starts_with('E')) {
    line.kind = Line::Kind::kLogged;
    line.done = rest.accept('G');
    if (!line.done) rest.expect('E');
    line.part = rest.index();
    while (rest.accept(';')) line.values.push_back(rest.value());
  } else if (rest.accept('H')) {
    line.kind = Line::Kind::kHalt;
    rest.expect(';');
    line.halt.call = decode(rest.word());
    if (line.halt.call.empty()) throw NotAReport{};
  } else if (rest.accept('X')) {
    line.kind = Line::Kind::kHalt;
    rest.expect(';');
    line.halt.error = rest.value();
  } else if (rest.accept('N')) {
    line.kind = Line::Kind::kEnded;
    rest.expect(';');
    line.probe_count = parse_number<std::int64_t>(rest.word());
  } else {
    line.kind = Line::Kind::kPause;
    rest.expect('T');
  }
  rest.expect_end();
  return line;
}

// ---- Calls ----

namespace {

/// Removes the unreliable count of "... (2 more)".
std::string_view without_count(std::string_view words) {
  constexpr std::string_view kMore = " more)", kDots = " ... (";
  if (!words.ends_with(kMore)) return words;
  const auto at = words.rfind(kDots);
  if (at == words.npos) return words;
  const auto digits =
      words.substr(at + kDots.size(), words.size() - at - kDots.size() - kMore.size());
  return is_digits(digits) ? words.substr(0, at + kDots.size() - 2) : words;
}

/// "-ERR value is not an integer" in the form of redis::to_error(): without an uninformative code.
std::string plain_error(std::string_view text) {
  constexpr std::string_view kBare = "ERR ";
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with(kBare)) text.remove_prefix(kBare.size());
  return std::string(text);
}

/// Whether a reply has the form of an error: "-CODE ...", in quotes.
bool looks_like_error(std::string_view reply) {
  constexpr std::string_view kStart = "\"-";
  constexpr std::size_t kShortestCode = 3;
  if (!reply.starts_with(kStart)) return false;
  reply.remove_prefix(kStart.size());
  const auto code = reply.substr(0, reply.find(' '));
  return code.size() >= kShortestCode && code.size() < reply.size() &&
         std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// Formats a reply as the debugger prints it: 5, "abc", NULL, ["a",1], "+OK".
std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case redis::ReplyType::kInteger:
      return std::to_string(reply.integer());
    case redis::ReplyType::kNil:
      return "NULL";
    case redis::ReplyType::kString:
      return string_literal(reply.text());
    case redis::ReplyType::kStatus:
      return string_literal("+" + std::string(reply.text()));
    case redis::ReplyType::kError:
      return string_literal("-" + std::string(reply.text()));
    case redis::ReplyType::kArray:
      break;
  }
  std::string text = "[";
  for (std::size_t i = 0; i < reply.size(); ++i) text += (i > 0 ? "," : "") + reply_text(reply[i]);
  return text + "]";
}

}  // namespace

Call call_of(const std::vector<std::string>& words, redis::ReplyView reply) {
  Call call{.words = words, .reply = reply_text(reply)};
  if (reply.is_error()) call.error = plain_error(reply.text());
  return call;
}

/// Adds the call of which only the words are known: the server refused it, or reports no calls.
void CallLog::add_refused() {
  if (!pending_) return;
  calls_.push_back({.words = *std::exchange(pending_, std::nullopt), .is_silent = is_silent_});
  is_open_ = false;
}

void CallLog::begin(Call call) {
  calls_.push_back(std::move(call));
  is_open_ = true;
  has_error_item_ = false;
}

void CallLog::add_words(std::vector<std::string> words,
                        const std::optional<std::vector<std::string>>& answer) {
  add_refused();
  is_open_ = false;
  if (answer) {
    calls_.push_back(
        {.words = std::move(words), .reply = fmt::format("[\"{}\"]", fmt::join(*answer, "\",\""))});
  } else {
    pending_ = std::move(words);
  }
}

void CallLog::add_item(std::string_view item) {
  if (item.starts_with(kCallItem)) {
    item.remove_prefix(kCallItem.size());
    if (pending_) {
      begin({.words = *std::exchange(pending_, std::nullopt)});
    } else {
      begin({.words = {std::string(without_count(item))}, .raw = true});
    }
  } else if (item.starts_with(kReplyItem)) {
    add_reply(item.substr(kReplyItem.size()));
  } else if (item.starts_with(kErrorItem)) {
    add_error(item.substr(kErrorItem.size()));
  }
}

void CallLog::add_reply(std::string_view reply) {
  if (!is_open_ || calls_.back().reply) return;
  auto& call = calls_.back();
  call.reply = reply;
  if (!writes_errors_ && looks_like_error(reply)) {
    call.error = plain_error(without_quotes(reply));
  }
}

// Not every <error> belongs to a call: redis.error_reply() writes one, and so do invalid arguments.
void CallLog::add_error(std::string_view error) {
  if (pending_) begin({.words = *std::exchange(pending_, std::nullopt)});
  if (!is_open_ || has_error_item_) return;
  auto& call = calls_.back();
  if (call.reply && !call.reply->starts_with("\"-")) return;
  call.error = plain_error(error);
  has_error_item_ = true;
}

void CallLog::close() {
  add_refused();
  is_open_ = false;
}

void CallLog::set_silent(bool silent) {
  close();
  is_silent_ = silent;
}

std::vector<Call> CallLog::take() {
  close();
  return std::exchange(calls_, {});
}

}  // namespace rlctl::ldb
