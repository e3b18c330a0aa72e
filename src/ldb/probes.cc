#include "ldb/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "embedded_probe.h"
#include "ldb/lua_scopes.h"

namespace rlctl::ldb {
namespace {

constexpr std::size_t kMostUpvalues = 60;
constexpr std::size_t kMostLocals = 200;

/// The shim as a Lua string on one line, without its comments. Lua then sees only one line: the
/// debugger checks each new line, also in the shim, and that takes most of its time.
std::string quoted_shim() {
  std::string quoted = "\"";
  std::string_view rest = embedded::k_probe.text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line = line.substr(0, line.find("--"));
    if (line.empty()) continue;
    for (const char c : line) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += ' ';
  }
  return quoted + '"';
}

std::vector<int> same_lines(std::size_t count) {
  std::vector<int> lines{0};
  for (std::size_t i = 1; i <= count; ++i) lines.push_back(static_cast<int>(i));
  return lines;
}

/// Text to insert into the source.
struct Insertion {
  std::size_t offset = 0;
  std::string text = {};  ///< if it contains a line end, it ends with one
};

class ProbeWriter {
 public:
  ProbeWriter(std::string_view source, const LuaScopes& scopes, const ProbeOptions& options)
      : source_(source), scopes_(scopes), options_(options), plans_(scopes.functions.size()) {}

  /// Returns false if probes cannot be added.
  bool run() {
    // In a function that takes "...", `arg` is a local.
    if (options_.wrapped && scopes_.functions[0].uses_varargs && mentions(0, "arg")) return false;
    choose_name();
    if (!choose_functions()) return false;
    insert_prefix();
    if (options_.probes) {
      choose_markers();
      insert_probes();
    }
    insert_aliases();
    // Make the main function return at its original line, not at that of our `end`.
    if (options_.wrapped && !scopes_.ends_in_return && scopes_.code_end > 0) {
      insertions_.push_back({scopes_.code_end, " return"});
    }
    write();
    return true;
  }

  ProbedScript script;

 private:
  struct Plan {
    bool probed = true;     ///< it may have probes
    bool can_mark = false;  ///< there is room for the number of its activation
    bool has_marker = false;
  };

  // Chooses a name that is not a prefix of any name in the source.
  void choose_name() {
    name_ = "__rl";
    const auto is_taken = [&] {
      const auto name = scopes_.names.lower_bound(name_);
      return name != scopes_.names.end() && name->substr(0, name_.size()) == name_;
    };
    while (is_taken()) name_ += '_';
  }

  bool choose_functions() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      auto& plan = plans_[i];
      const auto& function = scopes_.functions[i];
      plan.can_mark = i > 0 && function.most_locals < kMostLocals;
      plan.probed = plans_[function.parent].probed && upvalues_of(i) <= kMostUpvalues;
      plan.can_mark = plan.can_mark && plan.probed;
      const std::size_t ours = (mentions(i, "redis") ? 1U : 0U) + (mentions(i, "server") ? 1U : 0U);
      if (i > 0 && ours > 0 && function.outer.size() + ours > kMostUpvalues) return false;
    }
    return true;
  }

  // Chooses the functions with a variable that a probe reports.
  void choose_markers() {
    for (const auto& statement : scopes_.statements) {
      if (!begins_probe(statement)) continue;
      for (const auto local : told_at(statement)) {
        auto& plan = plans_[scopes_.locals[local].function];
        plan.has_marker = plan.can_mark;
      }
    }
  }

  // All upvalues: its own, the probe, `redis`, and the markers of enclosing functions.
  [[nodiscard]] std::size_t upvalues_of(std::size_t function) const {
    const auto& outer = scopes_.functions[function].outer;
    std::set<std::size_t> owners;
    for (const auto local : outer) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].can_mark) owners.insert(owner);
    }
    return outer.size() + owners.size() + 1 + (mentions(function, "redis") ? 1 : 0);
  }

  [[nodiscard]] bool mentions(std::size_t function, std::string_view global) const {
    return scopes_.functions[function].globals.contains(global);
  }
  [[nodiscard]] std::vector<std::size_t> told_at(const ScopedStatement& statement) const {
    std::vector<std::size_t> told;
    std::set<std::string_view> own;
    for (const auto local : statement.locals) own.insert(scopes_.locals[local].name);
    for (const auto local : scopes_.functions[statement.function].outer) {
      if (!own.contains(scopes_.locals[local].name)) told.push_back(local);
    }
    std::sort(told.begin(), told.end());
    told.insert(told.end(), statement.locals.begin(), statement.locals.end());
    std::erase_if(told, [&](std::size_t local) { return scopes_.locals[local].is_hidden; });
    return told;
  }

  [[nodiscard]] bool begins_probe(const ScopedStatement& statement) const {
    return options_.probes && statement.begins_line && plans_[statement.function].probed;
  }
  [[nodiscard]] std::string marker(std::size_t function) const {
    return fmt::format("{}{}", name_, function);
  }

  void insert_prefix() {
    const bool has_shebang = source_.substr(0, 2) == "#!";
    Insertion prefix{has_shebang ? scopes_.line_offsets[1] : 0, {}};
    const bool names_probe = options_.probes || mentions(0, "server");
    prefix.text =
        fmt::format("local redis{}{}=loadstring({},\"@rl_shim\")({}", names_probe ? "," : "",
                    names_probe ? name_ : "", quoted_shim(), options_.probes ? "true" : "false");
    if (options_.now) {
      const auto now = options_.now->count();
      prefix.text += fmt::format(",\"{}\",\"{}\"", now / 1'000'000, now % 1'000'000);
    }
    prefix.text += ");";
    if (options_.wrapped) {
      prefix.text +=
          scopes_.functions[0].uses_varargs ? "return (function(...)" : "return (function()";
    }
    // A CR after the LF would be part of that line end.
    const bool cr_follows = source_.substr(prefix.offset, 1) == "\r";
    prefix.text += !options_.probes ? " " : cr_follows ? "\n " : "\n";
    insertions_.push_back(std::move(prefix));
  }

  void insert_probes() {
    for (const auto& statement : scopes_.statements) {
      std::string text;
      if (statement.begins_function && plans_[statement.function].has_marker) {
        text = fmt::format("local {}={}();", marker(statement.function), name_);
      }
      if (begins_probe(statement)) text += probe_before(statement);
      if (!text.empty()) insertions_.push_back({statement.offset, std::move(text)});
    }
  }

  // Wraps each read of `server`, Valkey's other name for `redis`, since it may not exist.
  void insert_aliases() {
    for (const auto& read : scopes_.global_reads) {
      if (read.name != "server") continue;
      insertions_.push_back({read.offset, name_ + "("});
      insertions_.push_back({read.offset + read.name.size(), ")"});
    }
  }

  [[nodiscard]] std::string probe_before(const ScopedStatement& statement) {
    Probe probe{statement.line, told_at(statement), {}, statement.function};
    for (const auto local : probe.locals) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].has_marker && std::find(probe.functions.begin(), probe.functions.end(),
                                                owner) == probe.functions.end()) {
        probe.functions.push_back(owner);
      }
    }
    std::string text;
    append_calls(text, probe, statement.function);
    script.probes.push_back(std::move(probe));
    return text + '\n';
  }

  // A part with a negative number is reported with the next one.
  void append_calls(std::string& out, const Probe& probe, std::size_t function) {
    std::vector<std::string> values;
    for (const auto owner : probe.functions) values.push_back(marker(owner));
    for (const auto local : probe.locals) values.emplace_back(scopes_.locals[local].name);
    std::size_t next = 0;
    do {
      const auto end = std::min(next + ProbePart::kMostValues, values.size());
      const char* more = end < values.size() ? "-" : "";
      // Not 0: Lua 5.1 stores 0 and -0 as one constant, the first to appear.
      const auto place = ProbePart::place_of(function, next);
      out += fmt::format("{}({}{},{}", name_, more, ++parts_,
                         place == 0 ? "false" : fmt::to_string(place));
      for (; next < end; ++next) out += ',' + values[next];
      out += ");";
    } while (next < values.size());
  }

  void write() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    script.lines = {0};
    std::size_t position = 0;
    auto insertion = insertions_.begin();
    for (std::size_t line = 0; line < scopes_.line_offsets.size(); ++line) {
      const bool is_last = line + 1 == scopes_.line_offsets.size();
      const auto end = is_last ? source_.size() : scopes_.line_offsets[line + 1];
      for (; insertion != insertions_.end() && (insertion->offset < end || is_last); ++insertion) {
        script.text += source_.substr(position, insertion->offset - position);
        script.text += insertion->text;
        position = insertion->offset;
        if (insertion->text.find('\n') != std::string::npos) script.lines.push_back(0);
      }
      script.text += source_.substr(position, end - position);
      position = end;
      script.lines.push_back(static_cast<int>(line + 1));
    }
    if (options_.wrapped) {
      script.text += scopes_.functions[0].uses_varargs ? " \nend)(...)" : " \nend)()";
      script.lines.push_back(0);
    }
  }

  std::string_view source_;
  const LuaScopes& scopes_;
  const ProbeOptions& options_;
  std::string name_;  ///< the probe's name, and the prefix of the markers' names
  std::vector<Plan> plans_;
  std::vector<Insertion> insertions_;
  int parts_ = 0;
};

}  // namespace

int ProbedScript::line_of(int line) const noexcept {
  const auto index = static_cast<std::size_t>(line);
  return line > 0 && index < lines.size() ? lines[index] : 0;
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
  const auto scopes = find_scopes(source);
  if (!scopes) return std::nullopt;
  ProbeWriter writer(source, *scopes, options);
  if (!options.probes && !options.now) {
    writer.script.text = source;
    writer.script.lines = same_lines(scopes->line_offsets.size());
  } else if (!writer.run()) {
    return std::nullopt;
  }
  auto& script = writer.script;
  for (const auto& local : scopes->locals) {
    script.locals.push_back({std::string(local.name), local.line, local.function});
  }
  for (const auto& function : scopes->functions) {
    script.functions.push_back({function.first_line, function.last_line});
  }
  return std::move(script);
}

namespace {

// probe.lua describes the form of the lines.
constexpr std::string_view kTag = "~rl:";
constexpr int kDeepestValue = 200;

struct NotOurs {};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw NotOurs{};
}

template <typename Number>
Number parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // from_chars() may report 5e-324 as out of range; other values out of range do not occur.
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) throw NotOurs{};
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
    if (word.size() - i < 3) throw NotOurs{};
    bytes += static_cast<char>(hex_digit(word[i + 1]) * 16 + hex_digit(word[i + 2]));
    i += 2;
  }
  return bytes;
}

/// The unparsed rest of a line.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw NotOurs{};
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
    if (depth > kDeepestValue) throw NotOurs{};
    if (accept('{')) {
      value.kind = Kind::kTable;
      table(value, depth);
      return value;
    }
    const auto text = word();
    if (text.empty()) throw NotOurs{};
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
        throw NotOurs{};
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
    settle_table(table);
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

void read_call(Rest& rest, ProbeReader::Line& line) {
  rest.expect(';');
  line.words = read_words(rest);
  if (rest.accept('=')) line.answer = read_words(rest);
  if (!rest.empty()) throw NotOurs{};
}

}  // namespace

std::optional<Value> parse_told(std::string_view text) {
  try {
    Rest rest(text);
    auto value = rest.value();
    if (rest.empty()) return value;
  } catch (const NotOurs&) {
    // Returns none below.
  }
  return std::nullopt;
}

ProbeReader::ProbeReader(const ProbedScript& script) : script_(script) {
  for (std::size_t i = 0; i < script.probes.size(); ++i) {
    const auto& probe = script.probes[i];
    std::size_t first = 0;
    do {
      parts_.push_back({i, first});
      first += ProbePart::kMostValues;
    } while (first < probe.functions.size() + probe.locals.size());
  }
}

bool ProbeReader::read_values(std::string_view text, std::size_t& probe) {
  Rest rest(text);
  do {
    const auto number = rest.index();
    if (number == 0 || number > parts_.size()) return false;
    const auto& part = parts_[number - 1];
    probe = part.probe;
    auto& values = last_[ProbePart::place_of(script_.probes[probe].function, part.first)];
    while (rest.accept(';')) {
      const auto index = rest.index();
      rest.expect('=');
      if (index == 0 || index > values.size()) return false;
      values[index - 1] = rest.value();
    }
  } while (rest.accept(':'));
  return rest.empty();
}

ProbeReading ProbeReader::reading_of(std::size_t index) {
  const auto& probe = script_.probes[index];
  const auto value = [&](std::size_t i) -> const Value& {
    return last_[ProbePart::place_of(probe.function, i)][i % ProbePart::kMostValues];
  };
  const auto activation_of = [&](std::size_t function) -> std::int64_t {
    for (std::size_t i = 0; i < probe.functions.size(); ++i) {
      if (probe.functions[i] == function) return static_cast<std::int64_t>(value(i).number);
    }
    return 0;
  };
  ProbeReading reading{index, {}};
  for (std::size_t i = 0; i < probe.locals.size(); ++i) {
    const auto local = probe.locals[i];
    reading.variables.push_back(
        {local, activation_of(script_.locals[local].function), value(probe.functions.size() + i)});
  }
  return reading;
}

ProbeReader::Line ProbeReader::read(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  Line line;
  if (text.substr(0, kTag.size()) != kTag) return line;
  text.remove_prefix(kTag.size());
  try {
    std::size_t probe = 0;
    if (text.substr(0, 1) == "P" && read_values(text.substr(1), probe)) {
      line.kind = Line::Kind::kProbe;
      line.reading = reading_of(probe);
    } else if (text.substr(0, 1) == "C") {
      Rest rest(text.substr(1));
      read_call(rest, line);
      line.kind = Line::Kind::kCall;
    }
  } catch (const NotOurs&) {
    return {};
  }
  return line;
}

}  // namespace rlctl::ldb
